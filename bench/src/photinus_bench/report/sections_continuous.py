"""Continuous spaces: violins, dimensions, single functions, noise, Ax with UCB, google-vizier itself."""

from photinus_bench.report import drawing, findings
from photinus_bench.report.asking import (
    BASELINE,
    DEFAULT,
    SINGLE_FUNCTIONS,
    add_violins,
    bbob,
    compare_all,
    counts_text,
    gap_panel,
    lines_table,
    median_lines,
    rivals_of,
)
from photinus_bench.report.results import Results
from photinus_bench.report.section import Section, comparison_table

DIMENSIONS = (5, 10, 20, 40, 80)
VIZIER = (BASELINE, DEFAULT, "vizier", "vizier-gp-bandit")
AX = (BASELINE, DEFAULT, "ax", "ax-ucb")
NOISES = ("gaussian-noise", "uniform-noise", "cauchy-noise")


def violins(results: Results) -> Section:
    """The paper's first figure of results."""
    section = Section(
        "Continuous spaces at 20 dimensions",
        "Vizier is competitive: the other algorithms' median log-efficiencies lie below or near its own; "
        "HEBO is strong late, followed by BayesianOptimization and Ax.",
        "make bench SUITE=bbob-20d",
    )
    add_violins(
        section,
        results,
        bbob(20),
        "continuous-20d",
        "Log-efficiency by BBOB function at 20-D. Ticks are functions, bars 95 % intervals of the median.",
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
            "Median log-efficiency over the BBOB functions by dimension.",
            drawing.medians(rows, "dimension", BASELINE, is_log=True),
        )
        section.found = findings.by_setting(rows, "dimension")
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
    return section


def noise(results: Results) -> Section:
    """Every noise model on every function."""
    section = Section(
        "Noisy objectives",
        "With severe noise the picture stays as it is without.",
        "make bench SUITE=noisy",
    )
    tasks = [task for model in NOISES for task in bbob(20, model)]
    add_violins(
        section,
        results,
        tasks,
        "noisy",
        "Log-efficiency by BBOB function and noise model at 20-D; the noiseless value is scored.",
    )
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
        "Ax as it comes and with UCB, and `default`, at 20-D.",
        algorithms=[name for name in AX if name != BASELINE],
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
            comparison_table(comparisons),
        ]
        apart = [name for name, c in comparisons.items() if not c.interval.low <= 0.0 <= c.interval.high]
        if apart:
            section.text.append(
                f"That of {' and of '.join(apart)} does not hold it. Runs as few as these decide nothing, and the "
                "interval of a single repeat leaves out how repeats differ. `paper` goes by the paper's text where "
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
