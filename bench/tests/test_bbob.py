import ioh
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from photinus_bench.problem import Experimenter
from photinus_bench.problems.bbob import INSTANCE, SEVERAL_MINIMISERS, bbob
from photinus_bench.tasks import Task, build

FUNCTIONS = range(1, 25)


def task(function: int, dimension: int) -> Task:
    return Task(family="bbob", name=f"f{function:02}", dimension=dimension)


def value(experimenter: Experimenter, x: np.ndarray) -> float:
    return experimenter.truth(dict(zip(experimenter.problem.space, x.tolist(), strict=True)))["value"]


def optimum_at(experimenter: Experimenter) -> np.ndarray:
    return np.array([experimenter.optimum_at[name] for name in experimenter.problem.space])


def further_minima(experimenter: Experimenter) -> list[np.ndarray]:
    """Points of a 2-D problem away from the optimum with its value, by local searches from the best of many."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-5, 5, size=(1000, 2))
    points = points[np.argsort([value(experimenter, x) for x in points])]
    ends = [
        minimize(
            lambda x: value(experimenter, x),
            start,
            method="Nelder-Mead",
            bounds=[(-5, 5)] * 2,
            options={"xatol": 1e-12, "fatol": 1e-14},
        )
        for start in points[:12]
    ]
    away = [end for end in ends if np.max(np.abs(end.x - optimum_at(experimenter))) > 0.01]
    return [end.x for end in away if end.fun < 1e-8]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_the_optimum_is_zero_at_the_shift_and_nothing_is_below(function: int, dimension: int) -> None:
    experimenter = build(task(function, dimension), repeat=0)
    c = optimum_at(experimenter)
    assert np.all(np.abs(c) <= 5)
    assert experimenter.optimum == {"value": 0.0}
    assert value(experimenter, c) == pytest.approx(0, abs=1e-9)
    rng = np.random.default_rng(0)
    for scale in 10.0 ** np.arange(-6, 2):
        around = np.clip(c + scale * rng.standard_normal((50, dimension)), -5, 5)
        assert min(value(experimenter, x) for x in around) >= -1e-9
    for scale in (0.01, 0.3):
        start = np.clip(c + scale * rng.standard_normal(dimension), -5, 5)
        found = minimize(
            lambda x: value(experimenter, x),
            start,
            method="L-BFGS-B",
            bounds=[(-5, 5)] * dimension,
            options={"maxfun": 600},
        )
        assert found.fun >= -1e-9


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in SEVERAL_MINIMISERS])
def test_no_second_minimum_is_found(function: int) -> None:
    assert further_minima(build(task(function, 2), repeat=0)) == []


@pytest.mark.parametrize("function", [16, 23])
def test_periodic_functions_have_further_minima(function: int) -> None:
    assert further_minima(bbob(function, 2))


def test_the_linear_slope_is_flat_from_the_optimum_to_a_corner() -> None:
    experimenter = build(task(5, 5), repeat=0)
    c = optimum_at(experimenter)
    corners = [np.array([-5 if index >> axis & 1 else 5 for axis in range(5)]) for index in range(32)]
    zeros = [corner for corner in corners if abs(value(experimenter, corner)) < 1e-9]
    assert len(zeros) == 1
    assert value(experimenter, (c + zeros[0]) / 2) == pytest.approx(0, abs=1e-9)


def test_steps_are_flat_around_the_optimum() -> None:
    experimenter = build(task(7, 5), repeat=0)
    for direction in np.random.default_rng(0).standard_normal((20, 5)):
        assert value(experimenter, optimum_at(experimenter) + 1e-3 * direction) == pytest.approx(0, abs=1e-12)
        assert value(experimenter, optimum_at(experimenter) + 0.2 * direction) > 0


def test_griewank_rosenbrock_above_64_dimensions_does_not_know_its_optimum() -> None:
    experimenter = build(task(19, 80), repeat=0)
    assert experimenter.optimum is None and experimenter.optimum_at is None
    centred = bbob(19, 80)
    assert value(centred, np.zeros(80)) > 1
    found = minimize(lambda x: value(centred, x), np.zeros(80), method="L-BFGS-B", options={"maxfun": 30_000})
    assert -1e-9 <= found.fun < 1e-6
    assert 0.1 < np.linalg.norm(found.x) < 1
    assert bbob(19, 64).optimum == {"value": 0.0}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_objective_is_the_instance_moved_to_the_shift(function: int) -> None:
    experimenter = build(task(function, 5), repeat=3)
    original = ioh.get_problem(function, INSTANCE, 5, ioh.ProblemClass.BBOB)
    for x in np.random.default_rng(0).uniform(-5, 5, size=(5, 5)):
        expected = original(x - optimum_at(experimenter) + original.optimum.x) - original.optimum.y
        assert value(experimenter, x) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_shifts_are_uniform_in_the_box() -> None:
    shifts = np.array([optimum_at(build(task(1, 3), repeat)) for repeat in range(200)])
    assert stats.kstest(shifts.ravel(), stats.uniform(-5, 10).cdf).pvalue > 0.01
    assert np.all(np.abs(np.corrcoef(shifts.T) - np.eye(3)) < 0.25)
