"""Messages between a server and its engine process."""

import asyncio
import io
import math

import pytest

from photinus import errors
from photinus.errors import PhotinusError, ServerError
from photinus.service.engine_frames import (
    error_from_dict,
    error_to_dict,
    pack,
    read_message,
    receive_message,
)

MESSAGES = [{"id": 1}, {"text": "ü\ud800\0", "numbers": [0.1, 1e300, 2**70, -0.0]}, {}]


def received(content: bytes) -> list[dict]:
    async def receive() -> list[dict]:
        stream = asyncio.StreamReader()
        stream.feed_data(content)
        stream.feed_eof()
        messages = []
        while (message := await receive_message(stream)) is not None:
            messages.append(message)
        return messages

    return asyncio.run(receive())


def read(content: bytes) -> list[dict]:
    stream, messages = io.BytesIO(content), []
    while (message := read_message(stream)) is not None:
        messages.append(message)
    return messages


@pytest.mark.parametrize("reader", [read, received])
def test_messages_arrive_as_they_were_sent(reader):
    assert reader(b"".join(map(pack, MESSAGES))) == MESSAGES


@pytest.mark.parametrize("reader", [read, received])
def test_what_json_lacks_passes_too(reader):
    [message] = reader(pack({"values": [math.inf, -math.inf, math.nan]}))
    assert message["values"][:2] == [math.inf, -math.inf]
    assert math.isnan(message["values"][2])


@pytest.mark.parametrize("reader", [read, received])
@pytest.mark.parametrize("num_missing", [1, 5, 11])
def test_a_message_that_breaks_off_is_the_end(reader, num_missing):
    content = pack(MESSAGES[0]) + pack({"half": 1})
    assert reader(content[:-num_missing]) == MESSAGES[:1]


def kinds(root: type[PhotinusError]) -> list[type[PhotinusError]]:
    return [root, *(kind for child in root.__subclasses__() for kind in kinds(child))]


@pytest.mark.parametrize(
    "kind", [kind for kind in kinds(PhotinusError) if kind.__module__ == errors.__name__]
)
def test_every_error_arrives_as_what_it_was(kind):
    arrived = error_from_dict(error_to_dict(kind("why")))
    assert type(arrived) is kind
    assert str(arrived) == "why"


def test_an_unexpected_error_shows_its_kind_and_keeps_its_text():
    arrived = error_from_dict(error_to_dict(KeyError("a secret")))
    assert type(arrived) is ServerError
    assert "KeyError" in str(arrived) and "secret" not in str(arrived)


@pytest.mark.parametrize("kind", ["Exception", "PhotinusErrors", "annotations", "SystemExit"])
def test_nothing_but_errors_of_photinus_is_made_of_a_name(kind):
    assert type(error_from_dict({"kind": kind, "message": "m"})) is ServerError
