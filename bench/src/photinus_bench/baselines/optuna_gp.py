"""Optuna's GPSampler: one suggestion on a study that has the trials already."""

import time

import optuna
from optuna.distributions import FloatDistribution
from optuna.samplers import GPSampler

from photinus_bench.pipe import Timing, serve

LOW, HIGH = -5.0, 5.0


def time_one(X: list[list[float]], y: list[float], seed: int) -> Timing:
    # A fresh sampler too: it keeps the hyperparameters of its last fit.
    study = optuna.create_study(direction="minimize", sampler=GPSampler(seed=seed))
    names = [f"x{index}" for index in range(len(X[0]))]
    space = {name: FloatDistribution(LOW, HIGH) for name in names}
    study.add_trials(
        optuna.trial.create_trial(
            params=dict(zip(names, point, strict=True)), distributions=dict(space), value=value
        )
        for point, value in zip(X, y, strict=True)
    )
    start = time.perf_counter()
    trial = study.ask()
    for name in names:
        trial.suggest_float(name, LOW, HIGH)
    seconds = time.perf_counter() - start
    if not trial.relative_params:
        raise RuntimeError(f"`len(trials) >= n_startup_trials` must hold, got {len(X)} trials")
    return {"seconds": seconds}


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    serve(time_one, packages=("optuna", "torch", "scipy", "greenlet"))
