"""One algorithm against another over the problems of a suite: scores, interval, verdict.

Repeats of the same number are the same function (shift, permutation, noise follow from it), so two algorithms are
compared on the repeats that both have, and these are resampled together. Only where they share none, all
repeats of both are used and resampled independently. A rival with 3 repeats thus meets 3 of our 20, not the mean over
17 functions it has never seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from photinus.problem import Goal
from photinus_bench.analysis import log_efficiency
from photinus_bench.analysis.bootstrap import Interval, Verdict, two_level_interval, verdict

FEWEST_RUNS = 6  # of either side, to decide: six go one way by chance in 3 % of cases, five in 6 %
NUM_RESAMPLES = 200  # of the repeats of each problem; problems are drawn thousands of times among these


@dataclass(frozen=True)
class Pair:
    """Best-so-far curves (R, T) of two algorithms on one problem."""

    baseline: np.ndarray
    compared: np.ndarray
    goal: Goal
    is_paired: bool  # row r of both is the same repeat

    @classmethod
    def of(
        cls, baseline: Mapping[int, Sequence[float]], compared: Mapping[int, Sequence[float]], goal: Goal
    ) -> "Pair":
        """From curves by repeat number: those in common, or all where there are none."""
        common = sorted(set(baseline) & set(compared))
        rows_base, rows = (common, common) if common else (sorted(baseline), sorted(compared))
        return cls(
            np.array([baseline[repeat] for repeat in rows_base], float),
            np.array([compared[repeat] for repeat in rows], float),
            goal,
            is_paired=bool(common),
        )


class Scores(Protocol):
    """A measure: scores (S,) of resamples, as in log_efficiency.py and vizier_comparator.py."""

    def __call__(
        self, baseline: np.ndarray, compared: np.ndarray, goal: Goal, rows_base: np.ndarray, rows: np.ndarray
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class Comparison:
    """What is known about the compared algorithm; above 0 it needs fewer trials than the baseline."""

    scores: np.ndarray  # by problem, for violins
    num_repeats: tuple[int, ...]  # of the compared algorithm, by problem
    interval: Interval
    verdict: Verdict


def compare(
    pairs: Sequence[Pair],
    seed: int,
    measure: Scores = log_efficiency.scores,
    num_resamples: int = NUM_RESAMPLES,
) -> Comparison:
    """Score each problem and put an interval around the median; the same seed gives the same interval."""
    if not pairs:
        raise ValueError("there must be at least one problem to compare on")
    rng = np.random.default_rng(seed)
    table = np.stack([_score(pair, rng, measure, num_resamples) for pair in pairs])
    estimates, resampled = table[:, 0], table[:, 1:]
    interval = two_level_interval(estimates, resampled, rng)
    num_repeats = tuple(len(pair.compared) for pair in pairs)
    num_runs = min(sum(len(pair.baseline) for pair in pairs), sum(num_repeats))
    # The interval of one run has no width, and that of four problems with one each is the range of their scores.
    decided = verdict(interval) if num_runs >= FEWEST_RUNS else Verdict.UNDECIDED
    return Comparison(estimates, num_repeats, interval, decided)


def _score(pair: Pair, rng: np.random.Generator, measure: Scores, num_resamples: int) -> np.ndarray:
    """The score of all repeats, then those of the resamples, (1 + S,)."""
    rows_base = _draw(len(pair.baseline), rng, num_resamples)
    rows = rows_base if pair.is_paired else _draw(len(pair.compared), rng, num_resamples)
    # Three repeats have only ten different resamples: each is scored once.
    both = np.concatenate([rows_base, rows], axis=1)
    different, which = np.unique(both, axis=0, return_inverse=True)
    width = rows_base.shape[1]
    found = measure(pair.baseline, pair.compared, pair.goal, different[:, :width], different[:, width:])
    return found[which.reshape(-1)]


def _draw(num_repeats: int, rng: np.random.Generator, num_resamples: int) -> np.ndarray:
    """All repeats once, then resamples of them, each in ascending order."""
    drawn = np.sort(rng.integers(num_repeats, size=(num_resamples, num_repeats)), axis=1)
    return np.concatenate([np.arange(num_repeats)[None], drawn])
