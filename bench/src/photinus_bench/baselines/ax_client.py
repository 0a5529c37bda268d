"""Ax: one suggestion of its client's default strategy on an experiment that has the trials already."""

import logging
import time

from ax.api.client import Client
from ax.api.configs import RangeParameterConfig

from photinus_bench.pipe import Timing, serve

LOW, HIGH = -5.0, 5.0


def time_one(X: list[list[float]], y: list[float], seed: int) -> Timing:
    client = Client(random_seed=seed)
    names = [f"x{index}" for index in range(len(X[0]))]
    client.configure_experiment(
        parameters=[
            RangeParameterConfig(name=name, bounds=(LOW, HIGH), parameter_type="float") for name in names
        ]
    )
    client.configure_optimization(objective="-value")
    # Its default strategy starts with the centre of the space, whatever trials there are, and times that.
    client.configure_generation_strategy(initialize_with_center=False)
    for point, value in zip(X, y, strict=True):
        index = client.attach_trial(parameters=dict(zip(names, point, strict=True)))
        client.complete_trial(trial_index=index, raw_data={"value": value})
    start = time.perf_counter()
    trials = client.get_next_trials(max_trials=1)
    seconds = time.perf_counter() - start
    if len(trials) != 1:
        raise RuntimeError(f"`len(trials) == 1` must hold, got {len(trials)}")
    return {"seconds": seconds}


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    serve(time_one, packages=("ax-platform", "botorch", "gpytorch", "torch"))
