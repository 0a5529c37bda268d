"""Hypervolume by scalarisations, against exact volumes by moocore and against geometry."""

import math

import moocore
import numpy as np
import pytest

from photinus.problem import Goal
from photinus_bench.analysis.hypervolume import (
    Box,
    common_box,
    directions,
    hypervolume_curves,
)

UP, DOWN = Goal.MAXIMIZE, Goal.MINIMIZE


def in_one_formula(y: np.ndarray, W: np.ndarray) -> tuple[float, float]:
    """Volume above the origin by the theorem as it is printed, and its standard error were W independent draws."""
    M = y.shape[1]
    s = np.min(np.maximum(y[:, None] / W, 0), axis=2) ** M  # (points, directions)
    best = s.max(axis=0)
    c = math.pi ** (M / 2) / (2**M * math.gamma(M / 2 + 1))
    return c * best.mean(), c * best.std() / math.sqrt(len(W))


def points_near_a_sphere(rng: np.random.Generator, num_points: int, num_objectives: int) -> np.ndarray:
    """To be minimised: some on the front, some dominated, some behind the reference point (1, ..., 1)."""
    y = np.abs(rng.normal(size=(num_points, num_objectives)))
    y *= rng.uniform(0.6, 1.0, size=(num_points, 1)) / np.linalg.norm(y, axis=1, keepdims=True)
    y[::7, 0] = -0.1
    return 1 - y


@pytest.mark.parametrize("num_objectives", range(2, 9))
def test_volume_is_the_exact_one_within_the_monte_carlo_error(num_objectives: int):
    points = points_near_a_sphere(np.random.default_rng(num_objectives), 30, num_objectives)
    box = Box(np.ones(num_objectives), np.zeros(num_objectives))
    W = directions(num_objectives)
    found = hypervolume_curves([points], 30, [DOWN] * num_objectives, box, W)[0, -1]
    exact = moocore.hypervolume(points, ref=box.reference)
    printed, error = in_one_formula(1 - points, W)
    assert found == pytest.approx(printed, rel=1e-12)
    assert error < 0.05 * exact
    assert abs(found - exact) < 3 * error


def test_two_objectives_are_exact_to_the_papers_four_digits():
    rng = np.random.default_rng(0)
    box = Box(np.ones(2), np.zeros(2))
    for _ in range(10):
        points = points_near_a_sphere(rng, 20, 2)
        found = hypervolume_curves([points], 20, [DOWN, DOWN], box, directions(2))[0, -1]
        assert found == pytest.approx(moocore.hypervolume(points, ref=box.reference), abs=2e-4)


def test_curve_holds_the_volume_after_each_trial():
    rng = np.random.default_rng(5)
    runs = [points_near_a_sphere(rng, 25, 3) for _ in range(3)]
    goals = [DOWN] * 3
    box = common_box(runs, goals)
    curves = hypervolume_curves(runs, 25, goals, box, directions(3))
    exact = [
        [moocore.hypervolume(run[: t + 1], ref=box.reference) / box.volume for t in range(25)] for run in runs
    ]
    np.testing.assert_allclose(curves, exact, atol=5e-3)
    assert np.all(np.diff(curves, axis=1) >= 0)


def test_common_box_reaches_from_the_worst_to_the_best_of_all_algorithms():
    ours = np.array([[[1.0, 10.0], [2.0, 20.0]]])
    theirs = np.array([[0.5, 12.0], [math.nan, 99.0], [1.5, 30.0]])
    box = common_box([ours, theirs], [DOWN, UP])
    np.testing.assert_array_equal(box.reference, [2.0, 10.0])
    np.testing.assert_array_equal(box.ideal, [0.5, 30.0])
    assert box.volume == 30


def test_direction_and_units_of_an_objective_do_not_matter():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(20, 2))
    W = directions(2)
    first = hypervolume_curves([points], 20, [DOWN, DOWN], common_box([points], [DOWN, DOWN]), W)
    other = points * [1e6, -1e-3] + [5.0, 7.0]
    second = hypervolume_curves([other], 20, [DOWN, UP], common_box([other], [DOWN, UP]), W)
    np.testing.assert_allclose(second, first, rtol=1e-6)


def test_missing_points_and_the_end_of_a_stopped_run_add_nothing():
    box = Box(np.zeros(2), np.ones(2))
    run = np.array([[math.nan, 1.0], [0.5, 0.5], [math.inf, 0.9], [-1.0, 2.0], [0.0, 1.0], [0.8, 0.6]])
    nothing = np.empty((0, 2))
    curves = hypervolume_curves([run, nothing], 8, [UP, UP], box, directions(2))
    expected = [0, 0.25, 0.25, 0.25, 0.25, 0.48, 0.48, 0.48]
    np.testing.assert_allclose(curves, [expected, [0] * 8], atol=5e-4)


def test_trials_beyond_the_budget_are_left_out():
    box = Box(np.zeros(2), np.ones(2))
    curves = hypervolume_curves([np.array([[0.5, 0.5], [1.0, 1.0]])], 1, [UP, UP], box, directions(2))
    np.testing.assert_allclose(curves, [[0.25]], atol=5e-4)


def test_volume_at_the_true_nadir():
    """The front f2 = 1 - sqrt(f1) of ZDT1 has its nadir at (1, 1) and dominates two thirds of its box."""
    f1 = np.linspace(0, 1, 400)
    front = np.stack([f1, 1 - np.sqrt(f1)], axis=1)
    box = Box(np.ones(2), np.zeros(2))
    beyond = np.array([[0.0, 1.01], [1.2, 0.0]])
    runs = [np.concatenate([beyond, front])]
    curve = hypervolume_curves(runs, 402, [DOWN, DOWN], box, directions(2))[0]
    np.testing.assert_array_equal(curve[:2], [0, 0])
    exact = moocore.hypervolume(front, ref=box.reference)
    assert exact == pytest.approx(2 / 3, abs=2e-3)
    assert curve[-1] == pytest.approx(exact, abs=2e-4)


@pytest.mark.parametrize("num_objectives", [2, 5, 8])
def test_directions_are_spread_evenly_over_the_positive_sphere(num_objectives: int):
    W = directions(num_objectives)
    assert W.shape == (10_000, num_objectives)
    assert np.all(W > 0)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1)
    np.testing.assert_allclose(W.T @ W / len(W), second_moments(num_objectives), atol=0.01)
    np.testing.assert_array_equal(W, directions(num_objectives))
    assert not np.array_equal(W, directions(num_objectives, seed=1))


def second_moments(M: int) -> np.ndarray:
    """Of a uniform point on the positive sphere: E w_i² = 1/M, E w_i w_j = 2 / (π M)."""
    return np.where(np.eye(M) == 1, 1 / M, 2 / (math.pi * M))


def test_box_without_volume_holds_none():
    run = np.array([[1.0, 2.0], [1.0, 3.0]])
    box = common_box([run], [UP, UP])
    np.testing.assert_array_equal(hypervolume_curves([run], 2, [UP, UP], box, directions(2, 10)), [[0, 0]])


def test_nonsense_is_refused():
    W = directions(2, 10)
    with pytest.raises(ValueError, match="2 objectives in their last axis"):
        hypervolume_curves([np.zeros((4, 3))], 4, [UP, UP], Box(np.zeros(2), np.ones(2)), W)
    with pytest.raises(ValueError, match="must not be worse than the reference"):
        hypervolume_curves([np.zeros((4, 2))], 4, [UP, DOWN], Box(np.zeros(2), np.ones(2)), W)
    with pytest.raises(ValueError, match="at least one point"):
        common_box([np.full((3, 2), math.nan)], [UP, UP])
