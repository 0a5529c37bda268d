"""Server processes of `photinus serve`: their socket, their signals and their logs.

Only this module knows uvicorn. The first SIGTERM or SIGINT lets requests finish, a second one ends at once.
"""

import contextlib
import ipaddress
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from photinus.errors import ArgumentError, ServerError
from photinus.service.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

BACKLOG = 2048
KEEP_ALIVE_S = 75  # longer than proxies keep idle connections, or they would write into closed ones
GRACE_MARGIN_S = 10  # for everything else that a stopping server does, beyond finishing suggestions
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return all(ipaddress.ip_address(address).is_loopback for _, address in _resolve(host, 0))


def listen(host: str, port: int, *, choices: str = "--port or --host") -> socket.socket:
    """A listening socket: whoever connects from now on waits until the server is up."""
    [(family, _), *_] = _resolve(host, port)
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ArgumentError(
            f"cannot listen on {host!r}, port {port} ({error.strerror or error}): choose another {choices}"
        ) from error
    # asyncio sets this only on sockets that name their protocol, which these do not. Without it every answer waits some
    # 40 ms for the client to acknowledge its head. Connections inherit it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.set_inheritable(True)
    return listener


@contextlib.contextmanager
def holding_port(host: str, port: int) -> Iterator[str]:
    """The address of a port that nobody listens on, kept for the server processes that will share it."""
    with listen(host, port, choices="--grpc-port or --host") as free:
        family, address = free.family, free.getsockname()
    with socket.socket(family) as held:
        if hasattr(socket, "SO_REUSEPORT"):
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            held.bind(address)
        yield f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"


def url_of(listener: socket.socket, host: str, *, is_tls: bool) -> str:
    """The address to give to a client or a browser."""
    port = listener.getsockname()[1]
    return f"{'https' if is_tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def run(
    settings: Settings,
    listener: socket.socket,
    *,
    workers: int,
    trusted_proxies: str,
    log_level: str,
    tls: tuple[Path | None, Path | None, str | None],
) -> None:
    """Serve until a signal comes."""
    cert, key, password = tls
    os.environ.update(settings.to_environment())  # workers are processes of their own
    config = uvicorn.Config(
        f"{__name__}:make_app",
        factory=True,
        workers=workers,
        proxy_headers=True,
        forwarded_allow_ips=trusted_proxies,
        server_header=False,
        access_log=False,  # the service has its own, with request ids and without queries
        log_config=_log_config(log_level),
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(settings.grace_s) + GRACE_MARGIN_S,
        ssl_certfile=cert,
        ssl_keyfile=key,
        ssl_keyfile_password=password,
    )
    try:
        if workers > 1:
            supervisor = Supervisor(config, [listener])
            supervisor.run()
            has_started = not supervisor.has_failed
        else:
            PatientServer(config).run([listener])
            has_started = True
    except SystemExit:
        has_started = False
    finally:
        listener.close()
    if not has_started:
        raise ServerError("the server did not start: the lines before this one say why")


def make_app() -> "FastAPI":
    """The application, in each server process; a worker whose supervisor was killed stops by itself."""
    from photinus.service.app import app_from_environment

    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_stop_after, args=(parent.sentinel,), daemon=True).start()
    return app_from_environment()


def _stop_after(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


class PatientServer(uvicorn.Server):
    """One server process that ends with success when it was asked to end."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal lets it finish, the second one does not."""
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True


class Supervisor(Multiprocess):
    """Several server processes on one socket; one that dies is replaced."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._is_stopping = False
        for number in STOP_SIGNALS:
            signal.signal(number, self._stop)

    @property
    def has_failed(self) -> bool:
        """Whether it ended because workers could not start, rather than by a signal."""
        return not self._is_stopping

    def _stop(self, sig: int, frame: FrameType | None) -> None:
        if self._is_stopping:
            for worker in self.processes:
                if worker.pid is not None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker.pid, signal.SIGKILL)
            os._exit(128 + sig)
        self._is_stopping = True
        self.signal_queue.append(sig)


def _resolve(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    """The addresses behind a name."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM) if host else []
    except OSError:
        found = []
    if not found:
        raise ArgumentError(f"--host must be an address of this machine or a name for one, got {host!r}")
    return [(family, str(address[0])) for family, _, _, _, address in found]


def _log_config(level: str) -> dict[str, Any]:
    """Lines on standard error, for people and for the journal of the system."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level.upper(), "propagate": False}
            for name in ("photinus", "uvicorn")
        },
    }
