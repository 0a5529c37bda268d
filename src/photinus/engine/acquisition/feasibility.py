"""Probability that a point can be measured, from a model of its own (docs/algorithm.md §11).

A Gaussian process like that of the objective, for labels that are larger where trials could be measured. Halfway
between both labels is the edge; the probability is that of the process to lie above it.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.scipy.stats import norm

from photinus.engine.arrays import Array, Bool, Features, Float, Observations
from photinus.engine.gp.kernel import Hyperparameters
from photinus.engine.gp.posterior import OwnPosteriors, Posterior, condition

# Ours. A fit takes the step from one label to the other for noise, but a place that could not be measured once cannot
# be measured again: without this, searches come back to the infeasible side of an edge for ever.
MOST_NOISE = 1e-4
# Ours. An infeasible trial says nothing about the objective, so it is worth less than its chance to be a good one.
CAUTION = 2.0


class Feasibility(NamedTuple):
    """What the model of it was fitted to, row by row as the observations are, and its hyperparameters."""

    y: Float[Array, "N 1"]
    is_told: Bool[Array, " N"]  # measured or infeasible; these rows come first
    hyper: Hyperparameters


class Feasible(NamedTuple):
    """A model that can be asked where measuring will succeed."""

    posterior: Posterior | OwnPosteriors
    edge: Float[Array, ""]

    def log_probability(self, x: Features) -> Float[Array, " T"]:
        """Of being measured, for each point."""
        at = self.posterior.predict(x)
        return norm.logcdf((at.mu[:, 0] - self.edge) / at.sigma[:, 0])

    def log_weight(self, x: Features) -> Float[Array, " T"]:
        """What is added to the logarithm of an improvement that only a measured point can bring."""
        return CAUTION * self.log_probability(x)  # (40)


def feasible(observations: Observations, told: Feasibility) -> Feasible:
    """Condition on all told trials; while all of them are alike the probability is the same everywhere."""
    y, is_told = told.y[:, 0], told.is_told
    low = jnp.min(y, where=is_told, initial=jnp.inf)
    high = jnp.max(y, where=is_told, initial=-jnp.inf)
    edge = jnp.where(jnp.any(is_told), 0.5 * (low + high), 0.0)
    hyper = told.hyper._replace(noise_variance=jnp.minimum(told.hyper.noise_variance, MOST_NOISE))
    return Feasible(condition(hyper, observations._replace(is_completed=is_told), told.y), edge)
