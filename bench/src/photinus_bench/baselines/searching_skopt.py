"""Scikit-Optimize's Optimizer with its defaults: a Gaussian process and `gp_hedge`.

The first point is told like any other, and is one of the ten before the model begins. Batches are its own
`ask(n_points)`, a constant liar, but it knows no pending points: in a first batch the others do not see the first.
It has no infeasible points and is told the worst value so far for them.
"""

import warnings
from typing import Any

from skopt import Optimizer
from skopt.space import Categorical, Dimension, Integer, Real

from photinus_bench.searching import Params, Start, Values, serve
from photinus_bench.searching_space import Choice, Goals, Number, Space, WorstLoss


class SkoptRival:
    """Handles are points in its own form."""

    def __init__(self, start: Start) -> None:
        self._space = Space(start.problem)
        self._goals = Goals(start.problem)
        self._goals.require_single("Scikit-Optimize")
        self._worst = WorstLoss()
        self._optimizer = Optimizer([dimension(p) for p in self._space.parameters], random_state=start.seed)

    def attach(self, params: Params) -> list[Any]:
        return self._space.encode_list(params)

    def ask(self, count: int) -> list[tuple[list[Any], Params]]:
        points = self._optimizer.ask(n_points=count) if count > 1 else [self._optimizer.ask()]
        return [(point, self._space.decode_list(point)) for point in points]

    def tell(self, results: list[tuple[list[Any], Params, Values | None]]) -> None:
        losses = [(point, values and self._goals.losses(values)) for point, _, values in results]
        filled = self._worst.fill(losses)
        if filled:
            self._optimizer.tell([point for point, _ in filled], [loss for _, [loss] in filled])


def dimension(parameter: Number | Choice) -> Dimension:
    if isinstance(parameter, Choice):
        return Categorical(range(len(parameter.values)), name=parameter.name)
    prior = "log-uniform" if parameter.is_log else "uniform"
    kind = Integer if parameter.is_whole else Real
    return kind(parameter.low, parameter.high, prior=prior, name=parameter.name)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(SkoptRival, packages=("scikit-optimize", "scikit-learn", "numpy", "scipy"))
