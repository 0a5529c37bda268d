"""A box around the best trial; its length shrinks and grows with failures and successes (`designers/box_length.py`).

Sides follow the model's length scales, long where the function changes slowly; their geometric mean is the length.

The search is not fenced in: its unit cube is mapped onto the box, so that all its flies are inside and its steps
become finer as the box does. Categories are free: the box has no side for them.
"""

from typing import NamedTuple

import jax.numpy as jnp

from photinus.engine.arrays import Array, Bool, Features, Float, Observations, Scalar
from photinus.engine.features import Domain
from photinus.engine.firefly import is_listed, round_features

ROUNDING = 1e-12  # a value is not its own neighbour


class Box(NamedTuple):
    """An axis-aligned box inside the unit cube."""

    low: Float[Array, " Dc"]
    high: Float[Array, " Dc"]
    length: Scalar
    is_active: Bool[Array, ""]  # otherwise it is the whole cube

    def place(self, u: Features, domain: Domain) -> Features:
        """Feasible points for coordinates relative to the box; rounding may take them out of it by half a step."""
        x = self.low + (self.high - self.low) * u.continuous
        return round_features(Features(x, u.categorical), domain)

    def relative(self, x: Features) -> Features:
        """Coordinates relative to the box; what is outside comes to the nearest side."""
        side = self.high - self.low
        u = jnp.where(side > 0, (x.continuous - self.low) / jnp.where(side > 0, side, 1.0), 0.5)
        return Features(jnp.clip(u, 0.0, 1.0), x.categorical)


def box(
    observations: Observations,
    expected: Float[Array, " N"],
    domain: Domain,
    scales: Float[Array, " Dc"],
    length: Scalar,
    is_enabled: Bool[Array, ""],
) -> Box:
    """Box for the trials so far, around the feasible one of which most is expected, given squared length scales.

    The whole cube where nothing is feasible yet, or where several labels are all equal: no place is better then.
    """
    features, is_feasible = observations.features, observations.is_feasible
    labels = jnp.where(is_feasible, observations.labels[:, 0], -jnp.inf)
    centre = features.continuous[jnp.argmax(jnp.where(is_feasible, expected, -jnp.inf))]
    log_sides = 0.5 * jnp.log(scales)
    half = 0.5 * length * jnp.exp(log_sides - jnp.mean(log_sides))  # (37)
    below, above = _neighbours(centre, domain)
    low, high = jnp.minimum(centre - half, below), jnp.maximum(centre + half, above)
    least = jnp.min(jnp.where(is_feasible, labels, jnp.inf), initial=jnp.inf)
    is_level = (jnp.sum(is_feasible) > 1) & (least == jnp.max(labels, initial=-jnp.inf))
    is_active = is_enabled & jnp.any(is_feasible) & ~is_level & (centre.shape[0] > 0)
    return Box(
        low=jnp.where(is_active, jnp.maximum(low, 0.0), 0.0),
        high=jnp.where(is_active, jnp.minimum(high, 1.0), 1.0),
        length=length,
        is_active=is_active,
    )


def _neighbours(centre: Float[Array, " Dc"], domain: Domain) -> tuple[Array, Array]:
    """Next feasible coordinates below and above on a grid, and the centre itself where there is none.

    A box without them would leave integers and lists where they are for ever.
    """
    step = jnp.where(domain.steps > 0, 1.0 / jnp.maximum(domain.steps, 1.0), 0.0)
    below, above = centre - step, centre + step
    if domain.grid.shape[1] == 0:
        return below, above
    values, x = domain.grid, centre[:, None]
    lower = jnp.max(jnp.where(values < x - ROUNDING, values, -jnp.inf), axis=1)
    upper = jnp.min(jnp.where(values > x + ROUNDING, values, jnp.inf), axis=1)
    listed = is_listed(centre, domain)
    return (
        jnp.where(listed & jnp.isfinite(lower), lower, below),
        jnp.where(listed & jnp.isfinite(upper), upper, above),
    )
