"""What an ask and a tell cost, counted rather than timed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest
import sqlalchemy as sa

import photinus as ph
from photinus.storage.sql import SqlStorage, reading, store
from photinus.testing.storage import DONE, create, draw
from photinus.trial import Trial


@dataclass
class Counted:
    statements: list[str] = field(default_factory=list)
    num_commits: int = 0


@contextmanager
def counting(storage: SqlStorage) -> Iterator[Counted]:
    counted, engine = Counted(), storage._database._engine

    def execute(connection, cursor, statement, *rest):
        counted.statements.append(statement)

    def commit(connection):
        counted.num_commits += 1

    sa.event.listen(engine, "before_cursor_execute", execute)
    sa.event.listen(engine, "commit", commit)
    try:
        yield counted
    finally:
        sa.event.remove(engine, "before_cursor_execute", execute)
        sa.event.remove(engine, "commit", commit)


@pytest.fixture
def study(address):
    storage = SqlStorage(address)
    study = ph.create_study({"x": ph.Float(0, 1)}, storage=storage, algorithm="random", seed=1)
    study.tell(study.ask()[0], 1.0)  # the first ask of a process looks at the study
    return storage, study


def test_an_ask_and_a_tell_are_a_transaction_of_three_statements_each(study):
    storage, study = study
    with counting(storage) as counted:
        [trial] = study.ask()
    assert (len(counted.statements), counted.num_commits) == (3, 1)
    with counting(storage) as counted:
        study.tell(trial, 1.0)
    assert (len(counted.statements), counted.num_commits) == (3, 1)


def test_a_report_does_not_touch_earlier_reports(study):
    storage, study = study
    [trial] = study.ask()
    for step in range(5):
        with counting(storage) as counted:
            trial.report(1.0, step)
        assert (len(counted.statements), counted.num_commits) == (4, 1)
        assert not any("SELECT" in text and "photinus_reports" in text for text in counted.statements)


def test_a_longer_study_costs_no_more_statements_and_reads_no_more_trials(study, monkeypatch):
    storage, study = study
    read: list[Trial] = []
    real = reading.read_trials

    def counted_read(*args, **settings):
        trials = real(*args, **settings)
        read.extend(trials)
        return trials

    monkeypatch.setattr(reading, "read_trials", counted_read)
    costs = []
    record, [first] = storage.get_study(1), storage.get_trials(1)
    for length in (10, 300):
        trials = [replace(first, number=number, updated_event=number + 100) for number in range(length)]
        grown = storage.restore_study(replace(record, name=f"of {length}"), trials)
        longer = ph.load_study(grown.name, storage=storage)
        longer.tell(longer.ask()[0], 1.0)
        read.clear()
        with counting(storage) as counted:
            longer.tell(longer.ask()[0], 1.0)
        costs.append((len(counted.statements), len(read)))
    assert costs == [(6, 1), (6, 1)]


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (reading.CHANGED_TRIALS, "photinus_trials_changed"),
        (reading.CLAIMABLE, "photinus_trials_open"),
        (store._COUNTS, "photinus_trials_open"),
        (reading.ONE_TRIAL, "sqlite_autoindex_photinus_trials_1"),
        (reading.ALL_TRIALS, "sqlite_autoindex_photinus_trials_1"),
        (reading.REPORTS, "PRIMARY KEY"),
    ],
)
def test_what_grows_is_searched_by_index(tmp_path, statement, index):
    storage = SqlStorage(str(tmp_path / "s.db"))
    study_id = create(storage).id
    for trial in draw(storage, study_id, 50)[:45]:
        storage.tell(study_id, trial.number, DONE)
    arguments = {name: 1 for name in statement.compile(dialect=storage._database._engine.dialect).params}

    def explain(connection):
        compiled = statement.compile(dialect=connection.dialect)
        text = "EXPLAIN QUERY PLAN " + str(compiled)
        values = tuple(arguments[name] for name in compiled.positiontup)
        return [row[-1] for row in connection.exec_driver_sql(text, values).all()]

    plan = storage._database.read(explain)
    searched = [line for line in plan if "photinus_trials" in line or "photinus_reports" in line]
    assert searched
    assert all("SCAN photinus" not in line for line in plan), plan
    assert all(index in line for line in searched), plan
