"""Sending and waiting, over httpx: one connection for threads, one for coroutines."""

import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from photinus.client.address import API, LOOPBACK, Address
from photinus.client.delivery import Patience, Pause, deliver
from photinus.client.messages import Call, NoResponse, Outcome, Request, Response
from photinus.errors import ArgumentError, MissingDependency

if TYPE_CHECKING:
    import ssl

    import httpx

CONNECT_TIMEOUT_S = 10.0
SLOW_TIMEOUT_S = (
    330.0  # for what the server computes; it gives up by itself before, after 300 s unless told otherwise
)
KEPT_OPEN_S = 3.0  # idle connections; servers close theirs after 5 s, and a request must not run into that

T = TypeVar("T")


@dataclass(slots=True)
class _Opened:
    """A client of httpx, and how many requests are under way on it: it must not be closed under them."""

    client: "httpx.Client"
    process: int
    close: Callable[[], object]
    num_busy: int = 0
    is_retired: bool = False


class Connection:
    """A server and the connections to it. Safe for threads; in a forked process it connects anew."""

    def __init__(self, address: Address) -> None:
        require_httpx()
        self.address = address
        self._mutex = threading.Lock()
        self._opened: _Opened | None = None
        self._patience = Patience(address.url, address.retry_s)

    def run(self, call: Call[T]) -> T:
        """The call's answer."""
        steps = deliver(call, self._patience)
        outcome: Outcome | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                outcome = None
            else:
                outcome = self._send(step)

    def close(self) -> None:
        """Close what is open, when requests under way are answered; the next call opens it again."""
        with self._mutex:
            opened, self._opened = self._opened, None
            if opened is None:
                return
            opened.is_retired = True
            is_idle = opened.num_busy == 0
        if is_idle:
            opened.close()

    def _send(self, request: Request) -> Outcome:
        import httpx

        with self._mutex:
            opened = self._open()
            opened.num_busy += 1
        try:
            response = opened.client.request(**request_arguments(self.address, request))
            return Response(response.status_code, response.headers, response.content)
        except httpx.RequestError as error:
            return no_response(error)
        finally:
            with self._mutex:
                opened.num_busy -= 1
                is_last = opened.is_retired and opened.num_busy == 0
            if is_last:
                opened.close()

    def _open(self) -> _Opened:
        import httpx

        # What came here by a fork is its parent's: not even to be closed.
        if self._opened is None or self._opened.process != os.getpid():
            client = httpx.Client(**client_arguments(self.address))
            # Nobody has to close what was connected: it ends with the last study that uses it.
            close = weakref.finalize(self, _close, client, os.getpid())
            self._opened = _Opened(client, os.getpid(), close)
        return self._opened


class AsyncConnection:
    """The same for coroutines of one event loop."""

    def __init__(self, address: Address) -> None:
        require_httpx()
        import httpx

        self.address = address
        self._client = httpx.AsyncClient(**client_arguments(address))
        self._patience = Patience(address.url, address.retry_s)

    async def run(self, call: Call[T]) -> T:
        """The call's answer."""
        import anyio

        steps = deliver(call, self._patience)
        outcome: Outcome | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            if isinstance(step, Pause):
                await anyio.sleep(step.seconds)
                outcome = None
            else:
                outcome = await self._send(step)

    async def close(self) -> None:
        """Close what is open, for good."""
        await self._client.aclose()

    async def _send(self, request: Request) -> Outcome:
        import httpx

        try:
            response = await self._client.request(**request_arguments(self.address, request))
            return Response(response.status_code, response.headers, response.content)
        except httpx.RequestError as error:
            return no_response(error)


def require_httpx() -> None:
    """Say how to get httpx where it is missing."""
    try:
        import httpx  # noqa: F401
    except ImportError as error:
        raise MissingDependency(
            'a connection to a server needs httpx, which is not installed: pip install "photinus[client]"'
        ) from error


def client_arguments(address: Address) -> dict[str, Any]:
    """How to make httpx's clients."""
    import httpx

    direct: dict[str, Any] = {}
    if address.host in LOOPBACK:
        # Proxies of the environment are for other machines.
        shown = f"[{address.host}]" if ":" in address.host else address.host
        direct = {"mounts": {f"all://{shown}": None}}
    return direct | {
        "headers": {"User-Agent": "photinus", **address.headers},
        "verify": _trust(address.verify),
        "limits": httpx.Limits(
            max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEPT_OPEN_S
        ),
        "follow_redirects": False,  # the token is for this server alone
    }


def request_arguments(address: Address, request: Request) -> dict[str, Any]:
    """How to send a request by httpx's clients."""
    import httpx

    read_s = max(address.timeout_s, SLOW_TIMEOUT_S) if request.is_slow else address.timeout_s
    return {
        "method": request.method,
        "url": f"{address.url}{API}{request.path}",
        "params": request.query,
        "content": request.content,
        "headers": request.headers,
        "timeout": httpx.Timeout(
            read_s, connect=min(CONNECT_TIMEOUT_S, address.timeout_s), write=address.timeout_s
        ),
    }


def no_response(error: Exception) -> NoResponse:
    """What an error of httpx means; errors that are none of the network's are raised."""
    import ssl

    import httpx

    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        raise error
    distrust = _find_cause(error, ssl.SSLCertVerificationError)
    if distrust is not None:
        remedy = "pass verify= the file of the certificate to trust"
        return NoResponse(
            f"its certificate is not trusted ({distrust}): {remedy}", may_have_acted=False, is_final=True
        )
    mismatch = _find_cause(error, ssl.SSLError) if isinstance(error, httpx.ConnectError) else None
    broken_off = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)  # it may be starting again
    if mismatch is not None and not isinstance(mismatch, broken_off):
        remedy = "say http:// if it has no certificate"
        return NoResponse(
            f"TLS with it is not possible ({mismatch}): {remedy}", may_have_acted=False, is_final=True
        )
    never_sent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return NoResponse(what, may_have_acted=not isinstance(error, never_sent))


def _close(client: "httpx.Client", process: int) -> None:
    if process == os.getpid():
        client.close()


def _find_cause(error: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def _trust(verify: bool | str) -> "bool | ssl.SSLContext":
    if isinstance(verify, bool):
        return verify
    import ssl

    try:
        return ssl.create_default_context(cafile=verify)
    except (OSError, ssl.SSLError) as error:
        raise ArgumentError(
            f"`verify` must be True, False or a file of certificates, got {verify!r} ({error})"
        ) from error
