"""DTLZ 1-7, WFG 1-9 and ZDT 1-4 and 6 by the package optproblems, all objectives to be minimised.

As in the paper, each objective is divided by its mean absolute value over 100 evenly spaced points of the search
space's diagonal, and WFG has M - 1 position-related parameters; ZDT 5 is left out, since its dimension is fixed.
The search space is each problem's own box: [0, 1]^D but for WFG ([0, 2i] in coordinate i) and ZDT 4 ([-5, 5] from the
second on). google-vizier's wrappers search [0, 1]^D everywhere, which holds no optimum of a WFG problem.

Nothing is drawn: every repeat has the same function, as in the paper.
"""

import numpy as np
from optproblems import dtlz, wfg, zdt
from optproblems.base import TestProblem

from photinus.problem import Problem
from photinus.space import Float
from photinus_bench.problem import Experimenter, Params

DIAGONAL_POINTS = 100
# Families and numbers of problems whose distance from the front is least at the centre, where studies begin.
CENTRE_ON_FRONT = frozenset([*(("dtlz", number) for number in range(1, 6)), ("zdt", 4)])


def multi_objective(family: str, number: int, dimension: int, num_objectives: int) -> Experimenter:
    """One of the problems, normalised."""
    original = make(family, number, dimension, num_objectives)
    low, high = np.array(original.min_bounds), np.array(original.max_bounds)
    scale = scale_of(family, number, dimension, num_objectives)
    names = [f"x{i}" for i in range(dimension)]
    metrics = [f"f{i + 1}" for i in range(num_objectives)]

    def truth(params: Params) -> dict[str, float]:
        values = original.objective_function([params[name] for name in names]) / scale
        return dict(zip(metrics, values.tolist(), strict=True))

    space = {name: Float(*bounds) for name, *bounds in zip(names, low.tolist(), high.tolist(), strict=True)}
    return Experimenter(
        name=f"{family}/{number}/{dimension}d/{num_objectives}m",
        problem=Problem.define(space, dict.fromkeys(metrics, "minimize")),
        truth=truth,
    )


def has_centre_on_front(task: str) -> bool:
    """Whether the centre of a task's search space is Pareto optimal, so that the first trial is as good as any."""
    family, number, *_ = task.split("/")
    return (family, int(number)) in CENTRE_ON_FRONT


def scale_of(family: str, number: int, dimension: int, num_objectives: int) -> np.ndarray:
    """What each objective is divided by."""
    original = make(family, number, dimension, num_objectives)
    diagonal = np.linspace(original.min_bounds, original.max_bounds, DIAGONAL_POINTS)
    return np.mean([np.abs(original.objective_function(x.tolist())) for x in diagonal], axis=0)


def make(family: str, number: int, dimension: int, num_objectives: int) -> TestProblem:
    """The problem as optproblems has it."""
    match family:
        case "dtlz":
            return getattr(dtlz, f"DTLZ{number}")(num_objectives, dimension)
        case "wfg":
            return getattr(wfg, f"WFG{number}")(num_objectives, dimension, num_objectives - 1)
        case "zdt" if num_objectives == 2:
            return getattr(zdt, f"ZDT{number}")(dimension)
    raise ValueError(f"zdt has two objectives, got {num_objectives}")
