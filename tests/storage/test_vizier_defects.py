"""Defects of google-vizier's service that concern stores and a trial's life, as tests that hold on every store.

Each test names what its users met there.
"""

import pickle
import site
import subprocess
import sys
from pathlib import Path

import pytest

import photinus as ph
from photinus.engine import designers
from photinus.errors import AlreadyTold, ArgumentError, StudyMismatch, SuggestionError, UnknownStudy
from photinus.local import LocalBackend
from photinus.problem import Problem
from photinus.storage import Storage
from photinus.storage.sql import SqlStorage, models
from photinus.study import Study
from photinus.testing.storage import ManualClock, busy, claim, create, draw, suggest
from photinus.trial import Measurement, TrialState

SPACE = {"x": ph.Float(0, 1)}


def make(storage: Storage, name: str = "s", **settings: object) -> Study:
    chosen = {"algorithm": "random", "seed": 1, **settings}
    return Study.create(LocalBackend(storage), Problem.define(SPACE), name=name, **chosen)  # pyright: ignore


def test_completing_a_completed_trial_is_refused_and_changes_nothing(storage: Storage):
    """There: the answer was "refused", and 1.0 became 999.0."""
    study = make(storage)
    [trial] = study.ask()
    told = study.tell(trial, 1.0)
    with pytest.raises(AlreadyTold, match="first outcome counts"):
        study.tell(trial, 999.0)
    for outcome in ({"infeasible": "no"}, {"failed": "lost"}):
        with pytest.raises(AlreadyTold):
            study.tell(trial, **outcome)
    assert study.trials == [told]


def test_telling_the_same_again_is_no_error(storage: Storage):
    """A worker that did not hear the answer asks again."""
    study = make(storage)
    [trial] = study.ask()
    assert study.tell(trial, 1.0) == study.tell(trial, 1.0)


def test_a_stopped_study_takes_results_of_trials_that_are_out(storage: Storage):
    """There: adding to a finished study raised, and added the trial all the same."""
    study = make(storage)
    [trial] = study.ask()
    study.stop()
    assert study.tell(trial, 1.0).state == TrialState.COMPLETED
    assert study.add_trial({"x": 0.5}, 2.0).number == 1
    assert len(study) == 2


def break_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **settings: object) -> None:
        raise ValueError("no Cholesky")

    monkeypatch.setattr(designers, "suggest", broken)


@pytest.mark.parametrize("worker", [None, "w"])
def test_an_algorithm_error_does_not_wedge_a_worker(storage: Storage, monkeypatch, worker):
    """There: after one error every later suggest of that client waited for ever."""
    study = make(storage, algorithm="quasi_random")
    with monkeypatch.context() as patch:
        break_engine(patch)
        for _ in range(2):
            with pytest.raises(SuggestionError, match="no Cholesky"):
                study.ask(worker=worker)
    assert [trial.number for trial in study.ask(2, worker=worker)] == [0, 1]


def test_a_study_made_again_has_nothing_of_the_deleted_one(storage: Storage, monkeypatch):
    """There: what had wedged a client survived deleting the study and creating it again."""
    study = make(storage, algorithm="quasi_random")
    study.ask(2, worker="w")
    with monkeypatch.context() as patch:
        break_engine(patch)
        with pytest.raises(SuggestionError):
            study.ask(3, worker="w")
    record = storage.find_study("default", "s")
    storage.acquire_suggest_lock(record.id, "somebody who died", 1e6)
    storage.delete_study(record.id)
    again = make(storage, algorithm="quasi_random")
    assert [(trial.number, trial.attempts) for trial in again.ask(2, worker="w")] == [(0, 1), (1, 1)]
    with pytest.raises(UnknownStudy, match="deleted"):
        study.ask()


def test_deleting_a_study_leaves_no_rows_behind(address: str):
    """There: rows of operations stayed."""
    storage = SqlStorage(address)
    kept, deleted = create(storage, "kept").id, create(storage, "deleted").id
    for study_id in (kept, deleted):
        busy(storage, study_id)
    storage.delete_study(deleted)
    for table in (models.trials, models.reports, models.amendments):
        rows = storage._database.read(lambda c, table=table: c.execute(table.select()).all())
        assert {row.study_id for row in rows} == {kept}


def test_a_process_that_died_while_suggesting_does_not_wedge_the_study(
    storage: Storage, clock: ManualClock, monkeypatch
):
    """There: nothing resumed what a crashed server had begun."""
    study = make(storage, algorithm="quasi_random")
    study_id = storage.find_study("default", "s").id
    assert storage.claim_trials(study_id, 1, lock_owner="dead", lock_s=60).has_lock
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.advance(30)

    monkeypatch.setattr("photinus.asking.time.sleep", sleep)
    assert [trial.number for trial in study.ask()] == [0]
    assert len(waits) == 2


def test_a_dead_workers_trial_is_given_to_another(storage: Storage, clock: ManualClock):
    """There: it stayed active for ever, unless a client of the same name came back."""
    study = make(storage)
    [lost] = study.ask(worker="dead", lease=60)
    clock.advance(61)
    [again] = study.ask(worker="alive", lease=60)
    assert (again.number, again.worker, again.params) == (lost.number, "alive", lost.params)


def test_completion_has_a_time_of_its_own(storage: Storage, clock: ManualClock):
    """There: it was the time of creation, and every trial took no time at all."""
    study = make(storage)
    created = clock.now
    clock.advance(5)
    study.enqueue({"x": 0.5})
    clock.advance(5)
    [trial] = study.ask()
    clock.advance(7.25)
    study.tell(trial, 1.0)
    [stored] = study.trials
    assert stored.created_at != stored.started_at != stored.completed_at
    assert (stored.completed_at - created).total_seconds() == 17.25
    assert stored.duration_s == 7.25


@pytest.mark.parametrize("outcome", [{"infeasible": "too hot"}, {"failed": "lost"}])
def test_an_added_trial_without_values_is_not_handed_out(storage: Storage, outcome):
    """There: an infeasible trial that was added became a request, and was suggested again."""
    study = make(storage)
    added = study.add_trial({"x": 0.5}, **outcome)
    assert [trial.number for trial in study.ask(3)] == [1, 2, 3]
    assert study.trials[0] == added


def test_a_study_of_that_name_with_another_definition_is_not_returned(storage: Storage):
    """There: the old study came back without a word."""
    make(storage)
    other = Problem.define({"x": ph.Float(0, 2)}, "maximize")
    with pytest.raises(StudyMismatch, match=r"high=1\.0.*high=2\.0(.|\n)*minimize, now maximize"):
        Study.create(LocalBackend(storage), other, name="s", seed=1, algorithm="random", load_if_exists=True)


def test_asking_without_a_number_gives_one_trial(storage: Storage):
    """There: `suggest()` without a count gave an empty list."""
    assert len(make(storage).ask()) == 1


@pytest.mark.parametrize("worker", [3, 3.0, b"w", ""])
def test_a_worker_that_is_no_name_is_refused(storage: Storage, worker):
    """There: the documentation's own example passed integers, and failed somewhere inside."""
    with pytest.raises(ArgumentError, match="`worker` must be a non-empty string"):
        make(storage).ask(worker=worker)


def test_queued_points_come_in_the_order_they_were_given(storage: Storage):
    """There: the last one came first."""
    study = make(storage)
    for x in (0.1, 0.2, 0.3):
        study.enqueue({"x": x})
    assert [trial.params["x"] for trial in study.ask(3)] == [0.1, 0.2, 0.3]


def test_nothing_stops_a_trial_unless_it_is_asked_for(storage: Storage):
    """There: a trial drawn by lot was to stop, the best one included, and its state did not say so."""
    study_id = create(storage).id
    suggest(storage, study_id, 5)
    storage.tell(study_id, 0, Measurement.completed({"loss": -1e9}))
    claim(storage, study_id, 1)
    states = [trial.state for trial in storage.get_trials(study_id)]
    assert states == [TrialState.COMPLETED, *[TrialState.ACTIVE] * 4]
    assert storage.request_stop(study_id, 3).state == TrialState.STOPPING


def test_seeds_and_definitions_survive_the_store(storage: Storage):
    """There: seeds could not be given, and defaults, scales and limits were lost on the way."""
    space = {
        "a": ph.Float(1e-5, 0.999, "reverse_log"),
        "b": ph.Discrete([0, 1, 4]),
        "c": ph.Categorical([0, False, None]),
    }
    problem = Problem.define(space, {"loss": "minimize", "speed": "maximize"})
    record = storage.create_study(project="p", name="n", problem=problem, algorithm="random", seed=2**32 - 1)
    stored = storage.find_study("p", "n")
    assert stored == record
    assert stored.problem == problem
    assert [type(value) for value in stored.problem.space["c"].values] == [int, bool, type(None)]


def test_reading_and_asking_do_not_grow_with_past_asks(address: str, monkeypatch):
    """There: every past operation and every trial, three times, was read again for each suggestion."""
    storage = SqlStorage(address)
    study_id = create(storage).id
    for _ in range(30):
        [trial] = draw(storage, study_id, 1)
        storage.tell(study_id, trial.number, Measurement.failed("x"))
    num_rows: list[int] = []
    from photinus.storage.sql import reading

    real = reading.trial_from_row
    monkeypatch.setattr(reading, "trial_from_row", lambda *args: num_rows.append(1) or real(*args))
    draw(storage, study_id, 1)
    assert num_rows == []
    storage.tell(study_id, 30, Measurement.failed("x"))
    assert len(num_rows) == 1


def test_the_simplest_example_is_not_locked_out(tmp_path: Path):
    """There: "database is locked", in the first example of the documentation, with a few workers."""
    code = """
import sys, threading, photinus as ph
study = ph.create_study({"x": ph.Float(0, 1)}, name="s", storage=sys.argv[1], load_if_exists=True, algorithm="random")
def work():
    for _ in range(5):
        [trial] = study.ask()
        trial.report(0.5, step=0)
        study.tell(trial, trial.params["x"])
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    path = str(tmp_path / "s.db")
    workers = [
        subprocess.Popen([sys.executable, "-c", code, path], stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    errors = [worker.communicate(timeout=120)[1] for worker in workers]
    assert errors == [""] * 3
    trials = ph.load_study("s", storage=path).trials
    assert len(trials) == 60
    assert all(trial.state == TrialState.COMPLETED and len(trial.reports) == 1 for trial in trials)


def test_nothing_is_written_where_the_package_is_installed(tmp_path: Path, monkeypatch):
    """There: the default database lay inside site-packages. Here: in memory, or where it is told to be."""
    monkeypatch.chdir(tmp_path)
    make_default = ph.create_study(SPACE, algorithm="random")
    make_default.ask()
    assert list(tmp_path.iterdir()) == []
    ph.create_study(SPACE, storage="studies.db", algorithm="random").ask()
    assert (tmp_path / "studies.db").exists()
    places = [Path(ph.__file__).parent, *map(Path, site.getsitepackages())]
    assert not any((place / "studies.db").exists() for place in places)


def test_errors_reach_whoever_asked(storage: Storage):
    """There: errors of the in-process service were not those of the remote one. Here each survives a wire."""
    study = make(storage)
    with pytest.raises(ph.errors.UnknownTrial) as caught:
        study.tell(7, 1.0)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
