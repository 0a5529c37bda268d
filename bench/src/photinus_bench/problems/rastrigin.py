"""Rastrigin's function on [-5, 5]^D, without the distortions that BBOB adds: the paper's latency study uses it."""

import numpy as np

from photinus.problem import Problem
from photinus.space import Float
from photinus_bench.problem import Experimenter, Params

LOW, HIGH = -5.0, 5.0


def rastrigin(dimension: int) -> Experimenter:
    """Minimum 0 at the origin."""
    names = [f"x{i}" for i in range(dimension)]

    def truth(params: Params) -> dict[str, float]:
        x = np.array([params[name] for name in names])
        return {"value": float(np.sum(x**2 + 10 * (1 - np.cos(2 * np.pi * x))))}

    return Experimenter(
        name=f"rastrigin/{dimension}d",
        problem=Problem.define({name: Float(LOW, HIGH) for name in names}),
        truth=truth,
        optimum={"value": 0.0},
        optimum_at=dict.fromkeys(names, 0.0),
    )
