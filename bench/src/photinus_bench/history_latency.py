"""Seconds per suggestion against the length of the history, on a CPU or a GPU (the paper's section 5.2).

    python -m photinus_bench.history_latency --device gpu --out history-gpu.json

A study of 8-D Rastrigin with so many random trials is asked for one suggestion, several times, each with another seed;
the first one, which compiles, is thrown away. On a CPU it goes the way a user's does, on a GPU through the programs for
many studies with a single one. Needs nothing but JAX, NumPy and SciPy.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import jax

from photinus.engine import designers, many
from photinus.engine.designers import uniform
from photinus.engine.designers.constants import preset
from photinus.trial import Trial, TrialState
from photinus_bench.machine import provenance
from photinus_bench.tasks import Task, build

TASK = "rastrigin/8d"
LENGTHS = (10, 25, 50, 100, 200, 400, 800)
NUM_TIMINGS = 5
ALGORITHMS = ("paper", "default")


def history(num_trials: int) -> tuple[Any, list[Trial]]:
    """A problem and its random, measured trials."""
    experimenter = build(Task.parse(TASK), 0)
    points = uniform.suggest(experimenter.problem, [], num_trials, 0)
    trials = [
        Trial(
            number=number,
            params=point.params,
            state=TrialState.COMPLETED,
            values=experimenter.truth(point.params),
            created_event=2 * number + 1,
            completed_event=2 * number + 2,
            updated_event=2 * number + 2,
            algorithm="random",
        )
        for number, point in enumerate(points)
    ]
    return experimenter.problem, trials


def measure(algorithm: str, num_trials: int, device: str, num_timings: int = NUM_TIMINGS) -> list[float]:
    """Seconds of single suggestions."""
    problem, trials = history(num_trials)
    seconds = []
    for seed in range(num_timings + 1):
        began = time.perf_counter()
        if device == "cpu":
            designers.suggest(problem, trials, 1, seed, algorithm=algorithm)
        else:
            many.suggest_many([(problem, trials, seed)], preset=preset(algorithm), device=device)
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    gpu = jax.devices("gpu")[0].device_kind if arguments.device == "gpu" else None
    rows: list[dict[str, Any]] = []
    result = {
        "task": TASK,
        "device": arguments.device,
        **provenance(TASK, gpu),
        "jax": jax.__version__,
        "rows": rows,
    }
    for algorithm in arguments.algorithms:
        for num_trials in arguments.lengths:
            seconds = measure(algorithm, num_trials, arguments.device)
            rows.append({"algorithm": algorithm, "num_trials": num_trials, "seconds": seconds})
            # Long histories take long: what is cut short keeps the short ones.
            arguments.out.write_text(json.dumps(result) + "\n")
            median = statistics.median(seconds)
            print(f"{algorithm}, {num_trials:5} trials: {median:.4f} s on the {arguments.device}", flush=True)


if __name__ == "__main__":
    main()
