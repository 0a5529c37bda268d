import jax.numpy as jnp
import numpy as np
import pytest
import twins
from designs import kernel, pack, random_hyperparameters

from photinus.engine.gp import priors

pytestmark = pytest.mark.usefixtures("engine")


def test_bounds_are_those_of_the_table():
    low, high = (np.exp(bound) for bound in priors.log_bounds(2, 1))
    np.testing.assert_allclose(low, [1e-3, 1e-2, 1e-2, 1e-2, 1e-10])
    np.testing.assert_allclose(high, [1e1, 1e2, 1e2, 1e2, 1e0])


def test_centres_are_those_of_the_table_and_inside_the_bounds():
    centres = np.asarray(priors.log_centres(2, 1))
    low, high = (np.asarray(bound) for bound in priors.log_bounds(2, 1))
    np.testing.assert_allclose(np.exp(centres), [0.039, 0.5, 0.5, 0.5, 0.0039])
    assert np.all((low < centres) & (centres < high))


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 1)], ids=str)
def test_unpacking_undoes_packing(shape):
    hyper = random_hyperparameters(np.random.default_rng(0), *shape)
    theta = jnp.asarray(pack(hyper))
    assert theta.shape == (sum(shape) + 2,)
    for before, after in zip(hyper, priors.unpack(theta, shape[0]), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-14)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 1)], ids=str)
def test_penalty_is_equation_12(shape):
    hyper = random_hyperparameters(np.random.default_rng(1), *shape)
    theta = jnp.asarray(pack(hyper))
    penalty = priors.penalty(theta, priors.log_centres(*shape))
    assert float(penalty) == pytest.approx(twins.penalty(kernel(hyper)), rel=1e-12)


def test_nothing_is_penalised_at_the_centres():
    centres = priors.log_centres(4, 2)
    assert float(priors.penalty(centres, centres)) == 0.0
