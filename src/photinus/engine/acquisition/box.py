"""A box around the best trial that shrinks while nothing improves and grows while something does.

Its length is a function of the completed trials in their order and of nothing else. It is halved after a row of
failures, doubled after a row of successes, and starts again once it has become tiny: then this place is exhausted.
Sides follow the model's length scales, long where the function changes slowly; their geometric mean is the length.

The search is not fenced in: its unit cube is mapped onto the box, so that all its flies are inside and its steps
become finer as the box does. Categories are free: the box has no side for them.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from photinus.engine.arrays import Array, Bool, Features, Float, Int, Observations, Scalar
from photinus.engine.features import Domain
from photinus.engine.firefly import is_listed, round_features

START = 0.4  # ours, as all below: of the unit interval
LEAST = 2.0**-7  # shorter than this it starts again
GREATEST = 1.6  # at this length it covers everything from wherever it stands, length scales aside
NUM_SUCCESSES = 3  # in a row double the length
FEWEST_FAILURES = 4  # in a row halve it, at least so many,
FEATURES_PER_FAILURE = 3.0  # and one for every so many features

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


class _State(NamedTuple):
    best: Scalar
    worst: Scalar
    length: Scalar
    num_successes: Int[Array, ""]
    num_failures: Int[Array, ""]


def box(
    observations: Observations,
    expected: Float[Array, " N"],
    domain: Domain,
    scales: Float[Array, " Dc"],
    is_enabled: Bool[Array, ""],
    length: Scalar | None = None,
) -> Box:
    """Box for the trials so far, around the feasible one of which most is expected, given squared length scales.

    The whole cube where nothing is feasible yet, or where several labels are all equal: no place is better then.
    Observations that are not all trials do not know its length: it has to be given.
    """
    features, is_feasible = observations.features, observations.is_feasible
    num_features = features.continuous.shape[1] + features.categorical.shape[1]
    labels = jnp.where(is_feasible, observations.labels[:, 0], -jnp.inf)
    if length is None:
        length = box_length(labels, observations.is_completed, num_features)
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


def box_length(labels: Float[Array, " N"], is_completed: Bool[Array, " N"], num_features: int) -> Scalar:
    """Length after trials in this order; an infeasible one, -inf, fails like one that is not better than the best.

    Until something was feasible, and as long as all labels are equal, there is nothing to fail at.
    """
    most_failures = max(float(FEWEST_FAILURES), num_features / FEATURES_PER_FAILURE)

    def learn(state: _State, trial: tuple[Array, Array]) -> tuple[_State, None]:
        label, is_real = trial
        has_best = jnp.isfinite(state.best)
        is_better = label > state.best
        num_successes = jnp.where(is_better & has_best, state.num_successes + 1, 0)
        worst = jnp.where(jnp.isfinite(label), jnp.minimum(state.worst, label), state.worst)
        is_level = worst == jnp.maximum(state.best, label)
        num_failures = jnp.where(is_better | is_level | ~has_best, 0, state.num_failures + 1)
        grows, shrinks = num_successes >= NUM_SUCCESSES, num_failures >= most_failures
        length = jnp.where(grows, jnp.minimum(2.0 * state.length, GREATEST), state.length)
        length = jnp.where(shrinks, 0.5 * length, length)
        after = _State(
            best=jnp.maximum(state.best, label),
            worst=worst,
            length=jnp.where(length < LEAST, START, length),  # (38)
            num_successes=jnp.where(grows, 0, num_successes),
            num_failures=jnp.where(shrinks, 0, num_failures),
        )
        return jax.tree.map(lambda new, old: jnp.where(is_real, new, old), after, state), None

    none = jnp.zeros((), jnp.int32)
    nothing, length = jnp.full((), -jnp.inf, labels.dtype), jnp.full((), START, labels.dtype)
    start = _State(nothing, -nothing, length, none, none)
    return lax.scan(learn, start, (labels, is_completed))[0].length


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
