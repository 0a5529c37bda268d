"""A prior under which length scales resemble each other: most of them matter about alike until data say otherwise.

    ½(ν + D)·ln(1 + Σ z²/ν),  z_d = (ln λ_d - m)/τ

where m is the mean of the logarithms of the feature's kind, numeric or categorical, and D counts both kinds. That
is a Student law of ν degrees of freedom on all z together, or: normal with a spread that is itself unknown, τ being
a guess at it. Near a common scale the pull is that of a normal law, which keeps a fit to few trials in many
dimensions from explaining noise by switching features on and off. Far from it the pull fades, so that a few
features may stand out once there is evidence. The means, the signal and the noise variance have the paper's wide
priors; the signal's is centred at 1, the variance of standardised labels.
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
        around, off = self._split(theta)
        nu = FREEDOM
        student = 0.5 * (nu + self.num_features) * jnp.log1p(jnp.sum(around**2) / (nu * SPREAD**2))
        return student + PENALTY * jnp.sum(jnp.stack(off) ** 2)  # (35)

    def slope(self, theta: Float[Array, " H"]) -> Float[Array, " H"]:
        """Gradient of the penalty; that each mean depends on its members cancels out in z."""
        around, (signal, *means, noise) = self._split(theta)
        pull = (FREEDOM + self.num_features) / (FREEDOM * SPREAD**2 + jnp.sum(around**2))
        kinds = [count for count in (self.num_continuous, self.num_categorical) if count]
        shared = [jnp.full(n, 2.0 * PENALTY / n) * mean for n, mean in zip(kinds, means, strict=True)]
        ends = (2.0 * PENALTY * signal)[None], (2.0 * PENALTY * noise)[None]
        return jnp.concatenate([ends[0], pull * around + jnp.concatenate([theta[:0], *shared]), ends[1]])

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

    def _split(self, theta: Array) -> tuple[Float[Array, " D"], list[Array]]:
        """Length scales relative to the mean of their kind; then signal, means and noise off their centres."""
        kinds = [theta[1 : 1 + self.num_continuous], theta[1 + self.num_continuous : -1]]
        kinds = [scales for scales in kinds if scales.shape[0]]
        means = [jnp.mean(scales) for scales in kinds]
        relative = [scales - mean for scales, mean in zip(kinds, means, strict=True)]
        around = jnp.concatenate([theta[:0], *relative])  # there may be no features
        off = [mean - math.log(LENGTH_SCALE_SQUARED.centre) for mean in means]
        signal, noise = theta[0] - math.log(SIGNAL_CENTRE), theta[-1] - math.log(NOISE_VARIANCE.centre)
        return around, [signal, *off, noise]
