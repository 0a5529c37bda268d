"""A problem of the benchmark: what is searched, what is true of a point, and what an algorithm is told of it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from photinus.problem import Problem
from photinus.space import Value
from photinus.trial import Measurement

Params = Mapping[str, Value]
Truth = Callable[[Params], dict[str, float]]
Observe = Callable[[dict[str, float], np.random.Generator], Measurement]


def tell_truth(values: dict[str, float], rng: np.random.Generator) -> Measurement:
    """Completed with the values themselves; infeasible where one of them is NaN."""
    if any(math.isnan(value) for value in values.values()):
        return Measurement.infeasible("outside the feasible region")
    return Measurement.completed(values)


@dataclass(frozen=True, kw_only=True)
class Experimenter:
    """A search space and two pure functions: what is scored, and what the algorithm is told.

    It holds closures, so it does not travel between processes: send the task and build it there.
    """

    name: str
    problem: Problem
    truth: Truth  # noiseless values by objective; NaN where the point is infeasible
    observe: Observe = tell_truth  # of true values; draws noise from the generator and from nowhere else
    optimum: dict[str, float] | None = None  # best truth of a single objective, where it is known
    optimum_at: dict[str, Value] | None = None  # one point that reaches it, where that is known

    def evaluate(self, params: Params, rng: np.random.Generator) -> Measurement:
        """One measurement. The same point with a generator in the same state gives the same."""
        return self.observe(self.truth(params), rng)
