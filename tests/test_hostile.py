"""Data that nobody would wish for: a correct suggestion, or an error that says what to do, and a study unharmed."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import photinus as ph
from photinus.engine.designers import gp_bandit
from photinus.errors import (
    AlreadyTold,
    ArgumentError,
    InvalidState,
    ParameterError,
    UnknownTrial,
    ValuesError,
)
from photinus.study import Study
from photinus.trial import Trial, TrialState

SPACE = {"x": ph.Float(0, 1), "y": ph.Float(-5, 10)}
INFEASIBLE, FAILED = {"infeasible": "diverged"}, {"failed": "worker lost"}
HUGE, TINY = 1e300, 1e-300
ALGORITHM = "default"  # and "paper" in `make test-long`

pytestmark = pytest.mark.usefixtures("algorithm")


@pytest.fixture(autouse=True, scope="module")
def nothing_compiled_ahead():
    """Sizes that no test here reaches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gp_bandit, "PREPARE_AHEAD", 0)
        yield


def make(objectives: Any = "minimize", space: dict[str, Any] = SPACE) -> Study:
    return ph.create_study(space, objectives, algorithm=ALGORITHM, seed=1)


def points(count: int) -> list[dict[str, float]]:
    u = np.random.default_rng(4).random((count, 2))
    return [{"x": float(a), "y": float(-5 + 15 * b)} for a, b in u]


def outcome(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"values": value}


def filled(values: list[Any], objectives: Any = "minimize") -> Study:
    """A study with these outcomes at different points; a dict is an outcome without values."""
    study = make(objectives)
    for point, value in zip(points(len(values)), values, strict=True):
        study.add_trial(point, **outcome(value))
    return study


def contents(study: Study) -> list[dict[str, Any]]:
    return [trial.to_dict() for trial in study.trials]


def assert_suggests(study: Study, count: int = 2) -> None:
    """New trials are valid and explained in finite numbers; what was there stays as it was."""
    before = contents(study)
    trials = study.ask(count)
    assert len(trials) == count
    assert_valid(study, trials)
    assert contents(study)[: len(before)] == before
    assert len(study) == len(before) + count


def assert_valid(study: Study, trials: Sequence[Trial]) -> None:
    for trial in trials:
        assert study.problem.space.validate(trial.params) == trial.params
        json.dumps(trial.reason, allow_nan=False)


LABELS = {
    "none": [],
    "one": [1.0],
    "two": [1.0, 2.0],
    "two equal": [1.0, 1.0],
    "equal": [3.0] * 8,
    "all zero": [0.0] * 8,
    "huge": [HUGE * v for v in (1, 0.5, 0.9, 1.0, 0.1)],
    "huge of both signs": [HUGE, -HUGE, 0.0, HUGE / 2, -HUGE / 2],
    "the largest floats": [1.7e308, -1.7e308, 1.7e308, 0.0],
    "tiny": [TINY * v for v in (1, 5, -3, 2, 4)],
    "the smallest floats": [5e-324, 1e-323, -5e-324, 0.0, 2e-323],
    "mixed magnitudes": [HUGE, 1.0, TINY, -TINY, -1.0, -HUGE, 1e150, 1e-150],
    "one outlier": [1.0, 1.1, 0.9, 1.05, HUGE],
    "one bad outlier": [1.0, 1.1, 0.9, 1.05, -HUGE],
    "nearly equal": [1.0, 1.0 + 2**-52, 1.0 - 2**-53, 1.0],
    "one infeasible": [INFEASIBLE],
    "only infeasible": [INFEASIBLE] * 6,
    "only failed": [FAILED] * 6,
    "failed and infeasible": [FAILED, INFEASIBLE] * 3,
    "constant and infeasible": [2.0, INFEASIBLE] * 4,
    "one value among infeasible": [INFEASIBLE] * 4 + [7.0],
    "one value among failed": [FAILED] * 4 + [7.0],
    "huge and infeasible": [HUGE, INFEASIBLE, -HUGE, INFEASIBLE],
}


@pytest.mark.parametrize("goal", ["minimize", "maximize"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_any_labels_lead_to_a_suggestion(labels: list[Any], goal: str):
    assert_suggests(filled(labels, goal))


@pytest.mark.parametrize(
    "pair",
    [(1.0, 2.0), (HUGE, TINY), (0.0, 0.0), (-HUGE, HUGE)],
    ids=["ordinary", "huge and tiny", "constant", "huge of both signs"],
)
def test_any_labels_of_several_objectives_lead_to_a_suggestion(pair: tuple[float, float]):
    values = [{"values": {"a": pair[0] * (1 + i % 3), "b": pair[1] * (1 + i % 2)}} for i in range(10)]
    values = [v if i % 4 else INFEASIBLE for i, v in enumerate(values)]
    assert_suggests(filled(values, {"a": "minimize", "b": "maximize"}))


@settings(max_examples=25)
@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([INFEASIBLE, FAILED, 0.0, 1.0]),
        max_size=12,
    )
)
def test_any_sequence_of_outcomes_leads_to_a_suggestion(values: list[Any]):
    assert_suggests(filled(values))


@settings(max_examples=15)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=12))
def test_trials_at_few_places_lead_to_a_suggestion(places: list[float]):
    study = make()
    for i, x in enumerate(places):
        study.add_trial({"x": x, "y": -5.0}, float(i % 4))
    assert_suggests(study)


@pytest.mark.parametrize("spread", [0.0, 1.0, 1e-9])
def test_a_hundred_trials_at_one_point_lead_elsewhere(spread: float):
    study = make()
    for i in range(100):
        study.add_trial({"x": 0.5, "y": 0.0}, spread * math.sin(i))
    assert_suggests(study, 1)
    assert study.trials[-1].params != {"x": 0.5, "y": 0.0}


def test_a_hundred_trials_next_to_each_other_lead_to_a_suggestion():
    study = make()
    for i in range(100):
        study.add_trial({"x": 0.5 + 1e-14 * i, "y": 1e-13 * i}, float(i % 7))
    assert_suggests(study, 1)


POINT = {"x": 0.5, "y": 0.0}
REFUSED = {
    "NaN": (lambda s: s.tell(0, math.nan), ValuesError, r"'value' must be finite, got nan: tell infeasible="),
    "infinity": (lambda s: s.tell(0, math.inf), ValuesError, r"must be finite, got inf"),
    "minus infinity": (lambda s: s.tell(0, {"value": -math.inf}), ValuesError, r"must be finite, got -inf"),
    "too large": (lambda s: s.tell(0, 10**400), ValuesError, r"must be finite"),
    "text": (lambda s: s.tell(0, "0.5"), ValuesError, r"must be a number, got '0.5'"),
    "a boolean": (lambda s: s.tell(0, True), ValuesError, r"must be a number, got True"),
    "an unknown objective": (lambda s: s.tell(0, {"loss": 1.0}), ValuesError, r"exactly 'value', got 'loss'"),
    "one objective too many": (
        lambda s: s.tell(0, {"value": 1.0, "loss": 1.0}),
        ValuesError,
        r"exactly 'value', got 'value', 'loss'",
    ),
    "no outcome": (lambda s: s.tell(0), ArgumentError, r"exactly one of values, infeasible= and failed="),
    "two outcomes": (lambda s: s.tell(0, 1.0, failed="lost"), ArgumentError, r"exactly one of values"),
    "an unknown trial": (
        lambda s: s.tell(99, 1.0),
        UnknownTrial,
        r"has 3 trials, numbered from 0, got number=99",
    ),
    "told twice": (
        lambda s: s.tell(1, 2.0),
        AlreadyTold,
        r"trial 1 is completed already .* correct values with amend",
    ),
    "failed after told": (lambda s: s.tell(1, failed="lost"), AlreadyTold, r"the first outcome counts"),
    "told before it was asked for": (
        lambda s: s.tell(2, 1.0),
        InvalidState,
        r"it is queued: ask for it first",
    ),
    "enqueue out of range": (
        lambda s: s.enqueue({"x": 1.5, "y": 0.0}),
        ParameterError,
        r"parameter 'x' must be a number with 0.0 <= value <= 1.0, got 1.5",
    ),
    "enqueue NaN": (
        lambda s: s.enqueue({"x": math.nan, "y": 0.0}),
        ParameterError,
        r"parameter 'x' .* got nan",
    ),
    "enqueue unknown": (
        lambda s: s.enqueue({"X": 0.5, "y": 0.0}),
        ParameterError,
        r"unknown parameter 'X': the space has 'x', 'y'",
    ),
    "enqueue missing": (lambda s: s.enqueue({"x": 0.5}), ParameterError, r"needs a value, missing 'y'"),
    "add out of range": (lambda s: s.add_trial({"x": 0.5, "y": -5.1}, 1.0), ParameterError, r"parameter 'y'"),
    "add unknown": (lambda s: s.add_trial(POINT | {"z": 1}, 1.0), ParameterError, r"unknown parameter 'z'"),
    "add NaN": (lambda s: s.add_trial(POINT, math.nan), ValuesError, r"must be finite"),
    "add without outcome": (lambda s: s.add_trial(POINT), ArgumentError, r"exactly one of values"),
    "amend with NaN": (lambda s: s.amend(1, math.nan), ValuesError, r"must be finite"),
    "amend the unfinished": (
        lambda s: s.amend(0, 1.0),
        InvalidState,
        r"only completed trials can be amended",
    ),
    "ask for none": (lambda s: s.ask(0), ArgumentError, r"`n`"),
    "ask for half": (lambda s: s.ask(0.5), ArgumentError, r"`n`"),
    "predict out of range": (lambda s: s.predict([{"x": 2.0, "y": 0.0}]), ParameterError, r"parameter 'x'"),
}


@pytest.mark.parametrize(("call", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_call_changes_nothing(call, error, message: str):
    study = make()
    study.ask()
    study.add_trial(POINT, 3.0)
    study.enqueue(POINT)
    before = contents(study)
    with pytest.raises(error, match=message):
        call(study)
    assert contents(study) == before
    queued, suggested = study.ask(2)
    assert queued.params == POINT
    assert suggested.reason is not None
    assert_valid(study, [suggested])


def test_telling_the_same_again_changes_nothing():
    study = filled([1.0, 2.0])
    before = contents(study)
    study.tell(0, 1.0)
    assert contents(study) == before


def test_a_study_survives_a_whole_hostile_life():
    """Everything at once, through the doors that users use."""
    study = make("maximize")
    outcomes = [{"values": HUGE}, INFEASIBLE, FAILED, {"values": -TINY}, {"values": HUGE}, INFEASIBLE]
    for i, told in enumerate(outcomes):
        measured, abandoned = study.ask(2)
        assert_valid(study, [measured, abandoned])
        study.tell(measured, **told)
        if i % 2:
            study.release(abandoned)
        study.enqueue(POINT)
    waiting = [trial for trial in study.trials if trial.state in (TrialState.QUEUED, TrialState.EXPIRED)]
    trials = study.ask(len(waiting) + 1)
    assert_valid(study, trials)
    assert trials[-1].number == len(study) - 1


def wide_space(width: int) -> dict[str, Any]:
    """So many parameters, of every kind by turns."""
    kinds = (
        ph.Float(-1, 1),
        ph.Int(0, 9),
        ph.Categorical(["a", "b", "c"]),
        ph.Discrete([1, 2, 8]),
        ph.Int(0, 1),
    )
    return {f"p{i}": kinds[i % len(kinds)] for i in range(width)}


@pytest.mark.parametrize("width", [1, 2, 8, 40, pytest.param(200, marks=pytest.mark.long)])
def test_any_number_of_parameters_of_any_kind_leads_to_suggestions(width: int):
    study = make("maximize", wide_space(width))
    for value in (3.0, -1.0, 7.0):
        [trial] = study.ask()
        study.tell(trial, value)
    assert_suggests(study)
