"""The trials of a long study that its model is made of: few enough to be quick, chosen so that little is lost.

Hyperparameters are properties of the whole function, and a sample of the trials tells them. Predictions matter where
the search looks, which is around the best trials. Up to a limit nothing is left out. Everything here is a function
of the trials in their order, and rows come back in that order.
"""

import numpy as np

from photinus.engine.features import Features
from photinus.engine.gp.kernel import Hyperparameters

BEST_SHARE = 4  # ours, as all below: of what the posterior is made of, a quarter are the best trials,
NEAR_SHARE = 4  # a quarter those nearest to the best,
LATEST_SHARE = 8  # an eighth the latest; the others are evenly spread
NEAR_VISITED_SHARE = 2  # and of the room for visited trials, half are those nearest to the best
NUM_CENTRES = 32  # with several objectives, the best trials near which others are kept


def rows_for_fit(num_completed: int, limit: int) -> np.ndarray:
    """At most `limit` completed trials to fit hyperparameters to, evenly spread over time.

    The best are not preferred: a choice by label makes the function look smoother than it is.
    """
    return spread(np.arange(num_completed), limit)


def rows_for_posterior(
    y: np.ndarray, features: Features, is_pending: np.ndarray, hyper: Hyperparameters, limit: int
) -> np.ndarray:
    """At most `limit` trials to condition on: all rows of `features`, of which the first are those of `y`.

    Visited trials are in up to half of the limit, and beyond it where there is room: pending ones, the newest first,
    then others near the best and new ones. Of the completed trials: the best, those nearest to the best by the model's
    own distance, the latest, and others evenly spread over time.
    """
    num_completed, num_rows = len(y), len(features.continuous)
    num_visited = min(num_rows - num_completed, limit - min(num_completed, limit // 2))
    room = limit - num_visited
    if num_completed <= room and num_completed + num_visited == num_rows:
        return np.arange(num_rows)
    order = best_first(y)
    centres = order[:1]
    kept = np.zeros(num_completed, dtype=bool)
    if y.shape[1] > 1 and num_completed:
        # Hypervolumes are measured between the worst of each metric and the front.
        kept[np.concatenate([y.argmin(axis=0), y.argmax(axis=0)])] = True
        order = np.concatenate([spread(front(y), room // BEST_SHARE), order])
        centres = order[:NUM_CENTRES]
    visited = np.arange(num_completed, num_rows)
    if num_visited < len(visited):
        distance = distance_to_nearest(features, centres, hyper)[visited]
        visited = visited[_choose_visited(is_pending[visited], distance, num_visited)]
    if num_completed <= room:
        return np.concatenate([np.arange(num_completed), visited])
    completed = Features(*(v[:num_completed] for v in features))
    near = np.argsort(distance_to_nearest(completed, centres, hyper), kind="stable")
    latest = np.arange(num_completed)[::-1]
    for candidates, share in ((order, BEST_SHARE), (near, NEAR_SHARE), (latest, LATEST_SHARE)):
        _keep(kept, candidates, min(room // share, room - int(kept.sum())))
    kept[spread(np.flatnonzero(~kept), room - int(kept.sum()))] = True
    return np.concatenate([np.flatnonzero(kept), visited])


def _choose_visited(is_pending: np.ndarray, distance: np.ndarray, count: int) -> np.ndarray:
    """So many visited trials: pending ones, then the nearest for up to half of all, then the newest.

    A place that could not be measured stays one, however old its trial is, and beside the best trial the search would
    come back to it. But no pending trial gives way to that: its point would be suggested again at once.
    """
    kept = np.zeros(len(is_pending), dtype=bool)
    newest = np.arange(len(is_pending))[::-1]
    near = newest[np.argsort(distance[newest], kind="stable")]
    shares = (newest[is_pending[newest]], count), (near, count // NEAR_VISITED_SHARE), (newest, count)
    for candidates, share in shares:
        _keep(kept, candidates, min(share, count - int(kept.sum())))
    return np.flatnonzero(kept)


def _keep(kept: np.ndarray, candidates: np.ndarray, count: int) -> None:
    """Mark so many more of the candidates, the first ones first."""
    new = candidates[~kept[candidates]]
    kept[new[:count]] = True


def spread(rows: np.ndarray, count: int) -> np.ndarray:
    """`count` of the rows, evenly spread, both ends included; all of them where there are not so many."""
    return rows if len(rows) <= count else rows[np.linspace(0, len(rows) - 1, count).astype(int)]


def best_first(y: np.ndarray) -> np.ndarray:
    """Rows by their labels (N, M), the best first; with several metrics, by the sum of their ranks.

    Of equals the earlier one comes first.
    """
    ranks = np.argsort(np.argsort(-y, axis=0, kind="stable"), axis=0, kind="stable")
    return np.argsort(ranks.sum(axis=1), kind="stable")


def front(y: np.ndarray) -> np.ndarray:
    """Rows that no other row dominates, ordered by the first metric; of equals the earliest."""
    left = np.argsort(-y.sum(axis=1), kind="stable")  # whoever dominates has the larger sum
    found: list[int] = []
    while len(left):
        found.append(left[0])
        left = left[np.any(y[left] > y[left[0]], axis=1)]
    return np.array(sorted(found, key=lambda row: y[row, 0]))


def distance_to_nearest(x: Features, centres: np.ndarray, hyper: Hyperparameters) -> np.ndarray:
    """Squared distance of each row to the nearest centre, which are rows too, in units of the length scales."""
    weights = 1.0 / np.asarray(hyper.continuous), 1.0 / np.asarray(hyper.categorical)
    nearest = np.full(len(x.continuous), np.inf)
    for centre in centres:
        distance = (x.continuous - x.continuous[centre]) ** 2 @ weights[0]
        distance += (x.categorical != x.categorical[centre]) @ weights[1]
        np.minimum(nearest, distance, out=nearest)
    return nearest
