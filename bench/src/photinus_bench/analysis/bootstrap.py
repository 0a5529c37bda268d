"""Intervals for a median over problems, by a bootstrap on two levels: problems, then the repeats of each.

P problems, S resampled scores of each. Problems are drawn with replacement, and for each drawn one a score from
a resample of its repeats, so that the interval holds what is uncertain because of the choice of problems and what
is uncertain because of few repeats. Scores of problems vary because of few repeats as well, which is thus counted on
both levels: an interval of 95 % covers rather more (some 98 % in simulations with 3 to 8 repeats), which errs towards
"undecided". A problem with a single repeat has only one resample; the spread between problems then carries all.
With very few problems a bootstrap knows little: the interval of four is about the range of their scores.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

LEVEL = 0.95
SEED = 20_240_821  # of the report's draws
NUM_DRAWS = 4000  # from seed to seed the ends then move by one or two hundredths of the interval's width
NOT_LOSING = -0.1  # a lower end above this is not a loss


class Verdict(StrEnum):
    """What an interval of log-efficiencies allows to say about the compared algorithm."""

    BETTER = "better"
    NOT_LOSING = "not losing"
    WORSE = "worse"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Interval:
    """A median over problems and the ends of its interval."""

    median: float
    low: float
    high: float


def verdict(interval: Interval) -> Verdict:
    """Better: above zero. Not losing: above -0.1. Worse: below zero. Undecided: anything else.

    The order matters for one that lies between -0.1 and 0: a difference that small is no loss.
    """
    if interval.low > 0:
        return Verdict.BETTER
    if interval.low > NOT_LOSING:
        return Verdict.NOT_LOSING
    return Verdict.WORSE if interval.high < 0 else Verdict.UNDECIDED


def two_level_interval(
    estimates: np.ndarray,
    resampled: np.ndarray,
    rng: np.random.Generator,
    level: float = LEVEL,
    num_draws: int = NUM_DRAWS,
) -> Interval:
    """Percentile interval of the median of `estimates` (P,), given scores `resampled` (P, S) from resampled repeats."""
    num_problems, num_scores = resampled.shape
    if estimates.shape != (num_problems,) or not num_problems:
        raise ValueError(
            f"there must be resamples for each problem, got {estimates.shape}, {resampled.shape}"
        )
    problems = rng.integers(num_problems, size=(num_draws, num_problems))
    picks = rng.integers(num_scores, size=(num_draws, num_problems))
    medians = np.median(resampled[problems, picks], axis=1)
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(np.median(estimates)), float(low), float(high))


def median_interval(
    values: list[np.ndarray], seed: int, level: float = LEVEL, num_resamples: int = 200
) -> Interval:
    """The same for a plain number per run, given for each problem as (repeats,): the median of the problems' medians.

    For seconds per suggestion, final values and the like.
    """
    rng = np.random.default_rng(seed)
    resampled = [
        np.median(runs[rng.integers(len(runs), size=(num_resamples, len(runs)))], axis=1) for runs in values
    ]
    estimates = np.array([np.median(runs) for runs in values])
    return two_level_interval(estimates, np.array(resampled), rng, level)
