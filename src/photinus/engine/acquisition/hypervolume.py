"""Hypervolume scalarisation for several objectives (docs/algorithm.md §7).

W random directions; the mean over directions of the best scalarised point is the dominated hypervolume, up to a
constant.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from photinus.engine.arrays import Array, Bool, Float, Key

REFERENCE_MARGIN = 0.01  # paper, App. B


class Scalarisation(NamedTuple):
    """Directions, where they start, and the best observed value along each."""

    weights: Float[Array, "W M"]
    reference: Float[Array, " M"]
    best: Float[Array, " W"]


def scalarisation(
    key: Key, y: Float[Array, "N M"], is_completed: Bool[Array, " N"], num_weights: int
) -> Scalarisation:
    """Draw directions uniformly from the positive part of the sphere and look along them from below the worst."""
    weights = jnp.abs(jax.random.normal(key, (num_weights, y.shape[1]), y.dtype))
    weights = weights / jnp.linalg.norm(weights, axis=1, keepdims=True)
    reference = reference_point(y, is_completed)
    observed = scalarise(y - reference, weights)
    best = jnp.max(jnp.where(is_completed[:, None], observed, 0.0), axis=0)
    return Scalarisation(weights, reference, best)


def reference_point(y: Float[Array, "N M"], is_completed: Bool[Array, " N"]) -> Float[Array, " M"]:
    """Worst observed value of each metric less a hundredth of its range."""
    rows = is_completed[:, None]
    worst, best = jnp.min(jnp.where(rows, y, jnp.inf), axis=0), jnp.max(jnp.where(rows, y, -jnp.inf), axis=0)
    return worst - REFERENCE_MARGIN * (best - worst)  # (29)


def scalarise(y: Float[Array, "T M"], weights: Float[Array, "W M"]) -> Float[Array, "T W"]:
    """Volume reached along each direction: the least ratio to it, to the power M, and 0 behind the reference."""
    num_metrics = y.shape[1]
    least = jnp.maximum(y[:, 0, None] / weights[None, :, 0], 0.0)
    for m in range(1, num_metrics):
        least = jnp.minimum(least, jnp.maximum(y[:, m, None] / weights[None, :, m], 0.0))
    return least**num_metrics  # (28)


def improvement(ucb: Float[Array, "T M"], s: Scalarisation) -> Float[Array, " T"]:
    """Expected gain over the best observed value, over directions."""
    gain = scalarise(ucb - s.reference, s.weights) - s.best
    return jnp.mean(jnp.maximum(gain, 0.0), axis=1)  # (30)
