"""What a worker in a storm does: ask, report, tell, and a line in its diary for every answer of the store.

A line is on disk before the worker goes on, so it knows of everything that the store acknowledged, except for what was
acknowledged in the very moment of a kill. Handing back is announced: it is the one thing that ends a lease early.
"""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import photinus as ph
from photinus.reporting import BoundTrial

STUDY = "storm"
SPACE = {"x": ph.Float(0, 1), "c": ph.Categorical(["a", "b"])}
LEASE_S = 0.5
SLOW = 0.01  # of the trials are held for longer than their lease
EXTENDED, RELEASED, ENQUEUED = 0.1, 0.03, 0.03


class Diary:
    """Lines of JSON, each on disk when `write` returns."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, did: str, worker: str, number: int, **details: Any) -> None:
        line = {"did": did, "worker": worker, "number": number, **details}
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fsync(self._file)


def read_diary(path: Path) -> Iterator[dict[str, Any]]:
    """Its lines; the last one may have been cut off by the kill."""
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)


def work(
    address: str,
    name: str,
    diary: Diary,
    rng: random.Random,
    may_go_on: Callable[[], bool],
    slow: float = SLOW,
) -> None:
    """Open the store and work on its study until `may_go_on` says no."""
    work_on(ph.load_study(STUDY, storage=address), name, diary, rng, may_go_on, slow)


def work_on(
    study: ph.Study,
    name: str,
    diary: Diary,
    rng: random.Random,
    may_go_on: Callable[[], bool],
    slow: float = SLOW,
) -> None:
    """Until `may_go_on` says no."""
    while may_go_on():
        if rng.random() < ENQUEUED:
            queued = study.enqueue({"x": rng.random(), "c": "a"})
            diary.write("enqueue", name, queued.number, x=queued.params["x"])
        [trial] = study.ask(worker=name, lease=LEASE_S)
        if trial.state.is_finished:
            # The first answer was lost, and until the second somebody who had the trial before has told it.
            diary.write("late", name, trial.number, event=trial.updated_event)
            continue
        diary.write(
            "ask",
            name,
            trial.number,
            event=trial.updated_event,
            started_at=str(trial.started_at),
            lease_expires_at=str(trial.lease_expires_at),
        )
        try:
            _finish(study, trial, name, diary, rng, slow)
        except (ph.errors.AlreadyTold, ph.errors.InvalidState):
            diary.write("lose", name, trial.number)  # to a worker that got it when the lease was over


def _finish(
    study: ph.Study, trial: BoundTrial, name: str, diary: Diary, rng: random.Random, slow: float
) -> None:
    for step in range(rng.randrange(3)):
        trial.report(rng.random(), step)
    if rng.random() < slow:
        time.sleep(1.2 * LEASE_S)
    if rng.random() < EXTENDED:
        held = study.extend_lease(trial, LEASE_S)
        diary.write(
            "extend",
            name,
            trial.number,
            event=held.updated_event,
            lease_expires_at=str(held.lease_expires_at),
        )
    if rng.random() < RELEASED:
        diary.write("release", name, trial.number)
        study.release(trial)
        return
    value = rng.random()  # no two measurements are alike, so a result shows whose it is
    told = study.tell(trial, value, worker=name)
    diary.write("tell", name, trial.number, event=told.completed_event, value=value)
