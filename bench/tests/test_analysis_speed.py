"""Seconds per suggestion, and quality against time, worked out by hand."""

import numpy as np
import pytest

from photinus.problem import Goal
from photinus_bench.analysis.speed import (
    LARGEST_GAP,
    NO_VALUE,
    SMALLEST_GAP,
    against_seconds,
    course,
    decades_farther,
    seconds_per_suggestion,
)

INF, NAN = np.inf, np.nan


def test_seconds_per_suggestion_are_the_median_of_each_run():
    seconds = np.array([[9.0, 1.0, 2.0, 3.0], [5.0, 1.0, NAN, NAN], [NAN] * 4])
    np.testing.assert_array_equal(seconds_per_suggestion(seconds), [2.5, 3.0, NAN])


def test_quality_against_seconds():
    curves = np.array([[5.0, 4.0, 2.0], [6.0, 3.0, 3.0]])
    seconds = np.array([[1.0, 2.0, 4.0], [0.5, 0.5, NAN]])
    grid = np.array([0.0, 0.5, 1.0, 2.9, 3.0, 7.0, 1000.0])
    expected = [[INF, INF, 5, 5, 4, 2, 2], [INF, 6, 3, 3, 3, 3, 3]]
    np.testing.assert_array_equal(against_seconds(curves, seconds, grid, Goal.MINIMIZE), expected)
    np.testing.assert_array_equal(against_seconds(-curves, seconds, grid, Goal.MAXIMIZE), -np.array(expected))


def test_a_course_is_from_the_first_suggestion_to_the_last_that_was_asked_for():
    seconds = np.array([[1.0, 2.0, 4.0], [0.5, 0.5, NAN], [3.0, 3.0, 3.0]])
    assert course(seconds) == (1.0, 7.0)


def test_decades_between_gaps_are_finite_and_who_has_no_value_is_beyond_all():
    gaps = np.array([100.0, 0.0, 1e-12, INF, 1.0])
    ends = np.array([1.0, 1e-6, 0.0, 1.0, INF])
    expected = [2.0, np.log10(SMALLEST_GAP) + 6, 0.0, NO_VALUE, -np.log10(LARGEST_GAP)]
    np.testing.assert_allclose(decades_farther(gaps, ends), expected, atol=1e-12)


def test_curves_and_seconds_belong_together():
    with pytest.raises(ValueError, match=r"one shape, got \(1, 3\), \(1, 2\)"):
        against_seconds(np.zeros((1, 3)), np.zeros((1, 2)), np.zeros(1), Goal.MINIMIZE)
    with pytest.raises(ValueError, match="none to minimize"):
        against_seconds(np.array([[1.0, 2.0]]), np.ones((1, 2)), np.ones(1), Goal.MINIMIZE)
