import json
import math

import numpy as np
import pytest

import photinus as ph
from photinus.engine.designers import gp_bandit
from photinus.engine.encoding import Encoder
from photinus.problem import Problem
from photinus.testing.designer import measured, record
from photinus.trial import Measurement

SPACE = {"x": ph.Float(0, 1), "y": ph.Float(-5, 10)}
ENTRIES = {
    "method", "intent", "acquisition", "predicted", "warped", "trust_region", "hyperparameters", "nearest",
    "evaluations", "jitter",
}  # fmt: skip


def value(params: dict) -> float:
    """A smooth hill in units of its own."""
    return 1000 + 200 * math.sin(3 * params["x"]) - 3 * (params["y"] - 2) ** 2


def study(goal: str = "maximize", count: int = 10, design: int = 2) -> tuple[Problem, list]:
    problem = Problem.define(SPACE, goal)
    points = Encoder(problem.space).spread(np.random.default_rng(design).random((count, 2)))
    return problem, record((p, measured(problem, value(p))) for p in points)


def reason(goal: str = "maximize", seed: int = 0) -> dict:
    [suggestion] = gp_bandit.suggest(*study(goal), 1, seed)
    return suggestion.reason | {"params": suggestion.params}


def test_every_item_is_there_in_plain_json():
    found = reason()
    params = found.pop("params")
    assert set(found) == ENTRIES
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["method"] == "ucb"
    assert found["intent"] in ("explore", "exploit")
    assert math.isfinite(found["acquisition"])
    assert set(found["predicted"]["value"]) == {"q05", "q50", "q95"}
    assert set(found["warped"]["value"]) == {"mean", "std"}
    assert found["trust_region"] == {"radius": pytest.approx(0.2 + 0.3 * 10 / 15)}  # (18)
    assert set(found["hyperparameters"]) == {"signal_variance", "noise_variance", "length_scales"}
    assert set(found["hyperparameters"]["length_scales"]) == set(params)
    assert found["evaluations"] == 75_000
    assert found["jitter"] == 0.0


def test_the_acquisition_is_the_bound_of_the_warped_moments():
    found = reason()
    warped = found["warped"]["value"]
    assert found["acquisition"] == pytest.approx(warped["mean"] + 1.8 * warped["std"], abs=1e-9)  # (17)


def test_the_nearest_trials_are_those_nearest_in_the_unit_cube():
    problem, trials = study()
    found = reason()
    encoder = Encoder(problem.space)
    here = encoder.encode([found["params"]]).continuous
    distances = np.linalg.norm(encoder.encode([t.params for t in trials]).continuous - here, axis=1)
    order = np.argsort(distances)[:3]
    assert [entry["number"] for entry in found["nearest"]] == [trials[i].number for i in order]
    assert [entry["distance"] for entry in found["nearest"]] == pytest.approx(distances[order], abs=1e-9)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_quantiles_are_in_the_users_units_and_in_order(goal: str):
    quantiles = reason(goal)["predicted"]["value"]
    assert quantiles["q05"] < quantiles["q50"] < quantiles["q95"]
    assert 200 < quantiles["q50"] < 2000


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_predictions_hold_what_is_measured_later(goal: str):
    inside, correlations = [], []
    for design in range(4):
        problem, trials = study(goal, 14, design)
        points = Encoder(problem.space).spread(np.random.default_rng(9).random((60, 2)))
        truth = [value(p) for p in points]
        rows = [row["value"] for row in gp_bandit.predict(problem, trials, points, 0)]
        inside += [row["q05"] <= v <= row["q95"] for row, v in zip(rows, truth, strict=True)]
        correlations.append(np.corrcoef([row["q50"] for row in rows], truth)[0, 1])
    # Below the median only ranks are modelled, so there the intervals are rough.
    assert np.mean(inside) > 0.75
    assert min(correlations) > 0.8


def test_predictions_at_trials_are_close_to_what_was_measured():
    problem, trials = study(count=14)
    rows = gp_bandit.predict(problem, trials, [t.params for t in trials], 0)
    top = sorted(range(14), key=lambda i: -value(trials[i].params))[:5]
    for i in top:  # the better half keeps its scale in warping, and so its precision
        assert rows[i]["value"]["q50"] == pytest.approx(value(trials[i].params), abs=25)


def test_a_reason_says_what_the_model_predicts_there():
    problem, trials = study()
    found = reason()
    [row] = gp_bandit.predict(problem, trials, [found["params"]], 0)
    assert found["predicted"]["value"] == pytest.approx({q: row["value"][q] for q in ("q05", "q50", "q95")})
    assert found["warped"]["value"]["mean"] == pytest.approx(row["value"]["mean_warped"], abs=1e-9)
    assert found["warped"]["value"]["std"] == pytest.approx(row["value"]["std_warped"], abs=1e-9)


def test_more_points_than_one_batch_are_predicted_one_by_one():
    problem, trials = study()
    points = Encoder(problem.space).spread(np.random.default_rng(9).random((300, 2)))
    rows = gp_bandit.predict(problem, trials, points, 0)
    assert len(rows) == 300
    for i in (0, 255, 256, 299):
        [alone] = gp_bandit.predict(problem, trials, [points[i]], 0)
        assert rows[i]["value"] == pytest.approx(alone["value"], rel=1e-9)


def test_without_a_measured_value_there_is_no_scale_to_predict_on():
    problem = Problem.define(SPACE)
    points = Encoder(problem.space).spread(np.random.default_rng(2).random((4, 2)))
    trials = record((p, Measurement.infeasible("no")) for p in points)
    [suggestion] = gp_bandit.suggest(problem, trials, 1, 0)
    assert suggestion.reason["predicted"] == {"value": {"q05": None, "q50": None, "q95": None}}
    assert suggestion.reason["intent"] == "explore"
    assert suggestion.reason["warped"]["value"]["mean"] == 0.0


def test_a_pick_that_beats_the_best_exploits_and_others_explore():
    problem = Problem.define(SPACE, "maximize")
    # A slope with far more trials than it needs: the model is sure that its end is better.
    slope = [{"x": 0.05 * i, "y": -5 + 0.5 * i} for i in range(13)]
    trials = record((p, measured(problem, p["x"])) for p in slope)
    first, second = gp_bandit.suggest(problem, trials, 2, 0)
    assert (first.reason["method"], first.reason["intent"]) == ("ucb", "exploit")
    assert first.reason["predicted"]["value"]["q50"] > 0.6
    assert (second.reason["method"], second.reason["intent"]) == ("pure_exploration", "explore")
