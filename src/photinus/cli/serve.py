"""The command that serves a store: serve."""

import contextlib
import enum
import importlib
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photinus.cli.options import DEFAULT_STORAGE, JsonOption, StorageOption
from photinus.cli.output import print_facts, print_json
from photinus.cli.secrets import remember_password
from photinus.cli.token import state_of
from photinus.errors import ArgumentError, AuthenticationError, MissingDependency
from photinus.integrations.packages import GRPC, PROTOBUF
from photinus.storage.address import hide_password

if TYPE_CHECKING:
    from photinus.service.settings import Settings

NEEDED = ("fastapi", "uvicorn", "prometheus_client")
TLS_PASSWORD_VARIABLE = "PHOTINUS_TLS_KEY_PASSWORD"
NEAR = "127.0.0.1"
NEAR_PROXIES = "127.0.0.1,::1"


class Device(enum.StrEnum):
    """Where suggestions are computed."""

    CPU = "cpu"
    GPU = "gpu"


class LogLevel(enum.StrEnum):
    """From which severity on something is worth a line."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def serve(
    storage: StorageOption = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; other machines need another one.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Server processes that share the port.")] = 1,
    token_required: Annotated[
        bool,
        typer.Option(
            "--token-required",
            envvar="PHOTINUS_TOKENS_REQUIRED",
            help="Demand tokens here, too; say so behind a proxy. Always on where other machines reach it.",
        ),
    ] = False,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", exists=True, help="Certificate chain; makes it https.")
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", exists=True, help=f"Its key; the password comes from {TLS_PASSWORD_VARIABLE}."
        ),
    ] = None,
    tls_key_password: Annotated[
        str | None, typer.Option(envvar=TLS_PASSWORD_VARIABLE, hidden=True, show_envvar=False)
    ] = None,
    device: Annotated[Device | None, typer.Option(help="Where suggestions are computed.")] = None,
    grpc_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Answer google-vizier clients here, too; 0 takes a free one."),
    ] = None,
    grpc_insecure: Annotated[
        bool,
        typer.Option(
            "--grpc-insecure", help="Open that port on --host: whoever reaches it may do everything."
        ),
    ] = False,
    trusted_proxies: Annotated[
        str,
        typer.Option(
            metavar="ADDRESSES", help="Whose X-Forwarded-For and -Proto are believed; commas between, or *."
        ),
    ] = NEAR_PROXIES,
    log_level: Annotated[LogLevel, typer.Option(help="At info, every request is a line.")] = LogLevel.INFO,
    as_json: JsonOption = False,
) -> None:
    """Serve a store to many machines: an API for workers and a dashboard for people. Ctrl-C ends it.

    Ends when it has finished what it holds; a second signal ends it at once.
    Further settings are variables PHOTINUS_...; see the page "Run a server" of the documentation.
    """
    _check_extra()
    from photinus.cli.serving import holding_port, is_loopback, listen, run, url_of
    from photinus.service.settings import MEMORY, Settings

    address = storage or DEFAULT_STORAGE
    remember_password(address)
    are_demanded = token_required or not is_loopback(host)
    changes = {"storage": address, "tokens_required": are_demanded}
    if device is not None:
        changes["device"] = device.value
    settings = Settings.from_environment().model_copy(update=changes)
    if grpc_port is not None or grpc_insecure:
        _check_grpc(grpc_port)
    if address == MEMORY:
        _check_memory(workers, are_demanded)
    else:
        _check_store(address, host, are_demanded)
    _check_tls(tls_cert, tls_key, tls_key_password)

    with contextlib.ExitStack() as ports:
        listener = ports.enter_context(listen(host, port))
        if grpc_port is not None:
            is_open = grpc_insecure or settings.grpc_insecure
            grpc_host = host if is_open or is_loopback(host) else NEAR
            grpc_address = ports.enter_context(holding_port(grpc_host, grpc_port))
            settings = settings.model_copy(update={"grpc_address": grpc_address, "grpc_insecure": is_open})
        url = url_of(listener, host, is_tls=tls_cert is not None)
        (_print_json if as_json else _print_lines)(settings, url, workers)
        run(
            settings,
            listener,
            workers=workers,
            trusted_proxies=trusted_proxies,
            log_level=log_level.value,
            tls=(tls_cert, tls_key, tls_key_password),
        )


def _print_json(settings: "Settings", url: str, workers: int) -> None:
    print_json(
        {
            "url": url,
            "storage": hide_password(settings.storage),
            "tokens_required": settings.tokens_required,
            "workers": workers,
            "grpc_address": settings.grpc_address,
        }
    )


def _print_lines(settings: "Settings", url: str, workers: int) -> None:
    who = "demanded" if settings.tokens_required else "none: whoever is on this machine may do everything"
    facts = {"address": url, "store": hide_password(settings.storage), "tokens": who}
    if settings.grpc_address is not None:
        reached_by = "whoever reaches it" if settings.grpc_insecure else "whoever is on this machine"
        facts["google-vizier"] = f"{settings.grpc_address}, without tokens: {reached_by} may do everything"
    print_facts(facts | ({"workers": str(workers)} if workers > 1 else {}))


def _check_extra() -> None:
    for package in NEEDED:
        try:
            importlib.import_module(package)
        except ImportError:
            raise MissingDependency(
                f'`photinus serve` needs {package}, which is not installed: pip install "photinus[server]"'
            ) from None


def _check_grpc(port: int | None) -> None:
    if port is None:
        raise ArgumentError("--grpc-insecure needs --grpc-port: it is about that port alone")
    with GRPC, PROTOBUF:
        importlib.import_module("grpc")
        importlib.import_module("google.protobuf")


def _check_memory(workers: int, are_demanded: bool) -> None:
    """Nothing outside a process reaches a store in its memory."""
    if workers > 1:
        raise ArgumentError(f"a store in memory has one process, got --workers {workers}: name a --storage")
    if are_demanded:
        raise ArgumentError("a store in memory has no tokens, but they are demanded here: name a --storage")


def _check_store(address: str, host: str, are_demanded: bool) -> None:
    """The store opens (or is made), is of this version, and somebody may come in."""
    from photinus.storage.sql import SqlStorage

    store = SqlStorage(address)
    try:
        tokens = store.list_tokens() if are_demanded else []
    finally:
        store.close()
    now = datetime.now(UTC)
    if are_demanded and not any(state_of(token, now) == "valid" for token in tokens):
        shown = hide_password(address)
        raise AuthenticationError(
            f"a server at {host!r} demands tokens, but {shown!r} has no valid one: make one with "
            f"`photinus token create NAME --role admin --storage {shown}`"
        )


def _check_tls(cert: Path | None, key: Path | None, password: str | None) -> None:
    """Certificate and key belong together and can be read; better said now than in every worker."""
    if cert is None:
        if key is not None:
            raise ArgumentError("--tls-key needs --tls-cert: a key alone makes no https")
        return
    try:
        # A function in place of the password: without one OpenSSL would ask on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, lambda: password or "")
    except (OSError, ssl.SSLError) as error:
        raise ArgumentError(
            f"certificate {str(cert)!r} and its key cannot be used ({error}): give files in PEM format that "
            f"belong together, and the key's password, if it has one, in {TLS_PASSWORD_VARIABLE}"
        ) from None
