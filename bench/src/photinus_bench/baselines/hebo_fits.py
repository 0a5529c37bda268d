"""How often HEBO cannot predict from its model, by kind of space; it goes on with random predictions and prints so.

`PYTHONPATH=bench/src bench/envs/hebo/.venv/bin/python -m photinus_bench.baselines.hebo_fits`, some minutes.
"""

import contextlib
import io
import random
import warnings

import numpy as np
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

NUMBERS = {"type": "num", "lb": -5.0, "ub": 5.0}
SPACES = {  # numbers, categories, values of a category
    "20 numbers": (20, 0, 0),
    "10 numbers, 10 x 10 categories": (10, 10, 10),
    "25 x 5 categories": (0, 25, 5),
    "24 x 2 categories": (0, 24, 2),
}
NUM_TRIALS = (30, 60)
NUM_SEEDS = 3
SAID = "output random predictions"  # what it prints then


def has_failed(space: str, num_trials: int, seed: int) -> bool:
    """Whether one suggestion after random trials of a sum of squares and of categories' effects rests on chance."""
    for set_seed in (random.seed, np.random.seed, torch.manual_seed):
        set_seed(seed)
    rng = np.random.default_rng(seed)
    num_numbers, num_categories, num_values = SPACES[space]
    effects = rng.normal(size=(num_categories, num_values))
    names = [str(value) for value in range(num_values)]
    parameters = [{"name": f"x{i}", **NUMBERS} for i in range(num_numbers)]
    parameters += [{"name": f"c{i}", "type": "cat", "categories": names} for i in range(num_categories)]
    optimizer = HEBO(DesignSpace().parse(parameters), scramble_seed=seed)
    rows = optimizer.space.sample(num_trials)
    numbers = rows[[f"x{i}" for i in range(num_numbers)]].to_numpy(float)
    losses = np.sum(numbers**2, axis=1)
    for i in range(num_categories):
        losses = losses + effects[i, rows[f"c{i}"].astype(int)]
    optimizer.observe(rows, losses[:, None])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        optimizer.suggest()
    return SAID in printed.getvalue()


def main() -> None:
    warnings.simplefilter("ignore")
    for space in SPACES:
        outcomes = [has_failed(space, n, seed) for n in NUM_TRIALS for seed in range(NUM_SEEDS)]
        print(f"{space:32} random predictions in {sum(outcomes)} of {len(outcomes)} suggestions", flush=True)


if __name__ == "__main__":
    main()
