"""`PhotinusSearch` by itself: what Ray Tune calls, without a cluster."""

import math
import pickle

import pytest

tune = pytest.importorskip("ray.tune")

from ray.tune.search import ConcurrencyLimiter  # noqa: E402

import photinus as ph  # noqa: E402
from photinus.errors import ArgumentError, ParameterError, SpaceError  # noqa: E402
from photinus.integrations.ray_search import PhotinusSearch  # noqa: E402

SPACE = {"x": tune.uniform(0, 1), "opt": {"lr": tune.loguniform(1e-4, 1)}, "epochs": 3}


def make(space=SPACE, metric="loss", mode="min", algorithm="random", **settings):
    return PhotinusSearch(space, metric, mode, seed=1, algorithm=algorithm, **settings)


def states(search):
    return [trial.state.value for trial in search.study.trials]


def test_suggestions_are_configs_and_results_are_told():
    search = make()
    config = search.suggest("a")
    assert set(config) == {"x", "opt"}
    assert search.study.trials[0].params == {"x": config["x"], "opt/lr": config["opt"]["lr"]}
    search.on_trial_result("a", {"loss": 0.75, "training_iteration": 1, "other": "text"})
    search.on_trial_complete("a", {"loss": 0.5, "training_iteration": 2})
    [trial] = search.study.trials
    assert trial.values == {"loss": 0.5}
    assert [(report.step, report.values["loss"]) for report in trial.reports] == [(1, 0.75), (2, 0.5)]


@pytest.mark.parametrize(
    ("result", "error", "state", "message"),
    [
        ({"loss": 1.0}, True, "failed", "the Ray trial ended with an error"),
        (None, False, "failed", "the Ray trial reported no loss"),
        ({"other": 1.0}, False, "failed", "the Ray trial reported no loss"),
        ({"loss": "bad"}, False, "failed", "the Ray trial reported no loss"),
        ({"loss": math.nan}, False, "infeasible", "the Ray trial reported loss=nan"),
    ],
)
def test_outcomes_that_are_no_value(result, error, state, message):
    search = make()
    search.suggest("a")
    search.on_trial_complete("a", result, error)
    assert (states(search), search.study.trials[0].message) == ([state], message)
    search.on_trial_complete("a", None, error=True)  # again: nobody waits for it
    search.on_trial_complete("unknown", {"loss": 1.0})
    search.on_trial_result("unknown", {"loss": 1.0, "training_iteration": 1})
    assert states(search) == [state]


def test_a_trial_that_is_stopped_counts_with_its_last_result():
    """ASHA stops what runs, with its result; HyperBand also what is paused, and then Ray gives none."""
    search = make()
    for name in "abc":
        search.suggest(name)
    for step, loss in ((1, 0.75), (2, 0.5)):
        search.on_trial_result("a", {"loss": loss, "training_iteration": step})
    search.on_trial_complete("a")
    search.on_trial_result("b", {"loss": 0.25, "training_iteration": 1})
    search.on_trial_complete("b", {"loss": 0.25, "training_iteration": 1})
    search.on_trial_complete("c")  # it never began
    assert states(search) == ["completed", "completed", "failed"]
    assert [trial.values and trial.values["loss"] for trial in search.study.trials] == [0.5, 0.25, None]


def test_a_failed_trial_that_ray_runs_again_is_recorded_again():
    search = make()
    config = search.suggest("a")
    search.on_trial_complete("a", error=True)
    for _ in range(2):
        search.on_trial_complete("a", {"loss": 0.5})
    failed, again = search.study.trials
    assert (failed.state.value, again.state.value, again.values) == ("failed", "completed", {"loss": 0.5})
    assert failed.params == again.params == {"x": config["x"], "opt/lr": config["opt"]["lr"]}


def test_a_trial_that_began_after_the_last_save_is_recorded_when_it_ends():
    """Its config is in Ray's results, with paths for keys."""
    choices = [{"a": {"b": 1}}, {"a": {"b": 2}}]
    search = make(SPACE | {"kind": tune.choice(choices)})
    search.suggest("a")
    result = {"loss": 0.5, "config/x": 0.25, "config/opt/lr": 0.1, "config/kind/a/b": 2, "config/epochs": 3}
    for _ in range(2):
        search.on_trial_complete("b", result)
    search.on_trial_complete("c", result | {"config/x": 7})  # of another space
    assert states(search) == ["active", "completed"]
    assert search.study.trials[1].params == {"x": 0.25, "opt/lr": 0.1, "kind": "1: {'a': {'b': 2}}"}


def test_several_objectives():
    search = make(metric=("loss", "time"), mode=("min", "max"))
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 1, "time": 2})
    assert {metric.name: metric.goal.value for metric in search.study.problem.metrics} == {
        "loss": "minimize",
        "time": "maximize",
    }
    assert search.study.trials[0].values == {"loss": 1.0, "time": 2.0}


def test_points_come_first_and_are_checked():
    points = [{"x": 0.25, "opt": {"lr": 0.5}}, {"x": 0.75, "opt/lr": 0.01, "epochs": 3}]
    search = make(points_to_evaluate=points)
    assert search.suggest("a") == {"x": 0.25, "opt": {"lr": 0.5}}
    assert search.suggest("b") == {"x": 0.75, "opt": {"lr": 0.01}}
    with pytest.raises(ParameterError, match="a value for 'opt/lr'"):
        make(points_to_evaluate=[{"x": 0.5}]).suggest("a")
    with pytest.raises(ParameterError, match="x"):
        make(points_to_evaluate=[{"x": 2, "opt": {"lr": 0.5}}]).suggest("a")


def test_points_measured_elsewhere():
    search = make()
    search.add_evaluated_point({"x": 0.5, "opt": {"lr": 0.1}}, 2.0)
    search.add_evaluated_point({"x": 0.5, "opt": {"lr": 0.1}}, math.inf)
    search.add_evaluated_point({"x": 0.5, "opt": {"lr": 0.1}}, None, error=True)
    assert states(search) == ["completed", "infeasible", "failed"]


def test_the_tuners_settings_are_taken_once():
    search = PhotinusSearch(seed=1, algorithm="random")
    assert search.set_search_properties("loss", "max", SPACE)
    assert (search.metric, search.mode) == ("loss", "max")
    search.suggest("a")
    assert search.set_search_properties("loss", "max", dict(SPACE))  # again, after a restore
    assert not search.set_search_properties("loss", "max", {"y": tune.uniform(0, 1)})
    assert not search.set_search_properties("other", "max", SPACE)
    assert search.set_search_properties(None, None, {"epochs": 3})
    only_mode = PhotinusSearch(algorithm="random")
    assert only_mode.set_search_properties(None, "min", SPACE)
    only_mode.suggest("a")
    only_mode.on_trial_complete("a", {"_metric": 3.0})  # what a trainable reports without a name
    assert states(only_mode) == ["completed"]


def test_what_is_missing_or_wrong_is_named():
    with pytest.raises(ArgumentError, match="the search space is missing"):
        PhotinusSearch(metric="loss", mode="min").suggest("a")
    with pytest.raises(ArgumentError, match="the goal is missing"):
        PhotinusSearch(SPACE).suggest("a")
    with pytest.raises(ArgumentError, match='`mode` must be "min" or "max"'):
        PhotinusSearch(SPACE, "loss", "minimize")
    with pytest.raises(ArgumentError, match="a list with one for each"):
        PhotinusSearch(SPACE, ["loss", "time"], ["min"])
    with pytest.raises(SpaceError, match="needs a domain"):
        PhotinusSearch({"x": 3}, "loss", "min")


def test_pending_trials_reach_the_algorithm():
    """Asked for one after the other without results, the model's points keep apart."""
    search = make({"x": tune.uniform(0, 1)}, algorithm="default")
    for x in (0.0, 0.5, 1.0):
        search.add_evaluated_point({"x": x}, (x - 0.3) ** 2)
    points = [search.suggest(name)["x"] for name in "abc"]
    assert states(search)[3:] == ["active"] * 3
    assert min(abs(p - q) for p in points for q in points if p is not q) > 1e-3


def test_a_concurrency_limiter_around_it():
    limiter = ConcurrencyLimiter(make(), max_concurrent=2)
    assert [limiter.suggest(name) is None for name in "abc"] == [False, False, True]
    limiter.on_trial_complete("a", {"loss": 1.0})
    assert limiter.suggest("d") is not None


@pytest.mark.parametrize("how", ["save", "pickle", "state"])
def test_saved_and_restored_it_goes_on_where_it_was(how, tmp_path):
    search = make(algorithm="quasi_random", points_to_evaluate=[{"x": 0.25, "opt": {"lr": 0.5}}] * 4)
    for name in "abc":
        search.suggest(name)
    search.on_trial_complete("b", {"loss": 1.0})
    if how == "save":
        search.save(str(tmp_path / "state"))
        restored = PhotinusSearch()
        restored.restore(str(tmp_path / "state"))
    elif how == "pickle":
        restored = pickle.loads(pickle.dumps(search))
    else:
        restored = PhotinusSearch()
        restored.set_state(search.get_state())
    assert states(restored) == states(search) == ["active", "completed", "active", "queued"]
    assert [trial.worker for trial in restored.study.trials[:3]] == ["a", "b", "c"]
    for name, value in (("a", 2.0), ("c", 3.0)):
        restored.on_trial_complete(name, {"loss": value})
    assert [trial.values and trial.values["loss"] for trial in restored.study.trials] == [2.0, 1.0, 3.0, None]
    assert restored.suggest("d") == {"x": 0.25, "opt": {"lr": 0.5}}
    search.suggest("d")
    assert restored.suggest("e") == search.suggest("e")  # of the seed and the number
    assert (restored.metric, restored.mode) == ("loss", "min")


def test_a_search_that_has_not_begun_is_saved_too():
    restored = pickle.loads(pickle.dumps(PhotinusSearch(seed=1, algorithm="random")))
    assert restored.set_search_properties("loss", "min", SPACE)
    assert restored.suggest("a") is not None


def test_the_study_is_an_ordinary_one():
    search = make()
    search.suggest("a")
    search.on_trial_complete("a", {"loss": 1.0})
    assert isinstance(search.study, ph.Study)
    assert search.study.best_trial.number == 0
