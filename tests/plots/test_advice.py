"""Whether to go on: what the model promises, what the latest trials brought, and what breaks."""

from typing import Any

import pytest

import photinus as ph
from photinus.report import Verdict, advice, advise
from photinus.report.prospects import Prospect

COARSE = [0.0, 0.5, 1.0]
NEAR_THE_BEST = [0.295, 0.298, 0.299, 0.2995, 0.3, 0.3005, 0.301, 0.302, 0.305]


def bowl(points: list[float]) -> ph.Study:
    study = ph.create_study({"x": ph.Float(0, 1)}, seed=0)
    for x in points:
        study.add_trial({"x": x}, (x - 0.3) ** 2)
    return study


def test_it_is_too_early_with_fewer_trials_than_parameters():
    study = ph.create_study({f"x{i}": ph.Float(0, 1) for i in range(6)})
    given = advise(study)
    assert given.verdict == Verdict.TOO_EARLY and given.outlooks == [] and given.num_completed == 0
    assert "0 completed trials say little about 6 parameters: measure at least 7" in given.because


def test_a_coarse_look_at_a_bowl_is_worth_another_trial():
    given = advise(bowl(COARSE))
    assert given.verdict == Verdict.GO_ON
    [outlook] = given.outlooks
    assert outlook.best_number == 1 and outlook.num_since_best == 1 and outlook.is_worthwhile
    assert outlook.prospect.expected_gain > 0.0
    assert f"{outlook.prospect.chance:.0%} to gain at all" in given.because


def test_a_bowl_that_is_known_well_is_not():
    given = advise(bowl([*COARSE, 0.15, 0.45, *NEAR_THE_BEST]))
    assert given.verdict == Verdict.LITTLE_TO_GAIN
    [outlook] = given.outlooks
    assert outlook.prospect.expected_gain < 1e-3 and not outlook.is_worthwhile


def test_running_trials_are_counted():
    study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random")
    study.ask(2)
    assert advise(study).num_running == 2


def prospect(metric: Any, *, best: float, gain: float, chance: float, noise: float = 0.0) -> Prospect:
    point = {"x": 0.5}
    quantiles = {"q05": best, "q50": best, "q95": best}
    return Prospect(metric, best, point, quantiles, point, gain, chance, {"best": noise, "median": noise})


@pytest.mark.parametrize(
    ("values", "gain", "chance", "noise", "verdict"),
    [
        ((1.0, 2.0, 3.0), 0.5, 0.5, 0.0, Verdict.GO_ON),
        ((1.0, 2.0, 3.0), 0.5, 0.04, 0.0, Verdict.LITTLE_TO_GAIN),  # unlikely
        ((1.0, 2.0, 3.0), 0.009, 0.5, 0.0, Verdict.LITTLE_TO_GAIN),  # 1 from the median to the best
        ((1.0, 1.0, 3.0), 0.019, 0.5, 0.0, Verdict.LITTLE_TO_GAIN),  # 2 from the worst to the best
        ((1.0, 2.0, 3.0), 0.5, 0.5, 6.0, Verdict.LITTLE_TO_GAIN),  # nobody could see it
    ],
)
def test_a_gain_must_be_likely_and_large_enough(
    monkeypatch: pytest.MonkeyPatch,
    values: tuple[float, ...],
    gain: float,
    chance: float,
    noise: float,
    verdict: Verdict,
):
    study = ph.create_study({"x": ph.Float(0, 1)})
    for value in values:
        study.add_trial({"x": 0.5}, value)
    [metric] = study.problem.metrics
    promised = prospect(metric, best=1.0, gain=gain, chance=chance, noise=noise)
    monkeypatch.setattr(advice, "find_prospects", lambda moment: [promised])
    assert advise(study).verdict == verdict


@pytest.mark.parametrize(
    ("gain", "num_joined", "verdict", "because"),
    [
        (0.5, 0, Verdict.GO_ON, "the model expects that b can still be improved"),
        (0.0, 2, Verdict.GO_ON, "2 of the latest 10 completed trials are in the Pareto set"),
        (0.0, 0, Verdict.LITTLE_TO_GAIN, "none of the latest 10 completed trials is in the Pareto set"),
    ],
)
def test_with_several_objectives_the_pareto_set_counts_too(
    monkeypatch: pytest.MonkeyPatch, gain: float, num_joined: int, verdict: Verdict, because: str
):
    study = ph.create_study({"x": ph.Float(0, 1)}, {"a": "minimize", "b": "maximize"})
    study.add_trial({"x": 0.5}, {"a": 0.0, "b": 0.0})
    for i in range(10):
        joins = i < num_joined
        study.add_trial({"x": 0.5}, {"a": 1.0 + i, "b": 1.0 + i if joins else -1.0})
    a, b = study.problem.metrics
    promised = [
        prospect(a, best=0.0, gain=0.0, chance=0.0),
        prospect(b, best=0.0, gain=gain, chance=gain),
    ]
    monkeypatch.setattr(advice, "find_prospects", lambda moment: promised)
    given = advise(study)
    assert given.verdict == verdict and because in given.because


def test_values_that_never_change_are_worth_a_warning():
    study = ph.create_study({f"x{i}": ph.Float(0, 1) for i in range(12)}, {"a": "minimize", "b": "maximize"})
    for number in range(2):
        study.add_trial({f"x{i}": 0.5 for i in range(12)}, {"a": 1.0, "b": float(number)})
    assert advise(study).warnings == []  # too few to tell
    study.add_trial({f"x{i}": 0.5 for i in range(12)}, {"a": 1.0, "b": 2.0})
    [warning] = advise(study).warnings
    assert warning.startswith("a is the same in all 3 completed trials: see that it is measured")


def test_a_study_that_was_stopped_is_worth_a_warning():
    study = ph.create_study({"x": ph.Float(0, 1)})
    assert advise(study).warnings == []
    study.stop()
    assert advise(study).warnings == ["the study was stopped: find out why before more trials are spent"]


@pytest.mark.parametrize(
    ("outcome", "remedy"), [("failed", "find out what breaks"), ("infeasible", "narrow it")]
)
def test_many_lost_trials_are_worth_a_warning(outcome: str, remedy: str):
    study = ph.create_study({f"x{i}": ph.Float(0, 1) for i in range(12)})
    point = {f"x{i}": 0.5 for i in range(12)}
    for number in range(10):
        study.add_trial(point, **({"values": 1.0} if number < 2 else {outcome: "power cut"}))
    [warning] = advise(study).warnings
    assert warning.startswith(f"8 of the latest 10 finished trials are {outcome}") and remedy in warning
