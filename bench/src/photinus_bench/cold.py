"""The first suggestion of a fresh process, with an empty and with a filled cache of compiled programs.

Run as a module with numbers of trials and parameters, seed and algorithm, this is that process: it prints one line
of JSON about itself.

    PHOTINUS_CACHE_DIR=off python -m photinus_bench.cold 10 20 1 default
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

CACHE_VARIABLE = "PHOTINUS_CACHE_DIR"


@dataclass(frozen=True)
class Cold:
    """What the first suggestion of a process cost."""

    num_trials: int
    num_parameters: int
    cache: str  # "empty" or "filled"
    total_s: float  # from the start of the process
    beyond_jax_s: float  # from the moment that `import jax` was done
    peak_mb: float


def measure(
    num_trials: int, num_parameters: int, seed: int, num_filled: int, algorithm: str = "paper"
) -> list[Cold]:
    """Start processes one after another: the first finds no cache, the others what the first left behind.

    Returns the first and, of the others, the median one.
    """
    with tempfile.TemporaryDirectory() as cache:
        empty = start_process(num_trials, num_parameters, seed, Path(cache), "empty", algorithm)
        filled = [
            start_process(num_trials, num_parameters, seed + 1 + index, Path(cache), "filled", algorithm)
            for index in range(num_filled)
        ]
    filled.sort(key=lambda cold: cold.total_s)
    return [empty, *filled[num_filled // 2 :][:1]]


def start_process(
    num_trials: int, num_parameters: int, seed: int, cache: Path, state: str, algorithm: str
) -> Cold:
    arguments = [str(value) for value in (num_trials, num_parameters, seed, algorithm)]
    started = time.time()
    output = subprocess.run(
        [sys.executable, "-m", "photinus_bench.cold", *arguments],
        env=os.environ | {CACHE_VARIABLE: str(cache)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    report = json.loads(output.splitlines()[-1])
    return Cold(
        num_trials=num_trials,
        num_parameters=num_parameters,
        cache=state,
        total_s=report["suggested_at"] - started,
        beyond_jax_s=report["suggested_at"] - report["jax_imported_at"],
        peak_mb=report["peak_mb"],
    )


def suggest_once(num_trials: int, num_parameters: int, seed: int, algorithm: str) -> dict[str, float]:
    """Import, build the study, ask; the moments at which JAX was there and the suggestion was."""
    import jax  # noqa: F401

    jax_imported_at = time.time()
    import resource

    from photinus_bench.baselines.photinus_paper import new_study
    from photinus_bench.design import fixed_design

    design = fixed_design(num_trials, num_parameters, seed)
    new_study(design.X.tolist(), design.y.tolist(), seed, algorithm).ask()
    suggested_at = time.time()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"jax_imported_at": jax_imported_at, "suggested_at": suggested_at, "peak_mb": peak_mb}


def as_records(colds: list[Cold]) -> list[dict]:
    return [asdict(cold) for cold in colds]


if __name__ == "__main__":
    print(json.dumps(suggest_once(*map(int, sys.argv[1:4]), sys.argv[4])))
