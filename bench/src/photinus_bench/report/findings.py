"""What was found, in a sentence beside each claim of the paper; made from the same numbers as the tables."""

from collections.abc import Mapping, Sequence

import numpy as np

from photinus.problem import Goal
from photinus_bench.analysis.bootstrap import Verdict
from photinus_bench.analysis.comparison import Comparison, Pair

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


def by_setting(rows: Mapping[str, Mapping[float, Comparison]], setting: str) -> str | None:
    """The same where there are several settings, algorithm by algorithm; one setting alone shows no course."""
    parts = []
    for name, points in ((name, points) for name, points in rows.items() if len(points) > 1):
        groups = []
        for verdict in Verdict:
            values = [f"{value:g}" for value, each in sorted(points.items()) if each.verdict is verdict]
            if values:
                groups.append(f"{verdict.value} at {in_words(values)}")
        parts.append(f"{name} {', '.join(groups)}")
    return f"against {BASELINE_IN_WORDS}, by {setting}: {'; '.join(parts)}." if parts else None


def ahead_at_the_end(pairs: Mapping[str, Sequence[Pair]]) -> str:
    """On how many problems an algorithm's median after the last trial is better than the baseline's, most first."""
    parts = []
    for name, those in pairs.items():
        num_ahead = sum(is_ahead_at_the_end(pair) for pair in those)
        parts.append((-num_ahead / len(those), f"{name} on {num_ahead} of {len(those)}"))
    return (
        f"with a better median than {BASELINE_IN_WORDS} after the last trial, on the repeats that both have: "
        f"{', '.join(text for _, text in sorted(parts))}."
    )


def is_ahead_at_the_end(pair: Pair) -> bool:
    """Whether the compared algorithm's median after the last trial is the better one."""
    baseline, compared = (np.median(curves[:, -1]) for curves in (pair.baseline, pair.compared))
    return bool(compared < baseline if pair.goal is Goal.MINIMIZE else compared > baseline)
