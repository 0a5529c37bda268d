"""A model for every objective, from settings to suggestions, predictions and what is told of them."""

import functools
import json

import numpy as np
import pytest

import photinus as ph
from photinus.engine import many
from photinus.engine.bandit import BanditSettings, ModelSettings
from photinus.engine.designers import beliefs, gp_bandit
from photinus.engine.designers.constants import Preset
from photinus.engine.encoding import Encoder
from photinus.engine.firefly import FireflySettings
from photinus.plots.source import model_of
from photinus.problem import Problem
from photinus.testing import DesignerContract
from photinus.testing.designer import record
from photinus.trial import Measurement, Trial

SEARCH = FireflySettings(max_evaluations=2000)
SHARED, OWN = (
    Preset(BanditSettings(ModelSettings(metrics=metrics), search=SEARCH), overwrite_probability=0.0)
    for metrics in ("shared", "own")
)
SPACE = {"x": ph.Float(0, 1), "y": ph.Float(0, 1), "c": ph.Categorical(["a", "b"])}
ONE = Problem.define(SPACE, "minimize")
# The one hears of x alone, the other of y alone, and in far larger units.
TWO = Problem.define(SPACE, {"low": "minimize", "high": "maximize"})


@pytest.fixture(autouse=True)
def nothing_compiled_ahead(monkeypatch):
    monkeypatch.setattr(gp_bandit, "PREPARE_AHEAD", 0)


class TestOwnMetrics(DesignerContract):
    @pytest.fixture
    def suggest(self):
        return functools.partial(gp_bandit.suggest, preset=OWN)


def study(problem: Problem, count: int = 14, seed: int = 2) -> list[Trial]:
    drawn = Encoder(problem.space).spread(np.random.default_rng(seed).random((count, 3)))
    values = ((p["x"] - 0.3) ** 2 for p in drawn), (1e3 * np.sin(7 * p["y"]) for p in drawn)
    columns = list(zip(problem.metric_names, values, strict=False))
    rows = zip(*(column for _, column in columns), strict=True)
    names = [name for name, _ in columns]
    return record(
        (p, Measurement.completed(dict(zip(names, map(float, row), strict=True))))
        for p, row in zip(drawn, rows, strict=True)
    )


def test_one_objective_has_the_same_suggestions_either_way():
    shared, own = (gp_bandit.suggest(ONE, study(ONE), 2, 3, preset=preset) for preset in (SHARED, OWN))
    assert [s.params for s in shared] == [s.params for s in own]
    assert [s.reason for s in shared] == [s.reason for s in own]


def test_an_objective_beside_another_is_predicted_as_if_it_were_the_only_one():
    trials, points = study(TWO), [t.params for t in study(TWO, 5, seed=3)]
    rows = gp_bandit.predict(TWO, trials, points, 3, preset=OWN)
    for metric in TWO.metrics:
        alone = Problem.define(SPACE, {metric.name: metric.goal.value})
        values = ((t.params, {metric.name: (t.values or {})[metric.name]}) for t in trials)
        told = record((params, Measurement.completed(value)) for params, value in values)
        expected = gp_bandit.predict(alone, told, points, 3, preset=OWN)
        for row, other in zip(rows, expected, strict=True):
            assert row[metric.name] == pytest.approx(other[metric.name], rel=1e-5)


def test_reasons_tell_the_deviations_and_hyperparameters_of_every_objective():
    batch = gp_bandit.suggest(TWO, study(TWO), 2, 3, preset=OWN)
    assert [s.reason["method"] for s in batch] == ["hypervolume_ucb", "pure_exploration"]
    for found in batch:
        reason = found.reason
        assert json.loads(json.dumps(reason, allow_nan=False)) == reason
        assert reason["warped"]["low"]["std"] != reason["warped"]["high"]["std"]
        told = reason["hyperparameters"]
        scales = {name: each["length_scales"] for name, each in told["objectives"].items()}
        assert scales["low"]["x"] < scales["low"]["y"]
        assert scales["high"]["y"] < scales["high"]["x"]


def test_what_is_told_of_all_objectives_is_the_geometric_mean():
    described = beliefs.describe(TWO, study(TWO), 3, preset=OWN)
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    low, high = described["objectives"]["low"], described["objectives"]["high"]
    for name in ("signal_variance", "noise_variance"):
        assert described[name] == pytest.approx(np.sqrt(low[name] * high[name]))
    assert described["length_scales"].keys() == SPACE.keys()
    for name, scale in described["length_scales"].items():
        assert scale == pytest.approx(np.sqrt(low["length_scales"][name] * high["length_scales"][name]))
    assert low["noise"]["median"] < 0.1 < 1.0 < high["scale"]["values"][-1]


def test_shared_hyperparameters_are_told_once_and_hold_for_every_objective():
    described = beliefs.describe(TWO, study(TWO), 3, preset=SHARED)
    assert all(set(each) == {"noise", "scale"} for each in described["objectives"].values())
    assert all(model_of(described, metric) is described for metric in TWO.metrics)
    own = beliefs.describe(TWO, study(TWO), 3, preset=OWN)
    for metric in TWO.metrics:
        assert model_of(own, metric)["noise_variance"] == own["objectives"][metric.name]["noise_variance"]


@pytest.mark.long
def test_studies_side_by_side_are_as_good_as_alone():
    cases = [(TWO, study(TWO, seed=seed), seed) for seed in (0, 1)]
    for case, [found] in zip(cases, many.suggest_many(cases, preset=OWN), strict=True):
        [alone] = gp_bandit.suggest(*case[:2], 1, case[2], preset=OWN)
        assert found.reason["method"] == alone.reason["method"] == "hypervolume_ucb"
        assert found.reason["acquisition"] == pytest.approx(alone.reason["acquisition"], rel=0.1)
