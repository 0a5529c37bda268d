import copy
import enum
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from photinus.errors import ParameterError, SpaceError, UnsupportedError
from photinus.space import (
    MAX_INT,
    Categorical,
    Discrete,
    Float,
    Int,
    SearchSpace,
    middle,
    parameter_from_dict,
    parameter_to_dict,
)
from photinus.testing import strategies

NUMERIC = [Float(1, 3), Int(1, 3), Discrete([1, 2, 3])]


def has_same_types(first, second):
    return [type(value) for value in first] == [type(value) for value in second]


# Laws.


@given(strategies.parameters)
def test_a_parameter_survives_json(parameter):
    text = json.dumps(parameter_to_dict(parameter), allow_nan=False)
    again = parameter_from_dict(json.loads(text))
    assert again == parameter
    assert hash(again) == hash(parameter)
    if isinstance(parameter, Discrete | Categorical):
        assert has_same_types(again.values, parameter.values)


@given(strategies.spaces())
def test_a_space_survives_json_pickle_and_copying_in_its_order(space):
    for again in (
        SearchSpace.from_dict(json.loads(json.dumps(space.to_dict(), allow_nan=False))),
        pickle.loads(pickle.dumps(space)),
        copy.deepcopy(space),
    ):
        assert again == space
        assert hash(again) == hash(space)
        assert list(again) == list(space)


@given(st.data())
def test_valid_points_stay_what_they_are(data):
    space = data.draw(strategies.spaces())
    point = data.draw(strategies.points_of(space))
    shuffled = dict(data.draw(st.permutations(list(point.items()))))
    valid = space.validate(shuffled)
    assert valid == point
    assert list(valid) == list(space)
    assert has_same_types([valid[name] for name in point], point.values())
    assert space.validate(valid) == valid


@given(strategies.parameters)
def test_the_middle_is_a_value(parameter):
    value = middle(parameter)
    assert parameter.validate(value) == value


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Float(-1, 3), 1.0),
        (Float(1, 100, "log"), 10.0),
        (Float(1, 100, "reverse_log"), 91.0),
        (Int(1, 8), 4),
        (Int(1, 100, "log"), 10),
        (Int(1, 100, "reverse_log"), 91),
        (Discrete([1, 2, 5]), 2),
        (Categorical(["b", "a"]), "b"),
    ],
)
def test_the_middle_follows_the_scale(parameter, expected):
    assert middle(parameter) == expected


@given(strategies.floats() | strategies.ints(), st.floats() | st.integers())
def test_a_number_is_valid_exactly_within_bounds(parameter, number):
    is_whole = isinstance(parameter, Float) or (math.isfinite(number) and number == int(number))
    if parameter.low <= number <= parameter.high and is_whole:
        assert parameter.validate(number) == number
    else:
        with pytest.raises(ParameterError, match="got"):
            parameter.validate(number)


@given(strategies.discretes(), st.floats() | st.integers())
def test_discrete_values_are_sorted_and_closed(parameter, number):
    assert list(parameter.values) == sorted(parameter.values)
    assert parameter == Discrete(reversed(parameter.values), parameter.scale)
    if number in parameter.values:
        assert parameter.validate(number) == number
    else:
        with pytest.raises(ParameterError, match="must be one of"):
            parameter.validate(number)


@given(strategies.parameters)
def test_values_are_counted(parameter):
    if isinstance(parameter, Float):
        assert parameter.num_values == (1 if parameter.low == parameter.high else None)
    elif isinstance(parameter, Int):
        assert parameter.num_values == len(range(parameter.low, parameter.high + 1))
    else:
        assert parameter.num_values == len(parameter.values)


# Values.


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [
        (Float(0, 10), 3, 3.0),
        (Float(-0.0, 10), -0.0, 0.0),
        (Float(0, 10), np.float32(0.5), 0.5),
        (Float(0, 10), np.int64(3), 3.0),
        (Float(0, 10), np.array(2.5), 2.5),
        (Float(0, 10), Fraction(1, 4), 0.25),
        (Int(0, 10), 3.0, 3),
        (Int(0, 10), np.uint8(3), 3),
        (Int(0, 10), np.float64(3), 3),
        (Discrete([1, 2.5]), np.float64(1), 1),
        (Discrete([1, 2.5]), np.float32(2.5), 2.5),
        (Categorical(["a", "b"]), np.str_("b"), "b"),
        (Categorical([False, True]), np.bool_(True), True),
        (Categorical([1, "1"]), np.int32(1), 1),
        (Categorical([1, 2]), 2.0, 2),
        (Categorical([1.0, 2.0]), 2, 2.0),
        (Categorical([2, 2.0]), 2.0, 2.0),
        (Categorical([None, "x"]), None, None),
    ],
)
def test_values_become_plain_python(parameter, value, expected):
    valid = parameter.validate(value)
    assert valid == expected
    assert type(valid) is type(expected)


def test_members_of_enums_are_their_values():
    class Optimizer(enum.StrEnum):
        ADAM = "adam"

    class Size(enum.IntEnum):
        SMALL = 1

    parameter = Categorical([Optimizer.ADAM, Size.SMALL])
    assert has_same_types(parameter.values, ("adam", 1))
    assert parameter.validate(Optimizer.ADAM) == "adam"
    assert type(parameter.validate(Size.SMALL)) is int


@pytest.mark.parametrize("parameter", NUMERIC, ids=lambda parameter: parameter.type_name)
@pytest.mark.parametrize(
    "value", [True, np.bool_(False), "2", None, [2], np.array([2]), float("nan"), math.inf, 1j, 10**400]
)
def test_what_is_no_number_in_range_is_refused(parameter, value):
    with pytest.raises(ParameterError, match="must be"):
        parameter.validate(value)


def test_messages_name_bounds_and_neighbours():
    with pytest.raises(ParameterError, match=r"1.0 <= value <= 3.0, got 4"):
        Float(1, 3).validate(4)
    with pytest.raises(ParameterError, match=r"whole number with 1 <= value <= 3, got 2.5"):
        Int(1, 3).validate(2.5)
    with pytest.raises(ParameterError, match="one of 1, 2, 3, got 7; the nearest is 3"):
        Discrete([1, 2, 3]).validate(7)
    with pytest.raises(ParameterError, match="one of the numbers 1, 2, 3, got 'a'"):
        Discrete([1, 2, 3]).validate("a")
    with pytest.raises(ParameterError, match="one of 'adam', 'sgd', got 'adm'; did you mean 'adam'"):
        Categorical(["adam", "sgd"]).validate("adm")
    with pytest.raises(ParameterError, match=r"one of 0, 1, .*, 9, \.\.\., 99, got 100"):
        Discrete(range(100)).validate(100)


@pytest.mark.parametrize("value", [True, "1", 2, None, [1], float("nan")])
def test_choices_are_told_apart_by_type(value):
    with pytest.raises(ParameterError, match="must be one of 1, False, got"):
        Categorical([1, False]).validate(value)


def test_true_and_one_are_different_choices():
    both = Categorical([True, 1, 1.0, "1", None])
    assert both.num_values == 5
    for value in both.values:
        assert type(both.validate(value)) is type(value)
    assert Categorical([True]) != Categorical([1]) != Categorical([1.0])
    assert Categorical(["a", "b"]) != Categorical(["b", "a"])
    assert Categorical(["a"]) != "a"


# Definitions.


def test_attributes():
    assert (Float(1, 10).low, Float(1, 10).high, Float(1, 10).scale) == (1.0, 10.0, "linear")
    assert type(Float(1, 10).low) is float
    assert has_same_types((Int(1.0, np.int64(9)).low, Int(1.0, np.int64(9)).high), (1, 9))
    assert Discrete(np.array([3, 1, 2]), scale="log") == Discrete((1, 2, 3), scale="log")
    assert has_same_types(Discrete([2.5, 1]).values, (1, 2.5))
    assert Categorical(iter("ba")).values == ("b", "a")
    assert repr(Float(1, 10, scale="log")) == "Float(low=1.0, high=10.0, scale='log')"
    assert repr(Categorical([True])) == "Categorical(values=(True,))"


def test_parameters_are_frozen():
    for parameter in [*NUMERIC, Categorical([1])]:
        with pytest.raises(AttributeError, match=r"scale|values"):
            setattr(parameter, "values" if isinstance(parameter, Categorical) else "scale", "log")


def test_single_values_are_allowed_on_every_scale():
    for scale in ("linear", "log", "reverse_log"):
        assert Float(2, 2, scale).num_values == 1
        assert Int(2, 2, scale).num_values == 1
        assert Discrete([2], scale).num_values == 1


BIG = 1.7e308


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Float(2, 1), r"`low <= high` must hold, got low=2.0, high=1.0 of Float"),
        (lambda: Int(2, 1), r"`low <= high` must hold, got low=2, high=1 of Int"),
        (lambda: Float(0, math.inf), "`high` of a Float must be a finite number, got inf"),
        (lambda: Float(math.nan, 1), "`low` of a Float must be a finite number, got nan"),
        (lambda: Float(0, 10**400), "`high` of a Float must be a finite number, got 1000"),
        (lambda: Float(0, Fraction(10**400)), "`high` of a Float must be a finite number"),
        (lambda: Float("0", 1), "`low` of a Float must be a finite number, got '0'"),
        (lambda: Float(False, 1), "`low` of a Float must be a finite number, got False"),
        (lambda: Float(-BIG, BIG), "`high - low` must be finite"),
        (lambda: Discrete([-BIG, BIG]), "`high - low` must be finite"),
        (lambda: Int(0, MAX_INT + 1), r"`high` of an Int must be a whole number within ±2\*\*53, got 9007"),
        (lambda: Int(0.5, 2), "`low` of an Int must be a whole number"),
        (lambda: Int(True, 2), "`low` of an Int must be a whole number"),
        (lambda: Int(None, 2), "`low` of an Int must be a whole number"),
        (
            lambda: Float(0, 1, "log"),
            'on a log scale, got low=0.0 of Float: raise it or use scale="linear"',
        ),
        (lambda: Int(-1, 1, "reverse_log"), "on a reverse_log scale, got low=-1 of Int"),
        (lambda: Discrete([0, 1], "log"), "on a log scale, got low=0 of Discrete"),
        (
            lambda: Float(1e10, math.nextafter(1e10, 2e10), "log"),
            r"`log\(low\) < log\(high\)` must hold on a log",
        ),
        (lambda: Float(0, 1, "exp"), "`scale` must be one of 'linear', 'log', 'reverse_log', got 'exp'"),
        (lambda: Discrete([1, 2], "exp"), "`scale` must be one of"),
        (lambda: Discrete([]), "values of a Discrete must not be empty"),
        (lambda: Discrete([1, 1.0]), "values of a Discrete must be distinct, got 1, 1.0"),
        (lambda: Discrete(["a"]), "must be finite numbers .* got 'a'; use Categorical"),
        (lambda: Discrete([math.inf]), "must be finite numbers .* got inf"),
        (lambda: Discrete([2**53 + 2]), "must be finite numbers"),
        (lambda: Discrete("12"), "values of a Discrete must be a list, got '12'"),
        (lambda: Discrete(3), "values of a Discrete must be a list, got 3"),
        (lambda: Categorical([]), "values of a Categorical must not be empty"),
        (lambda: Categorical(["a", "a"]), "values of a Categorical must be distinct"),
        (lambda: Categorical([0.0, -0.0]), "values of a Categorical must be distinct"),
        (lambda: Categorical("ab"), "values of a Categorical must be a list, got 'ab'"),
        (lambda: Categorical([object]), "strings, booleans, finite numbers or None, .* use a name for each"),
        (lambda: Categorical([math.nan]), "strings, booleans, finite numbers or None, got nan"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(SpaceError, match=message):
        make()


# Spaces.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "a dict of at least one parameter"),
        ([Float(0, 1)], "a dict of at least one parameter"),
        (None, "a dict of at least one parameter"),
        ({"": Float(0, 1)}, "name must be a non-empty string, got ''"),
        ({3: Float(0, 1)}, "name must be a non-empty string, got 3"),
        ({"x": (0, 1)}, r"parameter 'x' must be a Float, Int, Discrete or Categorical, got \(0, 1\)"),
        ({"x": Float}, "parameter 'x' must be a Float, Int, Discrete or Categorical"),
    ],
)
def test_bad_spaces_are_refused(parameters, message):
    with pytest.raises(SpaceError, match=message):
        SearchSpace(parameters)


def test_bad_points_are_refused():
    space = SearchSpace({"rate": Float(0, 1), "size": Int(1, 5)})
    with pytest.raises(
        ParameterError, match="unknown parameter 'rat': the space has 'rate', 'size'; did you mean 'rate'"
    ):
        space.validate({"rat": 0.5, "size": 1})
    with pytest.raises(ParameterError, match=r"unknown parameter 7: the space has 'rate', 'size'$"):
        space.validate({7: 0.5})
    with pytest.raises(ParameterError, match="every parameter needs a value, missing 'size'"):
        space.validate({"rate": 0.5})
    with pytest.raises(
        ParameterError, match="parameter 'size' must be a whole number with 1 <= value <= 5, got 9"
    ):
        space.validate({"rate": 0.5, "size": 9})
    with pytest.raises(ParameterError, match=r"parameters must be a dict by name, got 0\.5"):
        space.validate(0.5)


def test_a_space_is_a_frozen_ordered_dict_of_parameters():
    given_dict = {"b": Float(0, 1), "a": Int(1, 2)}
    space = SearchSpace(given_dict)
    given_dict.clear()
    assert len(space) == 2
    assert list(space) == ["b", "a"]
    assert space["a"] == Int(1, 2)
    assert space != SearchSpace({"a": Int(1, 2), "b": Float(0, 1)})
    assert space != {"b": Float(0, 1)}
    with pytest.raises(AttributeError, match="parameters"):
        space.parameters = {}


# What comes later.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SearchSpace({"x": Float(0, 1)}, constraints=("x < y",)),
            "linear constraints .* not supported yet",
        ),
        (lambda: SearchSpace({"x": Float(0, 1)}, context=("x",)), "context parameters are not supported yet"),
        (lambda: Float(0, 1, children=("y",)), "conditional parameters .* not supported yet"),
        (lambda: Int(0, 1, children=("y",)), "conditional parameters .* not supported yet"),
        (lambda: Discrete([0, 1], children=("y",)), "conditional parameters .* not supported yet"),
        (lambda: Categorical(["a"], children=("y",)), "conditional parameters .* not supported yet"),
    ],
)
def test_what_is_not_supported_yet_is_said_clearly(make, message):
    with pytest.raises(UnsupportedError, match=message):
        make()


def test_stored_spaces_that_use_later_features_are_refused_not_misread():
    stored = SearchSpace({"x": Categorical(["a"])}).to_dict()
    assert set(stored) == {"format", "parameters", "constraints", "context"}
    for change, message in [
        ({"format": 2}, "format 2, this version reads 1: upgrade photinus"),
        ({"constraints": [{"weights": {"x": 1}, "upper": 1}]}, "linear constraints"),
        ({"context": [stored["parameters"][0]]}, "context parameters"),
        ({"parameters": [{**stored["parameters"][0], "children": [{}]}]}, "conditional parameters"),
        ({"parameters": [{"name": "x", "type": "complex", "children": []}]}, "type 'complex' is unknown"),
    ]:
        with pytest.raises(UnsupportedError, match=message):
            SearchSpace.from_dict({**stored, **change})


@pytest.mark.parametrize("parameter", [Float(0, 1), Int(0, 1), Discrete([0.5, 1.5])], ids=str)
def test_numbers_beyond_floating_point_are_refused(parameter):
    with pytest.raises(ParameterError):
        parameter.validate(10**400)
