"""One worker of the store benchmark: opens a study, asks and tells. Contestants say how, in `baselines/storing_*.py`.

Requests are `{"do": "create", "address": a, "study": s}`, `{"do": "open", ...}` and `{"do": "work", "num_trials": n}`.
Standard library and SQLAlchemy only: rivals' environments import this.
"""

import time
from collections.abc import Callable
from typing import Any, Protocol

from sqlalchemy import event
from sqlalchemy.pool import Pool

from photinus_bench.pipe import answer_requests

SQLITE_SETTINGS = {"journal_mode": "PRAGMA journal_mode", "synchronous": "PRAGMA synchronous"}
POSTGRESQL_SETTINGS = {"synchronous_commit": "SHOW synchronous_commit", "fsync": "SHOW fsync"}
WARM_UP = 3  # trials of each worker before it is timed: a process compiles its statements once
BUSY_TIMEOUT_S = 60.0  # how long a writer waits for the others on SQLite

# What everyone tunes: two plain numbers, one on a log scale, a whole one, and a choice.
FLOATS = {"momentum": (0.0, 1.0), "dropout": (0.0, 0.8)}
LOG_FLOATS = {"lr": (1e-5, 1e-1)}
INTEGERS = {"layers": (1, 8)}
CHOICES = {"optimizer": ("adam", "sgd", "rmsprop")}


class Store(Protocol):
    """What a contestant is asked to do."""

    def create(self, address: str, study: str) -> None:
        """Make the store, if there is none, and an empty study in it."""
        ...

    def open(self, address: str, study: str) -> None:
        """Open the study."""
        ...

    def work(self, num_trials: int) -> None:
        """Ask for one trial and tell its value, so many times, on the study that was opened last."""
        ...


def serve(store: Store, packages: tuple[str, ...]) -> None:
    """Be that worker until standard input closes."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "create":
                store.create(request["address"], request["study"])
                return {}
            case "open":
                store.open(request["address"], request["study"])
                return {"durability": durability_of(lambda: store.work(WARM_UP))}
            case _:
                began = time.monotonic()  # the same clock in all processes
                store.work(request["num_trials"])
                return {"began": began, "ended": time.monotonic()}

    answer_requests(answer, packages)


def durability_of(work: Callable[[], object]) -> dict[str, str]:
    """What the connections that some work uses are really set to."""
    found: dict[str, str] = {}

    def read(connection: Any, record: object) -> None:
        if connection is None or found:
            return
        is_sqlite = type(connection).__module__.startswith("sqlite3")
        for name, statement in (SQLITE_SETTINGS if is_sqlite else POSTGRESQL_SETTINGS).items():
            found[name] = str(connection.execute(statement).fetchone()[0])
        connection.rollback()

    event.listen(Pool, "checkin", read)
    try:
        work()
    finally:
        event.remove(Pool, "checkin", read)
    return found
