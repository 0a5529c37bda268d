"""Asks in line: the order within a study, the turns of several, what is merged and what is refused."""

import asyncio
from collections.abc import Iterator

import pytest

from photinus.backend import AskRequest
from photinus.errors import TooManyRequests
from photinus.service.suggesting_queue import AskQueue, PendingAsk


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def make(loop):
    def make(study_id: int, count: int = 1, key: str | None = None) -> PendingAsk:
        return PendingAsk(study_id, AskRequest(count, key=key), loop.create_future())

    return make


def queue(max_waiting: int = 100, max_waiting_per_study: int = 50, max_trials: int = 8) -> AskQueue:
    return AskQueue(
        max_waiting=max_waiting, max_waiting_per_study=max_waiting_per_study, max_trials=max_trials
    )


def test_what_waits_for_one_study_goes_together_in_order(make):
    line, asks = queue(), [make(1), make(2), make(1), make(1)]
    for ask in asks:
        line.add(ask)
    assert line.next_batch() == [asks[0], asks[2], asks[3]]
    assert line.next_batch() == [asks[1]]
    assert line.next_batch() == []


def test_a_study_has_one_batch_at_a_time(make):
    line, first, second, third = queue(), make(1), make(1), make(1)
    line.add(first)
    assert line.next_batch() == [first]
    line.add(second)
    line.add(third)
    assert line.next_batch() == []
    line.finish(1)
    assert line.next_batch() == [second, third]


def test_a_busy_study_comes_after_those_that_wait(make):
    line = queue()
    asks = {study: make(study) for study in (1, 2, 3)}
    line.add(asks[1])
    line.next_batch()
    again = make(1)
    for ask in (again, asks[2], asks[3]):
        line.add(ask)
    line.finish(1)
    assert [line.next_batch() for _ in range(3)] == [[asks[2]], [asks[3]], [again]]


def test_a_batch_ends_where_it_would_get_too_large(make):
    line, asks = queue(max_trials=8), [make(1, count) for count in (5, 3, 1, 20, 1)]
    for ask in asks:
        line.add(ask)
    batches = []
    while batch := line.next_batch():
        batches.append([ask.request.count for ask in batch])
        line.finish(1)
    assert batches == [[5, 3], [1], [20], [1]]


def test_a_repeated_request_comes_after_the_first(make):
    line, asks = queue(), [make(1, key=key) for key in ("a", "b", "a", "c", None, None)]
    for ask in asks:
        line.add(ask)
    assert line.next_batch() == asks[:2]
    line.finish(1)
    assert line.next_batch() == asks[2:]


def test_a_full_queue_refuses_and_stays_as_it_is(make):
    line = queue(max_waiting=3, max_waiting_per_study=2)
    kept = [make(1), make(1), make(2)]
    for ask in kept[:2]:
        line.add(ask)
    with pytest.raises(TooManyRequests, match="2 of them for this study"):
        line.add(make(1))
    line.add(kept[2])
    with pytest.raises(TooManyRequests, match="3 asks wait"):
        line.add(make(3))
    assert len(line) == 3
    assert line.next_batch() == kept[:2]
    line.add(make(3))  # there is room again
    assert len(line) == 2


def test_an_ask_can_be_taken_out_while_it_waits(make):
    line, asks = queue(), [make(1), make(2), make(2)]
    for ask in asks:
        line.add(ask)
    line.remove(asks[0])
    line.remove(asks[0])
    assert len(line) == 2
    assert line.next_batch() == asks[1:]
    line.remove(asks[1])  # under way: too late
    line.finish(2)
    assert len(line) == 0
    assert line.next_batch() == []


def test_the_last_ask_of_a_busy_study_can_be_taken_out(make):
    line, first, second, third = queue(), make(1), make(1), make(1)
    line.add(first)
    line.next_batch()
    line.add(second)
    line.remove(second)
    line.add(third)
    line.finish(1)
    assert line.next_batch() == [third]


def test_draining_leaves_what_is_under_way(make):
    line, asks = queue(), [make(1), make(1), make(2)]
    line.add(asks[0])
    line.next_batch()
    line.add(asks[1])
    line.add(asks[2])
    assert line.drain() == asks[1:]
    assert len(line) == 0
    line.finish(1)
    assert line.next_batch() == []
