"""Priors of the hyperparameters (docs/algorithm.md §3, eq. 12).

Each is a penalty PENALTY·ln(x/centre)² inside hard bounds: a normal law of variance 50 on the logarithm,
truncated. θ is the vector of all logarithms. The text's ranges are base-10 exponents of variances; its length-scale
range ends at 1 by misprint.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp

from photinus.engine.arrays import Array
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
