"""The workers of a load on servers: processes full of threads, and what they saw put together."""

import math
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from types import TracebackType
from typing import Any

from photinus_bench.latency import RESULTS
from photinus_bench.ledger import Tell
from photinus_bench.pipe import Contestant

PATIENCE_S = 300.0  # beyond the time of the work itself: a worker finishes the trial it has


@dataclass
class Outcome:
    """What a load brought."""

    seconds: float = 0.0
    num_in_time: int = 0  # trials told in these seconds; a worker still finishes the one it has
    ask_s: list[float] = field(default_factory=list)
    tell_s: list[float] = field(default_factory=list)
    tells: list[Tell] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    packages: dict[str, str] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Trials asked for and told per second."""
        return self.num_in_time / self.seconds if self.seconds else 0.0

    def add(self, other: "Outcome") -> None:
        """Go on with what happened later."""
        self.seconds += other.seconds
        self.num_in_time += other.num_in_time
        self.ask_s += other.ask_s
        self.tell_s += other.tell_s
        self.tells += other.tells
        self.errors.update(other.errors)
        self.packages |= other.packages

    def forget_times(self) -> None:
        """Keep what was acknowledged and what went wrong, but none of the timings."""
        self.seconds, self.num_in_time, self.ask_s, self.tell_s = 0.0, 0, [], []


class Crew:
    """Processes that make the load of one contestant; ends with the `with` block."""

    def __init__(self, python: Path, module: str, num_processes: int) -> None:
        command = [str(python), "-m", f"photinus_bench.baselines.{module}"]
        self._processes = [
            Contestant(command, RESULTS / f"{module}-{number}.log") for number in range(num_processes)
        ]
        self._workers: dict[str, list[list[str]]] = {}  # by load and process

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.stop()

    def create(self, load: str, addresses: Sequence[str], studies: dict[str, str], num_workers: int) -> None:
        """Make studies, and workers that are spread over them and over the processes."""
        where = {"addresses": list(addresses)}
        self._processes[0].ask({"do": "create", "studies": studies, **where}, PATIENCE_S)
        placed = [
            (f"{load}-w{number}", study) for number, study in enumerate(islice(cycle(studies), num_workers))
        ]
        shares = [placed[number :: len(self._processes)] for number in range(len(self._processes))]
        requests = [{"do": "open", "workers": dict(share), **where} for share in shares]
        self._ask_all(requests, PATIENCE_S)
        self._workers[load] = [[name for name, _ in share] for share in shares]

    def work(self, load: str, seconds: float, pause_s: float, seed: int) -> Outcome:
        """Have all workers of a load ask and tell for a while."""
        requests = [
            {"do": "work", "workers": names, "seconds": seconds, "pause_s": pause_s, "seed": seed}
            for names in self._workers[load]
        ]
        outcome = Outcome(seconds=seconds)
        for answer in self._ask_all(requests, seconds + PATIENCE_S):
            outcome.num_in_time += answer["num_in_time"]
            outcome.ask_s += answer["ask_s"]
            outcome.tell_s += answer["tell_s"]
            outcome.tells += [(study, number, value) for study, number, value in answer["tells"]]
            outcome.errors.update(answer["errors"])
            outcome.packages |= answer["packages"]
        return outcome

    def count(self, studies: Sequence[str]) -> int:
        """How many trials with values the server shows in the end."""
        answer = self._processes[0].ask({"do": "count", "studies": list(studies)}, PATIENCE_S)
        return sum(answer["counts"].values())

    def _ask_all(self, requests: Sequence[dict[str, Any]], limit_s: float) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(len(self._processes)) as pool:
            return list(
                pool.map(lambda process, request: process.ask(request, limit_s), self._processes, requests)
            )


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent are not above; NaN of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]
