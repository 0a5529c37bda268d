"""HEBO, and its GeneralBO where there are several objectives.

The first point is observed like any other, and is one of the D + 1 before the model begins. Batches are its own
`suggest(n)`, but it knows no pending points: in a first batch the others do not see the first. Infeasible points are
observed as infinite, which it leaves out of its data. Its own seed covers the Sobol points alone; the generators of
NumPy, torch and Python that the rest draws from are seeded here.

With many categories its fit can end in a covariance that is not a number (version 0.3.6: the step of its noisy
gradient descent is divided by gradients that vanish). It then prints jitters up to 1 and predicts at random;
`hebo_fits.py` shows where. That is its own behaviour in its default settings, and is recorded as it is.
"""

import random
import warnings
from typing import Any

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.general import GeneralBO
from hebo.optimizers.hebo import HEBO

from photinus_bench.searching import Params, Start, Values, serve
from photinus_bench.searching_space import Choice, Goals, Number, Space


class HeboRival:
    """Handles are points in its own form."""

    def __init__(self, start: Start) -> None:
        self._space = Space(start.problem)
        self._goals = Goals(start.problem)
        for seed in (random.seed, np.random.seed, torch.manual_seed):
            seed(start.seed)
        space = DesignSpace().parse([describe(p) for p in self._space.parameters])
        num_objectives = len(self._goals.names)
        if num_objectives > 1:
            self._optimizer: GeneralBO | HEBO = GeneralBO(space, num_obj=num_objectives)
        else:
            self._optimizer = HEBO(space, scramble_seed=start.seed)

    def attach(self, params: Params) -> Params:
        return {p.name: to_hebo(p, params[p.name]) for p in self._space.parameters}

    def ask(self, count: int) -> list[tuple[Params, Params]]:
        rows = self._optimizer.suggest(n_suggestions=count).to_dict("records")
        return [(row, self._space.decode(row)) for row in rows]

    def tell(self, results: list[tuple[Params, Params, Values | None]]) -> None:
        missing = [np.inf] * len(self._goals.names)
        losses = [missing if values is None else self._goals.losses(values) for _, _, values in results]
        self._optimizer.observe(pd.DataFrame([row for row, _, _ in results]), np.array(losses))


def describe(parameter: Number | Choice) -> dict[str, Any]:
    if isinstance(parameter, Choice):
        categories = [str(index) for index in range(len(parameter.values))]
        return {"name": parameter.name, "type": "cat", "categories": categories}
    kind = (
        ("pow_int" if parameter.is_log else "int")
        if parameter.is_whole
        else ("pow" if parameter.is_log else "num")
    )
    return {"name": parameter.name, "type": kind, "lb": parameter.low, "ub": parameter.high}


def to_hebo(parameter: Number | Choice, value: Any) -> Any:
    seen = parameter.encode(value)
    return str(seen) if isinstance(parameter, Choice) else seen


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(HeboRival, packages=("HEBO", "torch", "gpytorch", "pymoo", "numpy"))
