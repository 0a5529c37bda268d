"""What an ask and a tell cost, counted rather than timed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

import photinus as ph
from photinus.record import NewTrial
from photinus.storage.sql import SqlStorage, models, progress, reading, study_rows
from photinus.testing.storage import DONE, create, draw
from photinus.trial import Suggestion, Trial, TrialState


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


def test_a_key_costs_one_look_more(study):
    storage, study = study
    with counting(storage) as counted:
        [trial] = storage.claim_or_draw(
            1,
            1,
            lambda first, count: [Suggestion({"x": 0.5})],
            algorithm="random",
            engine_version="1",
            key="k",
        )
    assert (len(counted.statements), counted.num_commits) == (4, 1)
    with counting(storage) as counted:
        study.tell(trial, 1.0)
    assert (len(counted.statements), counted.num_commits) == (3, 1)


def test_what_was_asked_for_without_a_key_is_in_no_index_of_keys(study):
    storage, study = study
    for trial in study.ask(20):
        study.tell(trial, 1.0)
    conditions = ("added_key IS NOT NULL", "request_key IS NOT NULL", str(models.UNMEASURED))
    indexed = [index for index in models.trials.indexes if str(condition_of(index)) in conditions]
    assert len(indexed) == len(conditions)
    for condition in conditions:
        rows = storage._database.read(
            lambda c, condition=condition: c.exec_driver_sql(
                f"SELECT count(*) FROM photinus_trials WHERE {condition}"
            ).scalar_one()
        )
        assert rows == 0


def condition_of(index: sa.Index) -> object:
    return index.dialect_options["sqlite"]["where"]


@pytest.mark.parametrize("num_trials", [2, 200])
def test_many_trials_are_added_and_told_in_a_transaction_of_a_few_statements(study, num_trials):
    storage, study = study
    with counting(storage) as counted:
        added = study.add_trials([{"params": {"x": 0.5}} for _ in range(num_trials)])
    assert (len(counted.statements), counted.num_commits) == (2, 1)
    study.ask(num_trials)
    with counting(storage) as counted:
        study.tell_all([(trial, 1.0) for trial in added])
    assert (len(counted.statements), counted.num_commits) == (3, 1)


def test_progress_of_many_studies_costs_no_more_statements_and_reads_no_trial(address, monkeypatch):
    storage = SqlStorage(address)
    monkeypatch.setattr(reading, "read_trials", None)
    costs = []
    for name in ("first", "second", "third"):
        study_id = create(storage, name).id
        storage.add_trials(study_id, [NewTrial({"x": 0.5, "flag": True}, DONE)] * 3)
        with counting(storage) as counted:
            progress = storage.progress()
        costs.append(len(counted.statements))
        assert [entry.counts[TrialState.COMPLETED] for entry in progress] == [3] * len(progress)
    assert len(set(costs)) == 1
    assert costs[0] <= 5


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


PROGRESS = progress.statements("default", [1], datetime(2030, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (reading.CHANGED_TRIALS, "photinus_trials_changed"),
        (reading.CLAIMABLE, "photinus_trials_open"),
        (reading.BY_ADDING, "photinus_trials_by_adding"),
        (reading.BY_REQUEST, "photinus_trials_by_request"),
        (study_rows.COUNTS, "photinus_trials_open"),
        (study_rows.BY_CREATOR, "photinus_studies_by_creator"),
        (reading.ONE_TRIAL, "sqlite_autoindex_photinus_trials_1"),
        (reading.ALL_TRIALS, "sqlite_autoindex_photinus_trials_1"),
        (reading.page(None, None, 5, 10, True), "sqlite_autoindex_photinus_trials_1"),
        (reading.page({TrialState.QUEUED}, None, 5, 10, False), "photinus_trials_open"),
        (reading.REPORTS, "PRIMARY KEY"),
        (PROGRESS["studies"], "photinus_trials_changed"),
        (PROGRESS["open"], "photinus_trials_open"),
        (PROGRESS["unmeasured"], "photinus_trials_unmeasured"),
        (PROGRESS["workers"], "photinus_trials_open"),
    ],
)
def test_what_grows_is_searched_by_index(tmp_path, statement, index):
    storage = SqlStorage(str(tmp_path / "s.db"))
    study_id = create(storage).id
    for trial in draw(storage, study_id, 50)[:45]:
        storage.tell(study_id, trial.number, DONE)

    plan: list[str] = []

    def explain(connection, cursor, text, values, *rest):
        rows = connection.connection.dbapi_connection.execute("EXPLAIN QUERY PLAN " + text, values)
        plan.extend(row[-1] for row in rows)

    engine = storage._database._engine
    given = statement.compile(dialect=engine.dialect).params
    now = datetime(2030, 1, 1, tzinfo=UTC)
    arguments = {name: now if name == "now" else 1 for name, value in given.items() if value is None}
    sa.event.listen(engine, "before_cursor_execute", explain)
    storage._database.read(lambda connection: connection.execute(statement, arguments).all())
    words = [word for word in ("photinus_trials", "photinus_reports", index) if any(word in s for s in plan)]
    searched = [line for line in plan if any(word in line for word in words)]
    assert searched
    assert all("SCAN photinus_trials" not in line or index in line for line in plan), plan
    assert all(index in line for line in searched), plan
