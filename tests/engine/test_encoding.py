import math

import jax
import numpy as np
import pytest
import twins
from golden import cases, numbers
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from photinus.engine.encoding import LARGEST_GRID, Axis, Encoder, encode_labels
from photinus.engine.features import Features
from photinus.engine.firefly import round_features
from photinus.space import Categorical, Discrete, Float, Int, SearchSpace
from photinus.testing.strategies import points_of, spaces

pytestmark = pytest.mark.usefixtures("engine")

SCALES = ("linear", "log", "reverse_log")
unit = st.floats(0, 1)
units = st.lists(unit, min_size=1, max_size=8)


@st.composite
def ordinary_parameters(draw, kinds=(Float, Int, Discrete, Categorical)):
    """Parameters as people write them: no two values closer than a float can tell apart after scaling."""
    kind, scale = draw(st.sampled_from(kinds)), draw(st.sampled_from(SCALES))
    smallest = 1 if scale != "linear" else -10_000
    low = draw(st.integers(smallest, 10_000))
    if kind is Float:
        return Float(low / 8, low / 8 + draw(st.integers(1, 10_000)) / 8, scale)
    if kind is Int:
        return Int(low, low + draw(st.integers(1, 10_000)), scale)
    if kind is Discrete:
        steps = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=20))
        return Discrete((np.cumsum([low, *steps]) / 4).tolist(), scale)
    values = draw(st.lists(st.text(max_size=3) | st.booleans() | st.integers(0, 3), min_size=2, max_size=6))
    assume(len({(type(v), v) for v in values}) == len(values))
    return Categorical(values)


ordinary_spaces = st.lists(ordinary_parameters(), min_size=1, max_size=5).map(
    lambda parameters: SearchSpace({f"p{i}": parameter for i, parameter in enumerate(parameters)})
)
numeric_axes = ordinary_parameters((Float, Int, Discrete)).map(lambda parameter: Axis("x", parameter))


def feasible(axis: Axis) -> list:
    parameter = axis.parameter
    if isinstance(parameter, Discrete):
        return list(parameter.values)
    assert isinstance(parameter, Int)
    return list(range(parameter.low, parameter.high + 1))


@given(numeric_axes, units)
def test_scaling_and_its_inverse_are_equations_1_to_3(axis, u):
    bounds = (axis.low, axis.high, axis.parameter.scale)
    values = axis.unscale(np.array(u))
    expected = [twins.unscaled(v, *bounds) for v in u]
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12 * max(map(abs, bounds[:2])))
    np.testing.assert_allclose(axis.scale(values), [twins.scaled(v, *bounds) for v in values], atol=1e-9)


@given(numeric_axes)
def test_bounds_become_the_ends_of_the_unit_interval(axis):
    np.testing.assert_array_equal(axis.encode([axis.low, axis.high]), [0.0, 1.0])


@given(ordinary_parameters((Int, Discrete)).map(lambda parameter: Axis("x", parameter)), units)
@settings(max_examples=30)
def test_decoding_takes_the_nearest_feasible_value_in_scaled_space(axis, u):
    values = feasible(axis)
    coordinates = axis.encode(values)
    for value, at in zip(axis.decode(np.array(u)), u, strict=True):
        distance = np.abs(coordinates - at)
        assert distance[values.index(value)] <= distance.min() + 1e-12


@given(st.data())
def test_encoding_and_decoding_ordinary_values_is_the_identity(data):
    space = data.draw(ordinary_spaces)
    points = [data.draw(points_of(space)) for _ in range(3)]
    encoder = Encoder(space)
    for point, decoded in zip(points, encoder.decode(encoder.encode(points)), strict=True):
        for name, parameter in space.parameters.items():
            if isinstance(parameter, Float):
                tolerance = 1e-12 * max(abs(parameter.low), abs(parameter.high))
                assert decoded[name] == pytest.approx(point[name], rel=1e-9, abs=tolerance)
            else:
                assert decoded[name] == point[name]
                assert type(decoded[name]) is type(point[name])


@given(st.data())
def test_whatever_is_decoded_is_feasible_also_at_the_ends_of_floating_point(data):
    space = data.draw(spaces())
    encoder = Encoder(space)
    domain = encoder.domain
    features = Features(
        np.array([[data.draw(unit) for _ in encoder.axes] for _ in range(2)]).reshape(2, -1),
        np.array([[data.draw(st.integers(0, n - 1)) for n in domain.num_categories] for _ in range(2)])
        .reshape(2, -1)
        .astype(np.int32),
    )
    for point in encoder.decode(features):
        assert list(space.validate(point)) == list(space.parameters)


@given(st.data())
def test_encoded_values_lie_in_the_cube_and_decoding_moves_them_nowhere_else(data):
    space = data.draw(spaces())
    encoder = Encoder(space)
    features = encoder.encode([data.draw(points_of(space))])
    assert np.all((features.continuous >= 0) & (features.continuous <= 1))
    again = encoder.encode(encoder.decode(features))
    np.testing.assert_array_equal(again.categorical, features.categorical)
    np.testing.assert_allclose(again.continuous, features.continuous, atol=1e-9)


@given(st.data())
def test_spreading_uniform_numbers_gives_feasible_points(data):
    space = data.draw(spaces())
    encoder = Encoder(space)
    u = np.array([data.draw(st.floats(0, 1, exclude_max=True)) for _ in range(encoder.num_features)])
    (point,) = encoder.spread(u.reshape(1, -1))
    assert list(space.validate(point)) == list(space.parameters)


@given(parameters=st.lists(ordinary_parameters((Int, Discrete, Categorical)), min_size=1, max_size=3), u=unit)
def test_neighbours_are_all_points_that_differ_in_one_parameter_near_ones_first(parameters, u):
    assume(all(p.num_values <= 200 for p in parameters))
    encoder = Encoder(SearchSpace({f"p{i}": p for i, p in enumerate(parameters)}))
    [point] = encoder.spread(np.full((1, encoder.num_features), u))
    found = list(encoder.neighbours(point))
    assert len({str(params) for params in found}) == len(found) == sum(p.num_values - 1 for p in parameters)
    assert all(sum(str(p[name]) != str(point[name]) for name in point) == 1 for p in found)
    [here], there = encoder.encode([point]).continuous, encoder.encode(found)
    distance = np.abs(there.continuous - here).sum(axis=1)
    distance += (there.categorical != encoder.encode([point]).categorical).sum(axis=1)
    assert np.all(np.diff(distance) >= -1e-12)
    assert encoder.num_points == math.prod(p.num_values for p in parameters)


def test_with_a_float_there_is_no_end_of_points():
    space = SearchSpace({"x": Float(0, 1), "n": Int(0, 3), "only": Categorical(["a"])})
    assert Encoder(space).num_points == math.inf


@pytest.mark.parametrize(
    "parameters", [[Categorical([False, True])] * 1100, [Int(1, 10**6)] * 60], ids=["switches", "numbers"]
)
def test_a_space_of_more_points_than_a_number_holds_is_finite(parameters):
    finite = {f"p{i}": p for i, p in enumerate(parameters)}
    assert Encoder(SearchSpace(finite)).is_finite
    assert Encoder(SearchSpace(finite)).num_points == math.inf
    assert not Encoder(SearchSpace({**finite, "x": Float(0, 1)})).is_finite
    assert Encoder(SearchSpace({**finite, "x": Float(2, 2)})).is_finite


def test_neighbours_of_whole_numbers_without_end_come_one_by_one():
    found = Encoder(SearchSpace({"n": Int(0, 10**15), "m": Int(5, 5)})).neighbours({"n": 7, "m": 5})
    assert [next(found)["n"] for _ in range(4)] == [8, 6, 9, 5]


@pytest.mark.parametrize("scale", SCALES)
def test_the_ends_of_the_unit_interval_decode_to_the_very_bounds(scale):
    for low, high in ((20.0, 100.0), (1e-5, 1e-1), (0.3, 0.7), (3.0, 3e7)):
        assert Axis("x", Float(low, high, scale)).decode(np.array([0.0, 1.0])) == [low, high]


@pytest.mark.parametrize(
    "parameter", [Int(0, 6), Discrete([1, 10, 11, 400]), Categorical(["a", "b", "c"])], ids=repr
)
def test_spreading_gives_every_value_its_fair_share(parameter):
    encoder = Encoder(SearchSpace({"x": parameter}))
    num_values = parameter.num_values
    points = encoder.spread((np.arange(840) / 840)[:, None])
    counts = {value: 0 for value in (parameter.values if hasattr(parameter, "values") else range(7))}
    for point in points:
        counts[point["x"]] += 1
    assert all(abs(count - 840 / num_values) <= 1 for count in counts.values())


@given(ordinary_parameters((Int,)))
@settings(max_examples=30)
def test_spreading_leaves_no_end_of_an_integer_out(parameter):
    axis = Axis("x", parameter)
    assert axis.spread(np.array([0.0, np.nextafter(1.0, 0.0)])) == [parameter.low, parameter.high]


def test_single_values_are_no_features_and_come_back():
    space = SearchSpace(
        {"a": Float(2, 2), "b": Int(1, 3), "c": Categorical(["only"]), "d": Discrete([4]), "e": Int(5, 5)}
    )
    encoder = Encoder(space)
    assert encoder.num_features == 1
    features = encoder.encode([{"a": 2.0, "b": 3, "c": "only", "d": 4, "e": 5}])
    np.testing.assert_array_equal(features.continuous, [[1.0]])
    assert features.categorical.shape == (1, 0)
    assert encoder.decode(features) == [{"a": 2.0, "b": 3, "c": "only", "d": 4, "e": 5}]


def test_categories_are_indices_in_the_users_order_and_true_is_not_one():
    encoder = Encoder(SearchSpace({"x": Categorical(["b", "a", True, 1, 1.5, None])}))
    points = [{"x": value} for value in ("b", "a", True, 1, 1.5, None)]
    features = encoder.encode(points)
    np.testing.assert_array_equal(features.categorical[:, 0], range(6))
    decoded = encoder.decode(features)
    assert [type(point["x"]) for point in decoded] == [str, str, bool, int, float, type(None)]


def test_the_centre_is_the_middle_of_every_scale_and_draws_categories():
    encoder = Encoder(
        SearchSpace(
            {
                "x": Float(0, 10),
                "rate": Float(1e-4, 1e-2, "log"),
                "n": Int(0, 8),
                "c": Categorical(["a", "b", "c"]),
            }
        )
    )
    centres = [encoder.centre(np.random.default_rng(seed)) for seed in range(40)]
    for centre in centres:
        assert centre["x"] == 5.0
        assert centre["rate"] == pytest.approx(1e-3)
        assert centre["n"] == 4
    assert {centre["c"] for centre in centres} == {"a", "b", "c"}


def test_features_keep_the_order_of_the_space():
    encoder = Encoder(
        SearchSpace(
            {
                "c": Categorical(["a", "b"]),
                "x": Float(0, 1),
                "d": Categorical(["a", "b", "c"]),
                "y": Int(0, 4),
            }
        )
    )
    features = encoder.encode([{"c": "b", "x": 0.25, "d": "c", "y": 3}])
    np.testing.assert_array_equal(features.continuous, [[0.25, 0.75]])
    np.testing.assert_array_equal(features.categorical, [[1, 2]])


@given(st.lists(ordinary_parameters((Float, Int, Discrete)), min_size=1, max_size=4), st.integers(0, 2**32))
@settings(max_examples=40)
def test_the_search_rounds_to_what_is_decoded_unless_values_are_too_close_to_tell(parameters, seed):
    encoder = Encoder(SearchSpace({f"p{i}": parameter for i, parameter in enumerate(parameters)}))
    x = np.random.default_rng(seed).random((16, len(encoder.axes)))
    nothing = np.zeros((16, 0), np.int32)
    domain = jax.tree.map(np.asarray, encoder.domain)
    rounded = np.asarray(round_features(Features(jax.numpy.asarray(x), nothing), domain).continuous)
    for d, axis in enumerate(encoder.axes):
        decoded = axis.encode(axis.decode(x[:, d]))
        # Half a step of the finest grid where values are dense, and ties may go either way.
        moved = np.abs(rounded[:, d] - decoded)
        ties = np.isclose(np.abs(rounded[:, d] - x[:, d]), np.abs(decoded - x[:, d]), atol=1e-9)
        assert np.all((moved <= 1 / LARGEST_GRID) | ties)
        if isinstance(axis.parameter, Discrete):
            assert np.all((moved < 1e-9) | ties)


@pytest.mark.parametrize(
    ("parameter", "is_trusted"),
    [
        (Float(0, 1), True),
        (Int(0, 1), False),
        (Int(0, 4), False),
        (Int(0, 5), True),
        (Int(1, 5), False),
        (Int(1, 1000, "log"), True),
        (Int(1, 8, "log"), False),
        (Discrete([0, 1, 2, 3, 4, 5]), True),
        (Discrete([0, 3, 4, 5]), False),
    ],
    ids=repr,
)
def test_the_trust_region_leaves_dimensions_with_gaps_over_a_fifth_alone(parameter, is_trusted):
    (decision,) = Encoder(SearchSpace({"x": parameter})).domain.is_trusted
    assert decision == is_trusted


def test_minimised_metrics_change_their_sign_and_missing_values_are_no_numbers():
    labels = encode_labels([{"a": 1.0, "b": 2.0}, None], ["b", "a"], [-1.0, 1.0])
    np.testing.assert_array_equal(labels, [[-2.0, 1.0], [math.nan, math.nan]])
    assert encode_labels([], ["a"], [1.0]).shape == (0, 1)


def recorded_space(parameter) -> SearchSpace:
    match parameter:
        case {"kind": "float", "low": low, "high": high, "scale": scale}:
            return SearchSpace({"x": Float(low, high, scale)})
        case {"kind": "int", "low": low, "high": high, "scale": scale}:
            return SearchSpace({"x": Int(low, high, scale)})
        case {"kind": "discrete", "values": values, "scale": scale}:
            return SearchSpace({"x": Discrete(values, scale)})
        case {"kind": "categorical", "values": values}:
            return SearchSpace({"x": Categorical(values)})
    raise AssertionError(parameter)


VARIED = [case for case in cases("encoding") if case.values[0]["parameter"].get("low") != 2.5]
NUMERIC = [case for case in VARIED if "features" in case.values[0]]


@pytest.mark.parametrize("case", VARIED)
def test_golden_features(case):
    encoder = Encoder(recorded_space(case["parameter"]))
    features = encoder.encode([{"x": value} for value in case["values"]])
    column = features.continuous if encoder.axes else features.categorical
    np.testing.assert_allclose(column[:, 0], case["encoded"], atol=1e-12)


@pytest.mark.parametrize("case", NUMERIC)
def test_golden_values(case):
    axis = Encoder(recorded_space(case["parameter"])).axes[0]
    decoded = axis.decode(numbers(case["features"]))
    agrees = case.get("nearest_agrees", [True] * len(decoded))
    for ours, theirs, is_same in zip(decoded, case["decoded"], agrees, strict=True):
        # Where the two rulings differ we take the value nearest on the parameter's scale.
        assert (ours == pytest.approx(theirs, rel=1e-12, abs=1e-15)) == is_same


def test_difference_to_golden_a_single_value_is_no_feature():
    (case,) = (case.values[0] for case in cases("encoding") if case.values[0]["parameter"].get("low") == 2.5)
    assert set(case["encoded"]) == {0.5}
    assert Encoder(recorded_space(case["parameter"])).num_features == 0
