"""Pure exploration inside the promising region (docs/algorithm.md §6 and §7).

Used when no result has come in since the last suggestion: the mean has nothing new to say, the deviation has.
"""

import jax.numpy as jnp

from photinus.engine.acquisition.ucb import upper_confidence_bound
from photinus.engine.arrays import Array, Bool, Float
from photinus.engine.gp.posterior import Prediction


def threshold(
    at_trials: Prediction, is_real: Bool[Array, " N"], ucb_coefficient: float
) -> Float[Array, " M"]:
    """Return τ, the posterior mean at the trial of the largest upper confidence bound, metric by metric."""
    ucb = upper_confidence_bound(at_trials.mu, at_trials.sigma, ucb_coefficient)
    best = jnp.argmax(jnp.where(is_real[:, None], ucb, -jnp.inf), axis=0)
    return jnp.take_along_axis(at_trials.mu, best[None, :], axis=0)[0]  # (27)


def pure_exploration(
    at: Prediction, tau: Float[Array, " M"], explore_coefficient: float, penalty_coefficient: float
) -> Float[Array, " T"]:
    """Deviation given all trials, less a penalty where even an optimist expects less than τ.

    Both are averages over the metrics; a deviation that they share is its own average.
    """
    optimistic = upper_confidence_bound(at.mu, at.sigma, explore_coefficient)
    shortfall = jnp.mean(jnp.minimum(optimistic - tau, 0.0), axis=1)
    return jnp.mean(at.sigma_visited, axis=1) + penalty_coefficient * shortfall  # (26), (31)
