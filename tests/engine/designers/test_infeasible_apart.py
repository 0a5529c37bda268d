"""Infeasible trials that are no labels: what they change, and what they must not."""

import dataclasses
import json

import numpy as np
import pytest

import photinus as ph
from photinus.engine import many
from photinus.engine.acquisition.feasibility import CAUTION
from photinus.engine.designers import beliefs, gp_bandit
from photinus.engine.designers.constants import DEFAULT, PAPER
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.encoding import Encoder
from photinus.problem import Problem
from photinus.testing.designer import TWO_GOALS, measured, record
from photinus.trial import Measurement, Trial, TrialState

MIXED = Problem.define(
    {"x": ph.Float(0, 1), "n": ph.Int(0, 4), "c": ph.Categorical(["a", "b", "c"])}, "minimize"
)
CALM = DEFAULT._replace(overwrite_probability=0.0)
SMALL = CALM._replace(fit_limit=16, posterior_limit=32)
NO = Measurement.infeasible("no")


@pytest.fixture(autouse=True)
def nothing_compiled_ahead(monkeypatch):
    monkeypatch.setattr(gp_bandit, "PREPARE_AHEAD", 0)
    monkeypatch.setattr(gp_bandit, "prepare", lambda *_: None)


def design(count: int, seed: int = 0) -> list[dict]:
    return Encoder(MIXED.space).spread(np.random.default_rng(seed).random((count, 3)))


def slope(params: dict) -> Measurement:
    """Best at x = 0, of which the left third cannot be measured."""
    value = params["x"] + 0.1 * params["n"] + 0.2 * (params["c"] != "b")
    return NO if params["x"] < 1 / 3 else measured(MIXED, value)


def study(count: int, seed: int = 0) -> list[Trial]:
    return record((params, slope(params)) for params in design(count, seed))


def values(trial: Trial) -> dict[str, float] | None:
    return None if trial.values is None else dict(trial.values)


def test_completed_rows_are_the_measured_ones_and_infeasible_ones_follow():
    trials = study(12)
    states = [t.state for t in trials]
    assert states.index(TrialState.INFEASIBLE) < 11 - states[::-1].index(TrialState.COMPLETED)
    apart = Snapshot(MIXED, trials, 0, DEFAULT)
    count = states.count(TrialState.COMPLETED)
    assert (apart.num_completed, apart.num_told, apart.num_infeasible) == (count, 12, 12 - count)
    assert [t.state for t in apart.told] == sorted(states)
    np.testing.assert_array_equal(apart.features.continuous, Encoder(MIXED.space).encode(
        [t.params for t in apart.told]
    ).continuous)  # fmt: skip
    seen = apart.observations(16)
    assert seen.is_completed.sum() == count
    assert seen.is_real.sum() == 12
    other = apart.feasibility()
    assert other.observations(16).is_completed.sum() == 12
    np.testing.assert_array_equal(other.labels[:, 0], [1.0] * count + [-1.0] * (12 - count))


@pytest.mark.parametrize(
    ("preset", "problem"), [(PAPER, MIXED), (DEFAULT, TWO_GOALS)], ids=["paper", "two goals"]
)
def test_elsewhere_an_infeasible_trial_is_a_completed_one(preset, problem):
    points = Encoder(problem.space).spread(
        np.random.default_rng(0).random((4, len(problem.space.parameters)))
    )
    trials = record((p, NO if i == 1 else measured(problem, float(i))) for i, p in enumerate(points))
    found = Snapshot(problem, trials, 0, preset)
    assert (found.num_completed, found.num_told) == (4, 4)
    assert found.is_feasible.tolist() == [True, False, True, True]
    assert [t.number for t in found.told] == [0, 1, 2, 3]
    assert not found.has_infeasible_apart


def test_what_is_learnt_trial_by_trial_is_what_is_read_at_once():
    trials = study(15)
    grown = Snapshot(MIXED, [], 0, DEFAULT)
    for trial in trials:
        grown.add(trial.params)
        grown.learn([values(trial)])
    read = Snapshot(MIXED, trials, 0, DEFAULT)
    for name in ("labels", "is_feasible"):
        np.testing.assert_array_equal(getattr(grown, name), getattr(read, name))
    for a, b in zip(grown.features, read.features, strict=True):
        np.testing.assert_array_equal(a, b)
    assert grown.past() == read.past()


def test_the_box_hears_of_infeasible_trials_in_their_order():
    """As if they had bad labels, though neither counts as a trial that was not better."""
    trials = study(30)
    label = CALM._replace(
        settings=CALM.settings._replace(model=CALM.settings.model._replace(infeasible="label"))
    )
    assert Snapshot(MIXED, trials, 0, CALM).past() == Snapshot(MIXED, trials, 0, label).past()


def test_predictions_are_those_without_infeasible_trials():
    trials = study(20)
    without = [t for t in trials if t.state is TrialState.COMPLETED]
    query = design(6, seed=9)
    found, expected = (gp_bandit.predict(MIXED, known, query, 3, preset=CALM) for known in (trials, without))
    for a, b in zip(found, expected, strict=True):
        assert a["value"] == pytest.approx(b["value"], rel=1e-6, abs=1e-6)
    told = beliefs.describe(MIXED, trials, 3, preset=CALM)
    assert (told["num_completed"], told["num_infeasible"]) == (len(without), 20 - len(without))


def test_the_search_closes_in_on_the_edge_of_what_can_be_measured():
    """Most is promised beyond it, so many trials fall there; it must not go on so for ever."""
    trials = study(20, seed=4)
    before = min(t.values["value"] for t in trials if t.values)
    for _ in range(10):
        [found] = gp_bandit.suggest(MIXED, trials, 1, 3, preset=CALM)
        assert 0.0 <= found.reason["feasible"] <= 1.0
        json.dumps(found.reason, allow_nan=False)
        outcomes = [(t.params, t.measurement) for t in trials]
        trials = record([*outcomes, (found.params, slope(found.params))])
    assert before > 0.6
    assert min(t.values["value"] for t in trials if t.values) < 0.36  # the edge has 1/3 at the best


def test_without_infeasible_trials_nobody_speaks_of_feasibility():
    trials = [t for t in study(12) if t.state is TrialState.COMPLETED]
    [found] = gp_bandit.suggest(MIXED, trials, 1, 3, preset=CALM)
    assert "feasible" not in found.reason


def test_where_nothing_could_be_measured_suggestions_spread():
    trials = record((params, NO) for params in design(5))
    batch = gp_bandit.suggest(MIXED, trials, 4, 3, preset=CALM)
    points = [tuple(s.params.values()) for s in batch] + [tuple(t.params.values()) for t in trials]
    assert len(set(points)) == 9
    assert all(np.isfinite(s.reason["acquisition"]) for s in batch)


def test_failed_trials_say_nothing_about_feasibility():
    trials = study(14)
    failed = [
        dataclasses.replace(t, state=TrialState.FAILED) if t.state is TrialState.INFEASIBLE else t
        for t in trials
    ]
    [found] = gp_bandit.suggest(MIXED, failed, 1, 3, preset=CALM)
    assert "feasible" not in found.reason


@pytest.mark.long
def test_long_studies_know_it_too():
    trials = study(60)
    exact, limited = (gp_bandit.suggest(MIXED, trials, 2, 3, preset=p) for p in (CALM, SMALL))
    for suggestion in (*exact, *limited):
        assert suggestion.reason["feasible"] > 0.3
    assert min(s.params["x"] for s in limited) > 0.25


@pytest.mark.long
def test_studies_side_by_side_get_as_good_suggestions_as_alone():
    """A study without infeasible trials beside one with some is not disturbed by that."""
    plain = record((p, measured(MIXED, p["x"])) for p in design(20, seed=5))
    cases = [(MIXED, study(20), 1), (MIXED, plain, 2)]
    together = many.suggest_many(cases, preset=CALM)
    for (problem, trials, seed), [found] in zip(cases, together, strict=True):
        [alone] = gp_bandit.suggest(problem, trials, 1, seed, preset=CALM)
        shift = 0.0 if "feasible" in alone.reason else CAUTION * np.log(found.reason["feasible"])
        assert found.reason["acquisition"] - shift == pytest.approx(alone.reason["acquisition"], abs=1e-5)
