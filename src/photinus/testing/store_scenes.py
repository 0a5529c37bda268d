"""A clock to set by hand, and what the contracts of stores begin with."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from photinus.problem import Problem
from photinus.record import StudyRecord
from photinus.space import Categorical, Float
from photinus.storage import Storage
from photinus.trial import Measurement, Suggestion, Trial

PROBLEM = Problem.define({"x": Float(0, 1), "flag": Categorical([False, True])}, {"loss": "minimize"})
DONE = Measurement.completed({"loss": 1.0})


class ManualClock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """What time it is."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


MakeStorage = Callable[[ManualClock], Storage]


def create(storage: Storage, name: str = "s", project: str = "default", **changes: object) -> StudyRecord:
    """A study of the contract's problem."""
    settings = {"problem": PROBLEM, "algorithm": "random", "seed": 7, **changes}
    return storage.create_study(project=project, name=name, **settings)  # pyright: ignore[reportArgumentType]


def suggest(
    storage: Storage, study_id: int, count: int = 1, worker: str | None = None, lease_s: float | None = None
) -> list[Trial]:
    """New trials, the way a back end stores them."""
    assert storage.acquire_suggest_lock(study_id, "contract", 60)
    suggestions = [Suggestion({"x": 0.5, "flag": True}, {"why": index}) for index in range(count)]
    return storage.add_suggestions(
        study_id,
        suggestions,
        lock_owner="contract",
        algorithm="random",
        engine_version="1",
        worker=worker,
        lease_s=lease_s,
    )


def claim(storage: Storage, study_id: int, count: int, **settings: Any) -> list[Trial]:
    """Trials of a claim that leaves the suggest lock alone."""
    return storage.claim_trials(study_id, count, **settings).trials


def draw(storage: Storage, study_id: int, count: int, **settings: Any) -> list[Trial]:
    """Trials of an algorithm that looks at numbers alone: the number is the reason."""

    def points(first: int, num_new: int) -> list[Suggestion]:
        return [Suggestion({"x": 0.5, "flag": True}, {"number": first + i}) for i in range(num_new)]

    return storage.claim_or_draw(study_id, count, points, algorithm="random", engine_version="1", **settings)


def busy(storage: Storage, study_id: int) -> None:
    """Trials in every state, with reports and amendments."""
    suggest(storage, study_id, 6, worker="w", lease_s=60)
    for step, value in enumerate((1.0, float("inf"), 0.1 + 0.2)):
        storage.report(study_id, 0, {"loss": value}, step)
    storage.tell(study_id, 0, DONE)
    storage.amend(study_id, 0, {"loss": -0.0})
    storage.amend(study_id, 0, {"loss": 5e-324})
    storage.tell(study_id, 1, Measurement.infeasible("no"))
    storage.tell(study_id, 2, Measurement.failed("lost"))
    storage.request_stop(study_id, 3)
    storage.release(study_id, 4, worker="w")
    storage.enqueue(study_id, {"x": 0.1, "flag": False}, metadata={"from": "me"})
    storage.report(study_id, 5, {"loss": 1e300}, 0)


def run_threads(work: Callable[[], None], count: int) -> None:
    """Run `work` in several threads at once and pass on the first error."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run() -> None:
        try:
            barrier.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
