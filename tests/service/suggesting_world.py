"""A store in a file, studies in it, and a suggestion service with a real engine process."""

import asyncio
import contextlib
import itertools
import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

import photinus as ph
from photinus.problem import Problem
from photinus.record import NewTrial, StudyRecord
from photinus.service.suggesting import SuggestionService
from photinus.storage import Storage
from photinus.storage.sql import SqlStorage
from photinus.storage.sql.models import studies
from photinus.trial import Measurement

LIMIT_S = 120.0  # of every wait: far more than anything takes
LINE = Problem.define({"x": ph.Float(0, 1)}, "minimize")
LARGE = Problem.define({f"x{i}": ph.Float(0, 1) for i in range(12)}, "minimize")

Result = TypeVar("Result")


class World:
    """What a test needs to make things happen."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "store.db"
        self.storage = SqlStorage(str(self.path))
        self._numbers = itertools.count()

    def study(self, algorithm: str = "default", problem: Problem = LINE) -> StudyRecord:
        name = f"study {next(self._numbers)}"
        return self.storage.create_study(
            project="default", name=name, problem=problem, algorithm=algorithm, seed=1
        )

    def measured_study(self, *values: float) -> StudyRecord:
        study = self.study()
        for index, value in enumerate(values):
            self.storage.add_trial(
                study.id, {"x": (index + 0.5) / len(values)}, Measurement.completed({"value": value})
            )
        return study

    def slow_study(self) -> StudyRecord:
        """So many trials, and so many dimensions, that a suggestion takes long."""
        study = self.study(problem=LARGE)
        points = [
            {name: ((index + 1) * (i + 3) * 0.6180339887) % 1.0 for i, name in enumerate(LARGE.space)}
            for index in range(400)
        ]
        outcomes = [Measurement.completed({"value": sum(x**2 for x in point.values())}) for point in points]
        self.storage.add_trials(study.id, [NewTrial(*pair) for pair in zip(points, outcomes, strict=True)])
        return study

    @contextlib.asynccontextmanager
    async def serving(self, **settings: Any) -> AsyncIterator[SuggestionService]:
        service = SuggestionService(self.storage, address=str(self.path), **settings)
        await service.start()
        try:
            yield service
        finally:
            resume(service)  # a test that failed may have left it frozen
            await service.close(grace_s=0.0)

    def lock_owner(self, study_id: int) -> str | None:
        """Who may suggest for a study; a lock that was given back has no owner, one that ran out still has."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            statement = f"SELECT lock_owner FROM {studies.name} WHERE id = ?"
            return connection.execute(statement, (study_id,)).fetchone()[0]


class Hall(World):
    """A world with one service for several tests, in an event loop that goes on from test to test."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._runner = asyncio.Runner()
        self.service = SuggestionService(self.storage, address=str(self.path))

    def __enter__(self) -> "Hall":
        self._runner.run(self.service.start())
        return self

    def __exit__(self, *error: object) -> None:
        resume(self.service)
        self._runner.run(self.service.close(grace_s=0.0))
        self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        try:
            return self._runner.run(limited(coroutine))
        finally:
            resume(self.service)


async def limited(coroutine: Coroutine[Any, Any, Result]) -> Result:
    return await asyncio.wait_for(coroutine, 2 * LIMIT_S)


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(limited(coroutine))


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something to become true."""
    for _ in range(int(LIMIT_S / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"after {LIMIT_S:g} s it is still not so that {what}")


def pid(service: SuggestionService) -> int:
    found = service._link.pid
    assert found is not None
    return found


def freeze(service: SuggestionService) -> None:
    """Hold the engine process where it is: a suggestion that takes as long as the test wants."""
    os.kill(pid(service), signal.SIGSTOP)


def resume(service: SuggestionService) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid(service), signal.SIGCONT)


def kill(service: SuggestionService) -> None:
    os.kill(pid(service), signal.SIGKILL)


def is_running(process: int) -> bool:
    """Whether there is such a process that is not just waiting to be forgotten."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


def states(storage: Storage, study_id: int) -> list[str]:
    return [trial.state.value for trial in storage.get_trials(study_id)]
