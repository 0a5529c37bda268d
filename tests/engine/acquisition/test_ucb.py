import jax
import numpy as np
import pytest
import twins

from photinus.engine.acquisition.ucb import upper_confidence_bound
from photinus.engine.bandit import BanditSettings

pytestmark = pytest.mark.usefixtures("engine")


def test_bound_is_equation_17_metric_by_metric():
    rng = np.random.default_rng(0)
    mu, sigma = rng.normal(size=(5, 2)), rng.random(5)
    bound = jax.jit(upper_confidence_bound, static_argnums=2)(mu, sigma, BanditSettings().ucb_coefficient)
    expected = [[twins.ucb(m, s) for m in row] for row, s in zip(mu, sigma, strict=True)]
    np.testing.assert_allclose(bound, expected, rtol=1e-14)
