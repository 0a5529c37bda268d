"""Output warping: raw labels to what the Gaussian process models (docs/algorithm.md §2).

Five stages, each relative to the labels seen so far: linear scaling, half-rank, logarithm, infeasible, mean shift.
Labels are maximised here. Everything is masked, so padding and infeasible trials do not touch the others.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtri
from numpy.typing import ArrayLike

from photinus.engine.arrays import Array, Bool, Float, Scalar

LOG_BASE = 1.5  # paper, §3.1: s
INFEASIBLE_MARGIN = 0.5  # paper, §3.1


class Warping(NamedTuple):
    """One metric's warping, as needed to undo it. Knots are the distinct labels in ascending order."""

    unit: Scalar  # power of two that brings the labels into (-2, 2), so that no square overflows
    median: Scalar  # in that unit
    deviation: Scalar
    knots: Float[Array, " N"]  # linearly scaled labels, ascending, repeated at the end to fill up
    ranked: Float[Array, " N"]  # the knots after half-rank warping
    num_knots: Array
    low: Scalar  # extremes after half-rank warping
    span: Scalar
    shift: Scalar

    def undo(self, z: ArrayLike) -> np.ndarray:
        """Labels whose warped values are `z`; see `unwarp`."""
        return unwarp(z, self)


def warp(
    labels: Float[Array, " N"], is_feasible: Bool[Array, " N"], is_completed: Bool[Array, " N"]
) -> tuple[Float[Array, " N"], Warping]:
    """Warp one metric's labels; rows that are not completed become 0."""
    num_feasible = jnp.sum(is_feasible)
    y = jnp.where(is_feasible, labels, 0.0)
    unit = power_of_two_unit(y)
    y = y / unit
    y, median, deviation = scale_linearly(y, is_feasible)
    y, knots, ranked, num_knots = warp_half_rank(y, is_feasible)
    low = jnp.min(y, where=is_feasible, initial=jnp.inf)
    high = jnp.max(y, where=is_feasible, initial=-jnp.inf)
    low, high = (jnp.where(num_feasible > 0, v, 0.0) for v in (low, high))
    y = warp_log(y, low, high)
    y = replace_infeasible(y, is_feasible)
    num_completed = jnp.maximum(jnp.sum(is_completed), 1)
    shift = jnp.sum(y, where=is_completed) / num_completed
    y = jnp.where(is_completed, y - shift, 0.0)  # (9)
    return y, Warping(unit, median, deviation, knots, ranked, num_knots, low, high - low, shift)


def power_of_two_unit(y: Float[Array, " N"]) -> Scalar:
    """Unit that brings all of `y` into (-2, 2)."""
    # Exactly a power of two, which `exp2` is not: then dividing by it is exact, and it does not matter whether the
    # compiler rounds in between. A median that is not exactly 0 further down would change the ranks.
    # What is left of the largest number without its mantissa; `frexp` and `ldexp` are a hundred operations instead.
    info = jnp.finfo(y.dtype)
    largest = jnp.maximum(jnp.max(jnp.abs(y)), info.tiny)
    bits = lax.bitcast_convert_type(largest, jnp.dtype(f"uint{info.bits}"))
    return lax.bitcast_convert_type((bits >> info.nmant) << info.nmant, y.dtype)


def scale_linearly(y: Array, is_feasible: Array) -> tuple[Array, Scalar, Scalar]:
    """Shift the median to 0 and divide by the deviation of the better half, or of all if that is 0."""
    num_feasible = jnp.sum(is_feasible)
    ascending = jnp.sort(jnp.where(is_feasible, y, jnp.inf))
    last = y.shape[0] - 1
    lower = ascending[jnp.clip((num_feasible - 1) // 2, 0, last)]
    upper = ascending[jnp.clip(num_feasible // 2, 0, last)]
    median = jnp.where(num_feasible > 0, 0.5 * (lower + upper), 0.0)

    def deviation_over(rows: Array) -> Array:
        return jnp.sqrt(jnp.sum((y - median) ** 2, where=rows) / jnp.maximum(jnp.sum(rows), 1))

    better, every = deviation_over(is_feasible & (y >= median)), deviation_over(is_feasible)
    deviation = jnp.where(better > 0, better, jnp.where(every > 0, every, 1.0))
    return jnp.where(is_feasible, (y - median) / deviation, 0.0), median, deviation  # (5)


def warp_half_rank(y: Array, is_feasible: Array) -> tuple[Array, Array, Array, Array]:
    """Give labels below the median (0) the quantiles of the lower half of a normal law, by dense rank.

    Also returns the distinct labels, what they became, and how many there are.
    """
    # The distinct labels, ascending: repeats and infeasible rows are sent to the end.
    ascending = jnp.sort(jnp.where(is_feasible, y, jnp.inf))
    is_repeat = jnp.concatenate([jnp.zeros(1, bool), ascending[1:] == ascending[:-1]])
    knots = jnp.sort(jnp.where(is_repeat, jnp.inf, ascending))
    num_knots = jnp.sum(jnp.isfinite(knots))
    below = jnp.sum(knots < 0.0)
    denominator = jnp.maximum(below + 0.5 * jnp.any(knots == 0.0), 0.5)
    rank = jnp.arange(1, y.shape[0] + 1)
    quantile = ndtri(jnp.clip(0.5 * (rank - 0.5) / denominator, 1e-12, 0.5))
    ranked = jnp.where(knots < 0.0, quantile, knots)  # (6)
    top = jnp.maximum(num_knots - 1, 0)
    knots, ranked = (jnp.where(jnp.arange(y.shape[0]) < num_knots, v, v[top]) for v in (knots, ranked))
    place = jnp.searchsorted(knots, y)
    warped = jnp.where(y < 0.0, ranked[jnp.clip(place, 0, y.shape[0] - 1)], y)
    return jnp.where(is_feasible, warped, 0.0), knots, ranked, num_knots


def warp_log(y: Array, low: Scalar, high: Scalar) -> Array:
    """Stretch differences between good labels, squeeze those between bad ones; the result is in [-0.5, 0.5]."""
    span = jnp.where(high > low, high - low, 1.0)
    return 0.5 - jnp.log1p((LOG_BASE - 1.0) * (high - y) / span) / jnp.log(LOG_BASE)  # (7)


def replace_infeasible(y: Array, is_feasible: Array) -> Array:
    """Give infeasible rows a label below every feasible one; a range of 0 counts as 1."""
    low = jnp.min(y, where=is_feasible, initial=jnp.inf)
    high = jnp.max(y, where=is_feasible, initial=-jnp.inf)
    span = jnp.where(high > low, high - low, 1.0)
    bad = jnp.where(jnp.any(is_feasible), low - INFEASIBLE_MARGIN * span, 0.0)
    return jnp.where(is_feasible, y, bad)  # (8)


def unwarp(z: ArrayLike, warping: Warping) -> np.ndarray:
    """Labels whose warped values are `z`: the inverse of `warp` between and beyond the labels seen.

    Between two labels below the median the inverse of half-rank is a straight line; below the worst one the last
    such line goes on. NumPy, for a handful of numbers on the way to a person.
    """
    span = warping.span if warping.span > 0 else 1.0
    normalised = np.expm1((0.5 - (np.asarray(z) + warping.shift)) * np.log(LOG_BASE)) / (LOG_BASE - 1.0)
    y = warping.low + warping.span - normalised * span
    knots, ranked = (np.asarray(v)[: max(int(warping.num_knots), 1)] for v in (warping.knots, warping.ranked))
    slope = (knots[1] - knots[0]) / (ranked[1] - ranked[0]) if len(knots) > 1 else 1.0
    worse = np.where(y < ranked[0], knots[0] + (y - ranked[0]) * slope, np.interp(y, ranked, knots))
    y = np.where(y >= 0.0, y, worse)
    return np.asarray((y * warping.deviation + warping.median) * warping.unit)
