"""Length of the box around the best trial: halved while nothing improves, doubled while something does.

A function of the labels and categories, in the order of completion, and of what each trial's suggestion knew. A trial
succeeds if it is better than all that it knew, and fails otherwise. Its failure speaks of the box that it was placed
in, so it counts only if the trial knew the last success and the last change of length. Else trials that were out
together, of which most fail because of their best one or for the same too large box, would halve the length again and
again. For the same reason a success counts only if its trial knew the last one. It says that the box of its own trial
was a good one, whatever others, unknown to it, failed at meanwhile: the length goes on from what it was then. So trials
that knew the same are judged as a whole, and workers that do not wait for each other close in no sooner.

Trials that no algorithm placed are to be better than, and neither succeed nor fail. A trial with other categories than
the best fails for their sake and says nothing about a box of numbers: its failure does not count. Nor does that of an
infeasible one, which says where measuring ends, not that nothing better is near.
Where the box has become tiny its place is exhausted: it opens to all there is, and closes in on what is best then.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

START = 0.4  # ours, as all below: of the unit interval
LEAST = 2.0**-7  # shorter than this it opens
GREATEST = 1.6  # at this length it covers everything from wherever it stands, length scales aside
NUM_SUCCESSES = 3  # successes in a row double the length
FEWEST_FAILURES = 4  # failures in a row halve it, at least so many,
FEATURES_PER_FAILURE = 3.0  # and one for every so many features


class _Box(NamedTuple):
    """The box after so many results, and how many there were at what a trial must have known to be judged."""

    length: float = START
    num_successes: int = 0
    num_failures: int = 0
    last_success: int = 0
    last_change: int = 0  # of the length, or a success

    def succeed(self, num_results: int) -> "_Box":
        """One more success, which was the result of that number."""
        if self.num_successes + 1 < NUM_SUCCESSES:
            return _Box(self.length, self.num_successes + 1, 0, num_results, num_results)
        return _Box(min(2.0 * self.length, GREATEST), 0, 0, num_results, num_results)

    def fail(self, num_results: int, is_telling: bool, most_failures: float) -> "_Box":
        """One more failure, or one that only ends a row of successes."""
        num_failures = self.num_failures + is_telling
        if num_failures < most_failures:
            return _Box(self.length, 0, num_failures, self.last_success, self.last_change)
        half = 0.5 * self.length
        return _Box(GREATEST if half < LEAST else half, 0, 0, self.last_success, num_results)  # (38)


def box_length(
    labels: np.ndarray,
    num_known: np.ndarray,
    categories: np.ndarray,
    is_suggested: np.ndarray,
    num_features: int,
) -> float:
    """Length after trials that knew so many of the first labels; larger is better, an infeasible one is -inf.

    Until something was feasible, and as long as all labels are equal, there is nothing to fail at.
    """
    most_failures = max(float(FEWEST_FAILURES), num_features / FEATURES_PER_FAILURE)
    boxes = [_Box(last_change=_num_known_of_first_other(labels, num_known))]
    for known, is_judged, is_better, is_telling in _verdicts(labels, num_known, categories, is_suggested):
        num_results, box = len(boxes), boxes[-1]
        if is_judged and is_better and known >= box.last_success:
            box = boxes[known].succeed(num_results)
        elif is_judged and not is_better and known >= box.last_change:
            box = box.fail(num_results, is_telling, most_failures)
        boxes.append(box)
    return boxes[-1].length


def _num_known_of_first_other(labels: np.ndarray, num_known: np.ndarray) -> int:
    """What the first trial knew whose label differs from those before; with that, or beside it, one can fail."""
    feasible = np.flatnonzero(np.isfinite(labels))
    others = feasible[labels[feasible] != labels[feasible[:1]]]
    return int(num_known[others[0]]) if len(others) else len(labels)


def _verdicts(
    labels: np.ndarray, num_known: np.ndarray, categories: np.ndarray, is_suggested: np.ndarray
) -> Iterable[tuple[int, bool, bool, bool]]:
    """For each trial: what it knew, whether it is judged and better, and has a label and the categories of the best."""
    best = np.concatenate([[-np.inf], np.maximum.accumulate(labels)])
    leads = np.maximum.accumulate(np.where(labels > best[:-1], np.arange(len(labels)), 0))
    leader = np.concatenate([[0], leads])[num_known]  # row of the best that was known
    is_telling = np.all(categories == categories[leader], axis=1) & np.isfinite(labels)
    columns = num_known, is_suggested & (best[num_known] > -np.inf), labels > best[num_known], is_telling
    # Numbers of Python's own: a loop over those of NumPy takes several times as long.
    return zip(*(column.tolist() for column in columns), strict=True)
