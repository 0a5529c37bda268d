"""Best-so-far curves and their percentiles."""

import numpy as np
import pytest

from photinus.problem import Goal
from photinus_bench.analysis.convergence import band, best_so_far, quantile, upwards

INF, NAN = np.inf, np.nan


def test_curve_is_the_best_so_far_in_the_direction_asked_for():
    runs = [[3.0, 4.0, 1.0, 2.0]]
    np.testing.assert_array_equal(best_so_far(runs, 4, Goal.MINIMIZE), [[3, 3, 1, 1]])
    np.testing.assert_array_equal(best_so_far(runs, 4, Goal.MAXIMIZE), [[3, 4, 4, 4]])


def test_stopped_run_keeps_its_last_best_and_a_long_one_is_cut():
    curves = best_so_far([[3.0, 1.0, 2.0], [], [5.0, 4.0, 6.0, 3.0, 0.0]], 4, Goal.MINIMIZE)
    np.testing.assert_array_equal(curves, [[3, 1, 1, 1], [INF] * 4, [5, 4, 4, 3]])


def test_infeasible_trials_are_no_values():
    runs = [[NAN, 2.0, NAN, 1.0], [-INF, INF, 3.0, 2.0]]
    np.testing.assert_array_equal(best_so_far(runs, 4, Goal.MINIMIZE), [[INF, 2, 2, 1], [INF, INF, 3, 2]])
    np.testing.assert_array_equal(best_so_far(runs, 4, Goal.MAXIMIZE), [[-INF, 2, 2, 2], [-INF, -INF, 3, 3]])


def test_wrong_direction_is_refused():
    falling = np.array([[3.0, 2.0, 2.0]])
    np.testing.assert_array_equal(upwards(falling, Goal.MINIMIZE), [[-3, -2, -2]])
    with pytest.raises(ValueError, match="none to maximize"):
        upwards(falling, Goal.MAXIMIZE)


@pytest.mark.parametrize("curves", [[[1.0, NAN]], [[NAN]], [[1.0, INF]]])
def test_what_is_no_curve_is_refused(curves: list[list[float]]):
    with pytest.raises(ValueError, match="best value so far and no NaN"):
        upwards(np.array(curves), Goal.MAXIMIZE)


@pytest.mark.parametrize("shape", [(3,), (0, 5), (2, 0)])
def test_curves_are_a_table(shape: tuple[int, ...]):
    with pytest.raises(ValueError, match="must be a table"):
        upwards(np.zeros(shape), Goal.MAXIMIZE)


def test_band_is_the_median_with_40_and_60_percentiles():
    curves = np.array([[0.0, 50.0], [10.0, 40.0], [20.0, 30.0], [30.0, 20.0], [40.0, 10.0], [50.0, 0.0]])
    drawn = band(curves)
    np.testing.assert_allclose(drawn.low, [20, 20])
    np.testing.assert_allclose(drawn.median, [25, 25])
    np.testing.assert_allclose(drawn.high, [30, 30])


def test_quantile_is_numpys_where_values_are_finite():
    curves = np.random.default_rng(0).normal(size=(7, 5))
    for q in (0.0, 0.1, 0.4, 0.5, 0.6, 1.0):
        np.testing.assert_allclose(quantile(curves, q), np.quantile(curves, q, axis=0))


def test_quantile_takes_infinities_for_values():
    curves = np.array([[INF, INF], [INF, 2.0], [1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(quantile(curves, 0.5), [INF, 1.5])
    np.testing.assert_array_equal(quantile(curves, 1.0), [INF, INF])
    np.testing.assert_array_equal(quantile(-curves, 0.5), [-INF, -1.5])
