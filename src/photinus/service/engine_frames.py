"""Messages between a server and its engine process: JSON, each with its length before it. Nothing is unpickled."""

import asyncio
import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from photinus import errors
from photinus.errors import PhotinusError, ServerError

Message = dict[str, Any]

_LENGTH = struct.Struct("!I")


def pack(message: Mapping[str, Any]) -> bytes:
    """The message as it travels. Both ends are Python: infinities and NaN pass."""
    content = json.dumps(message, separators=(",", ":")).encode()
    return _LENGTH.pack(len(content)) + content


def read_message(stream: BinaryIO) -> Message | None:
    """The next message; None when the other side is gone."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    [length] = _LENGTH.unpack(header)
    content = stream.read(length)
    return json.loads(content) if len(content) == length else None


async def receive_message(stream: asyncio.StreamReader) -> Message | None:
    """The same for an event loop."""
    try:
        [length] = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        return json.loads(await stream.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def error_to_dict(error: BaseException) -> dict[str, str]:
    """An error as data; what Photinus did not raise on purpose becomes a `ServerError`."""
    if isinstance(error, PhotinusError):
        return {"kind": type(error).__name__, "message": str(error)}
    # Its text may hold anything, so it stays in the log.
    text = f"the engine failed with an unexpected {type(error).__name__}; the server's log has more"
    return {"kind": ServerError.__name__, "message": text}


def error_from_dict(data: Mapping[str, str]) -> PhotinusError:
    """The error that `error_to_dict` described."""
    kind = getattr(errors, data["kind"], None)
    if isinstance(kind, type) and issubclass(kind, PhotinusError):
        return kind(data["message"])
    return ServerError(f"{data['kind']}: {data['message']}")
