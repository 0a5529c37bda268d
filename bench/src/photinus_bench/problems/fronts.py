"""Nadir and ideal points of the true Pareto fronts of DTLZ, WFG and ZDT, from the formulas of their papers.

DTLZ 5 and 6 and WFG 3 are taken as the curves that their authors meant. With four objectives and more, points beside
the curve are optimal as well, so that a hypervolume there can exceed the curve's.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from photinus_bench.analysis.hypervolume import Box
from photinus_bench.problems.multi_objective import scale_of


def front_extent(family: str, number: int, num_objectives: int) -> tuple[np.ndarray, np.ndarray]:
    """Worst and best of each objective over the front, before normalisation."""
    nadir = _NADIRS[family](number, num_objectives)
    ideal = np.zeros(num_objectives)
    if (family, number) == ("dtlz", 7):
        ideal[-1] = 2 * num_objectives - (num_objectives - 1) * _wave_top()[1]
    elif (family, number) == ("zdt", 3):
        ideal[1] = _zdt3_ends()[1]
    elif (family, number) == ("zdt", 6):
        ideal[0] = _zdt6_start()
    return nadir, ideal


def nadir_box(family: str, number: int, dimension: int, num_objectives: int) -> Box:
    """From nadir to ideal in the units of the normalised problem; all objectives are minimised."""
    scale = scale_of(family, number, dimension, num_objectives)
    nadir, ideal = front_extent(family, number, num_objectives)
    return Box(nadir / scale, ideal / scale)


def _dtlz(number: int, num_objectives: int) -> np.ndarray:
    if number == 1:
        return np.full(num_objectives, 0.5)
    if number in (5, 6):
        # All angles but the first are 45 degrees: cos and sin of them multiply up.
        powers = [num_objectives - 2, *range(num_objectives - 2, -1, -1)]
        return np.sqrt(0.5) ** np.array(powers[:num_objectives], float)
    if number == 7:
        return np.array([*[_wave_top()[0]] * (num_objectives - 1), 2.0 * num_objectives])
    return np.ones(num_objectives)


def _wfg(number: int, num_objectives: int) -> np.ndarray:
    objective = np.arange(1, num_objectives + 1)
    largest = 2.0 * objective
    if number == 3:
        return largest * 0.5 ** np.minimum(num_objectives - objective, num_objectives - 2)
    return largest


def _zdt(number: int, num_objectives: int) -> np.ndarray:
    if number == 3:
        return np.array([_zdt3_ends()[0], 1.0])
    if number == 6:
        return np.array([1.0, 1.0 - _zdt6_start() ** 2])
    return np.ones(num_objectives)


def _wave_top() -> tuple[float, float]:
    """Where x (1 + sin 3πx) is largest on [0, 1], and how large: the end of DTLZ 7's front."""
    top = minimize_scalar(
        lambda x: -x * (1 + np.sin(3 * np.pi * x)), bounds=(0.75, 1), options={"xatol": 1e-12}
    )
    return float(top.x), float(-top.fun)


def _zdt3_ends() -> tuple[float, float]:
    """Where the last piece of ZDT 3's front ends, 1 - √x - x sin 10πx being lowest there, and how low."""
    low = minimize_scalar(
        lambda x: 1 - np.sqrt(x) - x * np.sin(10 * np.pi * x), bounds=(0.8, 0.9), options={"xatol": 1e-12}
    )
    return float(low.x), float(low.fun)


def _zdt6_start() -> float:
    """The smallest first objective of ZDT 6: 1 - exp(-4x) sin⁶ 6πx, at its first wave."""
    low = minimize_scalar(
        lambda x: 1 - np.exp(-4 * x) * np.sin(6 * np.pi * x) ** 6, bounds=(0, 0.16), options={"xatol": 1e-12}
    )
    return float(low.fun)


_NADIRS = {"dtlz": _dtlz, "wfg": _wfg, "zdt": _zdt}
