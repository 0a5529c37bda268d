"""A prior under which length scales resemble each other: most of them matter about alike until data say otherwise.

    ½(ν + D)·ln(1 + Σ z²/ν),  z_d = (ln λ_d - m)/τ

over the D numeric features, where m is the mean of the logarithms. That is a Student law of ν degrees of freedom on
all z together, or: normal with a spread that is itself unknown, τ being a guess at it. Near a common scale the pull is
that of a normal law, which keeps a fit to few trials in many dimensions from explaining noise by switching features
on and off. Far from it the pull fades, so that a few features may stand out once there is evidence.

The mean, the length scales of categorical features, the signal and the noise variance have the paper's wide priors;
the signal's is centred at 1, the variance of standardised labels. Categories are on their own because a search among
them tries one value after another of whatever seems to matter: a feature that does not has to be switched off.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from photinus.engine.arrays import Array, Float, Key, Scalar
from photinus.engine.gp import priors
from photinus.engine.gp.priors import LENGTH_SCALE_SQUARED, NOISE_VARIANCE, PENALTY

SPREAD = 0.7  # ours: τ, of the logarithms of squared length scales
FREEDOM = 3.0  # ours: ν, from where on the pull fades
SIGNAL_CENTRE = 1.0
START_NOISE = 1e-3  # ours: noise variance of the starts with one common length scale


@dataclass(frozen=True)
class JointPrior:
    """Length scales around a common one, with bounds as in the paper; θ as in `priors`."""

    num_continuous: int
    num_categorical: int
    num_starts: ClassVar[int] = 3

    @property
    def num_features(self) -> int:
        """D: numeric and categorical features."""
        return self.num_continuous + self.num_categorical

    @property
    def bounds(self) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
        """Least and greatest θ."""
        return priors.log_bounds(self.num_continuous, self.num_categorical)

    @property
    def centres(self) -> Float[Array, " H"]:
        """θ without any data."""
        return self._common(LENGTH_SCALE_SQUARED.centre, NOISE_VARIANCE.centre)

    def penalty(self, theta: Float[Array, " H"]) -> Scalar:
        """Negative log prior density of θ, constants left out."""
        around, mean, others = self._split(theta)
        nu = FREEDOM
        student = 0.5 * (nu + self.num_continuous) * jnp.log1p(jnp.sum(around**2) / (nu * SPREAD**2))
        return student + PENALTY * (mean**2 + jnp.sum(others**2))  # (35)

    def slope(self, theta: Float[Array, " H"]) -> Float[Array, " H"]:
        """Gradient of the penalty; that the mean depends on its members cancels out in z."""
        around, mean, others = self._split(theta)
        pull = (FREEDOM + self.num_continuous) / (FREEDOM * SPREAD**2 + jnp.sum(around**2))
        numeric = pull * around + 2.0 * PENALTY * mean / max(self.num_continuous, 1)
        wide = 2.0 * PENALTY * others
        return jnp.concatenate([wide[:1], numeric, wide[1:]])

    def starts(self, key: Key) -> Float[Array, "S H"]:
        """One log-uniform, and two with a common length scale: the centre, and as long as distances in D are."""
        low, high = self.bounds
        centre = LENGTH_SCALE_SQUARED.centre
        common = [self._common(v, START_NOISE) for v in (centre, centre * self.num_features)]
        random = priors.random_starts(key, 1, low, high)
        return jnp.clip(jnp.concatenate([random, jnp.stack(common)]), low, high)

    def _common(self, length_scale_squared: float, noise: float) -> Float[Array, " H"]:
        scales = [length_scale_squared] * self.num_features
        return jnp.array([math.log(v) for v in (SIGNAL_CENTRE, *scales, noise)])

    def _split(self, theta: Array) -> tuple[Float[Array, " Dc"], Scalar, Float[Array, " O"]]:
        """Numeric length scales relative to their mean; then, off their centres, the mean and all others in order."""
        off = theta - self.centres
        signal, numeric, others = jnp.split(off, [1, 1 + self.num_continuous])
        mean = jnp.sum(numeric) / max(self.num_continuous, 1)  # there may be none
        return numeric - mean, mean, jnp.concatenate([signal, others])
