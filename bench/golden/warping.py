"""Output warping: each stage alone, the first two chained, and the whole default pipeline."""

import numpy as np
from oracle import output_warpers

NOTES = {
    "comparable": [
        "log: the log stage on the labels as they are, exactly.",
        "half_rank and half_rank_log, exactly where ties is false. half_rank is in the labels' own units:"
        " the reference has no linear-scaling stage, and half-rank commutes with shift and positive scale.",
        "pipeline, feasible entries: exactly where ties is false, after both sides are shifted to a common"
        " mean over the feasible entries.",
        "degenerate labels: one distinct finite label and nothing infeasible gives zeros.",
    ],
    "differs": [
        "ties: the reference takes its deviation over unique labels, the paper's text over all trials;"
        " entries below the median differ when labels tie. Ranks are dense on both sides.",
        "pipeline, infeasible entries: the reference sets them to min - (0.5 range + 1), the text to"
        " min - 0.5 range, so relative to the feasible entries the reference is lower by exactly 1.",
        "pipeline, mean: the reference shifts by a smoothed share of feasible trials and is not zero mean.",
        "all infeasible: the reference gives -1 throughout.",
    ],
}


def make(rng: np.random.Generator) -> dict:
    cases = [measure(name, labels) for name, labels in inputs(rng)]
    return {"notes": NOTES, "cases": cases}


def inputs(rng: np.random.Generator) -> list[tuple[str, np.ndarray]]:
    """Labels to be maximised; NaN is infeasible."""
    named = []
    for size in (2, 3, 4, 5, 7, 10, 17, 30):
        named.append((f"normal {size}", rng.normal(size=size)))
    for size in (3, 6, 13, 30):
        named.append((f"heavy tails {size}", rng.standard_cauchy(size=size) * 1e3))
        named.append((f"ties {size}", rng.integers(0, max(2, size // 3), size=size) * 1.5))
    named.append(("large offset", 1e6 + rng.normal(size=9)))
    named.append(("tiny scale", 1e-9 * rng.normal(size=8)))
    named.append(("one good outlier", np.append(rng.normal(size=8), 1e4)))
    named.append(("median repeated above", np.array([3.0, 3.0, 3.0, 1.0])))
    for size, num_infeasible in ((3, 1), (6, 2), (12, 5), (30, 3), (4, 2)):
        labels = rng.normal(size=size)
        labels[rng.permutation(size)[:num_infeasible]] = np.nan
        named.append((f"{num_infeasible} of {size} infeasible", labels))
    ties = rng.integers(0, 4, size=14).astype(float)
    ties[[2, 9]] = np.nan
    named.append(("ties and infeasible", ties))
    named.append(("one label", np.array([4.2])))
    named.append(("constant", np.full(5, -7.0)))
    named.append(("all infeasible", np.full(3, np.nan)))
    return named


def measure(name: str, labels: np.ndarray) -> dict:
    feasible = labels[np.isfinite(labels)]
    distinct = np.unique(feasible)
    case = {
        "name": name,
        "labels": labels,
        "ties": len(distinct) < len(feasible),
        "pipeline": warp(output_warpers.create_default_warper(), labels),
    }
    # With fewer than two distinct labels the stages divide zero by zero; the pipeline never gets there.
    if len(distinct) > 1:
        half_rank = warp(output_warpers.HalfRankComponent(), labels)
        case["half_rank"] = half_rank
        case["log"] = warp(output_warpers.LogWarperComponent(), labels)
        case["half_rank_log"] = warp(output_warpers.LogWarperComponent(), half_rank)
    return case


def warp(warper: output_warpers.OutputWarper, labels: np.ndarray) -> np.ndarray:
    return warper.warp(labels[:, np.newaxis].copy()).ravel()
