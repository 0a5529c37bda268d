"""What users ask and the paper does not show: what a suggestion costs, and how good a minute is."""

from typing import Any

import numpy as np

from photinus_bench import latency
from photinus_bench.analysis.bootstrap import Interval
from photinus_bench.analysis.convergence import band
from photinus_bench.analysis.speed import MOST_DECADES, SMALLEST_GAP, against_seconds, course
from photinus_bench.record import Record
from photinus_bench.report import drawing
from photinus_bench.report.asking import BASELINE, DEFAULT, RIVALS_ON, SINGLE_FUNCTIONS, bbob
from photinus_bench.report.results import Cell, Results
from photinus_bench.report.section import Section, median_text, range_text
from photinus_bench.running import LIMIT_S

COMMAND = "make bench SUITE=bbob-20d`, and likewise every other suite, as `make bench SUITE=combo"
SHOWN = ("f01", "f08", "f15", "f21")
SHARED = (
    "Runs shared the machine with others, at times with more of them than it has cores, and then seconds are too many: "
    "the table of [seconds per suggestion](#seconds-per-suggestion) says how many cores were busy. What was measured "
    "[alone](#seconds-per-suggestion-alone-on-the-machine) compares better."
)
FIRST_SHOWN = 1e-3  # seconds; who is asked for the centre is there long before
MOMENTS = (1, 10, 60, 600)  # seconds
# Of the command behind what was measured alone, and how its record calls them.
OPTIONS = {
    "contestants": "contestants",
    "trials": "num_trials",
    "parameters": "num_parameters",
    "repeats": "repeats",
}


def seconds(results: Results) -> Section:
    """Seconds per suggestion of everyone."""
    section = Section("Seconds per suggestion", None, "make bench SUITE=bbob-20d")
    tasks = bbob(20)
    rows = {name: results.speed(tasks, name) for name in results.algorithms(tasks) if "/" not in name}
    known = {name: interval for name, interval in rows.items() if interval is not None}
    if known:
        section.add_figure(
            "seconds",
            f"Median seconds per suggestion over runs of 100 trials on BBOB functions at 20-D ({RIVALS_ON}), each with "
            "the threads its record names; bars are 95 % intervals.",
            drawing.bars(known, "seconds per suggestion"),
        )
        lines = [
            "| algorithm | seconds | 95 % interval | runs | threads | busy cores when they began | on |",
            "|---|---|---|---|---|---|---|",
        ]
        for name in sorted(known, key=lambda each: known[each].median):
            interval = known[name]
            machines = [record.machine for record in results.timed(tasks, name)]
            threads = range_text([int(machine["threads"]) for machine in machines])
            loads = range_text([round(machine["load"]) for machine in machines])
            processors = " or ".join(sorted({m.get("gpu") or m["processor"] for m in machines}))
            lines.append(
                f"| {name} | {interval.median:.3g} | {interval.low:.3g} to {interval.high:.3g} "
                f"| {len(machines)} | {threads} | {loads} | {processors} |"
            )
        section.text += [SHARED, "\n".join(lines)]
    section.text += _side_by_side(results)
    return section


def _side_by_side(results: Results) -> list[str]:
    """What a GPU needed for the largest number of studies of `paper` that it advanced together."""
    runs = [r for task in bbob(20) for r in results.runs(Cell(task, BASELINE, 1, 100)).values()]
    together = max(runs, key=lambda record: record.side_by_side, default=None)
    if together is None or together.side_by_side == 1:
        return []
    return [
        f"In lock-step on one {together.machine.get('gpu') or together.machine['processor']}, {together.side_by_side} "
        f"studies of `{BASELINE}` with 100 trials each took {together.wall_s * together.side_by_side:.0f} s in all, "
        f"compiling included, on {together.started[:10]}. With a GPU, and an empty "
        "folder for `--records` so that all of them run: `PYTHONPATH=src:bench/src python -m "
        f"photinus_bench.lockstep_suite bbob-20d --algorithms {BASELINE} --records EMPTY --out runs.jsonl`."
    ]


def alone(studies: dict[str, Any]) -> Section:
    """What `make bench-latency` measured on a machine with nothing else to do."""
    study = studies.get("latency")
    options = {} if study is None else {name: study["settings"][field] for name, field in OPTIONS.items()}
    words = [f"--{name} {' '.join(map(str, np.atleast_1d(values)))}" for name, values in options.items()]
    section = Section(
        "Seconds per suggestion, alone on the machine",
        None,
        " ".join(
            [
                "PYTHONPATH=bench/src python -m photinus_bench.latency",
                *words,
                "--out bench/records/latency.json",
            ]
        ),
    )
    if study is None:
        return section
    cells = [latency.Cell(**cell) for cell in study["cells"]]
    names = [name for name in latency.MODULES if any(name in cell.answers for cell in cells)]
    machine = study["machine"]
    section.add_figure(
        "latency-alone",
        f"Seconds per point against completed trials, medians of warm suggestions; {machine['cores']} cores of "
        f"{machine['processor']}, load {machine['load']:g} before. The table has 95 % intervals of the medians, which "
        "of three values are their range.",
        latency.draw(cells, names),
    )
    lines = [
        f"| setting | trials | {' | '.join(names)} | {latency.OURS} / Optuna |",
        "|---|---|" + "---|" * (len(names) + 1),
    ]
    for cell in cells:
        answers = [cell.answers.get(name, {}) for name in names]
        texts = [answer.get("outcome") or median_text(answer.get("seconds", [])) for answer in answers]
        share = latency.ratio(cell.seconds(latency.OURS), cell.seconds("optuna+greenlet"))
        ratio = "" if share is None else f"{share:.2f}"
        lines.append(f"| {cell.setting} | {cell.num_trials} | {' | '.join(texts)} | {ratio} |")
    section.text.append("\n".join(lines))
    firsts = [
        f"- first suggestion of a process with {one['num_trials']} trials of {one['num_parameters']} parameters, "
        f"{one['cache']} cache: {one['beyond_jax_s']:.2f} s beyond `import jax`, at most {one['peak_mb']:.0f} MB"
        for one in study["cold"]
    ]
    if firsts:
        section.text.append("\n".join(firsts))
    return section


def quality_per_minute(results: Results) -> Section:
    """Curves against time spent on suggesting."""
    section = Section("Quality per minute", None, "make bench SUITE=bbob-20d")
    panels = {}
    counts: dict[str, list[int]] = {}
    for task in bbob(20, names=SHOWN):
        panel = {}
        for name in results.algorithms([task]):
            runs = results.by_themselves(Cell(task, name, 1, 100))
            if "/" in name or not runs:
                continue
            curves, spent = (np.array(each) for each in zip(*runs.values(), strict=True))
            start, end = course(spent)
            grid = np.geomspace(np.clip(FIRST_SHOWN, start, end), end, 60)
            table = against_seconds(curves, spent, grid, results.score_goal(task))
            bands = band(table)
            is_known = np.isfinite(bands.median) & np.isfinite(bands.low) & np.isfinite(bands.high)
            if is_known.any():
                counts.setdefault(name, []).append(len(curves))
                panel[name] = (
                    grid[is_known],
                    type(bands)(bands.median[is_known], bands.low[is_known], bands.high[is_known]),
                )
        if panel:
            panels[task.split("/")[1]] = panel
    if panels:
        section.add_figure(
            "quality-per-minute",
            "Best value so far above the optimum against seconds spent on suggestions, 20-D; evaluations cost "
            "nothing here. A curve ends at the median, over its runs, of the whole seconds spent on suggestions. "
            "Median and 40-60 percentiles of runs by themselves: "
            + ", ".join(f"{name} {range_text(each)}" for name, each in sorted(counts.items()))
            + ".",
            drawing.curves(panels, "seconds", "gap to the optimum", is_log=True, is_log_x=True),
        )
    section.text += _behind(results)
    return section


def _behind(results: Results) -> list[str]:
    """How far from the default's end everyone is after a second, and after minutes."""
    tasks = bbob(20, names=SINGLE_FUNCTIONS)
    names = [name for name in results.algorithms(tasks) if "/" not in name]
    rows = {name: results.decades_behind(tasks, DEFAULT, name, MOMENTS) for name in names}
    known = {name: row for name, row in rows.items() if row is not None}
    if not known:
        return []
    lines = [
        f"| algorithm | {' | '.join(f'{moment} s' for moment in MOMENTS)} | problems x repeats |",
        "|---|" + "---|" * (len(MOMENTS) + 1),
    ]
    for name, (intervals, counts) in sorted(known.items(), key=lambda row: row[1][0][-1].median):
        cells = " | ".join(map(_factor_text, intervals))
        lines.append(f"| {name} | {cells} | {len(counts)} x {range_text(counts)} |")
    return [
        f"After so many seconds of suggesting: how many times farther from the optimum the best value is than the one "
        f"at which `{DEFAULT}` ends on the same function and repeat. Medians with 95 % intervals over up to "
        f"{len(tasks)} functions at 20-D, of runs by themselves; above 1 is farther.",
        "\n".join(lines),
        f"{SHARED} Once an algorithm has used its 100 trials its value stays. A cell is empty where the median run "
        "has no value yet; ∞ means that the interval reaches runs without one. Gaps below "
        f"{SMALLEST_GAP:g} count as that.",
    ]


def _factor_text(interval: Interval) -> str:
    """Decades as factors, nothing where the median run has no value."""
    if interval.median > MOST_DECADES:
        return ""
    middle, low, high = (_factor(decades) for decades in (interval.median, interval.low, interval.high))
    return f"{middle} ({low} to {high})"


def _factor(decades: float) -> str:
    if decades > MOST_DECADES:
        return "∞"
    factor = float(f"{10.0**decades:.2g}")
    return f"{factor:.1f}" if 1 <= factor < 10 else f"{factor:g}"


def _by_reason(stops: dict[str, list[Record]]) -> dict[tuple[str, str], list[Record]]:
    """Stops by algorithm and kind of reason; errors of one class are of one kind."""
    found: dict[tuple[str, str], list[Record]] = {}
    for name, records in stops.items():
        for record in records:
            found.setdefault((name, (record.stopped or "").partition(":")[0]), []).append(record)
    return found


def early_ends(results: Results) -> Section:
    """Who stopped before the end, and who could not begin."""
    section = Section("Who stopped early, and who could not begin", None, COMMAND)
    stops = results.stops()
    if stops:
        lines = [
            "| algorithm | runs that stopped | of | after trials | on | in the words of the first |",
            "|---|---|---|---|---|---|",
        ]
        for (name, _), records in sorted(_by_reason(stops).items()):
            total = sum(record.key.algorithm == name for record in results.records)
            tasks = sorted({record.key.task for record in records})
            shown = ", ".join(tasks[:4]) + (f" and {len(tasks) - 4} more" if len(tasks) > 4 else "")
            words = (records[0].stopped or "").splitlines()[0][:120].replace("|", "/")
            reached = range_text([len(record.truth) for record in records])
            lines.append(f"| {name} | {len(records)} | {total} | {reached} | {shown} | {words} |")
        section.text += [
            "Their curves go on flat from the trial where they stopped, and verdicts are by these curves. *No answer "
            f"within* so many seconds is the runner's limit ({LIMIT_S:.0f} s unless a run is made with another, as by "
            '`ARGS="--limit 120"`) and no failure of theirs: with more time, or without the other runs on the machine, '
            "they might have gone on.",
            "\n".join(lines),
        ]
    if results.unsupported:
        by_name: dict[str, list[str]] = {}
        for name, task in results.unsupported:
            by_name.setdefault(name, []).append(task)
        section.text.append(
            "\n".join(
                f"- {name} cannot search {', '.join(sorted(tasks)[:4])}{' and others' if len(tasks) > 4 else ''}: "
                f"{results.unsupported[name, tasks[0]]}"
                for name, tasks in sorted(by_name.items())
            )
        )
    if results.records and section.is_empty:
        section.text.append("Nobody so far: every run has as many trials as it should.")
    return section
