"""What every request passes before its route: its id, limits, who sends it, and from which page.

All of it comes before the body is read, so that strangers cannot make a server work. Plain ASGI.
"""

import logging
import re
import time
import uuid
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from photinus.errors import PhotinusError, TooManyRequests
from photinus.record import Role
from photinus.service.callers import check_host, check_origin, find_identity
from photinus.service.errors import respond, respond_unexpected
from photinus.service.limits import MAX_OPEN_BODY, Disconnected, read_body, replay
from photinus.service.server import Server

API = "/api/v1"
RESTORE = f"{API}/studies/restore"
PROBES = ("/healthz", "/readyz")  # answered under any name, also by a server too busy for anything else
NOT_ANSWERED = 499  # for logs and metrics: the caller left, or the server is ending
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": with it, browsers send forms without the Origin that tells our pages from others.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

logger = logging.getLogger("photinus.service")


class Gate:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server
        self._num_running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given_id = headers.get("x-request-id", "")
        request_id = given_id if _REQUEST_ID.fullmatch(given_id) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started_at, status = time.perf_counter(), 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                outgoing = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    outgoing.setdefault(name, value)
                outgoing["X-Request-Id"] = request_id
            await send(message)

        try:
            await self._pass(scope, headers, receive, send_guarded)
        except Disconnected:
            pass  # nobody is there to be answered
        except PhotinusError as error:
            await respond(error, request_id)(scope, receive, send_guarded)
        except Exception:
            logger.exception("request %s failed unexpectedly", request_id)
            if status:  # half of an answer is out: only its end can say that it is not whole
                raise
            await respond_unexpected(request_id)(scope, receive, send_guarded)
        finally:
            status = status or NOT_ANSWERED
            seconds = time.perf_counter() - started_at
            path = getattr(scope.get("route"), "path", "unmatched")
            self._server.metrics.count_request(scope["method"], path, status, seconds)
            # The path alone, quoted: a query may hold what is nobody's business, a newline could forge a line.
            line = (request_id, scope["method"], quote(scope["path"]), status, seconds * 1000)
            logger.info("%s %s %s %d %.1f ms", *line)

    async def _pass(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        if scope["path"] in PROBES:
            body = await self._admit(scope, headers, receive)
            await self._app(scope, replay(body, receive), send)
            return
        check_host(scope, headers, self._server)
        self._check_room()
        body = await self._admit(scope, headers, receive)
        # Not counted before its body is here: strangers who send theirs slowly must not take all the room.
        self._check_room()
        self._num_running += 1
        self._server.metrics.running.set(self._num_running)
        try:
            await self._app(scope, replay(body, receive), send)
        finally:
            self._num_running -= 1
            self._server.metrics.running.set(self._num_running)

    def _check_room(self) -> None:
        if self._num_running >= self._server.settings.max_concurrent_requests:
            raise TooManyRequests(f"{self._num_running} requests are being answered: try again in a moment")

    async def _admit(self, scope: Scope, headers: Headers, receive: Receive) -> bytes:
        """The body of a request that may come in."""
        limit = MAX_OPEN_BODY
        is_protected = scope["path"].startswith("/api/") or scope["path"] == "/metrics"
        if is_protected:
            identity = await find_identity(headers, self._server)
            scope["state"]["identity"] = identity
            limit = self._server.settings.max_body_bytes
            if scope["path"] == RESTORE and identity.role != Role.READ:
                limit = self._server.settings.max_document_bytes
        if scope["method"] not in SAFE_METHODS:
            check_origin(headers, scope["state"].get("identity"))
        return await read_body(scope, receive, limit)
