"""How PostgreSQL looks for a few trials of many once its plans are made."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, text

from photinus.storage.sql import SqlStorage, reading
from photinus.testing.storage import DONE, create, draw

NUM_CHANGES = 20  # the driver prepares a statement, and then the server settles on a plan


def tell_some(storage: SqlStorage, study_id: int) -> None:
    for _ in range(NUM_CHANGES):
        [trial] = draw(storage, study_id, 1)
        storage.tell(study_id, trial.number, DONE)


def ask_by_key(storage: SqlStorage, study_id: int) -> None:
    for number in range(NUM_CHANGES):
        draw(storage, study_id, 1, key=f"k{number}")


def add_by_key(storage: SqlStorage, study_id: int) -> None:
    for number in range(NUM_CHANGES):
        storage.add_trial(study_id, {"x": 0.5, "flag": True}, DONE, key=f"k{number}")


@pytest.mark.parametrize(
    ("change", "argument", "index"),
    [
        (tell_some, 2000, "photinus_trials_pkey"),
        (ask_by_key, "'k'", "photinus_trials_by_request"),
        (add_by_key, "'k'", "photinus_trials_by_adding"),
    ],
)
def test_a_trial_of_a_long_study_is_found_by_its_number_or_key(
    postgresql: str, change: Callable[[SqlStorage, int], None], argument: Any, index: str
):
    """Also on a connection that made its plans while the study was short, when any index would do."""
    storage = SqlStorage(postgresql)
    short = create(storage)
    storage.add_trial(short.id, {"x": 0.5, "flag": True}, DONE)
    change(storage, short.id)
    first = storage.get_trial(short.id, 0)
    trials = [
        replace(first, number=number, updated_event=number + 1) for number in range(2 * reading.LONG_STUDY)
    ]
    long = storage.restore_study(replace(short, name="long"), trials)
    change(storage, long.id)

    def plans(connection: Connection) -> list[str]:
        prepared = connection.execute(text("SELECT name, statement FROM pg_prepared_statements")).all()
        [name] = [name for name, words in prepared if "SELECT" in words and reading.LONG_WORDS in words]
        return list(connection.exec_driver_sql(f'EXPLAIN EXECUTE "{name}" ({long.id}, {argument})').scalars())

    plan = "\n".join(storage._database.write(plans))
    assert index in plan, plan
