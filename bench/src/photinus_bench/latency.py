"""Seconds per suggestion, beside the rivals: `python -m photinus_bench.latency`, or `make bench-latency`.

Everyone gets the same trials in the same run on the same cores, each in a process and an environment of its
own. Suggestions are warm: the first on every shape is thrown away. A rival whose environment was not made
(`python -m photinus_bench.envs NAME`) is left out. Beside real parameters in several dimensions there are studies of
other kinds (`latency_kinds.py`), where seconds are those of a point, also of one in a batch.

    python -m photinus_bench.latency --out bench/records/latency.json      # on an idle machine
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from matplotlib.figure import Figure

from photinus_bench import cold, envs, floor
from photinus_bench.design import fixed_design
from photinus_bench.latency_kinds import KINDS, time_suggestions
from photinus_bench.machine import provenance, without_paths
from photinus_bench.pipe import Contestant, ContestantError, TimeLimitError
from photinus_bench.report.drawing import to_svg
from photinus_bench.rivals import RIVALS, UnsupportedProblemError
from photinus_bench.tables import render

RESULTS = Path(__file__).parents[2] / "results"
NUM_TRIALS = (10, 50, 100, 250, 500, 1000, 2000, 10_000)
NUM_PARAMETERS = (5, 20, 50, 200)
NUM_TRIALS_OF_KINDS = (100, 1000, 10_000)
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
SEARCHES = {  # names in `rivals.RIVALS`: who is timed on the other kinds
    OURS: "photinus-default",
    PAPER: "photinus-paper",
    "optuna+greenlet": "optuna-gp",
    "ax": "ax",
    "hebo": "hebo",
    "vizier": "vizier",
}
# google-vizier compiles anew for every suggestion and takes about ten seconds each; the others take minutes beyond.
LARGEST = {"vizier": 100, PAPER: 1000, "optuna": 1000, "optuna+greenlet": 1000, "ax": 1000, "hebo": 500}
FLOOR_FROM = 1000  # below this size overhead, not linear algebra, is what there is to win
IDLE_LOAD = 0.5  # more than this before the run disturbs it
COLD = (10, 20)
MEMORY = ((100, 20), (1000, 50), (10_000, 20))
PANELS_A_ROW = 5
OUTCOMES = {
    TimeLimitError: "too slow",
    ContestantError: "failed",
    UnsupportedProblemError: "unsupported",
}

# What a contestant, by its name, answers about a study of so many trials.
Ask = Callable[[str, int], dict]


@dataclass(frozen=True)
class Settings:
    """What is run, and how long for."""

    num_trials: tuple[int, ...] = NUM_TRIALS
    num_parameters: tuple[int, ...] = NUM_PARAMETERS
    kinds: tuple[str, ...] = tuple(KINDS)
    num_trials_of_kinds: tuple[int, ...] = NUM_TRIALS_OF_KINDS
    contestants: tuple[str, ...] = tuple(MODULES)
    repeats: int = 5
    budget_s: float = 20.0  # no further repeat once these are spent
    limit_s: float = 180.0  # a contestant that takes longer over one cell is stopped
    cores: int = 2
    has_cold: bool = True


@dataclass
class Cell:
    """One row of the table: everyone's answers on one set of trials."""

    setting: str
    num_trials: int
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
    began = provenance("dtlz")  # the one family of the kinds that has a package
    names = present(settings.contestants)
    cells = measure_floats(names, settings) + measure_kinds(names, settings)
    colds = measure_cold() if settings.has_cold and OURS in names else []
    return {
        "settings": asdict(settings),
        "seed": SEED,
        **began,
        "packages": packages_of(cells),
        "cells": [asdict(cell) for cell in cells],
        "cold": cold.as_records(colds),
        "text": describe(cells, colds, names),
        "svg": to_svg(draw(cells, names)),
    }


def present(names: Iterable[str]) -> list[str]:
    """Those of the contestants that can be started."""
    found = []
    for name in names:
        if python_of(name) is None:
            environment = name.partition("+")[0]
            note(f"{name} is left out: no environment; make one with `make bench-env NAME={environment}`")
        else:
            found.append(name)
    return found


def python_of(name: str) -> Path | None:
    return Path(sys.executable) if name in (OURS, PAPER) else envs.python_of(name.partition("+")[0])


def measure_floats(names: list[str], settings: Settings) -> list[Cell]:
    """All sizes at all dimensions."""
    cells: list[Cell] = []
    with stopping() as started:
        for num_parameters in settings.num_parameters:

            def ask(name: str, num_trials: int, num_parameters: int = num_parameters) -> dict:
                if name not in started:
                    command = [str(python_of(name)), "-m", f"photinus_bench.baselines.{MODULES[name]}"]
                    started[name] = Contestant(command, RESULTS / f"{name}.log")
                design = fixed_design(num_trials, num_parameters, SEED)
                request = {
                    "X": design.X.tolist(),
                    "y": design.y.tolist(),
                    "repeats": settings.repeats,
                    "budget_s": settings.budget_s,
                    "seed": SEED,
                }
                return started[name].ask(request, settings.limit_s)

            cells += measure_column(f"{num_parameters} floats", settings.num_trials, names, ask)
    return cells


def measure_kinds(names: list[str], settings: Settings) -> list[Cell]:
    """All sizes of the other kinds."""
    names = [name for name in names if name in SEARCHES]
    cells: list[Cell] = []
    with stopping() as started:
        for kind in settings.kinds:

            def ask(name: str, num_trials: int, kind: str = kind) -> dict:
                if name not in started:
                    log = RESULTS / f"{name}-searching.log"
                    started[name] = RIVALS[SEARCHES[name]].search(log, settings.limit_s)
                return time_suggestions(
                    started[name],
                    KINDS[kind],
                    num_trials,
                    seed=SEED,
                    repeats=settings.repeats,
                    budget_s=settings.budget_s,
                )

            cells += measure_column(kind, settings.num_trials_of_kinds, names, ask)
    return cells


@contextmanager
def stopping() -> Iterator[dict]:
    """Processes by name, which end here."""
    started: dict = {}
    try:
        yield started
    finally:
        for process in started.values():
            process.stop()


def measure_column(setting: str, sizes: tuple[int, ...], names: list[str], ask: Ask) -> list[Cell]:
    """All sizes of one setting, growing; whoever ran out of time is not asked for more trials."""
    cells, tired = [], set()
    for num_trials in sorted(sizes):
        cell = Cell(setting, num_trials)
        for name in names:
            if name in tired or num_trials > LARGEST.get(name, num_trials):
                continue
            note(f"{setting}, n = {num_trials}: {name}")
            try:
                cell.answers[name] = ask(name, num_trials)
            except (TimeLimitError, ContestantError, UnsupportedProblemError) as error:
                note(f"    {error}")
                outcome = OUTCOMES[type(error)]
                cell.answers[name] = {"outcome": outcome, "error": without_paths(str(error))}
                tired.add(name)
        evaluations = cell.answers.get(PAPER, {}).get("num_loss_evaluations")
        if evaluations and num_trials >= FLOOR_FROM:
            cell.floor_s = floor.measure(num_trials, round(statistics.median(evaluations)), SEED).total_s
        cells.append(cell)
    return cells


def packages_of(cells: list[Cell]) -> dict[str, dict[str, str]]:
    """Versions of what everyone works with, out of their answers: once is enough."""
    found = {}
    for cell in cells:
        for name, answer in cell.answers.items():
            found |= {name: answer.pop("packages")} if "packages" in answer else {}
    return found


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
        "setting",
        "n",
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
        rows.append([cell.setting, cell.num_trials, *parts, cell.shown(OURS), *others, cell.floor_s, *ratios])
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


def draw(cells: Sequence[Cell], names: Sequence[str]) -> Figure:
    """A panel for every setting, a curve for everyone."""
    settings = list(dict.fromkeys(cell.setting for cell in cells))
    num_columns = min(len(settings), PANELS_A_ROW)
    num_rows = -(-len(settings) // num_columns)
    figure = Figure(figsize=(4.0 * num_columns, 3.6 * num_rows), layout="constrained")
    panels = figure.subplots(num_rows, num_columns, sharex=True, sharey=True, squeeze=False)
    for axes, setting in zip(panels.flat, settings, strict=False):
        for i, name in enumerate(names):
            points = [
                (cell.num_trials, seconds)
                for cell in cells
                if cell.setting == setting and (seconds := cell.seconds(name)) is not None
            ]
            if points:
                axes.loglog(*zip(*points, strict=True), color=f"C{i}", marker="o", markersize=3, label=name)
        axes.set(title=setting, xlabel="completed trials")
        axes.grid(visible=True, alpha=0.3)
    for axes in panels.flat[len(settings) :]:
        axes.set_visible(False)
    for axes in panels[:, 0]:
        axes.set_ylabel("seconds per point")
    panels[0, 0].legend(frameon=False, fontsize=8)
    return figure


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
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=defaults.kinds, help="of other studies")
    parser.add_argument("--trials-of-kinds", type=int, nargs="+", default=defaults.num_trials_of_kinds)
    parser.add_argument("--contestants", nargs="+", choices=MODULES, default=defaults.contestants)
    parser.add_argument("--repeats", type=int, default=defaults.repeats)
    parser.add_argument("--cores", type=int, default=defaults.cores, help="how many cores everyone may use")
    parser.add_argument("--no-cold", action="store_true", help="leave out the fresh processes")
    parser.add_argument("--out", type=Path, help="keep the figures there, too")
    arguments = parser.parse_args()
    record = run(
        Settings(
            num_trials=tuple(arguments.trials),
            num_parameters=tuple(arguments.parameters),
            kinds=tuple(arguments.kinds),
            num_trials_of_kinds=tuple(arguments.trials_of_kinds),
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
    text = record.pop("text")
    if arguments.out:
        arguments.out.write_text(json.dumps(record) + "\n")
    print(f"seconds per point, warm, median; {record['machine']['cores']} cores")
    print(text)
    note(f"curves in {picture.name}, raw numbers in {path.name}, under bench/results")


if __name__ == "__main__":
    main()
