"""Who sends a request, and from where: tokens and cookies in headers, names of hosts, pages of other sites."""

import ipaddress
import re
from datetime import UTC, datetime

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from photinus.errors import AuthenticationError, PermissionDenied
from photinus.record import TokenRecord
from photinus.service.auth import ANYONE, HOW_TO, Identity, Sessions, identify, parse_token
from photinus.service.server import Server

COOKIE = "photinus_session"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::\d+)?", re.ASCII)


async def find_identity(headers: Headers, server: Server) -> Identity:
    """Who sends a request: by its token, by the dashboard's cookie, or anyone where no tokens are needed."""
    if not server.settings.tokens_required:
        return ANYONE
    now = datetime.now(UTC)
    given = headers.get("authorization")
    if given is not None:
        scheme, _, text = given.partition(" ")
        parsed = parse_token(text.strip()) if scheme.lower() == "bearer" else None
        if parsed is None:
            raise AuthenticationError(f"the header `Authorization` does not hold a token: {HOW_TO}")
        token_id, secret = parsed
        return identify(await find_token(server, token_id), secret, now=now)
    session = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
    token_id = Sessions.token_id(session)
    if token_id is None:
        raise AuthenticationError(f"a token is needed: {HOW_TO}")
    return server.sessions.identify(await find_token(server, token_id), session, now=now)


async def find_token(server: Server, token_id: str) -> TokenRecord | None:
    """What the store has under that id, or had a few seconds ago."""
    is_known, record = server.tokens.recall(token_id)
    return record if is_known else await server.run(server.tokens.read, token_id)


def check_host(scope: Scope, headers: Headers, server: Server) -> None:
    """Refuse requests under a name that is not the server's.

    A page elsewhere can have its own name lead to this machine and so speak to a server that trusts it. Where no
    tokens are needed, callers on other machines are refused as well, however the server was started.
    """
    settings = server.settings
    found = _HOST.fullmatch(headers.get("host", ""))
    host = (found[1] or found[2]).lower() if found else ""
    allowed = [name.lower() for name in settings.allowed_hosts]
    if not settings.tokens_required:
        allowed += LOOPBACK_NAMES
    if allowed and host not in allowed:
        raise PermissionDenied(
            f"this server does not answer under the name {host!r}: use one of {', '.join(allowed)}, "
            "or name it in the setting `allowed_hosts`"
        )
    if not settings.tokens_required and not _is_on_this_machine(scope):
        raise PermissionDenied(
            "this server needs no tokens, so it answers callers on its own machine only: start it with tokens"
        )


def check_origin(headers: Headers, identity: Identity | None) -> None:
    """Refuse changes that a page of another site tries to make with the rights of whoever looks at it.

    What a browser adds by itself, a cookie or the place on this machine, proves nothing about who wants the change;
    a token in a header does.
    """
    if identity is not None and identity.token_id is not None and not identity.by_cookie:
        return
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    is_same = site == "same-origin" or (site is None and origin is not None and _is_own(origin, headers))
    is_no_browser = site is None and origin is None
    is_cookie = identity is not None and identity.by_cookie
    if not is_same and (is_cookie or not is_no_browser):
        raise PermissionDenied("a change must come from a page of this server itself, or carry a token")


def _is_own(origin: str, headers: Headers) -> bool:
    # Without the scheme: a proxy may have taken TLS off on the way here.
    return bool(headers.get("host")) and origin.partition("://")[2] == headers["host"]


def _is_on_this_machine(scope: Scope) -> bool:
    client = scope.get("client")
    if not client or not client[0]:
        return True  # a Unix socket
    try:
        return ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False
