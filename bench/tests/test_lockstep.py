"""Studies in lock-step against the same studies as a user runs them."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import photinus as ph
from photinus.engine.designers.constants import DEFAULT, PAPER, Preset, preset
from photinus.problem import Problem
from photinus_bench import lockstep
from photinus_bench.lane import Lane
from photinus_bench.problem import Experimenter
from photinus_bench.tasks import Task, build
from photinus_bench.wrappers import infeasible

SPACE = {"x": ph.Float(-1, 1), "n": ph.Int(1, 30), "c": ph.Categorical(["a", "b", "c"])}


def bowl(low: float, num_objectives: int = 1) -> Experimenter:
    goals = {f"cost{m}": "minimize" for m in range(num_objectives)}

    def truth(params):
        return {
            goal: float((params["x"] - low - m) ** 2 + params["n"] / 30 + (params["c"] == "a"))
            for m, goal in enumerate(goals)
        }

    return Experimenter(name=f"bowl{low}", problem=Problem.define(SPACE, goals), truth=truth)


def lanes(num_objectives: int = 1) -> list[Lane]:
    return [Lane(bowl(0.1 * seed, num_objectives), seed) for seed in (3, 4, 5)]


def advance(
    some: list[Lane], num_trials: int, batch_size: int = 1, device: str = "cpu", preset: Preset = PAPER
) -> list[list[dict]]:
    for seconds in lockstep.run(
        some, num_trials=num_trials, batch_size=batch_size, preset=preset, device=device
    ):
        assert seconds > 0
    return [[evaluation.params for evaluation in lane.done] for lane in some]


def by_hand(lane: Lane, num_trials: int, batch_size: int) -> list[dict]:
    """The study of a lane through the public interface."""
    goals = {metric.name: metric.goal.value for metric in lane.experimenter.problem.metrics}
    study = ph.create_study(SPACE, goals, algorithm="paper", seed=lane.seed)
    while len(study) < num_trials:
        for trial in study.ask(min(batch_size, num_trials - len(study))):
            study.tell(trial, lane.experimenter.truth(trial.params))
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize(("num_trials", "batch_size", "num_objectives"), [(9, 1, 1), (9, 3, 1), (13, 1, 2)])
def test_a_lane_is_what_a_user_would_have_got(num_trials, batch_size, num_objectives):
    found = advance(lanes(num_objectives), num_trials, batch_size)
    assert found == [by_hand(lane, num_trials, batch_size) for lane in lanes(num_objectives)]


def test_an_interrupted_run_goes_on_as_if_it_had_not_been():
    whole = lanes()
    advance(whole, 8)
    parts = lanes()
    advance(parts, 3)
    again = [Lane(lane.experimenter, lane.seed, list(lane.done)) for lane in parts]
    assert advance(again, 8) == [[evaluation.params for evaluation in lane.done] for lane in whole]


@pytest.fixture
def side_by_side(monkeypatch) -> str:
    """A device on which studies go side by side although it is this machine's CPU."""
    fit, pick = lockstep.many.fit_program, lockstep.many.pick_program

    def on_cpu(program):
        return lambda *arguments, device: program(*arguments, device="cpu")

    monkeypatch.setattr(lockstep.many, "fit_program", lambda settings: on_cpu(fit(settings)))
    monkeypatch.setattr(lockstep.many, "pick_program", lambda *settings: on_cpu(pick(*settings)))
    return "this machine"


@pytest.mark.long
def test_side_by_side_starts_alike_and_searches_as_well(side_by_side):
    """Whole runs differ by rounding that a greedy search amplifies: seeds are equal, and what is reached is close."""
    alone, together = lanes(), lanes()
    first, second = advance(alone, 12), advance(together, 12, device=side_by_side)
    assert [points[0] for points in first] == [points[0] for points in second]
    assert first[0][1] != first[1][1]
    reached = [
        [min(evaluation.truth["cost0"] for evaluation in lane.done) for lane in some]
        for some in (alone, together)
    ]
    np.testing.assert_allclose(*reached, atol=0.05)


@pytest.mark.long
def test_infeasible_trials_are_judged_apart_side_by_side_as_well(side_by_side):
    """Also where the study beside has none: both get to where they get alone."""

    def some() -> list[Lane]:
        cut = infeasible(bowl(0.3), lambda params: params["x"] < 0.5)
        return [Lane(cut, 3), Lane(bowl(0.4), 4)]

    alone, together = some(), some()
    first = advance(alone, 16, preset=DEFAULT)
    second = advance(together, 16, device=side_by_side, preset=DEFAULT)
    assert [points[0] for points in first] == [points[0] for points in second]
    assert any(np.isnan(evaluation.truth["cost0"]) for evaluation in together[0].done)
    reached = [
        [np.nanmin([evaluation.truth["cost0"] for evaluation in lane.done]) for lane in lanes]
        for lanes in (alone, together)
    ]
    np.testing.assert_allclose(*reached, atol=0.05)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["paper", "default"])
def test_whole_runs_side_by_side_are_as_good_as_single_studies(side_by_side, algorithm):
    """By a paired interval: rounding makes other runs of them, but neither better nor worse ones.

    Paired are runs of one function and seed; compared are the logarithms of the best values. Another kind of processor
    rounds differently, so that this is another draw there; with so many runs hardly any draw fails.
    """
    runs = [(text, repeat) for text in ("bbob/f08/4d", "bbob/f15/4d") for repeat in range(12)]
    together = [Lane(build(Task.parse(text), repeat), seed=repeat) for text, repeat in runs]
    advance(together, 24, device=side_by_side, preset=preset(algorithm))
    differences = []
    for lane in together:
        study = ph.create_study(lane.experimenter.problem.space, algorithm=algorithm, seed=lane.seed)
        for _ in range(24):
            [trial] = study.ask()
            study.tell(trial, lane.experimenter.truth(trial.params)["value"])
        best = min(evaluation.truth["value"] for evaluation in lane.done)
        differences.append(np.log(best) - np.log(study.best_trial.values["value"]))
    mean, error = np.mean(differences), stats.sem(differences)
    width = stats.t.ppf(0.9995, len(differences) - 1) * error
    assert abs(mean) <= width + 1e-6, (
        f"{differences}: mean {mean:.2f}, half of the 99.9 % interval {width:.2f}"
    )
    assert width < 1.0  # wide enough for anything would prove nothing


@pytest.mark.long
def test_a_fleet_too_large_for_one_call_is_cut(monkeypatch, side_by_side):
    monkeypatch.setattr(lockstep.many, "MAX_STUDIES", 2)
    found = advance(lanes(), 3, device=side_by_side)
    assert [len(points) for points in found] == [3, 3, 3]


def test_noise_belongs_to_the_trial():
    def observe(values, rng):
        return ph.trial.Measurement.completed({name: v + rng.normal() for name, v in values.items()})

    def noisy(seed):
        quiet = bowl(0.2)
        return Lane(
            Experimenter(name="noisy", problem=quiet.problem, truth=quiet.truth, observe=observe), seed
        )

    one, same, other = noisy(1), noisy(1), noisy(2)
    point = {"x": 0.0, "n": 3, "c": "b"}
    assert one.measure(point) == same.measure(point)
    assert one.done[0].told != other.measure(point).told
    assert one.measure(point).told != one.done[0].told
    assert one.done[0].truth == one.done[1].truth == bowl(0.2).truth(point)


def test_lanes_of_different_stages_or_within_a_batch_are_refused():
    mixed = lanes()
    mixed[0].measure({"x": 0.0, "n": 3, "c": "b"})
    with pytest.raises(ValueError, match="share shape and number of trials, got 2 kinds"):
        advance(mixed, 4)
    for lane in mixed[1:]:
        lane.measure({"x": 0.0, "n": 3, "c": "b"})
    with pytest.raises(ValueError, match="whole batches of 2, got 1 trials"):
        advance(mixed, 4, batch_size=2)


@pytest.mark.parametrize("module", ["lockstep", "lockstep_suite"])
def test_it_needs_nothing_but_jax_numpy_and_scipy(module):
    code = """
import importlib, sys
sys.modules["jaxtyping"] = None  # used where it is there
allowed = {"jax", "jaxlib", "numpy", "scipy", "photinus", "photinus_bench", "jaxtyping", "__mp_main__"}
import jax, numpy, scipy.stats, scipy.linalg
before = {name.partition(".")[0] for name in sys.modules}
importlib.import_module("photinus_bench." + sys.argv[1])
new = {name.partition(".")[0] for name in sys.modules} - before - allowed - set(sys.stdlib_module_names)
assert not new, new
"""
    command = [sys.executable, "-c", code, module]
    subprocess.run(command, check=True, env={"PYTHONPATH": ":".join(sys.path)})
