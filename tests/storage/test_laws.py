"""Laws: what is written is read back equal, and all stores do the same with the same history."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from photinus.arguments import MAX_COUNT
from photinus.errors import PhotinusError
from photinus.problem import Problem
from photinus.record import NewTrial, StudyProgress, StudyRecord, StudyState
from photinus.storage import MemoryStorage, Storage
from photinus.storage.sql import SqlStorage
from photinus.testing import strategies
from photinus.testing.storage import DONE, ManualClock, create
from photinus.trial import Measurement, Suggestion, Trial, TrialState, storable_text

# One store serves all examples: each of them has a study of its own.
in_one_store = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

Operation = Callable[[Storage, int], Any]

texts = st.text(min_size=1, max_size=20).map(storable_text)


@pytest.fixture
def sql(address: str) -> SqlStorage:
    return SqlStorage(address)


@st.composite
def histories(draw: st.DrawFn, problem: Problem) -> list[Trial]:
    """Trials as they could be all of one study."""
    trials = draw(st.lists(strategies.trials(problem), max_size=3))
    return [_tidied(trial, number) for number, trial in enumerate(trials)]


def _tidied(trial: Trial, number: int) -> Trial:
    reports = {report.step: report for report in trial.reports if report.step <= MAX_COUNT}
    amendments = {entry.event: entry for entry in trial.amendments if entry.event <= MAX_COUNT}
    return replace(
        trial,
        number=number,
        updated_event=trial.updated_event * 10 + number,
        worker=None if trial.worker is None else storable_text(trial.worker),
        reports=tuple(reports[step] for step in sorted(reports)),
        amendments=tuple(amendments[event] for event in sorted(amendments)),
    )


@settings(in_one_store, max_examples=40)
@given(data=st.data())
def test_a_study_is_read_back_as_it_was_written(sql: SqlStorage, data: st.DataObject):
    problem = data.draw(strategies.problems())
    trials = data.draw(histories(problem))
    record = StudyRecord(
        id=0,
        project=data.draw(texts),
        name=data.draw(texts) + str(len(sql.list_studies())),
        problem=problem,
        algorithm="random",
        seed=data.draw(st.integers(0, 2**32 - 1)),
        state=data.draw(st.sampled_from(StudyState)),
        created_at=data.draw(
            st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
        ),
        metadata=data.draw(st.dictionaries(st.text(), st.text(), max_size=2)),
    )
    stored = sql.restore_study(record, trials)
    assert stored == replace(record, id=stored.id)
    assert sql.find_study(record.project, record.name) == stored
    read = sql.get_trials(stored.id)
    assert read == trials
    # Equal numbers may still differ in type or sign; their texts do not.
    assert [repr(trial.to_dict()) for trial in read] == [repr(trial.to_dict()) for trial in trials]
    for trial in trials:
        assert sql.get_trial(stored.id, trial.number) == trial


floats = st.sampled_from([0.0, -0.0, 1.5, -1e300, 5e-324, 0.1 + 0.2])
numbers = st.integers(0, 5)
workers = st.sampled_from([None, "a", "b"])
leases = st.sampled_from([None, 10.0, 60.0])
measurements = st.one_of(
    floats.map(lambda value: Measurement.completed({"loss": value})),
    st.sampled_from([Measurement.infeasible("no"), Measurement.failed("lost\0 🔥")]),
)
points = st.fixed_dictionaries({"x": st.floats(0, 1), "flag": st.booleans()})


def drawn(first: int, count: int) -> list[Suggestion]:
    return [Suggestion({"x": 1 / (first + i + 1), "flag": True}, {"n": first + i}) for i in range(count)]


def operation(name: str, *arguments: Any, **settings: Any) -> Operation:
    return lambda storage, study_id: getattr(storage, name)(study_id, *arguments, **settings)


def suggestions_of(
    owner: str, count: int, worker: str | None, lease_s: float | None, key: str | None, keep_lock: bool
) -> Operation:
    return operation(
        "add_suggestions",
        drawn(100, count),
        lock_owner=owner,
        algorithm="random",
        engine_version="1",
        worker=worker,
        lease_s=lease_s,
        key=key,
        keep_lock=keep_lock,
    )


def draws_of(count: int, worker: str | None, lease_s: float | None, key: str | None) -> Operation:
    return operation(
        "claim_or_draw",
        count,
        drawn,
        algorithm="random",
        engine_version="1",
        worker=worker,
        lease_s=lease_s,
        key=key,
    )


def progress_of(storage: Storage, study_id: int) -> StudyProgress:
    [progress] = storage.progress(study_ids=[study_id])
    return replace(progress, record=replace(progress.record, id=0))


keys = st.sampled_from([None, None, "k", "l"])
notes = st.dictionaries(st.sampled_from("ab"), st.sampled_from([None, "x", "y"]))
owners = st.sampled_from(["me", "you"])
operations: st.SearchStrategy[Operation | float] = st.one_of(
    st.sampled_from([1.0, 9.0, 60.0]),  # time passes
    st.builds(draws_of, st.integers(1, 3), workers, leases, keys),
    st.builds(draws_of, st.integers(1, 3), workers, leases, keys),
    st.builds(lambda point, key: operation("enqueue", point, key=key), points, keys),
    st.builds(
        lambda point, outcome, key: operation("add_trial", point, outcome, key=key),
        points,
        measurements,
        keys,
    ),
    st.builds(
        lambda entries, key: operation("add_trials", entries, key=key),
        st.lists(st.builds(NewTrial, points, st.none() | measurements), max_size=3),
        keys,
    ),
    st.builds(
        lambda count, worker, lease_s, owner, key: operation(
            "claim_trials", count, worker=worker, lease_s=lease_s, lock_owner=owner, lock_s=30.0, key=key
        ),
        st.integers(0, 3),
        workers,
        leases,
        owners,
        keys,
    ),
    st.builds(suggestions_of, owners, st.integers(0, 2), workers, leases, keys, st.booleans()),
    st.builds(
        lambda results, who: operation("tell_all", results, worker=who),
        st.lists(st.tuples(numbers, measurements), max_size=3),
        workers,
    ),
    st.builds(lambda n, changes: operation("update_trial_metadata", n, changes), numbers, notes),
    st.builds(
        lambda n, outcome, who: operation("tell", n, outcome, worker=who), numbers, measurements, workers
    ),
    st.builds(
        lambda n, outcome, who: operation("tell", n, outcome, worker=who), numbers, measurements, workers
    ),
    st.builds(lambda n, value: operation("amend", n, {"loss": value}), numbers, floats),
    st.builds(lambda n, value, step: operation("report", n, {"loss": value}, step), numbers, floats, numbers),
    st.builds(lambda n, who: operation("extend_lease", n, worker=who, lease_s=20.0), numbers, workers),
    st.builds(lambda n, who: operation("release", n, worker=who), numbers, workers),
    st.builds(lambda n: operation("request_stop", n), numbers),
    st.builds(lambda owner: operation("acquire_suggest_lock", owner, 30.0), owners),
    st.builds(lambda owner: operation("renew_suggest_lock", owner, 30.0), owners),
    st.builds(lambda owner: operation("release_suggest_lock", owner), owners),
    st.builds(lambda event: operation("get_trials", since_event=event), st.integers(0, 30)),
    st.builds(lambda: operation("count_trials")),
    st.builds(lambda: progress_of),
    st.builds(
        lambda states, worker, after, limit, newest_first: operation(
            "find_trials", states=states, worker=worker, after=after, limit=limit, newest_first=newest_first
        ),
        st.none() | st.sets(st.sampled_from(TrialState)),
        workers,
        st.integers(-1, 6),
        st.integers(0, 4),
        st.booleans(),
    ),
)


def outcome_of(change: Operation, storage: Storage, study_id: int) -> object:
    try:
        return change(storage, study_id)
    except PhotinusError as error:
        return type(error), str(error)


@settings(in_one_store, max_examples=60)
@given(changes=st.lists(operations, min_size=5, max_size=40))
def test_every_store_does_the_same(address: str, changes: list[Operation | float]):
    clock = ManualClock()
    model = MemoryStorage(clock=clock)
    storage = SqlStorage(address, clock=clock)
    name = f"s{len(storage.list_studies())}"
    expected, actual = create(model, name).id, create(storage, name).id
    for change in changes:
        if isinstance(change, float):
            clock.advance(change)
        else:
            assert outcome_of(change, storage, actual) == outcome_of(change, model, expected)
        assert storage.get_trials(actual) == model.get_trials(expected)
    storage.close()


def test_the_model_test_sees_differences(address: str):
    """The machinery above: an operation that differs between stores does not go unnoticed."""
    model, storage = MemoryStorage(clock=ManualClock()), SqlStorage(address, clock=ManualClock())
    expected, actual = create(model).id, create(storage).id
    change = operation("add_trial", {"x": 0.5, "flag": True}, DONE)
    other = operation("add_trial", {"x": 0.25, "flag": True}, DONE)
    assert outcome_of(change, storage, actual) != outcome_of(other, model, expected)
