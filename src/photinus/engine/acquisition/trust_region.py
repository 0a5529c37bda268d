"""Trust region: stay near what was tried, the nearer the fewer trials there are (docs/algorithm.md §4)."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from photinus.engine.arrays import Array, Bool, Float, Int, Observations, Scalar
from photinus.engine.features import Domain

MIN_RADIUS = 0.2  # paper, §3.4
MAX_RADIUS = 0.5  # paper, App. B: beyond it there is no trust region
GROWTH = 5.0  # paper, App. B: trials per feature until the largest radius is reached
PENALTY = 1e12  # paper, §3.4
BRANCHLESS = 128  # ours: up to this many trials the distance costs less than asking whether it is needed
UNROLLED = 64  # ours: up to this many features the distance is one fused loop on a CPU


class TrustRegion(NamedTuple):
    """A union of boxes of one radius around the completed trials, in the numeric dimensions that it looks at."""

    centres: Float[Array, "Dc N"]  # features first: the distance is a loop over them
    is_centre: Bool[Array, " N"]
    is_trusted: Bool[Array, " Dc"]  # dimensions that count
    radius: Scalar
    is_active: Bool[Array, ""]


def trust_region(
    observations: Observations, domain: Domain, is_enabled: bool, num_completed: Int[Array, ""] | None = None
) -> TrustRegion:
    """Region for the trials so far; dimensions with gaps too wide to cross count in neither distance nor D.

    How many trials are completed has to be given where the observations are not all of them.
    """
    is_trusted = jnp.asarray(domain.is_trusted)
    num_trials = jnp.sum(observations.is_completed) if num_completed is None else num_completed
    r = radius(num_trials, jnp.sum(is_trusted) + observations.features.categorical.shape[1])
    is_active = is_enabled & (r <= MAX_RADIUS) & (num_trials > 0) & jnp.any(is_trusted)
    centres = observations.features.continuous.T * is_trusted[:, None]
    return TrustRegion(centres, observations.is_completed, is_trusted, r, is_active)


def radius(num_trials: Int[Array, ""], num_features: Int[Array, ""]) -> Scalar:
    """Radius after so many trials in so many features."""
    return MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) * num_trials / (GROWTH * (num_features + 1.0))  # (18)


def distance(region: TrustRegion, x: Float[Array, "T Dc"]) -> Float[Array, " T"]:
    """Largest coordinate difference to the nearest centre."""
    x = jnp.where(region.is_trusted, x, 0.0)  # as in the centres
    num_features = x.shape[1]
    if num_features > UNROLLED:
        furthest = jnp.max(jnp.abs(x[:, :, None] - region.centres[None, :, :]), axis=1)
    else:
        furthest = jnp.zeros((x.shape[0], region.centres.shape[1]), x.dtype)
        for d in range(num_features):
            furthest = jnp.maximum(furthest, jnp.abs(x[:, d, None] - region.centres[None, d]))
    return jnp.min(jnp.where(region.is_centre, furthest, jnp.inf), axis=1)


def constrain(region: TrustRegion, x: Float[Array, "T Dc"], scores: Float[Array, " T"]) -> Float[Array, " T"]:
    """Replace scores outside by a penalty that still says which way is in."""

    def inside_or_penalty() -> Array:
        d = distance(region, x)
        return jnp.where((d <= region.radius) | ~region.is_active, scores, -PENALTY - d)  # (19)

    if region.is_centre.shape[0] <= BRANCHLESS:
        return inside_or_penalty()
    return lax.cond(region.is_active, inside_or_penalty, lambda: scores)
