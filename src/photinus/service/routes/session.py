"""Who one is, and the dashboard's way in and out."""

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from photinus.errors import AuthenticationError
from photinus.record import Role
from photinus.service.auth import ANYONE, HOW_TO, Identity, identify, parse_token
from photinus.service.callers import COOKIE, find_token
from photinus.service.deps import Caller, ServerDep, needs
from photinus.service.errors import documented
from photinus.service.gate import API
from photinus.service.server import Server, encode
from photinus.wire import Login, WhoAmI

router = APIRouter(prefix=API, tags=["session"])
pages = APIRouter(tags=["session"])  # outside the API: a session is for pages


@router.get("/whoami", response_model=WhoAmI, responses=documented(), dependencies=needs(Role.READ))
async def whoami(caller: Caller, server: ServerDep) -> Response:
    """Who the server takes the caller for."""
    return _describe(caller, server)


@pages.post("/login", response_model=WhoAmI, responses=documented(413))
async def login(body: Login, request: Request, server: ServerDep) -> Response:
    """Exchange a token for a cookie, which scripts cannot read and other sites cannot use."""
    if not server.settings.tokens_required:
        return _describe(ANYONE, server)
    parsed = parse_token(body.token.strip())
    if parsed is None:
        raise AuthenticationError(f"the text is not a token: {HOW_TO}")
    token_id, secret = parsed
    now = datetime.now(UTC)
    record = await find_token(server, token_id)
    identity = identify(record, secret, now=now)
    assert record is not None
    response = _describe(identity, server)
    response.set_cookie(
        COOKIE,
        server.sessions.issue(record, secret, now=now),
        max_age=int(server.sessions.lasts_s),
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@pages.post("/logout", status_code=204, responses=documented())
async def logout() -> Response:
    """Forget the cookie."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


def _describe(identity: Identity, server: Server) -> Response:
    described: dict[str, Any] = {
        "role": identity.role.value,
        "project": identity.project,
        "name": identity.name,
        "tokens_required": server.settings.tokens_required,
    }
    return Response(encode(described), media_type="application/json")
