"""Photinus inside real Optuna studies."""

import logging
import math
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)
from optuna.trial import TrialState, create_trial

import photinus as ph
from photinus.errors import ArgumentError, SuggestionError
from photinus.integrations import optuna_sampler
from photinus.integrations.optuna_sampler import PhotinusSampler
from photinus.integrations.optuna_space import Axis
from photinus.integrations.optuna_trials import NOTE_PIECE, History, Note
from photinus.trial import TrialState as OurState

optuna.logging.set_verbosity(optuna.logging.WARNING)

X = FloatDistribution(0.0, 1.0)
AXES = {"x": Axis.of(X)}


class TestOptunasOwnContract(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """What Optuna demands of every sampler; the algorithm does not matter to it."""

    @pytest.fixture
    def sampler(self):
        return lambda: PhotinusSampler(seed=1, algorithm="random")


def mixed(trial):
    x = trial.suggest_float("x", -5, 5)
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 2, 20, step=3)
    share = trial.suggest_float("share", 0, 1, step=0.1)
    kind = trial.suggest_categorical("kind", ["good", "bad", None])
    error = (x - 1) ** 2 + (math.log10(rate) + 3) ** 2 + 0.1 * (layers - 8) ** 2 + (share - 0.3) ** 2
    return error + (kind != "good")


def run(objective, count, directions=("minimize",), **settings):
    study = optuna.create_study(directions=list(directions), sampler=PhotinusSampler(**settings))
    study.optimize(objective, n_trials=count)
    return study


def history(study, number=1000, pruned="last_value", axes=AXES):
    trials = study.get_trials(deepcopy=False)
    return History.before(number, trials, axes, num_objectives=len(study.directions), pruned=pruned)


def bowl(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.8) ** 2


def test_the_model_searches_all_kinds_of_parameters():
    study = run(mixed, 7, seed=1)
    assert study.trials[0].params | {"kind": "?"} == {
        "x": 0.0,
        "rate": pytest.approx(1e-3),
        "layers": 11,
        "share": 0.5,
        "kind": "?",
    }
    reason = PhotinusSampler.reason(study.trials[-1])
    assert reason["method"] in ("log_ei", "pure_exploration")
    assert set(reason["hyperparameters"]["length_scales"]) == set(study.best_params)
    assert all(0 <= entry["number"] < 6 for entry in reason["nearest"])


def test_it_suggests_exactly_what_a_study_of_photinus_would():
    study = run(bowl, 8, seed=0)
    ours = ph.create_study({"x": ph.Float(0, 1), "y": ph.Float(0, 1)}, seed=0)
    ours.optimize(lambda trial: (trial.params["x"] - 0.3) ** 2 + (trial.params["y"] - 0.8) ** 2, n_trials=8)
    assert [trial.params for trial in study.trials] == [trial.params for trial in ours.trials]
    # Not only by rounding: whole runs, since the second trials of two seeds may both be in the same corner of the box.
    others = [trial.params for trial in run(bowl, 8, seed=2).trials]
    apart = [abs(t.params[name] - o[name]) for t, o in zip(study.trials, others, strict=True) for name in o]
    assert max(apart) > 0.01


def test_a_study_goes_on_in_another_process_as_in_this_one(tmp_path):
    """The sampler has no state: a new one, on the same store, suggests the same."""
    whole = run(bowl, 6, seed=3)
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/optuna.db")
    for _ in range(3):
        study = optuna.create_study(
            study_name="s", storage=storage, sampler=PhotinusSampler(seed=3), load_if_exists=True
        )
        study.optimize(bowl, n_trials=2)
    assert [trial.params for trial in study.trials] == [trial.params for trial in whole.trials]
    storage.remove_session()
    storage.engine.dispose()


def test_a_sampler_survives_pickling():
    sampler = pickle.loads(pickle.dumps(PhotinusSampler(seed=5, algorithm="quasi_random")))
    study = optuna.create_study(sampler=sampler)
    study.optimize(mixed, n_trials=3)
    again = run(mixed, 3, seed=5, algorithm="quasi_random")
    assert [trial.params for trial in study.trials] == [trial.params for trial in again.trials]
    assert repr(sampler) == "PhotinusSampler(seed=5, algorithm='quasi_random')"


@pytest.mark.parametrize("algorithm", ["random", "quasi_random"])
def test_algorithms_without_a_model_do_not_start_in_the_middle(algorithm):
    study = run(mixed, 1, seed=1, algorithm=algorithm)
    assert study.trials[0].params["x"] != 0.0


def test_branches_of_a_program_are_drawn_by_themselves(caplog):
    def branching(trial):
        if trial.suggest_categorical("kind", ["svm", "forest"]) == "svm":
            return trial.suggest_float("c", 1e-3, 1e3, log=True) + trial.suggest_float("x", 0, 1)
        return trial.suggest_int("depth", 1, 30) + trial.suggest_float("x", 0, 1)

    with caplog.at_level(logging.WARNING, logger="photinus"):
        study = run(branching, 12, seed=0, algorithm="quasi_random")
    warned = [record.args[0] for record in caplog.records]
    assert sorted(warned) == sorted(set(warned))  # once for each
    assert "x" not in set(warned) - {"c", "depth"}
    sampler = study.sampler
    last = study.ask()
    assert set(sampler.infer_relative_search_space(study, last)) == {"kind", "x"}
    assert len({trial.params["x"] for trial in study.trials[:12]}) == 12


def test_warnings_about_independent_draws_can_be_switched_off(caplog):
    def widening(trial):
        return trial.suggest_float("x", 0, 1 + trial.number)

    with caplog.at_level(logging.WARNING, logger="photinus"):
        run(widening, 4, seed=0, algorithm="random", warn_independent_sampling=False)
    assert not caplog.records


def test_another_sampler_may_draw_what_is_not_common():
    calls = []

    class Constant(optuna.samplers.RandomSampler):
        def sample_independent(self, study, trial, param_name, param_distribution):
            return 0.25

        def before_trial(self, study, trial):
            calls.append("before")

        def after_trial(self, study, trial, state, values):
            calls.append("after")

        def reseed_rng(self):
            calls.append("reseed")

    sampler = PhotinusSampler(seed=0, algorithm="random", independent_sampler=Constant())
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    assert study.trials[0].params["x"] == 0.25
    assert study.trials[1].params["x"] != 0.25  # common by now
    assert calls == ["before", "after"] * 2
    sampler.reseed_rng()
    assert calls[-1] == "reseed"


def test_a_range_too_wide_for_the_engine_is_left_to_optuna():
    study = run(lambda trial: trial.suggest_int("n", 0, 2**60) / 2**60, 3, seed=0)
    assert study.sampler.infer_relative_search_space(study, study.ask()) == {}
    assert len({trial.params["n"] for trial in study.trials[:3]}) == 3


def test_choices_may_be_any_objects():
    choices = [(1, 2), (3, 4), frozenset([5])]
    with pytest.warns(UserWarning, match="Choices for a categorical distribution"):
        study = run(lambda trial: len(trial.suggest_categorical("c", choices)), 4, seed=0, algorithm="random")
    assert all(trial.params["c"] in choices for trial in study.trials)


def test_several_objectives_with_their_directions():
    def two(trial):
        x = trial.suggest_float("x", 0, 1)
        y = trial.suggest_float("y", 0, 1)
        return x**2 + y, (x - 1) ** 2 - y

    study = run(two, 11, directions=("minimize", "maximize"), seed=0)
    methods = [PhotinusSampler.reason(trial) for trial in study.trials]
    assert methods[0] is None  # drawn before the space was known
    assert {reason["method"] for reason in methods[1:10]} == {"quasi_random"}
    assert {reason["method"] for reason in methods[10:]} <= {"hypervolume_ucb", "pure_exploration"}
    assert len(study.best_trials) >= 1


def test_constraints_make_trials_infeasible():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("excess", x - 0.5)
        return trial.suggest_float("y", 0, 1) - x

    study = run(objective, 8, seed=0, constraints_func=lambda trial: (trial.user_attrs["excess"],))
    states = [trial.state for trial in history(study).trials]
    expected = [trial.params["x"] <= 0.5 for trial in study.trials]
    assert [state == OurState.COMPLETED for state in states] == expected
    assert not all(expected)
    later = [trial.params["x"] for trial in study.trials[3:]]
    assert sum(x <= 0.55 for x in later) > len(later) / 2  # the model stays where things are feasible


@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="came with Optuna 5")
def test_constraints_set_by_the_trial_itself_count_too():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("limit", x - 0.5)
        return x

    study = run(objective, 6, seed=0, algorithm="random")
    states = [trial.state for trial in history(study).trials]
    assert [state == OurState.COMPLETED for state in states] == [t.params["x"] <= 0.5 for t in study.trials]


def test_constraints_must_be_numbers():
    with pytest.raises(ArgumentError, match=r"`constraints_func` must return numbers, got \[nan\]"):
        run(lambda trial: trial.suggest_float("x", 0, 1), 1, constraints_func=lambda trial: [math.nan])


def test_outcomes_read_as_they_should():
    study = optuna.create_study(sampler=PhotinusSampler(seed=0))

    def add(state, value=None, x=0.5, reports=(), distribution=X):
        study.add_trial(
            create_trial(
                state=state,
                value=value,
                params={"x": x},
                distributions={"x": distribution},
                intermediate_values=dict(enumerate(reports)),
            )
        )

    add(TrialState.COMPLETE, 1.0)
    add(TrialState.COMPLETE, math.inf)
    add(TrialState.FAIL)
    add(TrialState.PRUNED, reports=[3.0, 2.0])
    add(TrialState.PRUNED, reports=[math.nan])
    add(TrialState.PRUNED)
    add(TrialState.COMPLETE, 2.0, distribution=FloatDistribution(0, 2))  # another range: another parameter
    study.enqueue_trial({"x": 0.1})  # waiting: nobody works on it

    def states(pruned):
        return [trial.state.value for trial in history(study, pruned=pruned).trials]

    assert states("last_value") == ["completed", "infeasible", "failed", "completed", "failed", "failed"]
    assert states("infeasible") == ["completed", "infeasible", "failed", *["infeasible"] * 3]
    assert states("failed") == ["completed", "infeasible", *["failed"] * 4]
    assert history(study).trials[3].values == {"value": 2.0}
    assert history(study).num_results == 4  # the one of another range included
    assert history(study).numbers == [0, 1, 2, 3, 4, 5]
    assert [trial.number for trial in history(study, 8).trials] == [2, 3, 4, 5, 6, 7]  # the next is 8


def test_running_trials_are_pending_before_their_program_asks():
    def total(trial):
        return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)

    study = run(total, 2, seed=0, algorithm="paper")  # which explores whenever nothing is new
    first, second = study.ask(), study.ask()
    x = first.suggest_float("x", 0, 1)  # the sampler is asked for x and y together
    frozen = study.trials[first.number]
    assert set(frozen.params) == {"x"}
    axes = {name: Axis.of(X) for name in "xy"}
    seen = history(study, second.number, axes=axes).trials
    assert [trial.state for trial in seen] == [OurState.COMPLETED, OurState.COMPLETED, OurState.ACTIVE]
    assert seen[-1].params == {"x": x, "y": Note.of(frozen).params["y"]}
    assert first.suggest_float("y", 0, 1) == seen[-1].params["y"]
    assert second.suggest_float("x", 0, 1) != x
    assert PhotinusSampler.reason(study.trials[second.number])["method"] == "pure_exploration"  # nothing new
    study.tell(first, 1.0)
    third = study.ask()
    third.suggest_float("x", 0, 1)
    seen = history(study, third.number, axes=axes).trials
    result, pending = max(t.completed_event or 0 for t in seen), seen[-1].asked_event
    assert result > pending  # something new came in since the pending one was suggested


def test_long_notes_are_kept_in_pieces(tmp_path):
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/optuna.db")
    study = optuna.create_study(storage=storage)
    study.ask()
    [trial] = study.trials
    note = Note(3, {f"parameter {i}": i / 7 for i in range(300)}, {"method": "ucb"})
    note.write(study, trial)
    stored = study.trials[0]
    assert len(stored.system_attrs) > 2
    assert all(len(piece) <= NOTE_PIECE for piece in stored.system_attrs.values())
    assert Note.of(stored) == note
    storage.set_trial_system_attr(trial._trial_id, "photinus:0", "{half")
    assert Note.of(study.trials[0]) is None
    storage.remove_session()
    storage.engine.dispose()


@pytest.mark.parametrize("algorithm", ["quasi_random", "default"])
def test_threads_get_different_points(algorithm):
    barrier = threading.Barrier(2, timeout=60)

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        if trial.number < 6:
            barrier.wait()  # so that two are always running
        return x + y

    study = optuna.create_study(sampler=PhotinusSampler(seed=0, algorithm=algorithm))
    study.optimize(objective, n_trials=6, n_jobs=2)
    points = {(trial.params["x"], trial.params["y"]) for trial in study.trials}
    assert len(points) == 6
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)


def test_pruners_work_with_it():
    def objective(trial):
        value = bowl(trial)
        for step in range(4):
            trial.report(value + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    for pruner in (
        optuna.pruners.MedianPruner(n_startup_trials=1),
        optuna.pruners.HyperbandPruner(max_resource=4),
    ):
        # Hyperband deals trials to its brackets by the name of the study.
        study = optuna.create_study(study_name="bowl", sampler=PhotinusSampler(seed=0), pruner=pruner)
        study.enqueue_trial({"x": 0.3, "y": 0.8})  # whom nobody can beat, so that there is somebody to prune
        study.optimize(objective, n_trials=8)
        states = {trial.state for trial in study.trials}
        assert states == {TrialState.COMPLETE, TrialState.PRUNED}


def test_a_failed_point_is_not_suggested_again():
    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        if trial.number in (2, 3):
            raise RuntimeError
        return x + y

    study = optuna.create_study(sampler=PhotinusSampler(seed=0))
    study.optimize(objective, n_trials=6, catch=RuntimeError)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 6


def test_enqueued_and_partly_fixed_trials(recwarn):
    study = optuna.create_study(sampler=PhotinusSampler(seed=0, algorithm="random"))
    study.enqueue_trial({"x": 0.125})
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 9), n_trials=3)
    assert study.trials[0].params["x"] == 0.125
    study.sampler = optuna.samplers.PartialFixedSampler({"n": 3}, study.sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 9), n_trials=2)
    assert [trial.params["n"] for trial in study.trials[3:]] == [3, 3]


def test_an_enqueued_trial_is_pending_where_it_was_enqueued():
    study = run(bowl, 2, seed=0, algorithm="random")
    study.enqueue_trial({"x": 0.125, "y": 0.875})
    trial = study.ask()
    sampler, space = study.sampler, {"x": X, "y": X}
    assert (
        sampler.sample_relative(study, study.trials[trial.number], space) == {}
    )  # nothing is left to suggest
    assert PhotinusSampler.reason(study.trials[trial.number]) is None
    axes = {name: Axis.of(X) for name in "xy"}
    assert history(study, axes=axes).trials[-1].params == {"x": 0.125, "y": 0.875}
    study.enqueue_trial({"x": 0.25, "y": "high"})  # for a parameter of another kind
    study.ask()
    assert len(history(study, axes=axes).trials) == 3


def test_a_name_that_only_optuna_takes_is_left_to_optuna():
    def objective(trial):
        return trial.suggest_float("", 0, 1) + trial.suggest_float("x", 0, 1)

    study = run(objective, 3, seed=0, algorithm="random")
    assert set(study.sampler.infer_relative_search_space(study, study.ask())) == {"x"}


def test_a_suggestion_that_fails_says_so(monkeypatch):
    study = run(lambda trial: trial.suggest_float("x", 0, 1), 2, seed=0, algorithm="random")

    def broken(*arguments, **settings):
        raise FloatingPointError("overflow")

    monkeypatch.setattr(optuna_sampler, "suggest", broken)
    with pytest.raises(SuggestionError, match="could not suggest for Optuna's trial 2 with 2 trials"):
        study.ask().suggest_float("x", 0, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "tpe"}, "`algorithm` must be one of default, paper"),
        ({"seed": -1}, "`seed` must be an integer between 0"),
        ({"pruned": "forgotten"}, "`pruned` must be one of last_value, infeasible, failed"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        PhotinusSampler(**settings)


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-10.2, 10.2, step=0.1),
        FloatDistribution(0.1, 0.85, step=0.25),
        FloatDistribution(1e-7, 1.0, log=True),
        IntDistribution(-10, 11, step=3),
        IntDistribution(1, 1000, log=True),
        CategoricalDistribution([True, 1, "1", None, 1.5]),
    ],
)
def test_values_go_to_the_engine_and_back(distribution):
    axis = Axis.of(distribution)
    size = axis.parameter.num_values
    values = [0.001, 0.5, 1.0] if size is None else range(getattr(axis.parameter, "low", 0), size)
    for value in values:
        internal = axis.decode(axis.parameter.validate(value))
        assert distribution._contains(internal)
        assert axis.encode(internal) == value


def test_the_example_runs():
    example = Path(__file__).parents[2] / "examples" / "optuna_sampler.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Photinus: 7 trials taken over" in done.stdout
