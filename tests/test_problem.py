import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from photinus.errors import ProblemError, UnsupportedError, ValuesError
from photinus.problem import Goal, Metric, Problem
from photinus.space import Float, Int, SearchSpace
from photinus.testing import strategies

SPACE = SearchSpace({"x": Float(0, 1)})
ONE = Problem.define(SPACE, "maximize")
TWO = Problem.define(SPACE, {"loss": "minimize", "accuracy": "maximize"})


@given(strategies.problems())
def test_a_problem_survives_json(problem):
    again = Problem.from_dict(json.loads(json.dumps(problem.to_dict(), allow_nan=False)))
    assert again == problem
    assert hash(again) == hash(problem)
    assert again.differences(problem) == []


@given(st.data())
def test_valid_values_stay_what_they_are_in_the_order_of_metrics(data):
    problem = data.draw(strategies.problems())
    values = data.draw(strategies.measured_values(problem))
    shuffled = dict(data.draw(st.permutations(list(values.items()))))
    assert problem.validate_values(shuffled) == values
    assert list(problem.validate_values(shuffled)) == list(problem.metric_names)


def test_objectives_in_the_users_words():
    assert Problem.define({"x": Float(0, 1)}).metrics == (Metric("value", Goal.MINIMIZE),)
    assert ONE.metrics == (Metric("value", Goal.MAXIMIZE),)
    assert TWO.metric_names == ("loss", "accuracy")
    assert TWO.is_multi_objective
    assert not ONE.is_multi_objective
    assert Metric("a", "maximize").goal is Goal.MAXIMIZE


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        ("up", "must be \"minimize\" or \"maximize\", got 'up' for 'value'"),
        ({"a": "up"}, "got 'up' for 'a'"),
        ({"a": None}, "got None for 'a'"),
        ({"": "minimize"}, "name must be a non-empty string, got ''"),
        ({3: "minimize"}, "name must be a non-empty string, got 3"),
        ({}, "one or more objectives of distinct names"),
        (["a"], 'objectives must be "minimize", "maximize" or a dict'),
        (None, 'objectives must be "minimize", "maximize" or a dict'),
    ],
)
def test_bad_objectives_are_refused(objectives, message):
    with pytest.raises(ProblemError, match=message):
        Problem.define(SPACE, objectives)


def test_metrics_have_distinct_names():
    with pytest.raises(ProblemError, match=r"distinct names, got \['a', 'a'\]"):
        Problem(SPACE, (Metric("a", Goal.MINIMIZE), Metric("a", Goal.MAXIMIZE)))


@pytest.mark.parametrize("number", [1, 1.0, np.float32(1), np.int8(1), np.array(1.0)])
def test_numbers_become_floats(number):
    values = ONE.validate_values(number)
    assert values == {"value": 1.0}
    assert type(values["value"]) is float
    assert ONE.validate_values({"value": number}) == values


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, np.float64("nan"), 10**400, -(10**400)])
def test_values_must_be_finite_unless_only_parsed(number):
    with pytest.raises(ValuesError, match=r"'value' must be finite.*infeasible='why'.*failed='why'"):
        ONE.validate_values(number)
    assert not math.isfinite(ONE.parse_values(number)["value"])


@pytest.mark.parametrize(
    ("problem", "values", "message"),
    [
        (ONE, True, "'value' must be a number, got True"),
        (ONE, np.bool_(True), "'value' must be a number"),
        (ONE, "1", "'value' must be a number, got '1'"),
        (ONE, None, "'value' must be a number, got None"),
        (ONE, np.array([1.0]), "'value' must be a number"),
        (ONE, {"value": "1"}, "'value' must be a number, got '1'"),
        (ONE, {"loss": 1}, "exactly 'value', got 'loss'"),
        (TWO, 1.0, "must be a dict with 'loss', 'accuracy', got 1.0"),
        (TWO, {}, "exactly 'loss', 'accuracy', got none"),
        (TWO, {"loss": 1, "acc": 1}, "exactly 'loss', 'accuracy', got 'loss', 'acc'"),
    ],
)
def test_bad_values_are_refused(problem, values, message):
    with pytest.raises(ValuesError, match=message):
        problem.validate_values(values)


def test_differences_are_listed_by_name():
    other = Problem.define({"x": Float(0, 2), "y": Int(1, 2)}, {"loss": "maximize", "f1": "maximize"})
    assert TWO.differences(other) == [
        "parameter 'x': Float(low=0.0, high=1.0, scale='linear'), now Float(low=0.0, high=2.0, scale='linear')",
        "parameter 'y': absent, now Int(low=1, high=2, scale='linear')",
        "objective 'loss': minimize, now maximize",
        "objective 'accuracy': maximize, now absent",
        "objective 'f1': absent, now maximize",
    ]
    turned = Problem.define(SPACE, {"accuracy": "maximize", "loss": "minimize"})
    assert TWO.differences(turned) == []
    assert turned != TWO


def test_problems_of_another_format_are_refused():
    with pytest.raises(UnsupportedError, match="format 9, this version reads 1: upgrade photinus"):
        Problem.from_dict({**ONE.to_dict(), "format": 9})
