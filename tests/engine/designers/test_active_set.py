import numpy as np
from designs import random_features, random_hyperparameters
from hypothesis import given
from hypothesis import strategies as st

from photinus.engine.designers.active_set import (
    best_first,
    distance_to_nearest,
    front,
    rows_for_fit,
    rows_for_posterior,
)
from photinus.engine.features import Features


def choose(y: np.ndarray, features: Features, limit: int, seed: int = 0, is_pending=None) -> np.ndarray:
    """Rows for the posterior; every trial without a label is pending unless said otherwise."""
    hyper = random_hyperparameters(np.random.default_rng(seed), 3, 1)
    if is_pending is None:
        is_pending = np.arange(len(features.continuous)) >= len(y)
    return rows_for_posterior(y, features, is_pending, hyper, limit)


def long_history(num_completed: int, num_visited: int, num_metrics: int = 1, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(num_completed, num_metrics)), random_features(
        rng, num_completed + num_visited, 3, 1
    )


@given(
    num_completed=st.integers(0, 90),
    num_visited=st.integers(0, 60),
    num_metrics=st.integers(1, 3),
    limit=st.sampled_from([16, 32, 64]),
    seed=st.integers(0, 9),
    share=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_rows_are_as_many_as_allowed_and_in_order(
    num_completed, num_visited, num_metrics, limit, seed, share
):
    y, features = long_history(num_completed, num_visited, num_metrics, seed)
    is_visited = np.arange(num_completed + num_visited) >= num_completed
    is_pending = is_visited & (np.random.default_rng(seed).random(len(is_visited)) < share)
    rows = choose(y, features, limit, is_pending=is_pending)
    assert len(rows) == min(limit, num_completed + num_visited)
    assert np.all(np.diff(rows) > 0)
    sample = rows_for_fit(num_completed, limit)
    assert sample.tolist() == sorted(set(sample.tolist()))
    assert len(sample) == min(limit, num_completed)
    # No pending trial gives way to one that is not, and the best of each metric is never left out.
    dropped, visited = np.setdiff1d(np.flatnonzero(is_visited), rows), rows[rows >= num_completed]
    if np.any(is_pending[dropped]):
        assert np.all(is_pending[visited])
        assert np.flatnonzero(is_pending)[-len(visited) :].tolist() == visited.tolist()  # the newest
    if num_completed:
        assert set(y.argmax(axis=0)) <= set(rows)


def test_nothing_is_left_out_up_to_the_limit():
    y, features = long_history(20, 12)
    assert choose(y, features, 32).tolist() == list(range(32))
    assert rows_for_fit(20, 20).tolist() == list(range(20))


def test_the_best_the_nearest_and_the_latest_are_in():
    y, features = long_history(400, 8)
    rows, room = choose(y, features, 64), 64 - 8
    hyper = random_hyperparameters(np.random.default_rng(0), 3, 1)
    near = np.argsort(distance_to_nearest(Features(*(v[:400] for v in features)), best_first(y)[:1], hyper))
    assert set(range(400, 408)) <= set(rows)
    assert set(best_first(y)[: room // 4]) <= set(rows)
    assert set(near[: room // 4]) <= set(rows)
    assert set(range(400 - room // 8, 400)) <= set(rows)
    assert np.all(np.diff(rows) < 40)  # and some of every time


def test_pending_trials_leave_half_of_the_room_to_results():
    y, features = long_history(100, 50)
    rows = choose(y, features, 32)
    assert rows[rows >= 100].tolist() == list(range(134, 150))
    few, features = long_history(4, 50)
    assert choose(few, features, 32).tolist() == [*range(4), *range(26, 54)]


def near_the_best(y: np.ndarray, features: Features) -> np.ndarray:
    """Rows of trials without a label, the nearest to the best first."""
    hyper = random_hyperparameters(np.random.default_rng(0), 3, 1)
    distance = distance_to_nearest(features, best_first(y)[:1], hyper)
    return len(y) + np.argsort(distance[len(y) :])


def test_what_could_not_be_measured_beside_the_best_stays_in_however_old():
    y, features = long_history(100, 60)
    rows = choose(y, features, 32, is_pending=np.zeros(160, dtype=bool))
    nearest = set(near_the_best(y, features)[:8].tolist())
    others = sorted(set(range(100, 160)) - nearest)
    assert set(rows[rows >= 100].tolist()) == nearest | set(others[-8:])  # and the newest of the others
    few = choose(y[:0], features, 32, is_pending=np.zeros(160, dtype=bool))
    assert few.tolist() == list(range(128, 160))  # nothing is best, nothing is near


def test_pending_trials_come_before_what_could_not_be_measured():
    y, features = long_history(100, 60)
    for num_pending in (5, 12, 16, 30):
        is_pending = np.isin(np.arange(160), np.arange(110, 110 + num_pending))
        rows = choose(y, features, 32, is_pending=is_pending)
        assert set(np.flatnonzero(is_pending)[-16:].tolist()) <= set(rows.tolist())
        nearest = [row for row in near_the_best(y, features).tolist() if not is_pending[row]]
        assert set(nearest[: max(0, min(8, 16 - num_pending))]) <= set(rows.tolist())


def test_the_best_and_the_nearest_do_not_depend_on_the_order():
    y, features = long_history(300, 0)
    hyper = random_hyperparameters(np.random.default_rng(0), 3, 1)
    near = np.argsort(distance_to_nearest(features, best_first(y)[:1], hyper))
    needed = {*best_first(y)[:16].tolist(), *near[:16].tolist()}
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(300)
        rows = choose(y[order], Features(*(v[order] for v in features)), 64)
        assert needed <= set(order[rows].tolist())


def test_near_is_what_the_model_holds_to_be_near():
    hyper = random_hyperparameters(np.random.default_rng(0), 2, 1)._replace(
        continuous=np.array([0.01, 100.0]), categorical=np.array([1.0])
    )
    x = Features(np.array([[0.5, 0.5], [0.6, 0.5], [0.5, 1.0], [0.5, 0.5]]), np.array([[0], [0], [0], [1]]))
    distance = distance_to_nearest(x, np.array([0]), hyper)
    np.testing.assert_allclose(distance, [0.0, 1.0, 0.0025, 1.0])
    np.testing.assert_allclose(distance_to_nearest(x, np.array([0, 1, 3]), hyper), [0.0, 0.0, 0.0025, 0.0])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_the_front_is_what_nothing_dominates(labels):
    y = np.array(labels, dtype=float)
    rows = front(y)
    dominated = [any(np.all(b >= a) and np.any(b > a) for b in y) for a in y]
    assert {tuple(v) for v in y[rows]} == {
        tuple(v) for v, below in zip(y, dominated, strict=True) if not below
    }
    assert len({tuple(v) for v in y[rows]}) == len(rows)
    assert np.all(np.diff(y[rows, 0]) >= 0)


def test_a_front_and_the_worst_of_each_metric_stay_in():
    rng = np.random.default_rng(1)
    y, features = long_history(500, 0, 2)
    angle = rng.uniform(0, np.pi / 2, 12)
    y[40:52] = 9.0 * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    rows = choose(y, features, 64)
    assert set(range(40, 52)) <= set(rows)
    assert set(y.argmin(axis=0)) <= set(rows)


def test_equal_labels_go_by_time():
    assert best_first(np.zeros((5, 1))).tolist() == [0, 1, 2, 3, 4]


def test_a_sample_is_evenly_spread_over_time():
    assert rows_for_fit(101, 5).tolist() == [0, 25, 50, 75, 100]
