"""Matern-5/2 kernel with one length scale per feature (docs/algorithm.md §3).

λ_d are squared length scales, s² the signal variance, δ² the length-scaled squared distance.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from photinus.engine.arrays import Array, Features, Float, Int, Scalar

UNROLLED = 64  # ours: up to this many categorical features sums are unrolled into one loop for the CPU


class Hyperparameters(NamedTuple):
    """What the fit finds: variances and squared length scales, none of them logarithms.

    Where every metric has its own, all of them have a leading axis of metrics.
    """

    signal_variance: Scalar
    continuous: Float[Array, " Dc"]  # λ of the numeric features
    categorical: Float[Array, " Dk"]  # λ of the categorical features
    noise_variance: Scalar

    @property
    def num_own(self) -> int | None:
        """How many metrics have their own; None where all share one set."""
        shape = np.shape(self.signal_variance)
        return shape[0] if shape else None

    def of_metric(self, m: int) -> "Hyperparameters":
        """Those of one metric, without the leading axis."""
        return self if self.num_own is None else Hyperparameters(*(v[m] for v in self))


def squared_distance(hyper: Hyperparameters, a: Features, b: Features) -> Float[Array, "A B"]:
    """Length-scaled squared distance δ² between every a and every b, eq. 10; the 5 covers categories too."""
    scale = jnp.sqrt(5.0 / hyper.continuous)
    # Around the cube's centre, since |a|² + |b|² - 2ab loses the digits of what the norms have in common.
    x, z = (a.continuous - 0.5) * scale, (b.continuous - 0.5) * scale
    distance = jnp.sum(x * x, axis=1)[:, None] + jnp.sum(z * z, axis=1)[None, :] - 2.0 * (x @ z.T)
    distance = jnp.maximum(distance, 0.0) + mismatch(5.0 / hyper.categorical, a.categorical, b.categorical)
    return distance  # (10)


def mismatch(weights: Array, a: Array, b: Array) -> Array:
    """Sum of the weights of the categories in which a and b differ, (A, B)."""
    num_features = a.shape[1]
    if num_features > UNROLLED:
        differs = a[:, None, :] != b[None, :, :]
        return jnp.sum(jnp.where(differs, weights, 0.0), axis=-1)
    total = jnp.zeros((a.shape[0], b.shape[0]), weights.dtype)
    for d in range(num_features):
        total += jnp.where(a[:, d, None] != b[None, :, d], weights[d], 0.0)
    return total


def sum_over_mismatches(values: Float[Array, "N N"], c: Int[Array, "N Dk"]) -> Float[Array, " Dk"]:
    """For each categorical feature, the sum of `values` over the pairs of points that differ in it."""

    def total(column: Array) -> Array:
        return jnp.sum(jnp.where(column[:, None] != column[None, :], values, 0.0))

    num_features = c.shape[1]
    if num_features > UNROLLED:
        return lax.map(total, c.T)
    return jnp.array([total(c[:, d]) for d in range(num_features)], dtype=values.dtype)


@jax.custom_jvp
def matern52(distance: Array, signal_variance: Scalar) -> Array:
    """Covariance at squared distance δ²; its derivative is finite at δ = 0, where that of the root is not."""
    delta = jnp.sqrt(distance)
    return signal_variance * (1.0 + delta + distance / 3.0) * jnp.exp(-delta)  # (11)


@matern52.defjvp
def _matern52_jvp(primals: tuple[Array, Scalar], tangents: tuple[Array, Scalar]) -> tuple[Array, Array]:
    distance, signal_variance = primals
    k = matern52(distance, signal_variance)
    slope = matern52_slope(distance, signal_variance)
    return k, slope * tangents[0] + k / signal_variance * tangents[1]


def matern52_slope(distance: Array, signal_variance: Scalar) -> Array:
    """Return dk/d(δ²), which is finite at δ = 0, unlike dk/dδ divided by δ."""
    delta = jnp.sqrt(distance)
    return -signal_variance / 6.0 * (1.0 + delta) * jnp.exp(-delta)  # (14)
