"""Best-so-far curves: made from the values of runs, turned upwards, and summed up over repeats.

R repeats, T trials. Before a run has its first value (infeasible trials have none), its best so far is the worst
infinity of the goal: inf when minimising, -inf when maximising.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from photinus.problem import Goal

BAND = (0.4, 0.6)  # paper, section 4.1: median curve with 40-60 percentile error bars


@dataclass(frozen=True)
class Band:
    """Median and percentiles over repeats, a number per trial (or per second)."""

    median: np.ndarray
    low: np.ndarray
    high: np.ndarray


def best_so_far(runs: Sequence[Sequence[float]], budget: int, goal: Goal) -> np.ndarray:
    """Curves (R, T = budget) of runs given by their values, trial by trial; NaN and infinities are no values.

    A run that stopped early keeps its last best to the end (paper, App. C on HEBO); trials beyond the budget are
    left out.
    """
    worst = -sign(goal) * np.inf
    curves = np.full((len(runs), budget), worst)
    better = np.maximum if goal == Goal.MAXIMIZE else np.minimum
    for row, run in zip(curves, runs, strict=True):
        values = np.asarray(run, float)[:budget]
        if len(values):
            reached = better.accumulate(np.where(np.isfinite(values), values, worst))
            row[: len(values)], row[len(values) :] = reached, reached[-1]
    return curves


def upwards(curves: np.ndarray, goal: Goal) -> np.ndarray:
    """The curves, negated if the goal is to minimise, so that more is better; checked to go only upwards."""
    curves = np.asarray(curves, float)
    if curves.ndim != 2 or 0 in curves.shape:
        raise ValueError(
            f"curves must be a table (repeats, trials) that is not empty, got shape {curves.shape}"
        )
    curves = sign(goal) * curves
    is_going_on = np.all(curves[:, 1:] >= curves[:, :-1])  # false for a NaN, too
    if not is_going_on or not np.all(curves < np.inf):
        raise ValueError(f"curves must hold the best value so far and no NaN; these are none to {goal.value}")
    return curves


def band(curves: np.ndarray, quantiles: tuple[float, float] = BAND) -> Band:
    """Median and percentiles over the rows, as drawn in the figures."""
    low, median, high = (quantile(curves, q) for q in (quantiles[0], 0.5, quantiles[1]))
    return Band(median, low, high)


def quantile(curves: np.ndarray, q: float) -> np.ndarray:
    """Quantile over the rows, linear between neighbours; unlike NumPy's, it takes infinities for values."""
    rows = np.sort(curves, axis=0)
    place = q * (len(rows) - 1)
    below, above = rows[int(np.floor(place))], rows[int(np.ceil(place))]
    share = place - np.floor(place)
    return (1 - share) * below + share * above if share else below


def sign(goal: Goal) -> float:
    """What turns values of this goal upwards, by multiplying."""
    return 1.0 if goal == Goal.MAXIMIZE else -1.0
