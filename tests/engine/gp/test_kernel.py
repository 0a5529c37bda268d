import jax
import jax.numpy as jnp
import numpy as np
import pytest
import twins
from designs import kernel, points, random_features, random_hyperparameters
from hypothesis import given
from hypothesis import strategies as st

from photinus.engine.features import Features
from photinus.engine.gp.kernel import matern52, matern52_slope, mismatch, squared_distance

pytestmark = pytest.mark.usefixtures("engine")

distances = jax.jit(squared_distance)
covariances = jax.jit(lambda hyper, a, b: matern52(squared_distance(hyper, a, b), hyper.signal_variance))
SHAPES = [(3, 0), (0, 3), (3, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_distance_and_covariance_are_equations_10_and_11(shape):
    rng = np.random.default_rng(0)
    hyper = random_hyperparameters(rng, *shape)
    a, b = random_features(rng, 7, *shape), random_features(rng, 5, *shape)
    expected = [[twins.squared_distance(kernel(hyper), p, q) for q in points(b)] for p in points(a)]
    np.testing.assert_allclose(distances(hyper, a, b), expected, rtol=1e-12, atol=1e-12)
    expected = twins.covariances(kernel(hyper), points(a), points(b))
    np.testing.assert_allclose(covariances(hyper, a, b), expected, rtol=1e-12)


@given(st.integers(0, 2**32))
def test_a_covariance_matrix_is_symmetric_and_positive(seed):
    rng = np.random.default_rng(seed)
    hyper, X = random_hyperparameters(rng, 3, 3), random_features(rng, 12, 3, 3)
    K = np.asarray(covariances(hyper, X, X))
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    # The distance of a point to itself is a difference of equal numbers: 0 up to rounding.
    np.testing.assert_allclose(np.diagonal(K), hyper.signal_variance, rtol=1e-10)
    assert np.all(K > 0)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * hyper.signal_variance


def test_only_whether_categories_differ_matters_not_by_how_much():
    rng = np.random.default_rng(1)
    hyper, X = random_hyperparameters(rng, 3, 3), random_features(rng, 7, 3, 3)
    renamed = Features(X.continuous, np.array([40, -3, 7], np.int32)[X.categorical])
    np.testing.assert_array_equal(covariances(hyper, X, X), covariances(hyper, renamed, renamed))


def test_many_categorical_features_are_compared_as_few_are():
    rng = np.random.default_rng(2)
    a, b, weights = rng.integers(3, size=(6, 200)), rng.integers(3, size=(4, 200)), rng.random(200)
    expected = [[weights[p != q].sum() for q in b] for p in a]
    np.testing.assert_allclose(jax.jit(mismatch)(weights, a, b), expected, rtol=1e-13)


def test_slope_is_the_derivative_by_the_squared_distance():
    distance = np.array([1e-6, 1e-3, 0.1, 1.0, 7.0, 60.0])
    slope = matern52_slope(jnp.asarray(distance), jnp.asarray(0.7))
    derivative = jax.vmap(jax.grad(matern52), in_axes=(0, None))(jnp.asarray(distance), jnp.asarray(0.7))
    np.testing.assert_allclose(slope, derivative, rtol=1e-8)
    step = 1e-5 * distance
    above, below = (matern52(jnp.asarray(distance + s), jnp.asarray(0.7)) for s in (step, -step))
    np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=1e-4)


def test_slope_is_finite_where_points_meet():
    assert matern52_slope(jnp.zeros(()), jnp.asarray(0.6)) == pytest.approx(-0.1)
