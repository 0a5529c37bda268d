import subprocess
import sys
import threading
import time

import pytest

import photinus as ph
from photinus.engine import ENGINE_VERSION, designers
from photinus.errors import ArgumentError, LockLost, MissingDependency, SuggestionError
from photinus.local import LocalBackend
from photinus.problem import Problem
from photinus.storage import MemoryStorage
from photinus.study import Study
from photinus.testing import StudyContract
from photinus.trial import Suggestion, TrialState

X = {"x": ph.Float(0, 1)}


class TestLocalStudy(StudyContract):
    @pytest.fixture
    def make_study(self):
        backend = LocalBackend(MemoryStorage())
        return lambda problem, **settings: Study.create(backend, problem, **settings)


def make(**settings):
    return ph.create_study(X, **{"algorithm": "random", "seed": 1, **settings})


def make_looking(**settings):
    """A study whose algorithm goes by the trials, as all do but "random", so that `designers.suggest` is called."""
    return make(algorithm="quasi_random", **settings)


def test_objectives_have_names_and_directions():
    goals = {"a": "minimize", "b": "maximize"}
    problem = ph.create_study(X, goals).problem
    assert [(metric.name, metric.goal.value) for metric in problem.metrics] == list(goals.items())
    assert ph.create_study(X, "maximize").problem.metrics == (ph.Metric("value", ph.Goal.MAXIMIZE),)


def test_a_ready_made_space_will_do():
    space = ph.SearchSpace(X)
    assert ph.create_study(space).problem.space is space


def test_studies_share_a_storage_by_name():
    storage = MemoryStorage()
    first = make(name="a", storage=storage, metadata={"k": "v"})
    first.add_trial({"x": 0.5}, 1.0)
    assert make(name="a", storage=storage, load_if_exists=True).metadata == {"k": "v"}
    assert len(make(name="a", storage=storage, project="other")) == 0
    assert len(make(name="a")) == 0


def test_a_storage_is_a_store_or_its_address():
    with pytest.raises(ArgumentError, match="`storage` must be a path, an address such as"):
        make(storage=7)


def test_suggestions_record_algorithm_and_engine():
    [trial] = make(algorithm="quasi_random").ask()
    assert (trial.algorithm, trial.engine_version) == ("quasi_random", ENGINE_VERSION)


def test_data_frames():
    study = ph.create_study({"x": ph.Float(0, 1), "c": ph.Categorical([None, "a"])}, algorithm="random")
    columns = list(study.to_dataframe().columns)
    assert columns[:5] == ["number", "state", "values_value", "params_x", "params_c"]
    study.add_trial({"x": 0.5, "c": "a"}, 1.0)
    study.add_trial({"x": 0.5, "c": None}, infeasible="no")
    study.ask()
    frame = study.to_dataframe()
    assert list(frame.columns) == columns
    assert frame["state"].tolist() == ["completed", "infeasible", "active"]
    assert frame["values_value"].dtype == float
    assert frame["values_value"].isna().tolist() == [False, True, True]
    assert frame["params_x"].tolist()[:2] == [0.5, 0.5]


def test_data_frames_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependency, match=r'pip install "photinus\[dataframe\]"'):
        make().to_dataframe()


def failing(*args, **settings):
    raise FloatingPointError("no Cholesky")


def test_a_failed_suggestion_leaves_the_study_usable(monkeypatch):
    study = make_looking()
    study.enqueue({"x": 0.5})
    with monkeypatch.context() as patch:
        patch.setattr(designers, "suggest", failing)
        with pytest.raises(SuggestionError, match="FloatingPointError: no Cholesky") as caught:
            study.ask(2)
    assert isinstance(caught.value.__cause__, FloatingPointError)
    [trial] = study.trials
    assert trial.state == TrialState.EXPIRED  # handed back, for nobody got it
    assert [trial.number for trial in study.ask(2)] == [0, 1]


def test_a_named_worker_keeps_its_trials_when_suggesting_fails(monkeypatch):
    study = make_looking()
    study.ask(worker="w")
    monkeypatch.setattr(designers, "suggest", failing)
    with pytest.raises(SuggestionError):
        study.ask(2, worker="w")
    assert (study.trials[0].state, study.trials[0].worker) == (TrialState.ACTIVE, "w")


@pytest.mark.parametrize(
    ("suggestions", "message"),
    [
        ([], "1 suggestions were due, got 0"),
        ([Suggestion({"x": 2.0}, {})], "parameter 'x' must be a number with 0.0 <= value <= 1.0, got 2.0"),
    ],
)
def test_what_the_engine_suggests_is_checked(monkeypatch, suggestions, message):
    monkeypatch.setattr(designers, "suggest", lambda *args, **settings: suggestions)
    study = make_looking()
    with pytest.raises(SuggestionError, match=message):
        study.ask()
    assert len(study) == 0


def test_the_engine_sees_every_trial_in_order(monkeypatch):
    seen = []
    real = designers.suggest

    def recording(problem, trials, count, seed, *, algorithm):
        seen.append([(trial.number, trial.state.value) for trial in trials])
        return real(problem, trials, count, seed, algorithm=algorithm)

    monkeypatch.setattr(designers, "suggest", recording)
    study = make_looking()
    first, _ = study.ask(2)
    study.add_trial({"x": 0.5}, 1.0)
    study.tell(first, 1.0)
    study.ask()
    assert seen == [[], [(0, "completed"), (1, "active"), (2, "completed")]]


def test_suggesting_is_serialised(monkeypatch):
    """Two threads ask at once: the second one's engine sees the first one's trial."""
    num_seen = []
    real = designers.suggest

    def slow(problem, trials, count, seed, *, algorithm):
        num_seen.append(len(trials))
        time.sleep(0.05)
        return real(problem, trials, count, seed, algorithm=algorithm)

    monkeypatch.setattr(designers, "suggest", slow)
    study = make_looking()
    threads = [threading.Thread(target=study.ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert num_seen == [0, 1, 2, 3]


def test_a_lock_that_was_lost_means_suggesting_again(monkeypatch):
    storage = MemoryStorage()
    study = Study.create(LocalBackend(storage), Problem.define(X), algorithm="quasi_random", seed=1)
    study_id = storage.list_studies()[0].id
    real = designers.suggest
    calls = []

    def robbed(problem, trials, count, seed, *, algorithm):
        calls.append(len(trials))
        if len(calls) == 1:  # as if the lock had run out and another process had suggested meanwhile
            storage._studies[study_id].lock = None
            storage.enqueue(study_id, {"x": 0.5})
        return real(problem, trials, count, seed, algorithm=algorithm)

    monkeypatch.setattr(designers, "suggest", robbed)
    assert [trial.number for trial in study.ask()] == [1]
    assert calls == [0, 1]


def test_the_lock_is_given_back_when_the_study_is_deleted_meanwhile(monkeypatch):
    storage = MemoryStorage()
    study = make_looking(storage=storage)

    def deleting(*args, **settings):
        storage.delete_study(storage.list_studies()[0].id)
        return [Suggestion({"x": 0.5}, {})]

    monkeypatch.setattr(designers, "suggest", deleting)
    with pytest.raises(ph.errors.UnknownStudy, match="deleted"):
        study.ask()


def test_predictions_go_to_the_engine_with_valid_points(monkeypatch):
    asked = {}

    def predict(problem, trials, points, seed, *, algorithm):
        asked.update(points=points, num_trials=len(trials), seed=seed, algorithm=algorithm)
        return [{"value": {"q50": 1.0}} for _ in points]

    monkeypatch.setattr(designers, "predict", predict)
    study = make()
    study.add_trial({"x": 0.5}, 1.0)
    assert study.predict([{"x": 0}, {"x": 1}]) == [{"value": {"q50": 1.0}}] * 2
    assert asked == {"points": [{"x": 0.0}, {"x": 1.0}], "num_trials": 1, "seed": 1, "algorithm": "random"}


def test_an_ask_in_a_long_study_reads_only_what_changed():
    num_read = []

    class Counting(MemoryStorage):
        def get_trials(self, study_id, *, since_event=0):
            trials = super().get_trials(study_id, since_event=since_event)
            num_read.append(len(trials))
            return trials

    study = make_looking(storage=Counting())
    for _ in range(1000):
        study.add_trial({"x": 0.5}, 1.0)
    study.ask()
    for _ in range(20):
        study.tell(study.ask()[0], 1.0)
    assert num_read[0] == 1000
    assert max(num_read[1:]) <= 2


def test_random_studies_never_import_jax():
    code = """
import sys, photinus as ph
for algorithm in ("random", "quasi_random"):
    study = ph.create_study({"x": ph.Float(0, 1)}, algorithm=algorithm)
    study.optimize(lambda trial: trial.params["x"], 3)
assert "jax" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("lease", [0, -1, 1e12, float("nan"), float("inf"), "soon", True])
def test_a_lease_must_be_seconds_that_a_calendar_can_hold(lease):
    study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=0)
    with pytest.raises(ArgumentError, match="`lease` must be a number of seconds"):
        study.ask(lease=lease)
    assert len(study) == 0


@pytest.mark.parametrize("metadata", [5, {"a": 1}, {1: "a"}, ["a"]])
def test_metadata_must_be_strings_by_name(metadata):
    space = {"x": ph.Float(0, 1)}
    with pytest.raises(ArgumentError, match="`metadata` must be a dict of strings"):
        ph.create_study(space, algorithm="random", metadata=metadata)
    study = ph.create_study(space, algorithm="random", seed=0)
    with pytest.raises(ArgumentError, match="`metadata` must be a dict of strings"):
        study.enqueue({"x": 0.5}, metadata=metadata)
    with pytest.raises(ArgumentError, match="`metadata` must be a dict of strings"):
        study.add_trial({"x": 0.5}, 1.0, metadata=metadata)
    assert len(study) == 0


def test_a_lock_that_is_lost_again_and_again_is_an_error(monkeypatch):
    storage = MemoryStorage()
    study = make(algorithm="quasi_random", storage=storage)
    add = storage.add_suggestions

    def forget_and_add(study_id, suggestions, **settings):
        storage.release_suggest_lock(study_id, settings["lock_owner"])
        return add(study_id, suggestions, **settings)

    monkeypatch.setattr(storage, "add_suggestions", forget_and_add)
    with pytest.raises(LockLost, match="must hold the suggest lock"):
        study.ask()
    assert len(study) == 0
    monkeypatch.undo()
    assert study.ask()[0].number == 0
