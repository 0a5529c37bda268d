"""Parts of the algorithm: search of the acquisition, trust region, latency, warping, first points."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from photinus.engine import warping, winsorising
from photinus.engine.cache import engine_context
from photinus.engine.designers.quasi_random import halton
from photinus.engine.encoding import Encoder
from photinus.space import Float, SearchSpace
from photinus_bench.analysis.bootstrap import Interval
from photinus_bench.analysis.comparison import Comparison
from photinus_bench.analysis.convergence import Band
from photinus_bench.report import drawing, findings
from photinus_bench.report.asking import (
    BASELINE,
    DEFAULT,
    bbob,
    compare_all,
    counts_text,
    gap_panel,
    table_of,
)
from photinus_bench.report.results import Results
from photinus_bench.report.section import Section, comparison_table, median_text, range_text, several_times

DIMENSIONS = (5, 10, 20, 40, 80)
SEARCHES = (
    BASELINE,
    f"{BASELINE}/no-trust-region",
    f"{BASELINE}/l-bfgs",
    f"{BASELINE}/l-bfgs/no-trust-region",
    DEFAULT,
)
STAGES = ("no-scaling", "no-half-rank", "no-log", "no-warping")
WORST_SHOWN = 0.0  # penalties of the trust region are clipped, as in the paper
PENALIZED = -1e6  # scores below lie outside the trust region


def acquisition(studies: dict[str, Any]) -> Section:
    """Firefly against L-BFGS on one acquisition."""
    section = Section(
        "Firefly against L-BFGS on one acquisition",
        "Firefly finds better points at every wall-clock budget, while L-BFGS-B plateaus early; "
        "with the trust region L-BFGS-B hardly enters it.",
        "PYTHONPATH=bench/src python -m photinus_bench.acquisition_study --out bench/records/acquisition.json",
    )
    study = studies.get("acquisition")
    if study is None:
        return section
    panels = {}
    for has_region in (False, True):
        rows = [row for row in study["rows"] if row["trust_region"] == has_region]
        panels["with trust region" if has_region else "without trust region"] = {
            search: (
                _medians([r for r in rows if r["search"] == search], "counted_s"),
                np.array([max(r["score"], WORST_SHOWN) for r in rows if r["search"] == search]),
            )
            for search in _searches(study)
        }
    ours = (
        " Ascent is the local search of `default`; its steps are those of one round of two."
        if "ascent" in _searches(study)
        else ""
    )
    section.add_figure(
        "acquisition",
        f"The best upper confidence bound found against the seconds counted, {study['task']} after "
        f"{study['num_trials']} trials. L-BFGS has 25 restarts; its time is that of its gradients alone. "
        f"Penalties outside the trust region are shown as 0.{ours}",
        drawing.clouds(panels, "seconds counted", "acquisition reached", joins_medians=True, is_log_x=True),
    )
    section.found = _acquisition_found(study)
    section.text.append(_acquisition_table(study))
    return section


def _acquisition_found(study: dict[str, Any]) -> str:
    parts = []
    counts = []
    for has_region in (False, True):
        ends: list[tuple[float, str]] = []
        for search in _searches(study):
            those = [r for r in study["rows"] if (r["search"], r["trust_region"]) == (search, has_region)]
            if not those:
                continue
            last = [r for r in those if r["budget"] == max(row["budget"] for row in those)]
            counts.append(len(last))
            score, seconds = (float(np.median([row[key] for row in last])) for key in ("score", "counted_s"))
            reached = "finds nothing inside it" if score < PENALIZED else f"reaches {_score(score)}"
            ends.append((score, f"{search} {reached} in {seconds:.3f} s"))
        best_first = [text for _, text in sorted(ends, reverse=True)]
        parts.append(f"{'with' if has_region else 'without'} the trust region {', '.join(best_first)}")
    of = f"in the median of {range_text(counts)} seeds (not tested)"
    return f"{of} at its largest budget, {'; '.join(parts)}. {_at_equal_seconds(study)}"


def _at_equal_seconds(study: dict[str, Any]) -> str:
    """When firefly is ahead of L-BFGS without the trust region, by medians of what either had reached by then."""
    reached = {}
    for search in ("firefly", "lbfgs"):
        rows = [r for r in study["rows"] if r["search"] == search and not r["trust_region"]]
        if not rows:
            return ""
        scores = _medians(rows, "score")
        order = np.argsort(_medians(rows, "counted_s"), kind="stable")
        reached[search] = _medians(rows, "counted_s")[order], np.maximum.accumulate(scores[order])
    moments = np.unique(np.concatenate([seconds for seconds, _ in reached.values()]))
    moments = moments[moments >= max(seconds[0] for seconds, _ in reached.values())]
    firefly, lbfgs = (
        scores[np.searchsorted(seconds, moments, side="right") - 1] for seconds, scores in reached.values()
    )
    ahead = [f"{moment:.3f}" for moment, is_ahead in zip(moments, firefly > lbfgs, strict=True) if is_ahead]
    behind = [f"{moment:.3f}" for moment, is_ahead in zip(moments, firefly < lbfgs, strict=True) if is_ahead]
    parts = [
        f"{who} ahead at {findings.in_words(list(dict.fromkeys(times)))} s"
        for who, times in (("firefly", ahead), ("L-BFGS", behind))
        if times
    ]
    return f"Without it, at equal seconds, again in the median, {', '.join(parts)}."


def _medians(rows: list[dict[str, Any]], key: str) -> np.ndarray:
    """The median over seeds for the budget of each row, so that points of one budget stand above each other."""
    by_budget = {
        b: np.median([r[key] for r in rows if r["budget"] == b]) for b in {r["budget"] for r in rows}
    }
    return np.array([by_budget[row["budget"]] for row in rows])


def _searches(study: dict[str, Any]) -> list[str]:
    """Searches that the record has, in their order."""
    return list(dict.fromkeys(row["search"] for row in study["rows"]))


def _acquisition_table(study: dict[str, Any]) -> str:
    lines = [
        "| search | trust region | budget | seconds counted | acquisition reached | the worst | the best |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = study["rows"]
    for search in _searches(study):
        for has_region in (False, True):
            those = [r for r in rows if (r["search"], r["trust_region"]) == (search, has_region)]
            for budget in sorted({row["budget"] for row in those})[-3:]:
                scores = [row["score"] for row in those if row["budget"] == budget]
                seconds = [row["counted_s"] for row in those if row["budget"] == budget]
                unit = "evaluations" if search == "firefly" else "steps"
                lines.append(
                    f"| {search} | {'yes' if has_region else 'no'} | {budget} {unit} | "
                    f"{median_text(seconds, '{:.4f}'.format)} | {median_text(scores, _score)} "
                    f"| {_score(min(scores))} | {_score(max(scores))} |"
                )
    return "Medians over seeds, with 95 % intervals:\n\n" + "\n".join(lines)


def _score(value: float) -> str:
    return "penalty" if value < PENALIZED else f"{value:.3f}"


def lunacek(results: Results) -> Section:
    """The same end to end."""
    section = Section(
        "Firefly against L-BFGS end to end",
        "On the Lunacek function firefly is substantially better at higher dimensions, and the trust region "
        "adds to it.",
        "make bench SUITE=lunacek",
    )
    tasks = {f"{d}-D": f"bbob/f24/{d}d" for d in DIMENSIONS}
    panels = {title: gap_panel(results, task, SEARCHES) for title, task in tasks.items()}
    panels = {title: panel for title, panel in panels.items() if len(panel) > 1}
    if panels:
        shown = [tasks[title] for title in panels]
        section.add_figure(
            "lunacek",
            "Best value so far above the optimum: median and 40-60 percentiles. Repeats: "
            + counts_text(results, shown, SEARCHES)
            + ".",
            drawing.curves(panels, "trials", "gap to the optimum"),
        )
        comparisons: dict[str, Comparison] = {}
        others: dict[str, Comparison] = {}
        rows: dict[str, dict[float, Comparison]] = {}
        for dimension in (d for d in DIMENSIONS if f"{d}-D" in panels):
            for name, comparison in compare_all(results, [tasks[f"{dimension}-D"]], SEARCHES[1:]).items():
                comparisons[f"{name}, {dimension}-D"] = comparison
                other = results.compare_like_vizier([tasks[f"{dimension}-D"]], BASELINE, name)
                if other is not None:
                    others[f"{name}, {dimension}-D"] = other
                rows.setdefault(name, {})[float(dimension)] = comparison
        section.found = findings.by_setting(rows, "dimension")
        section.text.append(comparison_table(comparisons, others))
    return section


def latency(studies: dict[str, Any]) -> Section:
    """Seconds against the length of the history."""
    section = Section(
        "Latency against the length of the history",
        "The algorithm runs significantly faster on a GPU than on a CPU.",
        "PYTHONPATH=bench/src python -m photinus_bench.history_latency --device cpu "
        "--out bench/records/history-cpu.json`, and on a machine with a GPU `--device gpu --out history-gpu.json",
    )
    found = {
        device: studies[f"history-{device}"] for device in ("cpu", "gpu") if f"history-{device}" in studies
    }
    if not found:
        return section
    panel = {}
    lines = ["| algorithm | device | machine | busy cores | trials | seconds |", "|---|---|---|---|---|---|"]
    for device, study in found.items():
        machine = study["machine"].get("gpu") or study["machine"]["processor"]
        # Of what else ran there, for the most part: one study keeps one or two cores busy.
        load = f"{study['machine']['load']:g} of {study['machine']['cores']}"
        for algorithm in dict.fromkeys(row["algorithm"] for row in study["rows"]):
            rows = [row for row in study["rows"] if row["algorithm"] == algorithm]
            length = np.array([row["num_trials"] for row in rows])
            seconds = np.array([row["seconds"] for row in rows])
            middle = np.median(seconds, axis=1)
            panel[f"{algorithm}, {device}"] = length, Band(middle, seconds.min(axis=1), seconds.max(axis=1))
            about = f"| {algorithm} | {device} | {machine} | {load}"
            lines += [f"{about} | {row['num_trials']} | {median_text(row['seconds'])} |" for row in rows]
    section.add_figure(
        "latency",
        "Seconds per suggestion on 8-D Rastrigin, one study at a time; medians, fastest and slowest. The table "
        "has 95 % intervals of the medians, which of five values are little less than their range.",
        drawing.curves({"": panel}, "completed trials", "seconds", is_log=True, is_log_x=True),
    )
    section.found = _latency_found(found)
    section.text.append("\n".join(lines))
    return section


def _latency_found(found: dict[str, Any]) -> str | None:
    """After how many trials either device is quicker, where intervals are apart."""
    if set(found) != {"cpu", "gpu"}:
        return None
    known: dict[str, dict[str, dict[int, Interval]]] = {}
    for device, study in found.items():
        for row in study["rows"]:
            by_length = known.setdefault(row["algorithm"], {}).setdefault(device, {})
            by_length[row["num_trials"]] = several_times(row["seconds"])
    parts = []
    for algorithm, by_device in known.items():
        if set(by_device) == {"cpu", "gpu"}:
            cpu, gpu = by_device["cpu"], by_device["gpu"]
            shared = sorted(set(cpu) & set(gpu))
            groups = {
                "quicker": [f"{n}" for n in shared if gpu[n].high < cpu[n].low],
                "slower": [f"{n}" for n in shared if gpu[n].low > cpu[n].high],
            }
            words = [
                f"{word} after {findings.in_words(those)} trials" for word, those in groups.items() if those
            ]
            parts.append(f"with `{algorithm}` {', '.join(words) or 'neither quicker nor slower'}")
    if not parts:
        return None
    load = f"{found['gpu']['machine']['load']:g} of the {found['gpu']['machine']['cores']} cores beside it were busy"
    return f"for one study at a time the GPU is, by intervals that are apart, {'; '.join(parts)}; {load}."


def warping_stages(results: Results) -> Section:
    """What each stage does to labels, and what it is worth."""
    section = Section(
        "Stages of output warping",
        "Skewed labels with outliers become well-spread ones, stage by stage.",
        "make bench SUITE=warping",
    )
    section.add_figure(
        "warping",
        "200 labels with a few bad outliers (left) after each stage of `paper`; and those of `default`, which only "
        "cuts outliers and standardises.",
        drawing.histograms(_staged_labels(), "label"),
    )
    comparisons = compare_all(results, bbob(20), [f"{BASELINE}/{stage}" for stage in STAGES])
    if comparisons:
        section.text += [
            "What the stages are worth: `paper` with one left out, or all three, against `paper`. `default` has none "
            "of them; [decision 10](decisions/0010-the-default.md) has what its own labels are worth.",
            table_of(results, bbob(20), comparisons),
        ]
        section.found = findings.against(comparisons)
        section.add_figure(
            "warping-scores",
            "Log-efficiency without stages of warping, by BBOB function at 20-D.",
            drawing.violins(comparisons, BASELINE),
        )
    return section


def _staged_labels() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    labels = -np.concatenate([rng.gamma(2.0, 1.0, 190), rng.gamma(2.0, 30.0, 10)])
    with engine_context("cpu"):
        scaled, ranked, final, fenced = jax.device_get(jax.jit(_stages)(labels))
    return {
        "labels": labels,
        "linear scaling": scaled,
        "half-rank": ranked,
        "logarithm, mean shift": final,
        "default": fenced,
    }


def _stages(labels: jax.Array) -> tuple[jax.Array, ...]:
    everywhere = jnp.ones(labels.shape, bool)
    scaled, _, _ = warping.scale_linearly(labels, everywhere)
    ranked = warping.warp_half_rank(scaled, everywhere)[0]
    fenced, _ = winsorising.winsorise(labels, everywhere, everywhere)
    return scaled, ranked, warping.warp(labels, everywhere, everywhere)[0], fenced


def halton_random(results: Results) -> Section:
    """Quasi-random points against random ones."""
    section = Section(
        "Halton against random",
        "Quasi-random points spread over the space more evenly.",
        "make bench SUITE=halton-random",
    )
    space = SearchSpace({"x": Float(0, 1), "y": Float(0, 1)})
    points = halton(Encoder(space), 0, 0, 128)
    quasi = np.array([[point["x"], point["y"]] for point in points])
    random = np.random.default_rng(0).random((128, 2))
    section.add_figure(
        "halton",
        "128 points of each kind.",
        drawing.clouds(
            {
                "random": {"random": (random[:, 0], random[:, 1])},
                "Halton": {"quasi-random": (quasi[:, 0], quasi[:, 1])},
            },
            "x",
            "y",
        ),
    )
    comparisons = {
        f"quasi-random, {d}-D": comparison
        for d in (5, 20)
        if (comparison := results.compare(bbob(d), "random", "quasi-random")) is not None
    }
    if comparisons:
        others = {
            f"quasi-random, {d}-D": other
            for d in (5, 20)
            if (other := results.compare_like_vizier(bbob(d), "random", "quasi-random")) is not None
        }
        section.text += [
            "As search algorithms, log-efficiency of quasi-random against random search. Quasi-random "
            "search begins with the centre, as every algorithm but random does.",
            comparison_table(comparisons, others),
        ]
        section.found = findings.against(comparisons, "random search")
    return section


def read_studies(folder: Path) -> dict[str, Any]:
    """Studies that are no runs of a suite, by file name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
