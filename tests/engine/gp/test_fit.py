import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import twins
from designs import (
    kernel,
    observations,
    pack,
    pad,
    pad_features,
    points,
    random_features,
    random_hyperparameters,
)
from golden import TOLERANCE, cases, features, hyperparameters
from hypothesis import given, settings
from hypothesis import strategies as st

from photinus.engine.features import Features
from photinus.engine.gp import priors
from photinus.engine.gp.fit import fit, fit_each, fit_each_from, fit_from, loss_and_gradient
from photinus.engine.gp.kernel import Hyperparameters
from photinus.engine.gp.posterior import condition

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 16
seeds = st.integers(0, 2**32)
evaluate_padded = jax.jit(loss_and_gradient)
fit_padded = jax.jit(fit)


def evaluate(theta: np.ndarray, X: Features, Y: np.ndarray, size: int = SIZE) -> tuple[float, np.ndarray]:
    """Loss and gradient, the rows padded to `size`."""
    is_completed = np.arange(size) < len(Y)
    value, gradient = evaluate_padded(theta, pad_features(X, size), pad(Y, size), is_completed)
    return float(value), np.asarray(gradient)


def fit_to(X: Features, Y: np.ndarray, seed: int = 0, size: int = SIZE):
    return jax.device_get(
        fit_padded(jax.random.key(seed), pad_features(X, size), pad(Y, size), np.arange(size) < len(Y))
    )


def design(seed: int, rows: int = 9, shape=(2, 1), num_metrics: int = 2):
    rng = np.random.default_rng(seed)
    hyper, X = random_hyperparameters(rng, *shape), random_features(rng, rows, *shape)
    return hyper, X, rng.normal(size=(rows, num_metrics))


def plain_loss(theta: jax.Array, X: Features, Y: np.ndarray) -> jax.Array:
    """Equation 13 for automatic differentiation, without anything that the engine does to be fast."""
    num_continuous = X.continuous.shape[1]
    signal, numeric = jnp.exp(theta[0]), jnp.exp(theta[1 : 1 + num_continuous])
    categorical, noise = jnp.exp(theta[1 + num_continuous : -1]), jnp.exp(theta[-1])
    squares = (X.continuous[:, None] - X.continuous[None]) ** 2 / numeric
    differing = (X.categorical[:, None] != X.categorical[None]) / categorical
    distance = 5 * (squares.sum(-1) + differing.sum(-1))
    # The square root has no derivative at 0, where the covariance is constant: s².
    is_apart = distance > 0
    delta = jnp.sqrt(jnp.where(is_apart, distance, 1.0))
    k = signal * jnp.where(is_apart, (1 + delta + delta**2 / 3) * jnp.exp(-delta), 1.0)
    K = k + noise * jnp.eye(len(Y))
    centres = jnp.log(jnp.array([0.039, *[0.5] * (len(theta) - 2), 0.0039]))
    fits = 0.5 * jnp.trace(Y.T @ jnp.linalg.inv(K) @ Y)
    volume = 0.5 * Y.shape[1] * (jnp.linalg.slogdet(K)[1] + len(Y) * math.log(2 * math.pi))
    return fits + volume + 0.01 * jnp.sum((theta - centres) ** 2)


@pytest.mark.parametrize("rows", [1, 2, 9, 16])
@pytest.mark.parametrize("shape", [(2, 1), (3, 0), (0, 2)], ids=str)
def test_loss_is_equation_13(shape, rows):
    hyper, X, Y = design(0, rows, shape)
    loss, _ = evaluate(pack(hyper), X, Y)
    assert loss == pytest.approx(twins.loss(kernel(hyper), points(X), Y), rel=1e-10)


@pytest.mark.parametrize("shape", [(2, 1), (3, 0), (0, 2)], ids=str)
def test_gradient_is_what_automatic_differentiation_finds(shape):
    hyper, X, Y = design(1, 9, shape)
    expected = jax.grad(plain_loss)(jnp.asarray(pack(hyper)), X, Y)
    np.testing.assert_allclose(evaluate(pack(hyper), X, Y)[1], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("shape", [(2, 1), (3, 0), (0, 2)], ids=str)
def test_gradient_is_what_central_differences_find(shape):
    hyper, X, Y = design(2, 9, shape)
    theta, step = pack(hyper), 1e-5

    def slope(i: int) -> float:
        above, below = theta.copy(), theta.copy()
        above[i] += step
        below[i] -= step
        return (evaluate(above, X, Y)[0] - evaluate(below, X, Y)[0]) / (2 * step)

    expected = [slope(i) for i in range(len(theta))]
    np.testing.assert_allclose(
        evaluate(theta, X, Y)[1], expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max()
    )


def test_gradient_with_repeated_trials_is_finite_and_right():
    hyper, X, Y = design(3)
    repeated = Features(*(np.repeat(v[:3], 3, axis=0) for v in X))
    expected = jax.grad(plain_loss)(jnp.asarray(pack(hyper)), repeated, Y)
    np.testing.assert_allclose(evaluate(pack(hyper), repeated, Y)[1], expected, rtol=1e-7, atol=1e-7)


def assert_same(a: tuple[float, np.ndarray], b: tuple[float, np.ndarray]) -> None:
    assert a[0] == pytest.approx(b[0], rel=1e-10)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-7, atol=1e-7 * np.abs(b[1]).max())


@given(seeds)
@settings(max_examples=30)
def test_padding_does_not_change_the_loss(seed):
    hyper, X, Y = design(seed)
    assert_same(evaluate(pack(hyper), X, Y), evaluate(pack(hyper), X, Y, size=48))


@given(seeds, st.permutations(range(9)))
@settings(max_examples=30)
def test_the_order_of_trials_does_not_change_the_loss(seed, order):
    hyper, X, Y = design(seed)
    permuted = Features(X.continuous[order], X.categorical[order])
    assert_same(evaluate(pack(hyper), X, Y), evaluate(pack(hyper), permuted, Y[order]))


@given(seeds, st.permutations(range(3)), st.permutations(range(2)))
@settings(max_examples=30)
def test_the_order_of_features_does_not_change_the_loss(seed, numeric, categorical):
    hyper, X, Y = design(seed, shape=(3, 2))
    order = np.array([0, *(1 + np.array(numeric)), *(4 + np.array(categorical)), 6])
    permuted = Features(X.continuous[:, numeric], X.categorical[:, categorical])
    loss, gradient = evaluate(pack(hyper), X, Y)
    assert_same((loss, gradient[order]), evaluate(pack(hyper)[order], permuted, Y))


@given(seeds)
@settings(max_examples=30)
def test_likelihoods_of_several_metrics_add_up_and_the_prior_counts_once(seed):
    hyper, X, Y = design(seed)
    alone = sum(evaluate(pack(hyper), X, Y[:, m : m + 1])[0] for m in range(2))
    together, _ = evaluate(pack(hyper), X, Y)
    assert together == pytest.approx(alone - twins.penalty(kernel(hyper)), rel=1e-10)


@pytest.mark.parametrize("case", cases("kernel_loss"))
def test_golden_loss_and_gradient(case):
    hyper, X, Y = hyperparameters(case), features(case), np.array(case["labels"])
    loss, gradient = evaluate(pack(hyper), X, Y, size=32)
    assert loss == pytest.approx(case["loss"], rel=TOLERANCE)
    stored = case["gradient"]
    raw = Hyperparameters(
        stored["signal_variance"],
        stored["continuous_length_scale_squared"],
        stored["categorical_length_scale_squared"],
        stored["observation_noise_variance"],
    )  # pyright: ignore[reportArgumentType]
    expected = np.exp(pack(hyper)) * np.concatenate([np.atleast_1d(v) for v in raw])
    np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE, atol=TOLERANCE * np.abs(expected).max())


def smooth(X: Features) -> np.ndarray:
    """Labels with structure: a bowl in the numeric features, and one good category."""
    return -np.sum((X.continuous - 0.3) ** 2, axis=1, keepdims=True) + 0.2 * (X.categorical[:, :1] == 1)


def test_fitted_hyperparameters_explain_the_data_better_than_the_centres():
    _, X, _ = design(4, 16)
    found = fit_to(X, smooth(X))
    at_centres, _ = evaluate(np.asarray(priors.log_centres(2, 1)), X, smooth(X))
    assert found.loss < at_centres - 1.0
    assert found.loss == pytest.approx(evaluate(pack(found.hyper), X, smooth(X))[0], rel=1e-9)


def test_a_fit_ends_where_no_feasible_direction_leads_down():
    _, X, _ = design(5, 16)
    found = fit_to(X, smooth(X))
    theta = pack(found.hyper)
    _, gradient = evaluate(theta, X, smooth(X))
    low, high = (np.asarray(bound) for bound in priors.log_bounds(2, 1))
    assert np.all((low <= theta + 1e-12) & (theta - 1e-12 <= high))
    np.testing.assert_allclose(np.clip(theta - gradient, low, high), theta, atol=1e-3)


def test_the_same_key_gives_the_same_fit_and_keys_draw_other_starts():
    _, X, Y = design(6)
    first, again, other = (fit_to(X, Y[:, :1], seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first.hyper, again.hyper, strict=True))
    assert first.num_evaluations != other.num_evaluations


def test_padding_does_not_change_the_fit():
    _, X, _ = design(7, 12)
    small, large = fit_to(X, smooth(X)), fit_to(X, smooth(X), size=48)
    assert small.loss == pytest.approx(large.loss, abs=1e-5)


def test_without_data_the_hyperparameters_are_the_centres():
    _, X, Y = design(8, 0)
    found = fit_to(X, Y[:, :1])
    np.testing.assert_allclose(pack(found.hyper), priors.log_centres(2, 1), rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 16])
def test_equal_labels_are_fitted(rows):
    _, X, _ = design(9, rows)
    found = fit_to(X, np.zeros((rows, 1)))
    assert np.isfinite(found.loss)
    # Nothing varies: the signal goes to its lower bound and the noise well below its centre.
    assert found.hyper.signal_variance == pytest.approx(1e-3, rel=1e-3)
    assert found.hyper.noise_variance < 1e-3


def test_repeated_trials_with_different_labels_are_fitted_as_noise():
    rng = np.random.default_rng(10)
    X = Features(np.full((16, 2), 0.4), np.zeros((16, 1), np.int32))
    Y = rng.normal(scale=0.3, size=(16, 1))
    found = fit_to(X, Y)
    assert found.hyper.noise_variance == pytest.approx(np.var(Y), rel=0.5)


def test_a_fit_recovers_which_features_matter():
    rng = np.random.default_rng(11)
    X = random_features(rng, 40, 2, 1)
    found = fit_to(X, np.sin(6 * X.continuous[:, :1]), size=48)
    relevant, irrelevant = found.hyper.continuous
    assert relevant < 1.0
    assert irrelevant > 10.0
    assert found.hyper.categorical[0] > 10.0


@pytest.mark.parametrize("side_by_side", [True, False], ids=["side by side", "in turn"])
def test_every_metric_of_its_own_is_fitted_as_if_it_were_the_only_one(side_by_side, monkeypatch):
    monkeypatch.setattr("photinus.engine.gp.fit.SIDE_BY_SIDE", SIZE if side_by_side else 0)
    _, X, Y = design(13, rows=12)
    Y[:, 0] = smooth(X)[:, 0]
    arguments = pad_features(X, SIZE), np.arange(SIZE) < len(Y)

    def run(program, y):
        return jax.device_get(jax.jit(program)(jax.random.key(3), arguments[0], y, arguments[1]))

    each = run(fit_each, pad(Y, SIZE))
    assert each.loss.shape == (2,)
    for m in range(2):
        alone = run(fit, pad(Y[:, m : m + 1], SIZE))
        assert each.loss[m] == pytest.approx(alone.loss, rel=1e-6)
        np.testing.assert_allclose(pack(each.hyper.of_metric(m)), pack(alone.hyper), atol=1e-3)
    apart = np.abs(pack(each.hyper.of_metric(0)) - pack(each.hyper.of_metric(1)))
    assert apart.max() > 1.0  # one metric is smooth and the other noise


def test_one_start_of_every_metric_of_its_own_is_that_start_of_it_alone():
    _, X, Y = design(14)
    features, is_completed = pad_features(X, SIZE), np.arange(SIZE) < len(Y)
    which = np.int32(2)
    each = jax.jit(fit_each_from)(jax.random.key(1), which, features, pad(Y, SIZE), is_completed)
    for m in range(2):
        column = pad(Y[:, m : m + 1], SIZE)
        alone = jax.jit(fit_from)(jax.random.key(1), which, features, column, is_completed)
        np.testing.assert_allclose(each.loss[m], alone.loss, rtol=1e-9)
        np.testing.assert_allclose(pack(each.hyper.of_metric(m)), pack(alone.hyper), atol=1e-6)


def test_90_percent_intervals_of_fitted_models_cover_close_to_90_percent():
    rng = np.random.default_rng(12)
    num_functions, num_trials, num_queries = 60, 30, 5
    hyper = Hyperparameters(np.float64(1.0), np.array([0.15]), np.zeros(0), np.float64(0.01))  # pyright: ignore

    @jax.jit
    def fit_and_predict(key, observed, query):
        found = fit(key, observed.features, observed.labels, observed.is_completed)
        at = condition(found.hyper, observed, observed.labels).predict(query)
        return at.mu[:, 0], at.sigma[:, 0]

    covered = []
    for i in range(num_functions):
        X = random_features(rng, num_trials + num_queries, 1, 0)
        L = np.linalg.cholesky(twins.observed(kernel(hyper), points(X)))
        y = L @ rng.normal(size=len(L))
        seen, unseen = slice(num_trials), slice(num_trials, None)
        observed = observations(Features(X.continuous[seen], X.categorical[seen]), y[seen, None], size=32)
        query = Features(X.continuous[unseen], X.categorical[unseen])
        mu, sigma = fit_and_predict(jax.random.key(i), observed, query)
        covered.append(np.mean(np.abs(y[unseen] - mu) <= 1.6448536 * sigma))
    # Errors of one function go together, so the functions are what is counted. Fitted to thirty labels, the
    # hyperparameters are a little too sure of themselves.
    error = np.std(covered) / np.sqrt(num_functions)
    assert error < 0.03
    assert 0.9 - 0.03 - 3 * error <= np.mean(covered) <= 0.9 + 3 * error
