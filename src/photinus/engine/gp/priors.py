"""Priors of the hyperparameters (docs/algorithm.md §3, eq. 12).

Each is a penalty PENALTY·ln(x/centre)² inside hard bounds: a normal law of variance 50 on the logarithm,
truncated. θ is the vector of all logarithms. The text's ranges are base-10 exponents of variances; its length-scale
range ends at 1 by misprint.
"""

import functools
import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from photinus.engine.arrays import Array, Float, Key, Scalar
from photinus.engine.gp.kernel import Hyperparameters

PENALTY = 0.01  # paper, §3.2: variance 50 = 1 / (2 · 0.01)


class Prior(NamedTuple):
    """Bounds and centre of one positive hyperparameter."""

    low: float
    high: float
    centre: float


SIGNAL_VARIANCE = Prior(1e-3, 1e1, 0.039)  # paper, §3.2
LENGTH_SCALE_SQUARED = Prior(1e-2, 1e2, 0.5)  # paper, §3.2; upper bound from Vizier tuned_gp_models.py
NOISE_VARIANCE = Prior(1e-10, 1e0, 0.0039)  # paper, §3.2


@dataclass(frozen=True)
class IndependentPrior:
    """The paper's: every hyperparameter has a wide prior of its own."""

    num_continuous: int
    num_categorical: int
    num_starts: ClassVar[int] = 4  # paper, App. B: from how many places a fit searches

    @functools.cached_property
    def bounds(self) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
        """Least and greatest θ."""
        return log_bounds(self.num_continuous, self.num_categorical)

    @functools.cached_property
    def centres(self) -> Float[Array, " H"]:
        """θ without any data."""
        return log_centres(self.num_continuous, self.num_categorical)

    def penalty(self, theta: Float[Array, " H"]) -> Scalar:
        """Negative log prior density of θ, constants left out."""
        return penalty(theta, self.centres)

    def slope(self, theta: Float[Array, " H"]) -> Float[Array, " H"]:
        """Gradient of the penalty."""
        return 2.0 * PENALTY * (theta - self.centres)  # (14)

    def starts(self, key: Key) -> Float[Array, "S H"]:
        """Log-uniform within the bounds."""
        return random_starts(key, self.num_starts, *self.bounds)


def random_starts(
    key: Key, count: int, low: Float[Array, " H"], high: Float[Array, " H"]
) -> Float[Array, "S H"]:
    """So many θ, log-uniform within the bounds."""
    return jax.random.uniform(key, (count, low.shape[0]), low.dtype, low, high)


def log_bounds(num_continuous: int, num_categorical: int) -> tuple[Array, Array]:
    """Lower and upper bounds of θ."""
    table = _table(num_continuous + num_categorical)
    return jnp.array([math.log(p.low) for p in table]), jnp.array([math.log(p.high) for p in table])


def log_centres(num_continuous: int, num_categorical: int) -> Array:
    """The priors' centres as θ."""
    return jnp.array([math.log(p.centre) for p in _table(num_continuous + num_categorical)])


def unpack(theta: Array, num_continuous: int) -> Hyperparameters:
    """Hyperparameters whose logarithms are θ: signal variance, length scales, noise variance."""
    x = jnp.exp(theta)
    return Hyperparameters(x[0], x[1 : 1 + num_continuous], x[1 + num_continuous : -1], x[-1])


def penalty(theta: Array, centres: Array) -> Array:
    """Negative log prior density of the logarithms, constants left out."""
    return PENALTY * jnp.sum((theta - centres) ** 2)  # (12)


def _table(num_features: int) -> list[Prior]:
    return [SIGNAL_VARIANCE, *[LENGTH_SCALE_SQUARED] * num_features, NOISE_VARIANCE]
