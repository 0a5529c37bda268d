import jax
import numpy as np
import pytest
import twins

from photinus.engine.acquisition.ucb import upper_confidence_bound
from photinus.engine.bandit import BanditSettings

pytestmark = pytest.mark.usefixtures("engine")


@pytest.mark.parametrize("num_deviations", [1, 2], ids=["shared", "own"])
def test_bound_is_equation_17_metric_by_metric(num_deviations):
    rng = np.random.default_rng(0)
    mu, sigma = rng.normal(size=(5, 2)), rng.random((5, num_deviations))
    bound = jax.jit(upper_confidence_bound, static_argnums=2)(mu, sigma, BanditSettings().ucb_coefficient)
    expected = [[twins.ucb(mu[i, m], sigma[i, m % num_deviations]) for m in range(2)] for i in range(5)]
    np.testing.assert_allclose(bound, expected, rtol=1e-14)
