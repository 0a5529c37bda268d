"""Photinus with `algorithm="paper"`, or another: one suggestion of a study, and its fit and search apart."""

import threading
import time

import photinus as ph
from photinus_bench.pipe import Timing, serve

LOW, HIGH = -5.0, 5.0


def new_study(X: list[list[float]], y: list[float], seed: int, algorithm: str = "paper") -> ph.Study:
    """A study in memory that has the trials already."""
    names = [f"x{index}" for index in range(len(X[0]))]
    space = {name: ph.Float(LOW, HIGH) for name in names}
    study = ph.create_study(space, objectives="minimize", algorithm=algorithm, seed=seed)
    for point, value in zip(X, y, strict=True):
        study.add_trial(dict(zip(names, point, strict=True)), value)
    return study


def time_photinus(X: list[list[float]], y: list[float], seed: int, algorithm: str = "paper") -> Timing:
    """Time the ask a user would wait for, then the two compiled programs under it on the same trials."""
    study = new_study(X, y, seed, algorithm)
    trials = study.trials
    start = time.perf_counter()
    study.ask()
    seconds = time.perf_counter() - start
    wait_for_compiler()
    return {"seconds": seconds} | time_parts(study.problem, trials, seed, algorithm)


def wait_for_compiler() -> None:
    """Let programs for larger sizes be compiled now, not while the next contestant is timed."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()


def time_parts(problem: ph.Problem, trials: list[ph.Trial], seed: int, algorithm: str) -> Timing:
    """Time fit and search, each the one program that the ask ran."""
    # Not above: the cold measurements import this file to build a study, and time what comes after.
    from photinus.engine.designers import gp_bandit
    from photinus.engine.designers.constants import preset
    from photinus.engine.designers.snapshot import Snapshot
    from photinus.engine.padding import padded_size

    study = Snapshot(problem, trials, seed, preset(algorithm))
    size = padded_size(study.num_rows + 1)
    start = time.perf_counter()
    model = gp_bandit.fit(study, size)
    fitted = time.perf_counter()
    gp_bandit.pick(study, model, size)
    found = time.perf_counter()
    num_evaluations = int(model.fit.num_evaluations)
    return {"fit": fitted - start, "search": found - fitted, "num_loss_evaluations": num_evaluations}


if __name__ == "__main__":
    serve(time_photinus, packages=("photinus", "jax", "jaxlib"))
