import jax
import numpy as np
import pytest
import twins
from designs import observations, pad
from golden import TOLERANCE, cases, features, hyperparameters
from hypothesis import given
from hypothesis import strategies as st

from photinus.engine.acquisition import hypervolume
from photinus.engine.acquisition.pure_exploration import pure_exploration, threshold
from photinus.engine.acquisition.ucb import upper_confidence_bound
from photinus.engine.features import Features
from photinus.engine.gp.posterior import Prediction, condition

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 32
UCB, EXPLORE, PENALTY = 1.8, 0.5, 10.0


@jax.jit
def explore(mu, sigma, sigma_visited, tau):
    return pure_exploration(Prediction(mu, sigma, sigma_visited), tau, EXPLORE, PENALTY)


@jax.jit
def find_threshold(mu, sigma, is_real):
    return threshold(Prediction(mu, sigma, sigma), is_real, UCB)


# Metrics, and how many deviations they have: one that all share, or each its own.
COUNTS = [(1, 1), (3, 1), (3, 3)]


def moments(seed: int, rows: int, num_metrics: int, num_deviations: int = 1):
    rng = np.random.default_rng(seed)
    sigma = rng.random((rows, num_deviations))
    return rng.normal(size=(rows, num_metrics)), sigma, sigma * rng.random((rows, num_deviations))


def by_metric(sigma: np.ndarray, num_metrics: int) -> np.ndarray:
    return np.column_stack([sigma[:, m % sigma.shape[1]] for m in range(num_metrics)])


@pytest.mark.parametrize(("num_metrics", "num_deviations"), COUNTS)
def test_score_is_equations_26_and_31(num_metrics, num_deviations):
    mu, sigma, sigma_visited = moments(0, 8, num_metrics, num_deviations)
    tau = np.linspace(-0.5, 0.5, num_metrics)
    each, each_visited = (by_metric(s, num_metrics) for s in (sigma, sigma_visited))
    expected = [twins.pure_exploration(mu[i], each[i], each_visited[i], tau) for i in range(8)]
    np.testing.assert_allclose(explore(mu, sigma, sigma_visited, tau), expected, rtol=1e-13)


@pytest.mark.parametrize(("num_metrics", "num_deviations"), COUNTS)
def test_threshold_is_equation_27_and_does_not_see_padding(num_metrics, num_deviations):
    mu, sigma, _ = moments(1, 12, num_metrics, num_deviations)
    is_real = np.arange(12) < 9
    mu[9:] = 100.0
    expected = twins.threshold(mu[:9], by_metric(sigma, num_metrics)[:9])
    np.testing.assert_allclose(find_threshold(mu, sigma, is_real), expected, rtol=1e-14)


@given(st.integers(0, 2**32))
def test_where_an_optimist_expects_enough_only_the_deviation_counts(seed):
    mu, sigma, sigma_visited = moments(seed, 8, 1)
    tau = np.zeros(1)
    score = np.asarray(explore(mu, sigma, sigma_visited, tau))
    is_promising = (mu + EXPLORE * sigma >= 0)[:, 0]
    np.testing.assert_array_equal(score[is_promising], sigma_visited[is_promising, 0])
    assert np.all(score[~is_promising] < sigma_visited[~is_promising, 0])


@jax.jit
def scores(hyper, observed, y, query):
    """Everything of one golden case: moments, τ, the bound and pure exploration."""
    posterior = condition(hyper, observed, y)
    tau = threshold(posterior.predict(observed.features), observed.is_real, UCB)
    at = posterior.predict(query)
    bound = upper_confidence_bound(at.mu, at.sigma_visited, UCB)
    return at, tau, bound, pure_exploration(at, tau, EXPLORE, PENALTY)


@pytest.mark.parametrize("case", cases("ucb_pe"))
def test_golden_scores(case):
    completed, pending, Y = features(case), features(case, "pending_"), np.array(case["labels"])
    every = Features(*(np.concatenate(pair) for pair in zip(completed, pending, strict=True)))
    observed = observations(every, Y, SIZE)
    at, tau, bound, unknown = scores(
        hyperparameters(case), observed, pad(Y, SIZE, np.nan), features(case, "query_")
    )
    np.testing.assert_allclose(at.mu, case["mean"], rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(at.sigma[:, 0], np.array(case["stddev"])[:, 0], rtol=TOLERANCE)
    np.testing.assert_allclose(at.sigma_visited[:, 0], np.array(case["stddev_all"])[:, 0], rtol=TOLERANCE)
    np.testing.assert_allclose(tau, case["tau"], rtol=TOLERANCE)
    np.testing.assert_allclose(unknown, case["pe"], rtol=TOLERANCE, atol=TOLERANCE)
    if Y.shape[1] == 1:
        np.testing.assert_allclose(bound[:, 0], case["ucb"], rtol=TOLERANCE, atol=TOLERANCE)
    else:
        # The reference averages the better of bound and best label, we only what is gained over the best label.
        weights, reference = np.array(case["weights"]), twins.reference_point(Y)
        best = np.array([max(twins.scalarised(row - reference, w) for row in Y) for w in weights])
        gain = jax.jit(hypervolume.improvement)(bound, hypervolume.Scalarisation(weights, reference, best))
        np.testing.assert_allclose(gain + best.mean(), case["ucb"], rtol=TOLERANCE)
