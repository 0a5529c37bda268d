"""google-vizier 0.1.24's default designer (GP-UCB-PE): one suggestion with the trials already completed."""

import time

import jax
from vizier import algorithms as vza
from vizier import pyvizier as vz
from vizier._src.algorithms.designers import gp_ucb_pe

from photinus_bench.pipe import Timing, serve

LOW, HIGH = -5.0, 5.0


def time_one(X: list[list[float]], y: list[float], seed: int) -> Timing:
    problem = vz.ProblemStatement()
    names = [f"x{index}" for index in range(len(X[0]))]
    for name in names:
        problem.search_space.root.add_float_param(name, LOW, HIGH)
    problem.metric_information.append(vz.MetricInformation("value", goal=vz.ObjectiveMetricGoal.MINIMIZE))
    trials = []
    for index, (point, value) in enumerate(zip(X, y, strict=True)):
        trial = vz.Trial(id=index + 1, parameters=dict(zip(names, point, strict=True)))
        trials.append(trial.complete(vz.Measurement({"value": value})))
    designer = gp_ucb_pe.VizierGPUCBPEBandit(problem, rng=jax.random.PRNGKey(seed))
    designer.update(vza.CompletedTrials(trials), vza.ActiveTrials([]))
    start = time.perf_counter()
    designer.suggest(1)
    return {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    # Its own service runs in float64.
    jax.config.update("jax_enable_x64", True)
    serve(time_one, packages=("google-vizier", "jax", "jaxlib"))
