"""Questions that several sections put to the results."""

from collections.abc import Callable, Sequence

import numpy as np

from photinus_bench import suite
from photinus_bench.analysis.comparison import Comparison
from photinus_bench.analysis.convergence import Band, band
from photinus_bench.report import drawing, findings
from photinus_bench.report.results import Cell, Results
from photinus_bench.report.section import Section, comparison_table, grid_table, range_text
from photinus_bench.rivals import RIVALS
from photinus_bench.tasks import NAMES

BASELINE = "photinus-paper"
DEFAULT = "photinus-default"
WITH_MODELS = tuple(
    rival.name for rival in RIVALS.values() if rival.has_model and not suite.is_ours(rival.name)
)
# suites/bbob-20d.toml, and those with the same functions in other settings
RIVALS_ON = "rivals that model on at most eight of the 24"
SINGLE_FUNCTIONS = ("f01", "f03", "f08", "f12", "f15", "f17", "f21", "f24")


def bbob(dimension: int, variant: str = "", names: Sequence[str] = NAMES["bbob"]) -> list[str]:
    """Tasks of the BBOB functions."""
    return ["/".join(filter(None, [f"bbob/{name}/{dimension}d", variant])) for name in names]


def rivals_of(
    results: Results,
    tasks: Sequence[str],
    batch_size: int = 1,
    *,
    keep: Callable[[str], bool] = lambda _: True,
) -> list[str]:
    """Who can be compared with the baseline on any of the tasks; ablations have sections of their own."""
    names = results.algorithms(tasks, batch_size)
    return [name for name in names if name != BASELINE and "/" not in name and keep(name)]


def compare_all(
    results: Results, tasks: Sequence[str], algorithms: Sequence[str], **settings: int | bool
) -> dict[str, Comparison]:
    """Comparisons with the baseline, of those that share a task with it."""
    found = {name: results.compare(tasks, BASELINE, name, **settings) for name in algorithms}
    return {name: comparison for name, comparison in found.items() if comparison is not None}


def table_of(
    results: Results, tasks: Sequence[str], comparisons: dict[str, Comparison], **settings: int | bool
) -> str:
    """Comparisons with the baseline on these tasks as a table, beside what google-vizier's comparator says."""
    others = {name: results.compare_like_vizier(tasks, BASELINE, name, **settings) for name in comparisons}
    return comparison_table(comparisons, {name: c for name, c in others.items() if c is not None})


def add_violins(
    section: Section,
    results: Results,
    tasks: Sequence[str],
    name: str,
    caption: str,
    *,
    algorithms: Sequence[str] | None = None,
    **settings: int | bool,
) -> None:
    """Violins and their table, if anybody can be compared."""
    batch_size = int(settings.get("batch_size", 1))
    chosen = rivals_of(results, tasks, batch_size) if algorithms is None else algorithms
    comparisons = compare_all(results, tasks, chosen, **settings)
    if not comparisons:
        return
    section.add_figure(name, caption, drawing.violins(comparisons, BASELINE))
    section.found = findings.against(comparisons)
    section.text.append(table_of(results, tasks, comparisons, **settings))


def median_lines(
    results: Results, tasks_by_setting: dict[float, tuple[list[str], int]], *, at_nadir: bool = False
) -> dict[str, dict[float, Comparison]]:
    """Comparisons with the baseline by algorithm and setting, from (tasks, batch size) by setting."""
    rows: dict[str, dict[float, Comparison]] = {}
    for setting, (tasks, batch_size) in tasks_by_setting.items():
        rivals = rivals_of(results, tasks, batch_size)
        found = compare_all(results, tasks, rivals, batch_size=batch_size, at_nadir=at_nadir)
        for name, comparison in found.items():
            rows.setdefault(name, {})[setting] = comparison
    return rows


def lines_table(rows: dict[str, dict[float, Comparison]], what: str) -> str:
    """The same as a table; behind a figure are the numbers of problems and of repeats."""
    settings = sorted({setting for points in rows.values() for setting in points})
    named = {name: {f"{what} {s:g}": c for s, c in points.items()} for name, points in rows.items()}
    return grid_table(named, [f"{what} {s:g}" for s in settings], "algorithm")


def gap_panel(
    results: Results, task: str, algorithms: Sequence[str], batch_size: int = 1
) -> dict[str, tuple[np.ndarray, Band]]:
    """Median and 40-60 percentiles of the best so far, by algorithm."""
    panel = {}
    for name in algorithms:
        curves = results.curves(Cell(task, name, batch_size, 100))
        if curves:
            table = np.array(list(curves.values()))
            panel[name] = (np.arange(1, table.shape[1] + 1), band(table))
    return panel


def counts_text(results: Results, tasks: Sequence[str], algorithms: Sequence[str]) -> str:
    """Repeats behind the curves of those that are drawn, for a caption; 0 where some problem was not run."""
    counts = {name: [len(results.runs(Cell(task, name, 1, 100))) for task in tasks] for name in algorithms}
    return ", ".join(f"{name} {range_text(each)}" for name, each in counts.items() if any(each))
