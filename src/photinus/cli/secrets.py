"""Keeps passwords of addresses, and tokens, out of everything that is printed."""

import re
from urllib.parse import unquote

HIDDEN = "***"

_passwords: set[str] = set()  # those given to this process, in every spelling they may turn up in
_tokens: set[str] = set()


def remember_password(address: str) -> None:
    """Have the address's passwords, if it has any, hidden from now on."""
    # Up to the last @, as a password may have one that should have been written %40.
    found = re.findall(r"://[^:/@]*:(.*)@", address, re.DOTALL)
    found += re.findall(r"[?&][^=&]*password=([^&]*)", address, re.IGNORECASE)
    _passwords.update(
        spelling for password in found if password for spelling in (password, unquote(password))
    )


def remember_token(token: str) -> None:
    """Have a server's token hidden from now on."""
    if token.strip():
        _tokens.add(token.strip())


def redact(text: str) -> str:
    """The text without any token, and without any password that this process was given in an address.

    A password only where one stands: replacing the word wherever it occurs would spell it out by the gaps.
    """
    for token in _tokens:
        text = text.replace(token, HIDDEN)
    for password in sorted(_passwords, key=len, reverse=True):
        place = rf"(:|password['\"]?\s*[:=]\s*['\"]?){re.escape(password)}(?=@|['\"\s]|$)"
        text = re.sub(place, rf"\g<1>{HIDDEN}", text)
    return text
