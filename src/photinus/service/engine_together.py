"""Suggestions of several studies in one call of the engine, made for a GPU: it does many as quickly as one."""

import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from photinus.engine import designers
from photinus.problem import Problem
from photinus.trial import Suggestion, Trial

MODEL_FREE = ("random", "quasi_random")


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """What one thread wants."""

    problem: Problem
    trials: Sequence[Trial]
    count: int
    seed: int
    algorithm: str
    result: "Future[list[Suggestion]]" = field(default_factory=Future)


class Together:
    """`designers.suggest` for threads that may share calls: what waits when the device gets free goes together."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._turn = threading.Lock()  # held by the thread that computes for all
        self._mutex = threading.Lock()
        self._waiting: list[_Call] = []
        self.num_calls = 0  # of the engine
        self.num_suggested = 0  # studies in all these calls

    @property
    def num_waiting(self) -> int:
        """Threads whose wish nobody has begun with."""
        return len(self._waiting)

    def suggest(
        self, problem: Problem, trials: Sequence[Trial], count: int, seed: int, *, algorithm: str
    ) -> list[Suggestion]:
        """See `designers.suggest`."""
        if algorithm in MODEL_FREE:
            return designers.suggest(problem, trials, count, seed, algorithm=algorithm)
        call = _Call(problem, trials, count, seed, algorithm)
        with self._mutex:
            self._waiting.append(call)
        with self._turn:
            if not call.result.done():  # else whoever had the turn before has done this one too
                with self._mutex:
                    calls, self._waiting = self._waiting, []
                self._suggest_all(calls)
        return call.result.result()

    def _suggest_all(self, calls: Sequence[_Call]) -> None:
        """One call of the engine for each algorithm; it sorts studies by shape itself."""
        groups: dict[str, list[_Call]] = defaultdict(list)
        for call in calls:
            groups[call.algorithm].append(call)
        for algorithm, group in groups.items():
            try:
                self._suggest_alike(algorithm, group)
            except Exception:
                # One of them is to blame, and the others shall not suffer for it.
                for call in group:
                    try:
                        self._suggest_alike(algorithm, [call])
                    except Exception as error:
                        call.result.set_exception(error)

    def _suggest_alike(self, algorithm: str, calls: Sequence[_Call]) -> None:
        from photinus.engine import many
        from photinus.engine.designers import constants

        self.num_calls += 1
        self.num_suggested += len(calls)
        results = many.suggest_many(
            [(call.problem, call.trials, call.seed) for call in calls],
            [call.count for call in calls],
            preset=constants.preset(algorithm),
            device=self._device,
        )
        for call, suggestions in zip(calls, results, strict=True):
            call.result.set_result(suggestions)
