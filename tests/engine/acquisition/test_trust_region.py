import jax
import numpy as np
import pytest
import twins
from designs import cube, observations, random_features
from golden import TOLERANCE, cases, features, numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from photinus.engine.acquisition import trust_region
from photinus.engine.features import Domain, Features

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 64


@jax.jit
def apply(observed, domain, x, scores):
    region = trust_region.trust_region(observed, domain, is_enabled=True)
    return (
        region.radius,
        region.is_active,
        trust_region.distance(region, x),
        trust_region.constrain(region, x, scores),
    )


def constrain(X: Features, query: np.ndarray, domain: Domain, num_completed: int | None = None, size=SIZE):
    """Radius, whether it binds, distances and constrained scores; every score is 1 before."""
    num_completed = len(X.continuous) if num_completed is None else num_completed
    observed = observations(X, np.zeros((num_completed, 1)), size)
    return [np.asarray(v) for v in apply(observed, domain, query, np.ones(len(query)))]


def only(*trusted: bool) -> Domain:
    return cube(len(trusted))._replace(is_trusted=np.array(trusted))


@pytest.mark.parametrize("size", [64, 144], ids="size{}".format)
@pytest.mark.parametrize("shape", [(3, 0), (2, 2)], ids=str)
def test_radius_distance_and_penalty_are_equations_18_and_19(shape, size):
    # The larger size is above the one from which on the distance is not even computed when the region is off.
    rng = np.random.default_rng(0)
    X, query = random_features(rng, 6, *shape), rng.random((40, shape[0]))
    radius, is_active, distance, scores = constrain(X, query, cube(*shape), size=size)
    expected_radius = twins.radius(6, sum(shape))
    expected = [twins.distance(x, X.continuous, range(shape[0])) for x in query]
    assert is_active
    assert radius == pytest.approx(expected_radius, rel=1e-14)
    np.testing.assert_allclose(distance, expected, rtol=1e-13)
    np.testing.assert_allclose(
        scores, [twins.constrained(1.0, d, expected_radius) for d in expected], rtol=1e-15
    )
    assert 0 < np.sum(scores == 1.0) < 40


def test_dimensions_with_wide_gaps_count_in_neither_distance_nor_radius():
    rng = np.random.default_rng(1)
    X, query = random_features(rng, 4, 3, 0), rng.random((20, 3))
    radius, _, distance, _ = constrain(X, query, only(True, False, True))
    assert radius == pytest.approx(twins.radius(4, 2), rel=1e-14)
    np.testing.assert_allclose(distance, [twins.distance(x, X.continuous, [0, 2]) for x in query], rtol=1e-13)


def test_many_features_are_compared_as_few_are():
    rng = np.random.default_rng(2)
    X, query = random_features(rng, 5, 80, 0), rng.random((6, 80))
    _, _, distance, _ = constrain(X, query, cube(80))
    np.testing.assert_allclose(
        distance, [twins.distance(x, X.continuous, range(80)) for x in query], rtol=1e-13
    )


@pytest.mark.parametrize("size", [64, 144], ids="size{}".format)
def test_the_region_is_off_once_its_radius_passes_a_half(size):
    # With two features fifteen trials make a radius of exactly 0.5, up to rounding.
    rng = np.random.default_rng(3)
    X, query = random_features(rng, 16, 2, 0), np.array([[0.0, 0.0], [1.0, 1.0]])
    at_14, at_16 = (constrain(X, query, cube(2), n, size) for n in (14, 16))
    assert (at_14[1], at_16[1]) == (True, False)
    np.testing.assert_array_equal(at_16[3], np.ones(2))


def test_fifteen_trials_in_two_dimensions_are_still_constrained():
    X = Features(np.full((15, 2), 0.1), np.zeros((15, 0), np.int32))
    radius, is_active, _, scores = constrain(X, np.array([[0.7, 0.1]]), cube(2))
    assert radius == pytest.approx(0.5)
    assert is_active
    assert scores[0] < -1e11


@pytest.mark.parametrize(
    ("num_completed", "domain"),
    [(0, cube(2)), (3, only(False, False))],
    ids=["no completed trial", "no dimension that counts"],
)
def test_without_centre_or_dimension_nothing_is_constrained(num_completed, domain):
    X = random_features(np.random.default_rng(4), 3, 2, 0)
    _, is_active, _, scores = constrain(X, np.array([[0.0, 1.0], [1.0, 0.0]]), domain, num_completed)
    assert not is_active
    np.testing.assert_array_equal(scores, np.ones(2))


def test_it_can_be_switched_off():
    X = random_features(np.random.default_rng(5), 1, 2, 0)
    observed = observations(X, np.zeros((1, 1)), SIZE)
    region = jax.jit(trust_region.trust_region, static_argnums=2)(observed, cube(2), False)
    assert not region.is_active


@given(st.integers(0, 2**32), st.integers(1, 10), st.integers(0, 4))
@settings(max_examples=40)
def test_only_completed_trials_are_trusted(seed, num_completed, num_visited):
    rng = np.random.default_rng(seed)
    X, query = random_features(rng, num_completed + num_visited, 3, 0), rng.random((8, 3))
    alone = Features(X.continuous[:num_completed], X.categorical[:num_completed])
    for a, b in zip(
        constrain(X, query, cube(3), num_completed), constrain(alone, query, cube(3)), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@given(st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=40)
def test_trials_are_inside_and_nearer_outside_points_are_less_bad(seed, num_trials):
    rng = np.random.default_rng(seed)
    X, query = random_features(rng, num_trials, 3, 0), rng.random((8, 3))
    _, _, distance, scores = constrain(X, np.concatenate([query, X.continuous[:1]]), cube(3))
    assert distance[-1] == 0.0
    assert scores[-1] == 1.0
    outside = np.flatnonzero(scores < 0)
    order = outside[np.argsort(distance[outside])]
    # A double near 1e12 resolves a ten-thousandth: enough to lead a search inside.
    assert np.all(np.diff(scores[order]) <= 0)


@given(st.integers(0, 2**32), st.floats(0.1, 1.0), st.integers(1, 4))
@settings(max_examples=40)
def test_distance_scales_with_the_points_and_the_radius_with_the_trials(seed, factor, times):
    rng = np.random.default_rng(seed)
    X, query = random_features(rng, 5, 3, 0), rng.random((8, 3))
    shrunk = Features(factor * X.continuous, X.categorical)
    _, _, distance, _ = constrain(X, query, cube(3))
    _, _, smaller, _ = constrain(shrunk, factor * query, cube(3))
    np.testing.assert_allclose(smaller, factor * distance, atol=1e-14)
    repeated = Features(*(np.repeat(v, times, axis=0) for v in X))
    radius, _, same, _ = constrain(repeated, query, cube(3))
    np.testing.assert_array_equal(same, distance)
    assert radius - 0.2 == pytest.approx(times * (constrain(X, query, cube(3))[0] - 0.2), rel=1e-12)


@pytest.mark.parametrize("case", cases("trust_region"))
def test_golden_radius_distance_and_penalty(case):
    X, query = features(case), features(case, "query_")
    domain = cube(X.continuous.shape[1], X.categorical.shape[1])
    observed = observations(X, np.zeros((len(X.continuous), 1)), SIZE)
    radius, is_active, distance, scores = apply(observed, domain, query.continuous, numbers(case["scores"]))
    assert radius == pytest.approx(case["radius"], rel=TOLERANCE)
    np.testing.assert_allclose(scores, numbers(case["penalised"]), rtol=TOLERANCE)
    if X.continuous.shape[1]:
        assert bool(is_active) == case["bounded"]
        np.testing.assert_allclose(distance, numbers(case["distance"]), rtol=TOLERANCE)
    else:
        # The reference's region is there and never binds; ours says that it is off.
        assert not is_active
