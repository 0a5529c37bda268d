"""Continuous spaces: violins, dimensions, single functions, noise, Ax with UCB, google-vizier itself."""

from collections.abc import Sequence

import numpy as np

from photinus_bench.report import drawing, findings
from photinus_bench.report.asking import (
    BASELINE,
    DEFAULT,
    RIVALS_ON,
    SINGLE_FUNCTIONS,
    WITH_MODELS,
    add_violins,
    bbob,
    compare_all,
    counts_text,
    gap_panel,
    lines_table,
    median_lines,
    rivals_of,
    table_of,
)
from photinus_bench.report.results import Cell, Results
from photinus_bench.report.section import Section, grid_table, interval_text, median_text, range_text

DIMENSIONS = (5, 10, 20, 40, 80)
VIZIER = (BASELINE, DEFAULT, "vizier", "vizier-gp-bandit")
AX = (BASELINE, DEFAULT, "ax", "ax-ucb")
NO_NOISE = "no noise"
NOISES = {
    NO_NOISE: "",
    "Gaussian noise": "gaussian-noise",
    "uniform noise": "uniform-noise",
    "Cauchy noise": "cauchy-noise",
}


def violins(results: Results) -> Section:
    """The paper's first figure of results."""
    section = Section(
        "Continuous spaces at 20 dimensions",
        "Vizier's performance is relatively competitive.",
        "make bench SUITE=bbob-20d",
    )
    add_violins(
        section,
        results,
        bbob(20),
        "continuous-20d",
        f"Log-efficiency by BBOB function at 20-D, {RIVALS_ON}. Ticks are functions, bars 95 % intervals of the "
        "median.",
    )
    return section


def dimensions(results: Results) -> Section:
    """Medians against the dimension."""
    section = Section(
        "Dimensions 5 to 80",
        "Baselines fall behind, some drastically (Ax), as the dimension grows.",
        "make bench SUITE=dimensions",
    )
    rows = median_lines(results, {float(d): (bbob(d), 1) for d in DIMENSIONS})
    if any(len(points) > 1 for points in rows.values()):
        section.add_figure(
            "dimensions",
            f"Median log-efficiency over the BBOB functions, {RIVALS_ON}, by dimension.",
            drawing.medians(rows, "dimension", BASELINE, is_log=True),
        )
        section.found = findings.by_setting(rows, "dimension", WITH_MODELS)
        section.text.append(lines_table(rows, "D ="))
    return section


def single_functions(results: Results) -> Section:
    """Eight functions as curves."""
    section = Section(
        "Eight functions",
        "HEBO is a strong competitor in many cases in later trials, followed by BayesianOptimization and Ax.",
        "make bench SUITE=bbob-20d",
    )
    tasks = bbob(20, names=SINGLE_FUNCTIONS)
    algorithms = [BASELINE, *rivals_of(results, tasks, keep=lambda name: name != "ax-ucb")]
    panels = {task.split("/")[1]: gap_panel(results, task, algorithms) for task in tasks}
    panels = {title: panel for title, panel in panels.items() if panel}
    if panels:
        section.add_figure(
            "single-functions",
            "Best value so far above the optimum at 20-D: median and 40-60 percentiles. Repeats: "
            + counts_text(results, tasks, algorithms)
            + ".",
            drawing.curves(panels, "trials", "gap to the optimum", is_log=True),
        )
        pairs = {name: results.pairs(tasks, BASELINE, name) for name in algorithms if name != BASELINE}
        section.found = findings.ahead_at_the_end({name: those for name, those in pairs.items() if those})
        section.text += [
            "The gap to the optimum after the last trial: medians over repeats, whose number is in brackets, with 95 % "
            "intervals; of three repeats these are their range. Repeats have other shifts, so rows of few are not "
            "those of many: what was found above is by the repeats that both have.",
            _final_gaps(results, tasks, algorithms),
        ]
    return section


def _final_gaps(results: Results, tasks: Sequence[str], algorithms: Sequence[str]) -> str:
    """A row for everyone, a column for each function."""
    titles = [task.split("/")[1] for task in tasks]
    lines = [f"| algorithm | {' | '.join(titles)} |", "|---|" + "---|" * len(titles)]
    for name in algorithms:
        curves = [results.curves(Cell(task, name, 1, 100)) for task in tasks]
        cells = [median_text([curve[-1] for curve in each.values()], "{:.3g}".format) for each in curves]
        lines.append(f"| {name} ({range_text([len(each) for each in curves])}) | {' | '.join(cells)} |")
    return "\n".join(lines)


def noise(results: Results) -> Section:
    """Every noise model on every function."""
    section = Section(
        "Noisy objectives",
        "With severe noise the picture stays as it is without.",
        "make bench SUITE=noisy",
    )
    by_model = {model: bbob(20, variant) for model, variant in NOISES.items()}
    noisy = [task for model, tasks in by_model.items() if model != NO_NOISE for task in tasks]
    add_violins(
        section,
        results,
        noisy,
        "noisy",
        "Log-efficiency by BBOB function and noise model at 20-D; the noiseless value is scored.",
    )
    rows = {}
    for name, baseline in ((BASELINE, "random"), (DEFAULT, "random"), (DEFAULT, BASELINE)):
        found = {model: results.compare(tasks, baseline, name) for model, tasks in by_model.items()}
        rows[f"{name} against {baseline}"] = {model: c for model, c in found.items() if c is not None}
    if section.text and all(rows.values()):
        section.found = "; ".join(
            f"{pair} {findings.verdicts(points, 'with')}" for pair, points in rows.items()
        )
        section.found += "." if set(rivals_of(results, noisy)) & set(WITH_MODELS) else ". No rival ran."
        section.text += [
            "The models of noise apart, and whether there is anything left to win against random search:",
            grid_table(rows, list(NOISES)),
        ]
    return section


def ax_ucb(results: Results) -> Section:
    """Ax with the acquisition of the paper."""
    section = Section(
        "Ax with the paper's acquisition",
        "Ax's median stays the same with UCB (√β = 1.8) and without Sobol points; the variance is higher.",
        "make bench SUITE=ax-ucb",
    )
    tasks = bbob(20)
    if "ax-ucb" not in results.algorithms(tasks):
        return section
    add_violins(
        section,
        results,
        tasks,
        "ax-ucb",
        "Ax as it comes and with UCB, on eight BBOB functions, and `default`, on 24, at 20-D.",
        algorithms=[name for name in AX if name != BASELINE],
    )
    direct = results.compare(tasks, "ax", "ax-ucb")
    if direct is not None:
        shared = results.on_shared_repeats(tasks, (BASELINE, "ax", "ax-ucb"))
        spread = " and ".join(
            f"{np.std(compared.scores, ddof=1):.2f} for {name}"
            for name in ("ax-ucb", "ax")
            if (compared := shared.compare(tasks, BASELINE, name)) is not None
        )
        section.found = (
            f"ax-ucb against ax {interval_text(direct.interval)}, {direct.verdict.value}, on {len(direct.scores)} "
            f"functions, repeats {range_text(direct.num_repeats)}"
            + (
                f"; the deviation of log-efficiencies over these functions, on the repeats that both have, is {spread} "
                "(not tested)."
                if spread
                else "."
            )
        )
    shown = bbob(20, names=SINGLE_FUNCTIONS)
    panels = {task.split("/")[1]: gap_panel(results, task, AX) for task in shown}
    section.add_figure(
        "ax-ucb-functions",
        "The same on single functions: median and 40-60 percentiles. Repeats: "
        + counts_text(results, shown, AX)
        + ".",
        drawing.curves({t: p for t, p in panels.items() if p}, "trials", "gap to the optimum", is_log=True),
    )
    return section


def google_vizier(results: Results) -> Section:
    """Whether `paper` behaves like its model."""
    section = Section(
        "`paper` and the implementation it follows",
        None,
        "make bench SUITE=bbob-20d",
    )
    tasks = bbob(20)
    comparisons = compare_all(results, tasks, ["vizier", "vizier-gp-bandit"])
    if comparisons:
        section.text += [
            "google-vizier's two algorithms against `paper`, on the functions and repeats that both have. "
            "An interval that holds zero is what was hoped for.",
            table_of(results, tasks, comparisons),
        ]
        apart = [name for name, c in comparisons.items() if not c.interval.low <= 0.0 <= c.interval.high]
        if apart:
            section.text.append(
                f"That of {' and of '.join(apart)} does not hold it. Runs as few as these decide nothing. `paper` "
                "goes by the paper's text where "
                "google-vizier's code differs from it ([deliberate "
                "differences](algorithm.md#deliberate-differences-from-google-vizier-0124)); whether one of these "
                "shows here has not been measured."
            )
        shared = [t for t in tasks if "vizier" in results.algorithms([t])]
        panels = {task.split("/")[1]: gap_panel(results, task, VIZIER) for task in shared}
        section.add_figure(
            "google-vizier",
            "Best value so far above the optimum. Repeats: " + counts_text(results, shared, VIZIER) + ".",
            drawing.curves(panels, "trials", "gap to the optimum", is_log=True),
        )
    return section
