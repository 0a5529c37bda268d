"""Spaces that are not continuous, and batches."""

from photinus_bench.report import drawing, findings
from photinus_bench.report.asking import (
    BASELINE,
    RIVALS_ON,
    WITH_MODELS,
    add_violins,
    bbob,
    counts_text,
    gap_panel,
    lines_table,
    median_lines,
    rivals_of,
)
from photinus_bench.report.results import Results
from photinus_bench.report.section import Section
from photinus_bench.tasks import NAMES

SHARES = {0: "", 25: "categorical25", 50: "categorical50", 75: "categorical75", 100: "categorical100"}
BATCH_SIZES = (1, 5, 10, 20)
INTEGERS = {"integer": "Whole numbers", "discrete": "Lists of numbers"}


def combo(results: Results) -> Section:
    """Four problems of nothing but categories."""
    section = Section(
        "Categorical problems",
        "Vizier outperforms the others on high-dimensional categorical spaces, especially later; "
        "HEBO halted early on PestControl.",
        "make bench SUITE=combo",
    )
    tasks = [f"combo/{name}" for name in NAMES["combo"]]
    algorithms = [BASELINE, *rivals_of(results, tasks)]
    panels = {task.split("/")[1]: gap_panel(results, task, algorithms) for task in tasks}
    panels = {title: panel for title, panel in panels.items() if panel}
    if panels:
        section.add_figure(
            "combo",
            "Best value so far: median and 40-60 percentiles. Repeats: "
            + counts_text(results, tasks, algorithms)
            + ".",
            drawing.curves(panels, "trials", "best value"),
        )
        section.text.append(
            "Ising has 24 booleans, one for each edge of its 4 x 4 grid, as in COMBO's code; the paper says 20."
        )
        add_violins(section, results, tasks, "combo-scores", "Log-efficiency on the four problems.")
        if section.found:
            section.found += f" {findings.early_ends(results.stops(), tasks)}"
    return section


def categorical_share(results: Results) -> Section:
    """From continuous to categorical."""
    section = Section(
        "Share of categorical parameters",
        "Vizier outperforms the others significantly even with a quarter of the parameters categorical; "
        "HEBO halts early where many are.",
        "make bench SUITE=categorical-share",
    )
    rows = median_lines(results, {float(s): (bbob(20, variant), 1) for s, variant in SHARES.items()})
    if any(len(points) > 1 for points in rows.values()):
        section.add_figure(
            "categorical-share",
            f"Median log-efficiency over the BBOB functions at 20-D, {RIVALS_ON}, by share of categorical parameters.",
            drawing.medians(rows, "% of the parameters categorical", BASELINE),
        )
        section.found = findings.by_setting(rows, "percentage", WITH_MODELS)
        if section.found:
            tasks = [task for variant in SHARES.values() if variant for task in bbob(20, variant)]
            section.found += f" {findings.early_ends(results.stops(), tasks)}"
        section.text.append(lines_table(rows, "%"))
        if 50.0 in rows.get("hebo", {}):
            section.text.append(
                "HEBO goes on where the fit of its model has failed, with predictions at random. With ten categories "
                "for each of ten parameters that was so in six of six suggestions, and in none of six without "
                "categories: `PYTHONPATH=bench/src bench/envs/hebo/.venv/bin/python -m "
                "photinus_bench.baselines.hebo_fits`."
            )
    return section


def integers(results: Results) -> Section:
    """Whole numbers and lists of numbers, which the paper left out."""
    section = Section("Integer and discrete parameters", None, "make bench SUITE=integer")
    for kind, title in INTEGERS.items():
        tasks = bbob(20, kind)
        if rivals_of(results, tasks):
            section.text.append(f"{title} of 2 to 16 levels:")
        add_violins(
            section,
            results,
            tasks,
            f"{kind}-parameters",
            f"Log-efficiency on BBOB functions at 20-D with {title.lower()} of 2 to 16 levels.",
        )
    ran = rivals_of(results, [task for kind in INTEGERS for task in bbob(20, kind)])
    if ran and not set(ran) & set(WITH_MODELS):
        section.text.append("No rival with a model ran here.")
    return section


def batches(results: Results) -> Section:
    """Several points at a time."""
    section = Section(
        "Batches",
        "Vizier stays efficient with large batches, while HEBO's performance degrades.",
        "make bench SUITE=batches",
    )
    rows = median_lines(results, {float(size): (bbob(20), size) for size in BATCH_SIZES})
    if any(len(points) > 1 for points in rows.values()):
        section.add_figure(
            "batches",
            f"Median log-efficiency over the BBOB functions at 20-D, {RIVALS_ON}; everyone with the same batch size.",
            drawing.medians(rows, "batch size", BASELINE),
        )
        section.found = findings.by_setting(rows, "batch size", WITH_MODELS)
        section.text.append(lines_table(rows, "batch"))
    return section
