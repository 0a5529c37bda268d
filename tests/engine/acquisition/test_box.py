"""The box around the best trial: its sides, and what is inside."""

import math

import jax
import numpy as np
import pytest
from designs import cube, observations, random_features
from hypothesis import given, settings
from hypothesis import strategies as st

from photinus.engine.acquisition.box import Box, box
from photinus.engine.features import Domain, Features

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 64
LENGTH = 0.4
build = jax.jit(box)
place = jax.jit(Box.place)
relative = jax.jit(Box.relative)


def study(labels, X: Features, size: int = SIZE):
    is_feasible = np.array([v is not None for v in labels])
    values = np.array([[np.nan if v is None else v] for v in labels]).reshape(-1, 1)
    return observations(X, values, size, is_feasible)


def around(
    labels,
    X: Features,
    domain: Domain,
    scales,
    is_enabled: bool = True,
    size: int = SIZE,
    expected=None,
    length: float = LENGTH,
) -> Box:
    """The box if the model expects the labels themselves, or something else, and most of rows that must not count."""
    observed = study(labels, X, size)
    values = np.full(size, 1e300)
    values[: len(labels)] = observed.labels[: len(labels), 0] if expected is None else expected
    values[: len(labels)] = np.where(observed.is_feasible[: len(labels)], values[: len(labels)], 1e300)
    return jax.device_get(
        build(observed, values, domain, np.asarray(scales, float), np.float64(length), np.bool_(is_enabled))
    )


def test_it_is_around_the_best_feasible_trial_with_sides_like_the_length_scales():
    X = Features(np.array([[0.4, 0.5, 0.6], [0.5, 0.5, 0.5], [0.1, 0.1, 0.1]]), np.zeros((3, 0), np.int32))
    found = around([1.0, 2.0, None], X, cube(3), [0.01, 0.04, 0.0025])
    assert found.is_active
    assert found.length == 0.4
    roots = np.array([0.1, 0.2, 0.05])
    half = 0.2 * roots / np.prod(roots) ** (1 / 3)
    np.testing.assert_allclose(found.low, np.maximum(0.5 - half, 0), rtol=1e-12)
    np.testing.assert_allclose(found.high, np.minimum(0.5 + half, 1), rtol=1e-12)
    assert np.prod(half) == pytest.approx(0.2**3)


def test_it_stands_where_most_is_expected_not_where_luck_was_greatest():
    X = Features(np.array([[0.2, 0.3], [0.5, 0.5], [0.8, 0.6]]), np.zeros((3, 0), np.int32))
    labels, expected = [0.9, 3.0, 1.1], [0.8, 0.5, 1.0]  # the second is a lucky measurement
    found = around(labels, X, cube(2), np.ones(2), expected=expected)
    np.testing.assert_allclose([found.low, found.high], [[0.6, 0.4], [1.0, 0.8]], atol=1e-12)


def test_a_length_that_is_given_is_taken():
    X = Features(np.array([[0.5, 0.5]]), np.zeros((1, 0), np.int32))
    found = around([1.0], X, cube(2), np.ones(2), length=0.1)
    assert float(found.length) == 0.1
    np.testing.assert_allclose([found.low, found.high], [[0.45, 0.45], [0.55, 0.55]], atol=1e-12)


@pytest.mark.parametrize(
    ("labels", "is_enabled"), [([1.0, 2.0], False), ([None, None], True), ([], True)], ids=str
)
def test_exploring_or_without_anything_feasible_it_is_the_whole_cube(labels, is_enabled):
    X = random_features(np.random.default_rng(0), len(labels), 2, 0)
    found = around(labels, X, cube(2), [0.1, 0.1], is_enabled)
    assert not found.is_active
    np.testing.assert_array_equal([found.low, found.high], [[0, 0], [1, 1]])


def test_visited_trials_and_padding_do_not_matter():
    X = random_features(np.random.default_rng(1), 6, 2, 1)
    labels, alone = [1.0, 3.0, 2.0], Features(X.continuous[:3], X.categorical[:3])
    expected = around(labels, alone, cube(2, 1), [0.2, 0.3])
    for other in (
        around(labels, X, cube(2, 1), [0.2, 0.3]),
        around(labels, alone, cube(2, 1), [0.2, 0.3], size=96),
    ):
        jax.tree.map(np.testing.assert_array_equal, other, expected)


def grid_domain() -> Domain:
    """A float, ten integers, a list of four values, and a list that is free from 0.5 up."""
    grid = np.full((4, 4), np.inf)
    grid[2], grid[3, :3] = [0.0, 0.1, 0.3, 1.0], [0.0, 0.4, 0.5]
    return cube(4)._replace(
        steps=np.array([0.0, 9.0, 0.0, 0.0]), grid=grid, fine_low=np.array([np.inf, np.inf, np.inf, 0.5])
    )


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 1.0])
def test_however_small_it_holds_the_neighbours_on_a_grid(value):
    X = Features(np.array([[0.5, 3 / 9, value, 0.9]]), np.zeros((1, 0), np.int32))
    half = 0.5 * 0.4 / 32
    found = around([1.0], X, grid_domain(), np.ones(4), length=2 * half)
    values = [0.0, 0.1, 0.3, 1.0]
    i = values.index(value)
    below, above = values[max(i - 1, 0)], values[min(i + 1, 3)]
    low = [0.5 - half, 2 / 9, min(below, max(value - half, 0)), 0.9 - half]
    high = [0.5 + half, 4 / 9, max(above, min(value + half, 1)), 0.9 + half]
    np.testing.assert_allclose([found.low, found.high], [low, high], atol=1e-12)
    corners = Features(np.array([np.zeros(4), np.ones(4)]), np.zeros((2, 0), np.int32))
    reached = np.asarray(place(found, corners, grid_domain()).continuous)
    np.testing.assert_allclose(reached[:, 1:3], [[2 / 9, below], [4 / 9, above]], atol=1e-12)


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_places_are_feasible_near_the_box_and_lead_back(seed):
    rng = np.random.default_rng(seed)
    X = random_features(rng, 8, 4, 1)
    domain = grid_domain()._replace(num_categories=np.array([3], np.int32))
    whole = around([], Features(X.continuous[:0], X.categorical[:0]), domain, np.ones(4))
    feasible = jax.device_get(place(whole, X, domain))
    found = around(rng.normal(size=8).tolist(), feasible, domain, 10 ** rng.uniform(-2, 1, 4))
    u = random_features(rng, 20, 4, 1)
    x = jax.device_get(place(found, u, domain))
    np.testing.assert_array_equal(x.categorical, u.categorical)
    assert np.all((x.continuous >= 0) & (x.continuous <= 1))
    assert np.all((found.low[0] <= x.continuous[:, 0]) & (x.continuous[:, 0] <= found.high[0]))
    np.testing.assert_allclose(x.continuous[:, 1] * 9, np.rint(x.continuous[:, 1] * 9), atol=1e-9)
    assert set(np.round(x.continuous[:, 2], 9)) <= {0.0, 0.1, 0.3, 1.0}
    np.testing.assert_allclose(relative(found, x).continuous[:, 0], u.continuous[:, 0], atol=1e-9)


def test_what_is_outside_comes_to_the_nearest_side():
    sides = Box(np.array([0.2, 0.5]), np.array([0.4, 0.5]), np.float64(0.2), np.bool_(True))  # pyright: ignore
    u = relative(sides, Features(np.array([[0.0, 0.1], [0.3, 0.5], [0.9, 0.9]]), np.zeros((3, 0), np.int32)))
    np.testing.assert_allclose(u.continuous, [[0.0, 0.5], [0.5, 0.5], [1.0, 0.5]], atol=1e-12)


def test_without_numeric_features_there_is_no_box():
    X = random_features(np.random.default_rng(3), 4, 0, 2)
    found = around([1.0, 2.0, 0.0, 1.0], X, cube(0, 2), [])
    assert not found.is_active
    assert math.isfinite(found.length)


def test_studies_side_by_side_have_the_boxes_that_they_have_alone():
    rng = np.random.default_rng(4)
    cases = [
        (
            study(rng.normal(size=20).tolist(), random_features(rng, 20, 2, 1)),
            rng.normal(size=SIZE),
            rng.random(2),
            np.float64(0.8 * rng.random()),
        )
        for _ in range(3)
    ]
    observed, expected, scales, lengths = jax.tree.map(lambda *leaves: np.stack(leaves), *cases)
    together = jax.jit(jax.vmap(box, in_axes=(0, 0, None, 0, 0, None)))(
        observed, expected, cube(2, 1), scales, lengths, np.bool_(True)
    )
    for i, (one, mean, sides, length) in enumerate(cases):
        alone = build(one, mean, cube(2, 1), sides, length, np.bool_(True))
        jax.tree.map(lambda a, b, i=i: np.testing.assert_allclose(a[i], b, rtol=1e-12), together, alone)


def test_on_a_plateau_there_is_no_box():
    X = Features(np.array([[0.2, 0.2], [0.4, 0.6], [0.9, 0.1]]), np.zeros((3, 0), np.int32))
    one = Features(X.continuous[:1], X.categorical[:1])
    assert not around([1.0, 1.0, 1.0], X, cube(2), np.ones(2)).is_active
    assert not around([1.0, None, 1.0], X, cube(2), np.ones(2)).is_active
    assert around([1.0, 1.0, 2.0], X, cube(2), np.ones(2)).is_active
    assert around([1.0], one, cube(2), np.ones(2)).is_active
