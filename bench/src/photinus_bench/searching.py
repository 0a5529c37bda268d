"""One ask/tell protocol for everyone who searches. Rivals say how they do it, in `baselines/searching_*.py`.

Requests, as JSON lines (see `pipe`), and what is answered:

    {"do": "start", "problem": ..., "seed": ..., "first": ..., "batch_size": ..., "num_trials": ...}    {}
    {"do": "ask", "count": n}                          {"points": [...], "seconds": s}
    {"do": "tell", "points": [...], "values": [...]}   {}
    {"do": "bring", "points": [...], "values": [...]}  {}

`problem` is the stored form of a `photinus.Problem`. `first` is a point that everyone begins with, or null: it is the
first point of the first answer, and the rival knows it as a trial that its user brought along. An answer holds fewer
points than asked for where a rival wants results before it goes on, but never none. `values` are dictionaries by
objective, null where the point is infeasible. `bring` is for trials of before the search, right after its start.
`seconds` are what the points cost, with what the rival did when it was last told: some fit their model then. A rival
that cannot search a problem answers `{"unsupported": "..."}` to `start`.
Standard library only: rivals' environments import this.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from photinus_bench.pipe import answer_requests

Params = dict[str, Any]
Values = dict[str, float]
Handle = TypeVar("Handle")


class Unsupported(Exception):
    """The rival has no way to search this problem; why."""


@dataclass(frozen=True)
class Start:
    """What a rival is told before it begins."""

    problem: dict[str, Any]
    seed: int
    batch_size: int  # points that are asked for at a time
    num_trials: int  # in all: rivals that plan ahead may know it


class Rival(Protocol[Handle]):
    """A search under way. Handles are whatever a rival needs to recognise a point when its values come."""

    def attach(self, params: Params) -> Handle:
        """Take note of a point that the user chose and that is being measured."""
        ...

    def ask(self, count: int) -> list[tuple[Handle, Params]]:
        """New points, all to be measured at the same time, beside those that were not told yet."""
        ...

    def tell(self, results: list[tuple[Handle, Params, Values | None]]) -> None:
        """Values of points that were attached or asked for, in the order of measuring; None: infeasible."""
        ...


def serve(begin: Callable[[Start], Rival[Any]], packages: tuple[str, ...]) -> None:
    """Be a rival until standard input closes; one search at a time."""
    answer_requests(Desk(begin).answer, packages)


class Desk(Generic[Handle]):
    """Turns messages into calls of a rival, and remembers which points are out."""

    def __init__(self, begin: Callable[[Start], Rival[Handle]]) -> None:
        self._begin = begin
        self._rival: Rival[Handle] | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        match request.pop("do"):
            case "start":
                return self._start(**request)
            case "ask":
                return self._ask(**request)
            case "tell":
                return self._tell(**request)
            case "bring":
                return self._bring(**request)
            case other:
                raise ValueError(f"`do` must be start, ask, tell or bring, got {other!r}")

    def _start(self, first: Params | None, **rest: Any) -> dict[str, Any]:
        self._rival = None
        self._first = first
        self._waiting: list[tuple[str, Handle]] = []
        self._seconds = 0.0
        try:
            self._rival = self._begin(Start(**rest))
        except Unsupported as reason:
            return {"unsupported": str(reason)}
        return {}

    def _ask(self, count: int) -> dict[str, Any]:
        rival = self._started()
        began = time.perf_counter()
        points: list[tuple[Handle, Params]] = []
        if self._first is not None:
            points.append((rival.attach(self._first), self._first))
            self._first = None
        if count > len(points):
            points += rival.ask(count - len(points))
        if not points:
            raise RuntimeError("no point was suggested")
        seconds = self._seconds + time.perf_counter() - began
        self._seconds = 0.0
        self._waiting += [(_key(params), handle) for handle, params in points]
        return {"points": [params for _, params in points], "seconds": seconds}

    def _tell(self, points: Sequence[Params], values: Sequence[Values | None]) -> dict[str, Any]:
        rival = self._started()
        results = [(self._claim(p), p, v) for p, v in zip(points, values, strict=True)]
        began = time.perf_counter()
        rival.tell(results)
        self._seconds += time.perf_counter() - began
        return {}

    def _bring(self, points: Sequence[Params], values: Sequence[Values | None]) -> dict[str, Any]:
        rival = self._started()
        for params, outcome in zip(points, values, strict=True):
            rival.tell([(rival.attach(params), params, outcome)])
        return {}

    def _started(self) -> Rival[Handle]:
        if self._rival is None:
            raise RuntimeError("no search was started")
        return self._rival

    def _claim(self, params: Params) -> Handle:
        """Handle of a point that is out; of equal ones, the oldest."""
        key = _key(params)
        for position, (waiting, handle) in enumerate(self._waiting):
            if waiting == key:
                del self._waiting[position]
                return handle
        raise ValueError(f"only points that were asked for can be told, got {params}")


def _key(params: Params) -> str:
    """A text: True equals 1 in Python, but they are different choices."""
    return json.dumps(params, sort_keys=True)
