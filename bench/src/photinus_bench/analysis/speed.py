"""Seconds: what a suggestion costs, and how good a run is after so much time.

R repeats, T trials. Seconds are those spent on suggesting; the objectives of the suite cost nothing. What an
evaluation of the user's would take can be added to them beforehand.
"""

import numpy as np

from photinus.problem import Goal
from photinus_bench.analysis.convergence import sign, upwards

SMALLEST_GAP = 1e-8  # COCO's last target; whoever is nearer has found the optimum
LARGEST_GAP = 1e30  # stands for that of a run without a value
NO_VALUE = 1e6  # decades of who has no value yet: so many that means with others stay beyond MOST_DECADES
MOST_DECADES = 100.0  # beyond what any two gaps can be apart


def seconds_per_suggestion(seconds: np.ndarray) -> np.ndarray:
    """Median over the trials of each run, (R,), from (R, T); NaN marks trials that a stopped run never asked for.

    The median, so that compiling or a busy moment of the machine does not decide it; a run without any is NaN.
    """
    medians = np.full(len(seconds), np.nan)
    for i, run in enumerate(seconds):
        known = run[~np.isnan(run)]
        if len(known):
            medians[i] = np.median(known)
    return medians


def course(seconds: np.ndarray) -> tuple[float, float]:
    """When the median run has its first suggestion, and when the last that it asked for, from (R, T)."""
    return float(np.median(seconds[:, 0])), float(np.median(np.nancumsum(seconds, axis=1)[:, -1]))


def decades_farther(gaps: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """log10 of how many times farther from the optimum `gaps` are than `ends`; `NO_VALUE` where there is none yet."""
    farther, nearer = (np.log10(np.clip(each, SMALLEST_GAP, LARGEST_GAP)) for each in (gaps, ends))
    return np.where(np.isfinite(gaps), farther - nearer, NO_VALUE)


def against_seconds(curves: np.ndarray, seconds: np.ndarray, grid: np.ndarray, goal: Goal) -> np.ndarray:
    """Best so far at each time of the grid, (R, grid), from curves and the seconds of each suggestion, both (R, T).

    A trial counts from the moment its suggestion is there. Before the first one there is no value (the worst infinity);
    after the last one, or when a run stopped, its best stays.
    """
    upwards(curves, goal)  # refuses what is no table of best-so-far curves
    if np.shape(seconds) != np.shape(curves):
        raise ValueError(
            f"curves and seconds must have one shape, got {np.shape(curves)}, {np.shape(seconds)}"
        )
    # A trial never asked for comes at infinity: after all the others, whose values stay.
    arrival = np.cumsum(np.where(np.isnan(seconds), np.inf, seconds), axis=1)
    told = np.concatenate([np.full((len(curves), 1), -sign(goal) * np.inf), curves], axis=1)
    counts = [np.searchsorted(times, grid, side="right") for times in arrival]
    return np.stack([run[count] for run, count in zip(told, counts, strict=True)])
