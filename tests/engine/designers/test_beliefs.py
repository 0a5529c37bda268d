"""What the model tells about itself."""

import json

import numpy as np
import pytest

import photinus as ph
from photinus.engine.designers import describe, gp_bandit, predict, thin
from photinus.trial import Trial, TrialState

PROBLEM = ph.Problem.define(
    {"x": ph.Float(0, 1), "c": ph.Categorical(["a", "b"]), "one": ph.Int(3, 3)}, {"y": "minimize"}
)


def completed(number: int, x: float, y: float | None, state: TrialState = TrialState.COMPLETED) -> Trial:
    return Trial(
        number=number,
        params={"x": x, "c": "ab"[number % 2], "one": 3},
        state=state,
        values=None if y is None else {"y": y},
        completed_event=number + 1,
        created_event=number + 1,
    )


def noisy(count: int, deviation: float) -> list[Trial]:
    rng = np.random.default_rng(0)
    return [
        completed(i, x, 10.0 + 2.0 * x + deviation * rng.normal())
        for i, x in enumerate(np.linspace(0.0, 1.0, count).tolist())
    ]


def test_a_description_is_plain_json():
    described = describe(PROBLEM, noisy(14, 0.1), 0)
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert set(described["length_scales"]) == {"x", "c"}  # a single value has no scale
    assert described["num_completed"] == 14
    assert described["num_infeasible"] == 0


@pytest.mark.parametrize("deviation", [0.02, 0.2])
def test_noise_is_told_in_the_users_units(deviation: float):
    found = describe(PROBLEM, noisy(60, deviation), 0)["objectives"]["y"]["noise"]
    assert 0.5 * deviation < found["median"] < 2.0 * deviation


def test_the_scale_leads_from_the_models_mean_to_the_median():
    trials = noisy(14, 0.1)
    scale = describe(PROBLEM, trials, 0)["objectives"]["y"]["scale"]
    assert np.all(np.diff(scale["model"]) > 0) and np.all(np.diff(scale["values"]) <= 0)  # less is better
    for row in predict(PROBLEM, trials, [{"x": x, "c": "a", "one": 3} for x in (0.1, 0.5, 0.9)], 0):
        median = np.interp(row["y"]["mean_warped"], scale["model"], scale["values"])
        assert median == pytest.approx(row["y"]["q50"], rel=1e-3)


@pytest.mark.parametrize("state", [TrialState.INFEASIBLE, TrialState.FAILED])
def test_without_a_value_there_is_neither_noise_nor_scale(state: TrialState):
    described = describe(PROBLEM, [completed(0, 0.5, None, state)], 0)
    assert described["objectives"] == {"y": None}


def test_the_largest_values_are_described_by_numbers():
    trials = [completed(i, i / 5, v) for i, v in enumerate([-8e307, -1e300, 0.0, 1e300, 8e307])]
    json.dumps(describe(PROBLEM, trials, 0), allow_nan=False)


def test_algorithms_without_a_model_are_described_by_the_defaults():
    trials = noisy(14, 0.1)
    assert describe(PROBLEM, trials, 0, algorithm="random") == describe(PROBLEM, trials, 0)


def test_one_model_is_fitted_for_many_questions(monkeypatch: pytest.MonkeyPatch):
    fits = []
    fit = gp_bandit.fit_objective
    monkeypatch.setattr(gp_bandit, "fit_objective", lambda *args: fits.append(1) or fit(*args))
    trials, point = noisy(13, 0.1), {"x": 0.3, "c": "a", "one": 3}
    first = predict(PROBLEM, trials, [point], 11)
    describe(PROBLEM, trials, 11)
    assert predict(PROBLEM, trials, [point], 11) == first
    assert len(fits) == 1
    changed = [*trials[:-1], completed(12, 1.0, 99.0)]
    assert predict(PROBLEM, changed, [point], 11) != first
    assert len(fits) == 2
    assert len(gp_bandit._remembered) <= gp_bandit.NUM_REMEMBERED


def test_few_trials_stay_as_they_are():
    trials = [*noisy(5, 0.1), completed(5, 0.1, None, TrialState.ACTIVE)]
    assert thin(PROBLEM, trials, 6) == trials


def test_trials_without_a_label_go_first():
    trials = [*noisy(5, 0.1), completed(5, 0.1, None, TrialState.FAILED)]
    assert thin(PROBLEM, trials, 5) == trials[:5]


def test_a_quarter_of_a_thinned_study_are_the_best():
    values = np.random.default_rng(2).permutation(100).tolist()
    trials = [completed(i, 0.5, float(v)) for i, v in enumerate(values)]
    trials.append(completed(100, 0.5, None, TrialState.INFEASIBLE))
    kept = thin(PROBLEM, trials, 20)
    assert len(kept) == 20
    assert [t.number for t in kept] == sorted({t.number for t in kept})
    assert {float(v) for v in range(5)} <= {t.values["y"] for t in kept if t.values}
    others = [t.number for t in kept if not t.values or t.values["y"] >= 5]
    assert max(np.diff(others)) < 25  # spread over the whole study
    assert 100 in others


def test_the_best_of_several_objectives_have_the_smallest_ranks():
    problem = ph.Problem.define(PROBLEM.space, {"a": "minimize", "b": "maximize"})
    trials = [
        Trial(
            number=i, params={}, state=TrialState.COMPLETED, values={"a": float(i), "b": 1e6 * (i == 7) - i}
        )
        for i in range(30)
    ]
    kept = {t.number for t in thin(problem, trials, 8)}
    assert {0, 1} <= kept
