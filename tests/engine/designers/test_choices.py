"""The engine's other choices (labels, length scales, acquisition, region), from settings to suggestions."""

import functools
import json

import jax
import numpy as np
import pytest
import twins
from designs import cube, kernel, observations, points, random_features, random_hyperparameters

import photinus as ph
from photinus.engine import bandit, cache, many
from photinus.engine.bandit import BanditSettings, ModelSettings
from photinus.engine.cache import engine_context
from photinus.engine.designers import beliefs, gp_bandit
from photinus.engine.designers.constants import PAPER, Preset
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.encoding import Encoder
from photinus.engine.features import Features
from photinus.engine.firefly import FireflySettings
from photinus.problem import Problem
from photinus.testing import DesignerContract
from photinus.testing.designer import TWO_GOALS, measured, record
from photinus.trial import Measurement, Trial

PAIR = Problem.define({"x": ph.Float(0, 1), "n": ph.Int(1, 30)}, "minimize")
MODEL = ModelSettings(labels="winsorised", length_scales="joint")
BUDGET = 2000
OTHER = Preset(
    BanditSettings(MODEL, acquisition="log_ei", region="box", search=FireflySettings(max_evaluations=BUDGET)),
    overwrite_probability=0.0,
)


@pytest.fixture(autouse=True)
def nothing_compiled_ahead(monkeypatch):
    monkeypatch.setattr(gp_bandit, "PREPARE_AHEAD", 0)


class TestEveryChoiceButThePapers(DesignerContract):
    @pytest.fixture
    def suggest(self):
        return functools.partial(gp_bandit.suggest, preset=OTHER)


def bowl(params: dict) -> float:
    return (params["x"] - 0.3) ** 2 + (params["n"] / 30 - 0.6) ** 2


def study(count: int, seed: int = 2, factor: float = 1.0) -> list[Trial]:
    drawn = Encoder(PAIR.space).spread(np.random.default_rng(seed).random((count, 2)))
    return record((p, measured(PAIR, factor * bowl(p))) for p in drawn)


def test_log_expected_improvement_is_the_textbooks():
    """Of the function over the most that is expected of a trial, visited ones included; by the plain formulas."""
    rng = np.random.default_rng(1)
    X, hyper = random_features(rng, 9, 2, 1), random_hyperparameters(rng, 2, 1)
    query, labels = random_features(rng, 8, 2, 1), rng.normal(size=(6, 1))
    observed = observations(X, labels, 16)

    @jax.jit
    def score(observed, y, hyper, query):
        explores = jax.numpy.asarray(False)
        return bandit.acquisition(
            jax.random.key(0), observed, y, cube(2, 1), hyper, explores, OTHER.settings
        ).score(query)

    with engine_context():
        found = score(observed, observed.labels, hyper, query)
    k = kernel(hyper)
    mu, at_trials = (twins.mean(k, points(X)[:6], labels, points(x))[:, 0] for x in (query, X))
    sigma = np.sqrt(twins.deviation(k, points(X), points(query)) ** 2 - k.noise)
    z = (mu - at_trials.max()) / sigma
    improvement = sigma * (twins.norm.pdf(z) + z * twins.norm.cdf(z))
    np.testing.assert_allclose(np.exp(found), improvement, rtol=1e-6)


def test_a_pick_is_inside_the_box_and_its_reason_says_how_large_that_is():
    """One trial and then failures: the box has been halved twice around the first."""
    best = {"x": 0.52, "n": 14}
    rng = np.random.default_rng(0)
    others = Encoder(PAIR.space).spread(rng.random((8, 2)))
    trials = record([(best, measured(PAIR, -1.0)), *((p, measured(PAIR, bowl(p))) for p in others)])
    [found] = gp_bandit.suggest(PAIR, trials, 1, 5, preset=OTHER)
    assert found.reason["method"] == "log_ei"
    assert found.reason["trust_region"] == {"radius": pytest.approx(0.05)}
    assert found.reason["evaluations"] == BUDGET
    scales = np.array(list(found.reason["hyperparameters"]["length_scales"].values()))
    half = 0.05 * scales / np.sqrt(np.prod(scales))
    assert abs(found.params["x"] - best["x"]) <= half[0] + 1e-9
    assert abs(found.params["n"] - best["n"]) <= max(29 * half[1] + 0.5, 1)
    json.dumps(found.reason, allow_nan=False)


def test_exploring_and_several_objectives_have_no_box():
    batch = gp_bandit.suggest(PAIR, study(6), 2, 5, preset=OTHER)
    assert [s.reason["method"] for s in batch] == ["log_ei", "pure_exploration"]
    assert batch[1].reason["trust_region"] == {"radius": None}
    assert batch[0].params != batch[1].params
    drawn = Encoder(TWO_GOALS.space).spread(np.random.default_rng(0).random((11, 5)))
    values = ({"loss": p["lr"], "accuracy": float(p["layers"])} for p in drawn)
    trials = record((p, Measurement.completed(v)) for p, v in zip(drawn, values, strict=True))
    [found] = gp_bandit.suggest(TWO_GOALS, trials, 1, 5, preset=OTHER)
    assert found.reason["method"] == "hypervolume_ucb"
    assert found.reason["trust_region"] == {"radius": None}


@pytest.mark.parametrize("factor", [2.0**30, 2.0**-30], ids="{:g}".format)
def test_units_of_the_objective_do_not_change_suggestions(factor):
    plain, other = (gp_bandit.suggest(PAIR, study(7, factor=f), 2, 3, preset=OTHER) for f in (1.0, factor))
    assert [s.params for s in plain] == [s.params for s in other]


def test_predictions_are_in_the_users_units_and_follow_the_labels():
    trials = study(14)
    rows = gp_bandit.predict(PAIR, trials, [t.params for t in trials], 3, preset=OTHER)
    values = [t.values["value"] for t in trials if t.values]
    for row, value in zip(rows, values, strict=True):
        at = row["value"]
        assert at["q05"] <= at["q50"] <= at["q95"]
        assert at["q50"] == pytest.approx(value, abs=0.05)
    told = beliefs.describe(PAIR, trials, 3, preset=OTHER)["objectives"]["value"]
    assert np.all(np.diff(told["scale"]["values"]) < 0)  # more is better for the model, less for the user
    assert told["noise"]["best"] > 0


def test_a_model_is_remembered_by_its_settings_too():
    trials = study(9)
    at = [trials[0].params]
    winsorised = gp_bandit.predict(PAIR, trials, at, 3, preset=OTHER)
    papers = gp_bandit.predict(PAIR, trials, at, 3)
    assert winsorised[0]["value"]["std_warped"] != papers[0]["value"]["std_warped"]
    assert gp_bandit.predict(PAIR, trials, at, 3, preset=OTHER) == winsorised


def test_programs_are_shared_where_settings_agree_and_nowhere_else():
    paper, other = PAPER.settings, OTHER.settings
    assert gp_bandit.fit_program(paper.model) is gp_bandit.fit_program(ModelSettings())
    snapshots = [
        Snapshot(PAIR, [], 0, PAPER._replace(settings=settings))
        for settings in (
            paper,
            other,
            paper._replace(acquisition="log_ei"),
            paper._replace(region="box"),
            paper._replace(ucb_coefficient=1.0),
        )
    ]
    models = [
        ModelSettings(labels, scales)
        for labels in ("warped", "winsorised")
        for scales in ("independent", "joint")
    ]
    for programs in (
        [gp_bandit.fit_program(model) for model in models],
        [many.fit_program(model) for model in models],
        [gp_bandit.pick_program(snapshot) for snapshot in snapshots],
    ):
        keys = {cache._digest(repr((program.name, program._settings))) for program in programs}
        assert len(keys) == len(set(map(id, programs))) == len(programs)


def test_studies_side_by_side_are_as_good_as_alone():
    cases = [(PAIR, study(6, seed), seed) for seed in (0, 1, 2)]
    together = many.suggest_many(cases, preset=OTHER)
    for case, [found] in zip(cases, together, strict=True):
        [alone] = gp_bandit.suggest(*case[:2], 1, case[2], preset=OTHER)
        assert found.reason["method"] == alone.reason["method"] == "log_ei"
        assert found.reason["trust_region"] == pytest.approx(alone.reason["trust_region"])
        # A search of 2,000 evaluations ends near the top, not on it.
        assert found.reason["acquisition"] == pytest.approx(alone.reason["acquisition"], abs=0.05)


def test_a_box_is_searched_on_feasible_values_only():
    """What the search scored is what is suggested, to the last bit of its features."""
    snapshot = Snapshot(PAIR, study(8), 3, OTHER)
    model = gp_bandit.fit(snapshot, 16)
    found = jax.device_get(
        gp_bandit.pick_program(snapshot)(*gp_bandit.pick_arguments(snapshot, model, False, 16))
    )
    encoded = snapshot.encoder.encode(snapshot.encoder.decode(found.features))
    assert isinstance(found.features, Features)
    np.testing.assert_allclose(found.features.continuous, encoded.continuous, atol=1e-12)
