from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import differential_evolution

from photinus.problem import Goal
from photinus_bench.problems.multi_objective import has_centre_on_front
from photinus_bench.tasks import NAMES, Task, build

TWO_OBJECTIVES = [f"{family}/{name}/5d/2m" for family in ("dtlz", "wfg", "zdt") for name in NAMES[family]]
SWEEP = [
    f"{family}/{name}/{m + 3}d/{m}m" for m in (3, 8) for family in ("dtlz", "wfg") for name in NAMES[family]
]


@pytest.mark.parametrize("text", TWO_OBJECTIVES + SWEEP)
def test_objectives_are_one_on_average_along_the_diagonal(text: str) -> None:
    task = Task.parse(text)
    experimenter = build(task, repeat=0)
    parameters = experimenter.problem.space.parameters
    assert len(parameters) == task.dimension
    assert [metric.goal for metric in experimenter.problem.metrics] == [Goal.MINIMIZE] * task.num_objectives
    low, high = np.array([(p.low, p.high) for p in parameters.values()]).T
    points = [dict(zip(parameters, x.tolist(), strict=True)) for x in np.linspace(low, high, 100)]
    values = np.array([list(experimenter.truth(point).values()) for point in points])
    np.testing.assert_allclose(np.mean(np.abs(values), axis=0), 1, rtol=1e-9)


def test_there_are_21_problems_with_two_objectives() -> None:
    assert len(TWO_OBJECTIVES) == 21


def test_the_search_space_is_the_problems_own() -> None:
    def bounds(text: str) -> list[tuple[float, float]]:
        return [(p.low, p.high) for p in build(Task.parse(text), 0).problem.space.parameters.values()]

    assert bounds("wfg/3/5d/2m") == [(0, 2), (0, 4), (0, 6), (0, 8), (0, 10)]
    assert bounds("zdt/4/5d/2m") == [(0, 1)] + [(-5, 5)] * 4
    assert bounds("dtlz/7/5d/2m") == [(0, 1)] * 5


@pytest.mark.parametrize("text", TWO_OBJECTIVES + SWEEP[: len(SWEEP) // 2])
def test_only_named_problems_have_their_centre_on_the_front(text: str) -> None:
    experimenter = build(Task.parse(text), repeat=0)
    names = list(experimenter.problem.space.parameters)
    low, high = np.array([(p.low, p.high) for p in experimenter.problem.space.parameters.values()]).T

    def values(x: np.ndarray) -> np.ndarray:
        return np.array(list(experimenter.truth(dict(zip(names, x.tolist(), strict=True))).values()))

    at_centre = values((low + high) / 2)

    def lag(x: np.ndarray) -> float:
        """Below 0 where every objective is better than at the centre."""
        return np.max(values(x) - at_centre)

    found = differential_evolution(
        lag,
        list(zip(low, high, strict=True)),
        callback=lambda intermediate_result: intermediate_result.fun < -1e-9,
        maxiter=1000,
        popsize=8,
        polish=False,
        rng=0,
    )
    assert (found.fun < -1e-9) != has_centre_on_front(text)


def zdt1(x: np.ndarray) -> np.ndarray:
    g = 1 + 9 * np.mean(x[1:])
    return np.array([x[0], g * (1 - np.sqrt(x[0] / g))])


def zdt2(x: np.ndarray) -> np.ndarray:
    g = 1 + 9 * np.mean(x[1:])
    return np.array([x[0], g * (1 - (x[0] / g) ** 2)])


def dtlz2(x: np.ndarray) -> np.ndarray:
    g, angle = np.sum((x[1:] - 0.5) ** 2), x[0] * np.pi / 2
    return (1 + g) * np.array([np.cos(angle), np.sin(angle)])


def dtlz7(x: np.ndarray) -> np.ndarray:
    g = 1 + 9 * np.mean(x[1:])
    return np.array([x[0], (1 + g) * (2 - x[0] / (1 + g) * (1 + np.sin(3 * np.pi * x[0])))])


@pytest.mark.parametrize(
    ("text", "textbook"),
    [("zdt/1/5d/2m", zdt1), ("zdt/2/5d/2m", zdt2), ("dtlz/2/5d/2m", dtlz2), ("dtlz/7/5d/2m", dtlz7)],
)
def test_values_are_the_textbook_formulas_normalised(
    text: str, textbook: Callable[[np.ndarray], np.ndarray]
) -> None:
    experimenter = build(Task.parse(text), repeat=0)
    scale = np.mean([np.abs(textbook(x)) for x in np.linspace(np.zeros(5), np.ones(5), 100)], axis=0)
    for x in np.random.default_rng(0).random((10, 5)):
        values = experimenter.truth(dict(zip(experimenter.problem.space, x.tolist(), strict=True)))
        np.testing.assert_allclose(list(values.values()), textbook(x) / scale, rtol=1e-9)
