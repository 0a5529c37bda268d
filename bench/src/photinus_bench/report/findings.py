"""What was found, in a sentence beside each claim of the paper; made from the same numbers as the tables."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from photinus.problem import Goal
from photinus_bench.analysis.bootstrap import Verdict
from photinus_bench.analysis.comparison import Comparison, Pair
from photinus_bench.record import Record
from photinus_bench.report.section import range_text

BASELINE_IN_WORDS = "`photinus-paper`"


def in_words(names: list[str]) -> str:
    """Names as a text enumerates them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def against(comparisons: Mapping[str, Comparison], baseline: str = BASELINE_IN_WORDS) -> str:
    """Who is better or worse than the baseline, by verdict."""
    groups = []
    for verdict in Verdict:
        names = sorted(name for name, each in comparisons.items() if each.verdict is verdict)
        if names:
            groups.append(f"{verdict.value}: {in_words(names)}")
    return f"against {baseline}, {'; '.join(groups)}."


def by_setting(
    rows: Mapping[str, Mapping[float, Comparison]], setting: str, rivals: Collection[str] = ()
) -> str | None:
    """The same where there are several settings, algorithm by algorithm; one setting alone shows no course.

    Settings that none of the `rivals` ran are named: there a claim about them is not tested.
    """
    parts = [
        f"{name} {verdicts({f'{x:g}': points[x] for x in sorted(points)}, 'at')}"
        for name, points in rows.items()
        if len(points) > 1
    ]
    if not parts:
        return None
    settings = {point for points in rows.values() for point in points}
    tried = {point for name, points in rows.items() if name in rivals for point in points}
    missing = [f"{point:g}" for point in sorted(settings - tried)]
    untested = f" No rival with a model ran at {in_words(missing)}." if rivals and missing else ""
    return f"against {BASELINE_IN_WORDS}, by {setting}: {'; '.join(parts)}.{untested}"


def verdicts(points: Mapping[str, Comparison], preposition: str) -> str:
    """Which verdict an algorithm has in which settings, best first."""
    groups = []
    for verdict in Verdict:
        settings = [setting for setting, each in points.items() if each.verdict is verdict]
        if settings:
            groups.append(f"{verdict.value} {preposition} {in_words(settings)}")
    return ", ".join(groups)


def early_ends(stops: Mapping[str, Sequence[Record]], tasks: Collection[str]) -> str:
    """Who stopped early on these tasks."""
    counts = {name: sum(record.key.task in tasks for record in records) for name, records in stops.items()}
    parts = [f"{name} ({count} run{'s' * (count > 1)})" for name, count in sorted(counts.items()) if count]
    return f"Stopped early: {', '.join(parts) or 'nobody'}."


def ahead_at_the_end(pairs: Mapping[str, Sequence[Pair]]) -> str:
    """On how many problems an algorithm's median after the last trial is better than the baseline's, most first.

    Medians are counted and nothing is tested, which is said, with the repeats behind them.
    """
    parts = []
    for name, those in pairs.items():
        num_ahead = sum(is_ahead_at_the_end(pair) for pair in those)
        counts = range_text([len(pair.compared) for pair in those])
        parts.append((-num_ahead / len(those), f"{name} on {num_ahead} of {len(those)} ({counts})"))
    return (
        f"with a better median than {BASELINE_IN_WORDS} after the last trial, on the repeats that both have (their "
        f"number in brackets; not tested): {', '.join(text for _, text in sorted(parts))}."
    )


def is_ahead_at_the_end(pair: Pair) -> bool:
    """Whether the compared algorithm's median after the last trial is the better one."""
    baseline, compared = (np.median(curves[:, -1]) for curves in (pair.baseline, pair.compared))
    return bool(compared < baseline if pair.goal is Goal.MINIMIZE else compared > baseline)
