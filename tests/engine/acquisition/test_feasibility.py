"""The probability of being measured against the textbook."""

import jax
import numpy as np
import pytest
import twins
from designs import kernel, observations, pad, points, random_features, random_hyperparameters
from scipy import stats

from photinus.engine.acquisition.feasibility import MOST_NOISE, Feasibility, feasible
from photinus.engine.features import Features

pytestmark = pytest.mark.usefixtures("engine")

NUM_MEASURED, NUM_INFEASIBLE, NUM_PENDING = 6, 4, 3
NUM_TOLD = NUM_MEASURED + NUM_INFEASIBLE


@jax.jit
def log_probability(observed, told, query):
    return feasible(observed, told).log_probability(query)


def study(seed: int, size: int = 16, low: float = -1.2):
    """Measured, infeasible and awaited trials, and their model's labels: 0.8 where they were measured."""
    rng = np.random.default_rng(seed)
    X = random_features(rng, NUM_TOLD + NUM_PENDING, 2, 1)
    observed = observations(X, rng.normal(size=(NUM_MEASURED, 1)), size)
    y = np.where(np.arange(NUM_TOLD) < NUM_MEASURED, 0.8, low)[:, None]
    told = Feasibility(pad(y, size), np.arange(size) < NUM_TOLD, random_hyperparameters(rng, 2, 1))  # pyright: ignore
    return observed, told, X, y, random_features(rng, 7, 2, 1)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_that_of_the_process_to_lie_above_the_middle_of_both_labels(seed):
    observed, told, X, y, query = study(seed)
    hyper = told.hyper._replace(noise_variance=min(told.hyper.noise_variance, MOST_NOISE))
    k, seen = kernel(hyper), points(Features(*(v[:NUM_TOLD] for v in X)))
    mu, sigma = twins.mean(k, seen, y, points(query))[:, 0], twins.deviation(k, seen, points(query))
    expected = stats.norm.logcdf((mu - (-0.2)) / sigma)
    np.testing.assert_allclose(log_probability(observed, told, query), expected, rtol=1e-9, atol=1e-9)


def test_padding_changes_nothing():
    found = [log_probability(o, t, q) for o, t, _, _, q in (study(3), study(3, size=32))]
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_where_all_trials_are_alike_every_place_is():
    observed, told, *_, query = study(1, low=0.8)
    level = told._replace(y=np.zeros_like(told.y))  # what standardising makes of equal labels
    np.testing.assert_allclose(log_probability(observed, level, query), np.log(0.5))


def test_it_is_low_at_infeasible_trials_and_high_at_measured_ones():
    observed, told, X, *_ = study(2)
    hyper = told.hyper._replace(signal_variance=np.array(1.0), noise_variance=np.array(0.3))
    found = np.exp(log_probability(observed, told._replace(hyper=hyper), X))
    assert np.all(found[:NUM_MEASURED] > 0.99)
    assert np.all(found[NUM_MEASURED:NUM_TOLD] < 0.01)
