"""How much a caller may send: bodies are read as a whole before anything looks at them, up to a limit."""

import asyncio
from collections.abc import Sized

from starlette.types import Message, Receive, Scope

from photinus.errors import ArgumentError
from photinus.service.errors import BodyTooLarge, BodyTooSlow

MAX_OPEN_BODY = 16 * 1024  # bytes, of requests that need no token
BODY_TIMEOUT_S = 60.0  # ours: for a body to arrive


class Disconnected(Exception):
    """The caller went away before its request was complete."""


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body, if it is not larger than the limit, whether or not it was announced."""
    announced = dict(scope["headers"]).get(b"content-length", b"")
    if announced.isdigit() and (len(announced) > 18 or int(announced) > limit):
        raise _too_large(limit)
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            return await _read(receive, limit)
    except TimeoutError:
        raise BodyTooSlow(f"the body of a request must arrive within {BODY_TIMEOUT_S:g} seconds") from None


async def _read(receive: Receive, limit: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once, and then whatever comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def check_number(what: str, entries: Sized, limit: int) -> None:
    """Refuse more entries than one request may have."""
    if len(entries) > limit:
        raise ArgumentError(f"a request may have at most {limit} {what}, got {len(entries)}: send several")


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body of this request may have at most {limit} bytes: send less at a time")
