import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeResult

import photinus as ph
from photinus.errors import ArgumentError, ParameterError, SpaceError, ValuesError


def sphere(x):
    return np.sum((x - 0.3) ** 2)


def test_it_returns_scipys_result():
    result = ph.minimize(sphere, [(-1, 1), (0, 2)], 30, seed=1, algorithm="random")
    assert isinstance(result, OptimizeResult)
    assert (result.success, result.status) == (True, 0)
    assert "number of trials" in result.message
    assert (result.nfev, result.nit) == (30, 30)
    assert result.x_iters.shape == (30, 2)
    assert result.func_vals.shape == (30,)
    assert result.fun == result.func_vals.min() == pytest.approx(sphere(result.x))
    np.testing.assert_array_equal(result.func_vals, [sphere(x) for x in result.x_iters])
    assert (result.x_iters >= [-1, 0]).all()
    assert (result.x_iters <= [1, 2]).all()
    assert result.study.best_trial.values == {"value": result.fun}


def test_the_function_gets_a_float_array():
    seen = []

    def function(x):
        seen.append((type(x), x.dtype, x.shape))
        return x[0]

    ph.minimize(function, [(0, 1), (0, 1), (0, 1)], 1, algorithm="random")
    assert seen == [(np.ndarray, np.dtype(float), (3,))]


@pytest.mark.parametrize("bounds", [Bounds([0, 0], [1, 2]), Bounds(0, [1, 2]), np.array([[0, 1], [0, 2]])])
def test_bounds_may_be_scipys(bounds):
    result = ph.minimize(sphere, bounds, 5, seed=1, algorithm="random")
    expected = ph.minimize(sphere, [(0, 1), (0, 2)], 5, seed=1, algorithm="random")
    np.testing.assert_array_equal(result.x_iters, expected.x_iters)


def test_x0_comes_first():
    result = ph.minimize(sphere, [(0, 1), (0, 1)], 3, x0=[0.3, 0.3], algorithm="random")
    np.testing.assert_array_equal(result.x_iters[0], [0.3, 0.3])
    assert result.fun == 0


def test_infeasible_points_are_nan():
    result = ph.minimize(lambda x: np.nan if x[0] < 0.5 else x[0], [(0, 1)], 20, seed=1, algorithm="random")
    assert result.success
    assert np.isnan(result.func_vals[result.x_iters[:, 0] < 0.5]).all()
    assert result.fun >= 0.5


def test_nothing_measured_is_no_success():
    result = ph.minimize(lambda x: np.inf, [(0, 1)], 3, algorithm="random")
    assert (result.success, result.status) == (False, 1)
    assert "every value was NaN or infinite" in result.message
    assert np.isnan(result.x).all()
    assert np.isnan(result.fun)


def test_a_callback_sees_results_and_may_stop():
    seen = []

    def callback(result):
        seen.append((result.nfev, result.fun))
        if len(seen) == 3:
            raise StopIteration

    result = ph.minimize(sphere, [(0, 1)], 10, seed=1, algorithm="random", callback=callback)
    assert [nfev for nfev, _ in seen] == [1, 2, 3]
    assert seen[-1][1] == result.fun
    assert (result.success, result.status, result.nfev) == (False, 99, 3)
    assert "StopIteration" in result.message


def test_workers():
    result = ph.minimize(lambda x: np.array([x[0]]), [(0, 1)], 4, seed=1, algorithm="random", n_jobs=2)
    assert result.nfev == 4
    np.testing.assert_array_equal(result.func_vals, result.x_iters[:, 0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"bounds": [(0, 1, 2)]}, ArgumentError, r"`bounds` must be a sequence of \(low, high\) pairs"),
        ({"bounds": 3}, ArgumentError, "`bounds` must be a sequence"),
        ({"bounds": []}, SpaceError, "at least one parameter"),
        ({"bounds": [(0, 1), (0, np.inf)]}, SpaceError, "bounds of 'x1': `high` of a Float must be a finite"),
        ({"bounds": [(0, None)]}, SpaceError, "bounds of 'x0': `high` of a Float must be a finite number"),
        ({"bounds": [(1, 0)]}, SpaceError, "bounds of 'x0': `low <= high` must hold"),
        ({"bounds": [(0, 1)], "x0": [0, 1]}, ArgumentError, "`x0` must have one number for each of 1 bounds"),
        ({"bounds": [(0, 1)], "x0": [3]}, ParameterError, "parameter 'x0' must be a number with"),
        ({"bounds": [(0, 1)], "algorithm": "magic"}, ArgumentError, "`algorithm` must be one of"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ph.minimize(sphere, **arguments)


def test_the_function_must_return_one_number():
    with pytest.raises(ValuesError, match=r"must return one number, got an array of shape \(2,\)"):
        ph.minimize(lambda x: x, [(0, 1), (0, 1)], 1, algorithm="random")


def test_a_start_that_is_no_numbers_is_refused():
    with pytest.raises(ArgumentError, match="`x0` must be numbers"):
        ph.minimize(lambda x: 0.0, [(0, 1)], n_trials=1, x0="abc")
