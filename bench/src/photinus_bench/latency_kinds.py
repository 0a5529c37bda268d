"""Studies beyond one objective of real parameters, one point at a time, to time suggestions of: all by ask and tell.

Trials come from `histories.py`: every contestant is brought the same ones, and asked for the next point.
"""

import functools
import time
from dataclasses import dataclass
from typing import Any

from photinus.problem import Problem
from photinus.trial import Trial
from photinus_bench.histories import beyond_a_plane, history
from photinus_bench.rivals import Search
from photinus_bench.tasks import Task, build

NUM_RANDOM = 20  # first trials of a history


@dataclass(frozen=True)
class Kind:
    """What is special about the study."""

    task: str
    batch_size: int = 1
    infeasible_share: float = 0.0


KINDS = {
    "20 integers": Kind("rastrigin/20d/integer16"),
    "10 floats, 10 x 10 categories": Kind("rastrigin/20d/categorical50"),
    "20 x 10 categories": Kind("rastrigin/20d/categorical100"),
    "20 floats, 2 objectives": Kind("dtlz/2/20d/2m"),
    "20 floats, batches of 10": Kind("rastrigin/20d", batch_size=10),
    "20 floats, 30 % infeasible": Kind("rastrigin/20d", infeasible_share=0.3),
}


@functools.lru_cache(maxsize=1)
def measured(kind: Kind, num_trials: int, seed: int) -> tuple[Problem, list[Trial]]:
    """The problem and its trials."""
    experimenter = build(Task.parse(kind.task), seed)
    trials = history(experimenter, num_trials, min(NUM_RANDOM, num_trials), seed)
    if kind.infeasible_share:
        trials = beyond_a_plane(experimenter.problem, trials, kind.infeasible_share, seed)
    return experimenter.problem, trials


def time_suggestions(
    search: Search, kind: Kind, num_trials: int, *, seed: int, repeats: int, budget_s: float
) -> dict[str, Any]:
    """Seconds per point, as `pipe.repeat` does: after a warm-up, some times, or fewer once the budget is spent."""
    problem, trials = measured(kind, num_trials, seed)
    params, values = [trial.params for trial in trials], [trial.values for trial in trials]
    seconds: list[float] = []
    began = time.perf_counter()
    for repeat in range(repeats + 1):
        packages = search.start(
            problem,
            seed=seed + repeat,
            first=None,
            batch_size=kind.batch_size,
            num_trials=num_trials + kind.batch_size,
        )
        search.bring(params, values)
        answer = search.ask(kind.batch_size)
        if repeat == 0:
            began = time.perf_counter()
            continue
        seconds.append(answer.seconds / len(answer.points))
        if time.perf_counter() - began > budget_s:
            break
    return {"seconds": seconds, "packages": packages, "peak_mb": answer.peak_mb}
