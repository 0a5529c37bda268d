"""The posterior against a textbook one, and the laws that padding, order and batching must not break."""

import jax
import numpy as np
import pytest
import twins
from designs import (
    kernel,
    observations,
    pad,
    points,
    random_features,
    random_hyperparameters,
)
from golden import TOLERANCE, cases, features, hyperparameters
from hypothesis import given, settings
from hypothesis import strategies as st

from photinus.engine.features import Features
from photinus.engine.gp.kernel import Hyperparameters
from photinus.engine.gp.posterior import Prediction, condition

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 16
seeds = st.integers(0, 2**32)


@jax.jit
def condition_and_predict(hyper, observed, y, query) -> tuple[Prediction, jax.Array]:
    posterior = condition(hyper, observed, y)
    return posterior.predict(query), posterior.jitter


def predict(hyper, X: Features, Y: np.ndarray, query: Features, size: int = SIZE) -> Prediction:
    """Prediction given completed trials, the first len(Y) rows of X, and visited ones, the others."""
    observed = observations(X, Y, size)
    # What stands where labels are missing must not matter: make it as harmful as can be.
    y = pad(Y, size, np.nan)
    prediction, jitter = condition_and_predict(hyper, observed, y, query)
    assert jitter == 0.0
    return prediction


def design(seed: int, rows: int, num_labels: int, shape=(2, 1), num_metrics: int = 2):
    """Hyperparameters, points, labels and queries; the first query is an observed point where there is one."""
    rng = np.random.default_rng(seed)
    hyper, X = random_hyperparameters(rng, *shape), random_features(rng, rows, *shape)
    query = random_features(rng, 6, *shape)
    query = Features(*(np.concatenate([x[:1], q])[:6] for x, q in zip(X, query, strict=True)))
    return hyper, X, rng.normal(size=(num_labels, num_metrics)), query


def rows_of(X: Features, rows) -> Features:
    return Features(X.continuous[rows], X.categorical[rows])


def assert_equal(a: Prediction, b: Prediction, tolerance: float = 1e-9) -> None:
    for field in ("mu", "sigma", "sigma_visited"):
        np.testing.assert_allclose(getattr(a, field), getattr(b, field), atol=tolerance, err_msg=field)


@pytest.mark.parametrize("num_labels", [1, 2, 5, 9, 16])
@pytest.mark.parametrize("shape", [(2, 1), (3, 0), (0, 2)], ids=str)
def test_moments_are_equations_15_and_16(shape, num_labels):
    hyper, X, Y, query = design(0, num_labels, num_labels, shape)
    at = predict(hyper, X, Y, query)
    np.testing.assert_allclose(at.mu, twins.mean(kernel(hyper), points(X), Y, points(query)), atol=1e-9)
    expected = twins.deviation(kernel(hyper), points(X), points(query))
    np.testing.assert_allclose(at.sigma[:, 0], expected, atol=1e-9)
    np.testing.assert_allclose(at.sigma_visited[:, 0], expected, atol=1e-9)


@given(seeds, st.integers(1, 9), st.integers(1, 7))
@settings(max_examples=40)
def test_one_factorisation_serves_two_textbook_posteriors(seed, num_labels, num_visited):
    hyper, X, Y, query = design(seed, num_labels + num_visited, num_labels)
    at = predict(hyper, X, Y, query)
    completed, every = points(X)[:num_labels], points(X)
    np.testing.assert_allclose(at.mu, twins.mean(kernel(hyper), completed, Y, points(query)), atol=1e-9)
    np.testing.assert_allclose(
        at.sigma[:, 0], twins.deviation(kernel(hyper), completed, points(query)), atol=1e-9
    )
    np.testing.assert_allclose(
        at.sigma_visited[:, 0], twins.deviation(kernel(hyper), every, points(query)), atol=1e-9
    )


def test_without_trials_the_prior_is_predicted():
    hyper, X, Y, query = design(1, 0, 0)
    at = predict(hyper, X, Y, query)
    prior = np.sqrt(hyper.signal_variance + hyper.noise_variance)
    np.testing.assert_array_equal(at.mu, np.zeros((6, 2)))
    np.testing.assert_allclose([at.sigma, at.sigma_visited], prior)


def test_visited_trials_alone_shrink_the_deviation_and_leave_the_mean():
    hyper, X, Y, query = design(2, 5, 0)
    at = predict(hyper, X, Y, query)
    np.testing.assert_array_equal(at.mu, np.zeros((6, 2)))
    np.testing.assert_allclose(at.sigma, np.sqrt(hyper.signal_variance + hyper.noise_variance))
    np.testing.assert_allclose(
        at.sigma_visited[:, 0], twins.deviation(kernel(hyper), points(X), points(query))
    )


@given(seeds, st.integers(0, 9), st.integers(0, 7))
@settings(max_examples=40)
def test_more_trials_never_raise_the_deviation_and_noise_stays(seed, num_labels, num_visited):
    hyper, X, Y, query = design(seed, num_labels + num_visited, num_labels)
    at = predict(hyper, X, Y, query)
    assert np.all(at.sigma_visited <= at.sigma + 1e-12)
    assert np.all(at.sigma <= np.sqrt(hyper.signal_variance + hyper.noise_variance) + 1e-12)
    assert np.all(at.sigma_visited >= np.sqrt(hyper.noise_variance) - 1e-9)


@given(seeds, st.integers(0, 9), st.integers(0, 7))
@settings(max_examples=40)
def test_padding_does_not_change_predictions(seed, num_labels, num_visited):
    hyper, X, Y, query = design(seed, num_labels + num_visited, num_labels)
    assert_equal(predict(hyper, X, Y, query), predict(hyper, X, Y, query, size=48))


@given(seeds, st.integers(1, 9), st.integers(0, 7))
@settings(max_examples=40)
def test_the_order_of_trials_does_not_change_predictions(seed, num_labels, num_visited):
    hyper, X, Y, query = design(seed, num_labels + num_visited, num_labels)
    rng = np.random.default_rng(seed)
    completed, visited = rng.permutation(num_labels), num_labels + rng.permutation(num_visited)
    permuted = rows_of(X, np.concatenate([completed, visited]))
    assert_equal(predict(hyper, X, Y, query), predict(hyper, permuted, Y[completed], query))


@given(seeds, st.permutations(range(3)), st.permutations(range(2)))
@settings(max_examples=40)
def test_the_order_of_features_does_not_change_predictions(seed, numeric, categorical):
    hyper, X, Y, query = design(seed, 12, 8, shape=(3, 2))
    permuted = Hyperparameters(
        hyper.signal_variance, hyper.continuous[numeric], hyper.categorical[categorical], hyper.noise_variance
    )

    def columns(points: Features) -> Features:
        return Features(points.continuous[:, numeric], points.categorical[:, categorical])

    assert_equal(predict(hyper, X, Y, query), predict(permuted, columns(X), Y, columns(query)))


@given(seeds)
@settings(max_examples=20)
def test_several_metrics_are_separate_posteriors(seed):
    hyper, X, Y, query = design(seed, 12, 8, num_metrics=3)
    at = predict(hyper, X, Y, query)
    for m in range(3):
        alone = predict(hyper, X, Y[:, m : m + 1], query)
        np.testing.assert_allclose(at.mu[:, m], alone.mu[:, 0], atol=1e-10)
        np.testing.assert_allclose(at.sigma, alone.sigma, atol=1e-10)


def own_hyperparameters(seed: int, num_metrics: int) -> tuple[list[Hyperparameters], Hyperparameters]:
    """One set for every metric, apart and in a row."""
    rng = np.random.default_rng(seed)
    sets = [random_hyperparameters(rng, 2, 1) for _ in range(num_metrics)]
    return sets, jax.tree.map(lambda *leaves: np.stack(leaves), *sets)


@given(seeds, st.integers(1, 9), st.integers(0, 7))
@settings(max_examples=40)
def test_metrics_with_hyperparameters_of_their_own_are_textbook_posteriors_of_one_metric_each(
    seed, num_labels, num_visited
):
    _, X, Y, query = design(seed, num_labels + num_visited, num_labels)
    sets, own = own_hyperparameters(seed, 2)
    at = predict(own, X, Y, query)
    completed, every = points(X)[:num_labels], points(X)
    for m, hyper in enumerate(sets):
        mean = twins.mean(kernel(hyper), completed, Y[:, m : m + 1], points(query))[:, 0]
        np.testing.assert_allclose(at.mu[:, m], mean, atol=1e-9)
        deviation, visited = (twins.deviation(kernel(hyper), p, points(query)) for p in (completed, every))
        np.testing.assert_allclose(at.sigma[:, m], deviation, atol=1e-9)
        np.testing.assert_allclose(at.sigma_visited[:, m], visited, atol=1e-9)


def test_the_largest_jitter_of_several_posteriors_is_on_record():
    """The second metric has no noise, so its repeated points make a singular matrix."""
    _, X, Y, query = design(8, 6, 6)
    X = rows_of(X, [0, 0, 0, 1, 1, 1])
    sets, _ = own_hyperparameters(8, 2)
    sets[1] = sets[1]._replace(noise_variance=np.float64(0.0))
    jitters = []
    for hyper, y in [*((h, Y[:, m : m + 1]) for m, h in enumerate(sets)), (None, Y)]:
        given = hyper or jax.tree.map(lambda *leaves: np.stack(leaves), *sets)
        observed = observations(X, y, SIZE)
        jitters.append(float(condition_and_predict(given, observed, pad(y, SIZE), query)[1]))
    assert jitters[0] == 0.0 < jitters[1] == jitters[2]


def test_studies_with_own_hyperparameters_side_by_side_are_predicted_as_if_alone():
    studies = [(own_hyperparameters(seed, 2)[1], *design(seed, 12, 8)[1:]) for seed in range(3)]
    packed = [(hyper, observations(X, Y, SIZE), pad(Y, SIZE), query) for hyper, X, Y, query in studies]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *packed)
    together, _ = jax.jit(jax.vmap(condition_and_predict))(*stacked)
    for i, study in enumerate(studies):
        assert_equal(jax.tree.map(lambda leaf, i=i: leaf[i], together), predict(*study))


def test_studies_side_by_side_are_predicted_as_if_alone():
    studies = [design(seed, 12, 8) for seed in range(3)]
    packed = [(hyper, observations(X, Y, SIZE), pad(Y, SIZE), query) for hyper, X, Y, query in studies]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *packed)
    together, _ = jax.jit(jax.vmap(condition_and_predict))(*stacked)
    for i, study in enumerate(studies):
        assert_equal(jax.tree.map(lambda leaf, i=i: leaf[i], together), predict(*study))


def test_labels_are_reproduced_where_there_is_hardly_any_noise():
    hyper, X, Y, _ = design(3, 10, 10, shape=(2, 0))
    hyper = hyper._replace(noise_variance=np.float64(1e-10), continuous=np.full(2, 0.05))
    at = predict(hyper, X, Y, X)
    np.testing.assert_allclose(at.mu, Y, atol=1e-4)
    assert np.all(at.sigma < 1e-3)


def test_far_from_all_trials_the_prior_is_predicted():
    hyper, X, Y, _ = design(4, 10, 10, shape=(1, 0))
    hyper = hyper._replace(continuous=np.full(1, 1e-2))
    X, far = Features(0.1 * X.continuous, X.categorical), Features(np.ones((1, 1)), X.categorical[:1])
    at = predict(hyper, X, Y, far)
    np.testing.assert_allclose(at.mu, 0.0, atol=1e-5)
    np.testing.assert_allclose(at.sigma**2, hyper.signal_variance + hyper.noise_variance, rtol=1e-9)


@pytest.mark.parametrize("num_labels", [1, 2, 16])
def test_repeated_trials_count_as_repeated_measurements(num_labels):
    # n measurements of one point are one measurement of their mean with an n-th of the noise.
    hyper, X, Y, query = design(5, num_labels, num_labels)
    repeated = rows_of(X, [0] * num_labels)
    averaged = hyper._replace(noise_variance=hyper.noise_variance / num_labels)
    ours = predict(hyper, repeated, Y, query)
    once = predict(averaged, rows_of(X, [0]), Y.mean(axis=0, keepdims=True), query)
    np.testing.assert_allclose(ours.mu, once.mu, atol=1e-9)
    np.testing.assert_allclose(
        ours.sigma**2 - hyper.noise_variance, once.sigma**2 - averaged.noise_variance, atol=1e-9
    )


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-6], ids="{:g}".format)
@pytest.mark.parametrize("noise", [1e-10, 0.0], ids="noise{:g}".format)
def test_a_thousand_nearly_identical_trials_are_no_obstacle(spread, noise):
    rng = np.random.default_rng(6)
    X = Features(0.5 + spread * rng.random((1000, 2)), np.zeros((1000, 0), np.int32))
    hyper = Hyperparameters(np.float64(10.0), np.full(2, 1e2), np.zeros(0), np.float64(noise))
    labels = np.column_stack([np.full(1000, 0.7), rng.normal(size=1000)])
    query = random_features(rng, 6, 2, 0)
    at, jitter = condition_and_predict(hyper, observations(X, labels, 1024), pad(labels, 1024), query)
    # Without noise the matrix is singular, and what was added to its diagonal must be on record.
    assert (jitter > 0.0) == (noise == 0.0)
    assert jitter <= 1e-6 * hyper.signal_variance
    assert all(np.all(np.isfinite(moment)) for moment in (at.mu, at.sigma, at.sigma_visited))
    assert np.all(at.sigma > 0.0)
    # The length scale is 10, so the whole cube sees what the cluster agrees on.
    np.testing.assert_allclose(at.mu[:, 0], 0.7, atol=0.01)


def test_90_percent_intervals_cover_90_percent_of_functions_from_the_prior():
    rng = np.random.default_rng(7)
    num_functions, num_rows = 2000, 13
    packed, truth = [], []
    for _ in range(num_functions):
        hyper, X = random_hyperparameters(rng, 2, 1), random_features(rng, num_rows, 2, 1)
        L = np.linalg.cholesky(twins.observed(kernel(hyper), points(X)))
        y = (L @ rng.normal(size=num_rows))[:, None]
        packed.append(
            (hyper, observations(rows_of(X, slice(-1)), y[:-1], SIZE), pad(y[:-1], SIZE), rows_of(X, [-1]))
        )
        truth.append(y[-1, 0])
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *packed)
    at, _ = jax.jit(jax.vmap(condition_and_predict))(*stacked)
    is_covered = np.abs(np.array(truth) - at.mu[:, 0, 0]) <= 1.6448536 * at.sigma[:, 0, 0]
    # Four standard deviations of a binomial share.
    assert np.mean(is_covered) == pytest.approx(0.9, abs=4 * np.sqrt(0.9 * 0.1 / num_functions))


@pytest.mark.parametrize("case", cases("posterior"))
def test_golden_moments(case):
    at = predict(
        hyperparameters(case), features(case), np.array(case["labels"]), features(case, "query_"), size=32
    )
    np.testing.assert_allclose(at.mu, case["mean"], rtol=TOLERANCE, atol=TOLERANCE)
    for m in range(at.mu.shape[1]):
        np.testing.assert_allclose(at.sigma[:, 0], np.array(case["stddev"])[:, m], rtol=TOLERANCE)
