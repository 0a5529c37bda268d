"""Length of the box around the best trial: halved while nothing improves, doubled while something does.

A function of the labels and categories, in the order of completion, and of what each trial's suggestion knew. Trials
that knew the same results are judged together, as one batch: they succeed if one of them is better than all that they
knew. Judged one by one, most of a batch would fail because of its best point, which they could not know. A trial with
other categories than the best fails for their sake and says nothing about a box of numbers: its failure does not count.
Nor does that of an infeasible one, which says where measuring ends, not that nothing better is near.
Where the box has become tiny its place is exhausted: it opens to all there is, and closes in on what is best then.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

START = 0.4  # ours, as all below: of the unit interval
LEAST = 2.0**-7  # shorter than this it opens
GREATEST = 1.6  # at this length it covers everything from wherever it stands, length scales aside
NUM_SUCCESSES = 3  # batches in a row double the length
FEWEST_FAILURES = 4  # trials in a row halve it, at least so many,
FEATURES_PER_FAILURE = 3.0  # and one for every so many features


def box_length(labels: np.ndarray, num_known: np.ndarray, categories: np.ndarray, num_features: int) -> float:
    """Length after trials that knew so many of the first labels; larger is better, an infeasible one is -inf.

    Until something was feasible, and as long as all labels are equal, there is nothing to fail at.
    """
    most_failures = max(float(FEWEST_FAILURES), num_features / FEATURES_PER_FAILURE)
    length, num_successes, num_failures = START, 0, 0
    for num_telling, best, worst, known_best, known_worst in _batches(labels, num_known, categories):
        if known_best == -np.inf:
            continue
        if best > known_best:
            num_successes, num_failures = num_successes + 1, 0
        else:
            is_level = min(worst, known_worst) == known_best
            num_successes, num_failures = 0, 0 if is_level else num_failures + num_telling
        if num_successes >= NUM_SUCCESSES:
            length, num_successes = min(2.0 * length, GREATEST), 0
        if num_failures >= most_failures:
            length, num_failures = 0.5 * length, 0
        if length < LEAST:
            length = GREATEST  # (38)
    return length


def _batches(labels: np.ndarray, num_known: np.ndarray, categories: np.ndarray) -> Iterable[tuple[Any, ...]]:
    """For trials that knew the same: how many had the categories of the best of it and a label, and their ranges.

    Best and worst of their own, then of what they knew.
    """
    if not len(labels):
        return ()
    feasible = np.where(np.isfinite(labels), labels, np.inf)
    best = np.concatenate([[-np.inf], np.maximum.accumulate(labels)])
    worst = np.concatenate([[np.inf], np.minimum.accumulate(feasible)])
    leads = np.maximum.accumulate(np.where(labels > best[:-1], np.arange(len(labels)), 0))
    leader = np.concatenate([[0], leads])[num_known]  # row of the best that was known
    is_telling = np.all(categories == categories[leader], axis=1) & np.isfinite(labels)
    order = np.argsort(num_known, kind="stable")
    known, starts = np.unique(num_known[order], return_index=True)
    bests, worsts = np.maximum.reduceat(labels[order], starts), np.minimum.reduceat(feasible[order], starts)
    counts = np.add.reduceat(is_telling[order].astype(int), starts)
    # Numbers of Python's own: a loop over those of NumPy takes several times as long.
    return zip(
        *(column.tolist() for column in (counts, bests, worsts, best[known], worst[known])), strict=True
    )
