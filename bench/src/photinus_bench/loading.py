"""One process of the server benchmark's load: threads that ask, wait and tell until time is up.

Requests are `{"do": "create", "addresses": [...], "studies": {name: algorithm}}`, `{"do": "open", "addresses": [...],
"workers": {name: study}}`, `{"do": "work", "workers": [names], "seconds": s, "pause_s": p, "seed": i}` and
`{"do": "count", "studies": [names]}`. Contestants say how, in `baselines/loading_*.py`.
Standard library only: rivals' environments import this.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from photinus_bench.pipe import answer_requests

ERROR_PAUSE_S = 0.5  # a worker that met an error does not hammer on
SHOWN_CHARACTERS = 300  # of an error's text


class Worker(Protocol):
    """One client of a server, at work on one study."""

    def ask(self) -> Any:
        """A trial."""
        ...

    def tell(self, trial: Any, value: float) -> int:
        """Give the trial its value; its number, once the server has acknowledged it."""
        ...


class Load(Protocol):
    """What a contestant is asked to do."""

    def create(self, addresses: Sequence[str], studies: dict[str, str]) -> None:
        """Make empty studies with their algorithms."""
        ...

    def open(self, addresses: Sequence[str], worker: str, study: str) -> Worker:
        """A worker on a study."""
        ...

    def count(self, study: str) -> int:
        """How many trials of a study have a value."""
        ...


@dataclass
class Notes:
    """What one worker saw: seconds of its calls, what was acknowledged, what went wrong."""

    study: str
    ask_s: list[float] = field(default_factory=list)
    tell_s: list[float] = field(default_factory=list)
    tells: list[tuple[int, float]] = field(default_factory=list)
    num_in_time: int = 0
    errors: Counter[str] = field(default_factory=Counter)


def work(worker: Worker, notes: Notes, deadline: float, pause_s: float, rng: random.Random) -> None:
    """Ask and tell until the deadline; a trial that was asked for is told, also after it."""
    while time.monotonic() < deadline:
        try:
            began = time.monotonic()
            trial = worker.ask()
            asked = time.monotonic()
            notes.ask_s.append(asked - began)
            if pause_s:
                time.sleep(rng.expovariate(1 / pause_s))
            value = rng.random()  # no two are alike, so a stored value shows whose it is
            began = time.monotonic()
            number = worker.tell(trial, value)
            notes.tell_s.append(time.monotonic() - began)
            notes.tells.append((number, value))
            notes.num_in_time += time.monotonic() < deadline
        except Exception as error:
            notes.errors[f"{type(error).__name__}: {error}"[:SHOWN_CHARACTERS]] += 1
            time.sleep(ERROR_PAUSE_S)


def work_together(
    workers: dict[str, tuple[str, Worker]], seconds: float, pause_s: float, seed: int
) -> dict[str, Any]:
    """All workers at once, a thread each; their notes put together."""
    notes = {name: Notes(study) for name, (study, _) in workers.items()}
    deadline = time.monotonic() + seconds
    threads = [
        threading.Thread(
            target=work,
            args=(worker, notes[name], deadline, pause_s, random.Random(f"{seed} {name}")),
            daemon=True,
        )
        for name, (_, worker) in workers.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors: Counter[str] = Counter()
    for note in notes.values():
        errors.update(note.errors)
    return {
        "num_in_time": sum(note.num_in_time for note in notes.values()),
        "ask_s": [seconds for note in notes.values() for seconds in note.ask_s],
        "tell_s": [seconds for note in notes.values() for seconds in note.tell_s],
        "tells": [(note.study, number, value) for note in notes.values() for number, value in note.tells],
        "errors": dict(errors),
    }


def serve(load: Load, packages: tuple[str, ...]) -> None:
    """Be that process until standard input closes."""
    workers: dict[str, tuple[str, Worker]] = {}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "create":
                load.create(request["addresses"], request["studies"])
                return {}
            case "open":
                for name, study in request["workers"].items():
                    workers[name] = (study, load.open(request["addresses"], name, study))
                return {}
            case "count":
                return {"counts": {study: load.count(study) for study in request["studies"]}}
            case _:
                chosen = {name: workers[name] for name in request["workers"]}
                return work_together(chosen, request["seconds"], request["pause_s"], request["seed"])

    answer_requests(answer, packages)
