"""Where a server is and how to talk to it. Checked before anything is sent; the token is never shown."""

import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from photinus.arguments import check_seconds
from photinus.errors import ArgumentError

TOKEN_VARIABLE = "PHOTINUS_TOKEN"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
API = "/api/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server's address and the manners of talking to it."""

    url: str
    token: str | None = field(default=None, repr=False)
    retry_s: float
    timeout_s: float
    verify: bool | str = True  # a file of certificates to trust, or False to trust anybody

    @property
    def host(self) -> str:
        """The machine's name."""
        return urlsplit(self.url).hostname or ""

    @property
    def headers(self) -> dict[str, str]:
        """Sent with every request."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}


def make_address(
    url: str, token: str | None, *, retry_s: float, timeout_s: float, verify: bool | str
) -> Address:
    """The address, found to be one."""
    return Address(
        url=_check_url(url),
        token=_check_token(os.environ.get(TOKEN_VARIABLE) or None if token is None else token),
        retry_s=0.0 if retry_s == 0 else check_seconds("retry_s", retry_s),
        timeout_s=check_seconds("timeout_s", timeout_s),
        verify=verify if isinstance(verify, bool) else os.fspath(verify),
    )


def _check_url(url: object) -> str:
    example = 'such as "http://localhost:8000"'
    if not isinstance(url, str):
        raise ArgumentError(f"`url` must be the address of a server, {example}, got {url!r}")
    if "@" in url:
        # Not shown: what stands there is a password.
        raise ArgumentError(f"`url` must hold no name and password: say {example} and pass token=")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        is_address = False
    if not is_address or re.search(r"[\s?#]", url):
        shown = re.sub(r"[?#].*", "?...", url, flags=re.DOTALL)  # what stands there may be a token
        raise ArgumentError(
            f"`url` must begin with http:// or https:// and have nothing after the path, {example}, got {shown!r}"
        )
    return url.rstrip("/").removesuffix(API).rstrip("/")  # some copy it from a request


def _check_token(token: object) -> str | None:
    if token is None:
        return None
    text = token.strip() if isinstance(token, str) else ""
    if not re.fullmatch(r"[!-~]+", text):
        # Not shown, for it may be a token with a typing error.
        raise ArgumentError("`token` must be the text that `photinus token create` printed, without spaces")
    return text
