"""Winsorised labels: as measured but for far outliers on the bad side, then standardised.

A few terrible values would otherwise set the scale of all others. Those below the lower fence of a box plot,
Q1 - 1.5·(Q3 - Q1), are raised to it; good values are never touched. Then the feasible labels get mean 0 and
deviation 1. Labels are maximised here. Everything is masked, so padding and infeasible trials do not touch the others.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from photinus.engine.arrays import Array, Bool, Float, Int, Scalar
from photinus.engine.warping import power_of_two_unit

FENCE = 1.5  # Tukey's, in ranges between the quartiles
FEWEST_FENCED = 4  # ours: quartiles of fewer labels are hardly more than the labels themselves
# Ours, in deviations. Below every feasible label, so that the search keeps away; not far below, or infeasible trials
# would be the outliers that winsorising has just removed.
INFEASIBLE_MARGIN = 0.5


class Winsorising(NamedTuple):
    """One metric's winsorising, as needed to undo it."""

    unit: Scalar  # power of two that brings the labels into (-2, 2), so that no square overflows
    top: Scalar  # best label, in that unit
    mean: Scalar  # relative to the top
    deviation: Scalar

    def undo(self, z: ArrayLike) -> np.ndarray:
        """Labels whose winsorised values are `z`, on one straight line.

        What was raised to the fence comes back as the fence: below it, a label is at most what this says.
        """
        y = np.asarray(z) * self.deviation + self.mean + self.top
        return np.asarray(y * self.unit)


def winsorise(
    labels: Float[Array, " N"], is_feasible: Bool[Array, " N"], is_completed: Bool[Array, " N"]
) -> tuple[Float[Array, " N"], Winsorising]:
    """Winsorise and standardise one metric's labels; rows that are not completed become 0."""
    num_feasible = jnp.sum(is_feasible)
    y = jnp.where(is_feasible, labels, 0.0)
    unit = power_of_two_unit(y)
    y = y / unit
    # Relative to a label and not to the mean: equal labels are then exactly 0, whatever the rounding of their sum.
    top = jnp.where(num_feasible > 0, jnp.max(y, where=is_feasible, initial=-jnp.inf), 0.0)
    y = jnp.where(is_feasible, y - top, 0.0)
    y = jnp.maximum(y, lower_fence(y, is_feasible))  # (33)
    count = jnp.maximum(num_feasible, 1)
    mean = jnp.sum(y, where=is_feasible) / count
    deviation = jnp.sqrt(jnp.sum((y - mean) ** 2, where=is_feasible) / count)
    deviation = jnp.where(deviation > 0, deviation, 1.0)
    y = (y - mean) / deviation  # (34)
    worst = jnp.min(y, where=is_feasible, initial=jnp.inf)
    bad = jnp.where(num_feasible > 0, worst - INFEASIBLE_MARGIN, 0.0)
    y = jnp.where(is_feasible, y, jnp.where(is_completed, bad, 0.0))
    return y, Winsorising(unit, top, mean, deviation)


def lower_fence(y: Float[Array, " N"], is_feasible: Bool[Array, " N"]) -> Scalar:
    """Least label that is kept as it is; -inf for few labels, or where half of them are equal.

    With quartiles that coincide every lower label would count as an outlier, and nothing be left to learn from.
    """
    num_feasible = jnp.sum(is_feasible)
    ascending = jnp.sort(jnp.where(is_feasible, y, jnp.inf))
    q1, q3 = _quantiles(ascending, jnp.array([0.25, 0.75], y.dtype), num_feasible)
    is_fenced = (num_feasible >= FEWEST_FENCED) & (q3 > q1)
    return jnp.where(is_fenced, q1 - FENCE * (q3 - q1), -jnp.inf)


def _quantiles(
    ascending: Array, probabilities: Float[Array, " Q"], count: Int[Array, ""]
) -> Float[Array, " Q"]:
    """Quantiles of the first `count` values, on straight lines between them."""
    last = jnp.maximum(count - 1, 0)
    place = probabilities * last
    left = jnp.floor(place).astype(jnp.int32)
    below, above = ascending[left], ascending[jnp.minimum(left + 1, last)]
    # Not below + share·(above - below), which is not a number where there are no labels.
    share = place - left
    return jnp.where(above > below, below + share * (above - below), below)
