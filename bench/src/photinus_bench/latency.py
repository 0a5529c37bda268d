"""Seconds per suggestion, beside the rivals: `python -m photinus_bench.latency`, or `make bench-latency`.

Everyone gets the same trials in the same run on the same cores, each in a process and an environment of its
own. Suggestions are warm: the first on every shape is thrown away. A rival whose environment was not made
(`python -m photinus_bench.envs NAME`) is left out.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from matplotlib.figure import Figure

from photinus_bench import cold, envs, floor
from photinus_bench.design import fixed_design
from photinus_bench.pipe import Contestant, ContestantError, TimeLimitError
from photinus_bench.report.drawing import to_svg
from photinus_bench.tables import render

RESULTS = Path(__file__).parents[2] / "results"
NUM_TRIALS = (10, 50, 100, 250, 500, 1000, 2000, 10_000)
NUM_PARAMETERS = (5, 20, 50, 200)
SEED = 1
OURS, PAPER = "default", "paper"
MODULES = {
    OURS: "photinus_default",
    PAPER: "photinus_paper",
    "optuna": "optuna_plain",
    "optuna+greenlet": "optuna_gp",
    "ax": "ax_client",
    "hebo": "hebo_plain",
    "vizier": "google_vizier",
}
# google-vizier compiles anew for every suggestion and takes about ten seconds each; the others take minutes beyond.
LARGEST = {"vizier": 100, PAPER: 1000, "optuna": 1000, "optuna+greenlet": 1000, "ax": 1000, "hebo": 500}
FLOOR_FROM = 1000  # below this size overhead, not linear algebra, is what there is to win
IDLE_LOAD = 0.5  # more than this before the run disturbs it
COLD = (10, 20)
MEMORY = ((100, 20), (1000, 50), (10_000, 20))


@dataclass(frozen=True)
class Settings:
    """What is run, and how long for."""

    num_trials: tuple[int, ...] = NUM_TRIALS
    num_parameters: tuple[int, ...] = NUM_PARAMETERS
    contestants: tuple[str, ...] = tuple(MODULES)
    repeats: int = 5
    budget_s: float = 20.0  # no further repeat once these are spent
    limit_s: float = 180.0  # a contestant that takes longer over one cell is stopped
    cores: int = 2
    has_cold: bool = True


@dataclass
class Cell:
    """One row of the table: everyone's answers on one set of trials."""

    num_trials: int
    num_parameters: int
    answers: dict[str, dict] = field(default_factory=dict)
    floor_s: float | None = None

    def seconds(self, name: str, part: str = "seconds") -> float | None:
        values = self.answers.get(name, {}).get(part)
        return statistics.median(values) if values else None

    def shown(self, name: str) -> float | str | None:
        return self.answers.get(name, {}).get("outcome") or self.seconds(name)


def run(settings: Settings) -> dict:
    """Measure everything and return the record that is printed and stored."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: settings.cores])
    RESULTS.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    if load > IDLE_LOAD:
        note(f"warning: the machine is busy (load {load:.1f}); these timings will mean little")
    contestants = start(settings.contestants)
    try:
        cells = [
            cell
            for num_parameters in settings.num_parameters
            for cell in measure_column(contestants, num_parameters, settings)
        ]
    finally:
        for contestant in contestants.values():
            contestant.stop()
    colds = measure_cold() if settings.has_cold and OURS in contestants else []
    return {
        "settings": asdict(settings),
        "seed": SEED,
        "machine": machine() | {"load_before": load},
        "cells": [asdict(cell) for cell in cells],
        "cold": cold.as_records(colds),
        "text": describe(cells, colds, list(contestants)),
        "svg": draw(cells, list(contestants)),
    }


def start(names: tuple[str, ...]) -> dict[str, Contestant]:
    contestants = {}
    for name in names:
        environment = name.partition("+")[0]
        python = Path(sys.executable) if name in (OURS, PAPER) else envs.python_of(environment)
        if python is None:
            note(f"{name} is left out: no environment; make one with `make bench-env NAME={environment}`")
            continue
        command = [str(python), "-m", f"photinus_bench.baselines.{MODULES[name]}"]
        contestants[name] = Contestant(command, RESULTS / f"{name}.log")
    return contestants


def measure_column(contestants: dict[str, Contestant], num_parameters: int, settings: Settings) -> list[Cell]:
    """All sizes at one dimension, growing; whoever ran out of time is not asked for more trials."""
    cells, tired = [], set()
    for num_trials in sorted(settings.num_trials):
        cell = Cell(num_trials, num_parameters)
        design = fixed_design(num_trials, num_parameters, SEED)
        request = {
            "X": design.X.tolist(),
            "y": design.y.tolist(),
            "repeats": settings.repeats,
            "budget_s": settings.budget_s,
            "seed": SEED,
        }
        for name, contestant in contestants.items():
            if name in tired or num_trials > LARGEST.get(name, num_trials):
                continue
            note(f"n = {num_trials}, D = {num_parameters}: {name}")
            try:
                cell.answers[name] = contestant.ask(request, settings.limit_s)
            except (TimeLimitError, ContestantError) as error:
                note(f"    {error}")
                outcome = "too slow" if isinstance(error, TimeLimitError) else "failed"
                cell.answers[name] = {"outcome": outcome, "error": str(error)}
                tired.add(name)
        evaluations = cell.answers.get(PAPER, {}).get("num_loss_evaluations")
        if evaluations and num_trials >= FLOOR_FROM:
            cell.floor_s = floor.measure(num_trials, round(statistics.median(evaluations)), SEED).total_s
        cells.append(cell)
    return cells


def measure_cold() -> list[cold.Cold]:
    note("first suggestion of fresh processes")
    colds = cold.measure(*COLD, SEED, num_filled=3, algorithm=OURS)
    for size in MEMORY:
        colds += cold.measure(*size, SEED, num_filled=0, algorithm=OURS)
    return colds


def describe(cells: list[Cell], colds: list[cold.Cold], names: list[str]) -> str:
    """The table and the lines under it."""
    rivals = [name for name in names if name != OURS]
    head = [
        "n",
        "D",
        "fit",
        "search",
        OURS,
        *rivals,
        "floor",
        *(f"{OURS}/{r}" for r in rivals),
        f"{PAPER}/floor",
    ]
    rows = []
    for cell in cells:
        ours = cell.seconds(OURS)
        parts = cell.seconds(OURS, "fit"), cell.seconds(OURS, "search")
        others = [cell.shown(name) for name in rivals]
        ratios = [ratio(ours, cell.seconds(name)) for name in rivals]
        ratios.append(ratio(cell.seconds(PAPER), cell.floor_s))
        rows.append(
            [cell.num_trials, cell.num_parameters, *parts, cell.shown(OURS), *others, cell.floor_s, *ratios]
        )
    lines = [render(head, rows), ""]
    for one in colds:
        lines.append(
            f"first suggestion of a process, n = {one.num_trials}, D = {one.num_parameters},"
            f" {one.cache} cache: {one.total_s:.2f} s from its start,"
            f" {one.beyond_jax_s:.2f} s beyond `import jax`, peak memory {one.peak_mb:.0f} MB"
        )
    for name in names:
        peaks = [cell.answers[name]["peak_mb"] for cell in cells if "peak_mb" in cell.answers.get(name, {})]
        if peaks:
            lines.append(f"peak memory of {name} over the whole table: {max(peaks):.0f} MB")
    return "\n".join(lines)


def draw(cells: list[Cell], names: list[str]) -> str:
    """A panel for every dimension, a curve for everyone; SVG."""
    dimensions = sorted({cell.num_parameters for cell in cells})
    figure = Figure(figsize=(4.0 * len(dimensions), 3.6), layout="constrained")
    panels = figure.subplots(1, len(dimensions), sharey=True, squeeze=False)[0]
    for axes, dimension in zip(panels, dimensions, strict=True):
        for name in names:
            points = [
                (cell.num_trials, seconds)
                for cell in cells
                if cell.num_parameters == dimension and (seconds := cell.seconds(name)) is not None
            ]
            if points:
                axes.loglog(*zip(*points, strict=True), marker="o", markersize=3, label=name)
        axes.set(title=f"{dimension} parameters", xlabel="completed trials")
        axes.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("seconds per suggestion")
    panels[0].legend(frameon=False, fontsize=8)
    return to_svg(figure)


def ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a / b


def machine() -> dict:
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "processor": model[0].partition(":")[2].strip() if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("photinus", "jax", "jaxlib", "numpy", "scipy")},
    }


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    defaults = Settings()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, nargs="+", default=defaults.num_trials)
    parser.add_argument("--parameters", type=int, nargs="+", default=defaults.num_parameters)
    parser.add_argument("--contestants", nargs="+", choices=MODULES, default=defaults.contestants)
    parser.add_argument("--repeats", type=int, default=defaults.repeats)
    parser.add_argument("--cores", type=int, default=defaults.cores, help="how many cores everyone may use")
    parser.add_argument("--no-cold", action="store_true", help="leave out the fresh processes")
    arguments = parser.parse_args()
    record = run(
        Settings(
            num_trials=tuple(arguments.trials),
            num_parameters=tuple(arguments.parameters),
            contestants=tuple(arguments.contestants),
            repeats=arguments.repeats,
            cores=arguments.cores,
            has_cold=not arguments.no_cold,
        )
    )
    path = RESULTS / f"latency-{time.strftime('%Y%m%d-%H%M%S')}.json"
    picture = path.with_suffix(".svg")
    picture.write_text(record.pop("svg"))
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"seconds per suggestion, warm, median; {record['machine']['cores']} cores")
    print(record["text"])
    note(f"curves in {picture.name}, raw numbers in {path.name}, under bench/results")


if __name__ == "__main__":
    main()
