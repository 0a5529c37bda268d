"""Several objectives: violins, single problems, number of objectives."""

from photinus_bench.problems.multi_objective import has_centre_on_front
from photinus_bench.report import drawing, findings
from photinus_bench.report.asking import (
    BASELINE,
    WITH_MODELS,
    add_violins,
    compare_all,
    counts_text,
    gap_panel,
    lines_table,
    median_lines,
    rivals_of,
    table_of,
)
from photinus_bench.report.results import Results
from photinus_bench.report.section import Section
from photinus_bench.tasks import NAMES

SINGLE_PROBLEMS = ("dtlz/2", "dtlz/7", "wfg/1", "wfg/4", "zdt/1", "zdt/6")
COUNTS = (2, 3, 4, 5, 6, 7, 8)


def problems(num_objectives: int, families: tuple[str, ...], dimension: int) -> list[str]:
    """Tasks of whole families."""
    return [
        f"{family}/{name}/{dimension}d/{num_objectives}m" for family in families for name in NAMES[family]
    ]


def two_objectives(results: Results) -> Section:
    """All problems with two objectives, and six of them as curves."""
    section = Section(
        "Two objectives",
        "In the median Vizier performs similarly to Ax and HEBO and outperforms Optuna and random search; "
        "single problems differ wildly; HEBO halted early on some (DTLZ7, WFG2, ZDT6).",
        "make bench SUITE=multi-objective",
    )
    tasks = problems(2, ("dtlz", "wfg", "zdt"), 5)
    add_violins(
        section,
        results,
        tasks,
        "two-objectives",
        "Log-efficiency of hypervolume by problem, 5-D, with the common reference point; rivals that model on at most "
        f"eight of the {len(tasks)} problems.",
    )
    if section.found:
        ran = sum("hebo" in results.algorithms([task]) for task in tasks)
        section.found += f" {findings.early_ends(results.stops(), tasks)}"
        section.found += f" HEBO was run on {ran} of the {len(tasks)} problems."
    rivals = rivals_of(results, tasks)
    at_nadir = compare_all(results, tasks, rivals, at_nadir=True)
    if at_nadir:
        section.text += [
            "The same with hypervolumes at the true nadir point:",
            table_of(results, tasks, at_nadir, at_nadir=True),
        ]
    section.text += _without_centres(results, tasks, rivals)
    chosen = [f"{name}/5d/2m" for name in SINGLE_PROBLEMS]
    panels = {
        task.rsplit("/", 2)[0].replace("/", " ").upper(): gap_panel(results, task, [BASELINE, *rivals])
        for task in chosen
    }
    panels = {title: panel for title, panel in panels.items() if panel}
    if panels:
        section.add_figure(
            "two-objectives-problems",
            "Dominated hypervolume as a share of the common box: median and 40-60 percentiles. Repeats: "
            + counts_text(results, chosen, [BASELINE, *rivals])
            + ".",
            drawing.curves(panels, "trials", "hypervolume"),
        )
    return section


def _without_centres(results: Results, tasks: list[str], rivals: list[str]) -> list[str]:
    """What is left where the first point is not already the best there is."""
    others = [task for task in tasks if not has_centre_on_front(task)]
    text = []
    for is_at_nadir in (False, True):
        comparisons = compare_all(results, others, rivals, at_nadir=is_at_nadir)
        if comparisons:
            text += [
                "The same with hypervolumes at the true nadir point:"
                if is_at_nadir
                else f"On {len(tasks) - len(others)} of these {len(tasks)} problems (DTLZ 1 to 5, ZDT 4) the centre "
                "of the space, where everyone but random search begins, lies on the Pareto front: nothing is shifted "
                "there, as in the paper, and the first trial is as near to the front as any. Without them:",
                table_of(results, others, comparisons, at_nadir=is_at_nadir),
            ]
    return text


def number_of_objectives(results: Results) -> Section:
    """DTLZ and WFG with more and more objectives."""
    section = Section(
        "Number of objectives",
        "HEBO stays stable, Ax suffers with many objectives, Vizier is robust.",
        "make bench SUITE=objectives",
    )
    settings = {float(m): (problems(m, ("dtlz", "wfg"), m + 3), 1) for m in COUNTS}
    rows = median_lines(results, settings)
    if any(len(points) > 1 for points in rows.values()):
        section.add_figure(
            "number-of-objectives",
            "Median log-efficiency over the 16 problems of DTLZ and WFG, D = M + 3; rivals that model at two "
            "objectives alone, on at most five of them.",
            drawing.medians(rows, "objectives", BASELINE),
        )
        section.found = findings.by_setting(rows, "number of objectives", WITH_MODELS)
        section.text += [
            lines_table(rows, "M ="),
            "The same with hypervolumes at the true nadir point:",
            lines_table(median_lines(results, settings, at_nadir=True), "M ="),
            "DTLZ 1 to 5 are among these problems, whose centre lies on the Pareto front ([two "
            "objectives](#two-objectives)).",
        ]
    return section
