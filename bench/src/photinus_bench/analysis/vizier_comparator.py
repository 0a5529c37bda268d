"""Log-efficiency as google-vizier's code computes it, which differs from the paper's text.

Written from the behaviour of `LogEfficiencyConvergenceCurveComparator.score` in google-vizier 0.1.24 with its default
settings, and tested against its recorded scores. R repeats, T trials, curves turned upwards:

1. Within each run, standing still is replaced by a straight line from one improvement to the next (the end stays).
2. Targets: at each trial the median over all runs of both algorithms, i.e. not the mean of the two mean curves.
3. Each run goes on for int(e T) more trials with the mean slope of its second half.
4. An algorithm is its median run; i is the index, from 0, at which that reaches a target, and j the index at which
   the targets themselves do.
5. ln((1 + j) / (1 + i)) is clipped to [-1, 1] for each algorithm, and the two are subtracted.
6. The score is the median over targets, above 0 where the compared algorithm needs fewer trials.
"""

import numpy as np

from photinus.problem import Goal
from photinus_bench.analysis.convergence import upwards

CLIP = 1.0  # google-vizier, max_score
MIN_TRIALS = 3  # with fewer there is no slope in the second half


def vizier_score(baseline: np.ndarray, compared: np.ndarray, goal: Goal) -> float:
    """The comparator's score of the compared algorithm on one problem."""
    rows_base, rows = np.arange(len(baseline))[None], np.arange(len(compared))[None]
    return float(scores(baseline, compared, goal, rows_base, rows)[0])


def scores(
    baseline: np.ndarray, compared: np.ndarray, goal: Goal, rows_base: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Scores of S resamples, (S,); `rows_base` and `rows` (S, repeats drawn) say which repeats are in each."""
    z_base, z = upwards(baseline, goal), upwards(compared, goal)
    num_trials = z.shape[1]
    if z_base.shape[1] != num_trials or num_trials < MIN_TRIALS:
        raise ValueError(
            f"both algorithms must have the same budget of at least {MIN_TRIALS} trials, "
            f"got {z_base.shape[1]} and {num_trials}"
        )
    if not (np.all(np.isfinite(z_base)) and np.all(np.isfinite(z))):
        raise ValueError(
            "the comparator has no rule for runs without a value; leave out what it cannot score"
        )
    z_base, z = _without_plateaus(z_base), _without_plateaus(z)
    below, above = _middle(np.concatenate([z_base[rows_base], z[rows]], axis=1))
    targets = (below + above) / 2
    median_base, median = _median_run(_go_on(z_base)[rows_base]), _median_run(_go_on(z)[rows])
    return np.array(
        [
            np.median(_gain(y, run) - _gain(y, run_base))
            for y, run, run_base in zip(targets, median, median_base, strict=True)
        ]
    )


def _middle(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two values in the middle of the runs (S, R, T), which are one if R is odd; sorting is the fastest way."""
    ordered = np.sort(runs, axis=1)
    num_runs = runs.shape[1]
    return ordered[:, (num_runs - 1) // 2], ordered[:, num_runs // 2]


def _median_run(runs: np.ndarray) -> np.ndarray:
    # Rounded as NumPy's quantile does, which differs from the mean of two: a target is often this very number.
    below, above = _middle(runs)
    return above - 0.5 * (above - below)


def _without_plateaus(z: np.ndarray) -> np.ndarray:
    trials = np.arange(z.shape[1])
    is_kept = np.diff(z, axis=1, prepend=-np.inf) > 0
    is_kept[:, -1] = True
    return np.stack(
        [np.interp(trials, trials[kept], run[kept]) for run, kept in zip(z, is_kept, strict=True)]
    )


def _go_on(z: np.ndarray) -> np.ndarray:
    num_trials = z.shape[1]
    slope = np.mean(np.diff(z[:, num_trials // 2 :], axis=1), axis=1, keepdims=True)
    steps = np.arange(1, int(np.e * num_trials) + 1)
    return np.concatenate([z, z[:, -1:] + slope * steps], axis=1)


def _gain(targets: np.ndarray, run: np.ndarray) -> np.ndarray:
    """How much sooner a run reaches the targets than they themselves do, as a clipped logarithm."""
    index = np.searchsorted(run, targets).astype(float)
    index[index == len(run)] = np.inf
    own = np.searchsorted(targets, targets)
    return np.clip(np.log1p(own) - np.log1p(index), -CLIP, CLIP)
