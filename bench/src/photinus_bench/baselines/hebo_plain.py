"""HEBO: one suggestion of its default optimizer, which has observed the trials already."""

import random
import time
import warnings

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

from photinus_bench.pipe import Timing, serve

LOW, HIGH = -5.0, 5.0


def time_one(X: list[list[float]], y: list[float], seed: int) -> Timing:
    for plant in (random.seed, np.random.seed, torch.manual_seed):
        plant(seed)
    names = [f"x{index}" for index in range(len(X[0]))]
    space = DesignSpace().parse([{"name": name, "type": "num", "lb": LOW, "ub": HIGH} for name in names])
    # Without a model up to rand_sample trials, which would be D + 1: a suggestion with one is what is timed.
    optimizer = HEBO(space, rand_sample=2, scramble_seed=seed)
    optimizer.observe(pd.DataFrame(X, columns=names), np.array(y)[:, None])
    start = time.perf_counter()
    rows = optimizer.suggest(n_suggestions=1)
    seconds = time.perf_counter() - start
    if len(rows) != 1:
        raise RuntimeError(f"`len(rows) == 1` must hold, got {len(rows)}")
    return {"seconds": seconds}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(time_one, packages=("HEBO", "gpytorch", "torch"))
