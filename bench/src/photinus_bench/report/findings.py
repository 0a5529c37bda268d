"""What was found, in a sentence beside each claim of the paper; made from the same numbers as the tables."""

from collections.abc import Mapping

import numpy as np

from photinus_bench.analysis.bootstrap import Verdict
from photinus_bench.analysis.comparison import Comparison
from photinus_bench.analysis.convergence import Band

BASELINE_IN_WORDS = "`photinus-paper`"


def in_words(names: list[str]) -> str:
    """Names as a text enumerates them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def against(comparisons: Mapping[str, Comparison], baseline: str = BASELINE_IN_WORDS) -> str:
    """Who is how much better or worse than the baseline, by verdict."""
    groups = []
    for verdict in Verdict:
        names = sorted(name for name, each in comparisons.items() if each.verdict is verdict)
        if names:
            groups.append(f"{verdict.value}: {in_words(names)}")
    return f"against {baseline}, {'; '.join(groups)}."


def by_setting(rows: Mapping[str, Mapping[float, Comparison]], setting: str) -> str:
    """The same where there are several settings, algorithm by algorithm; one setting alone shows no course."""
    parts = []
    for name, points in ((name, points) for name, points in rows.items() if len(points) > 1):
        groups = []
        for verdict in Verdict:
            values = [f"{value:g}" for value, each in sorted(points.items()) if each.verdict is verdict]
            if values:
                groups.append(f"{verdict.value} at {in_words(values)}")
        parts.append(f"{name} {', '.join(groups)}")
    return f"against {BASELINE_IN_WORDS}, by {setting}: {'; '.join(parts)}."


def lowest_at_the_end(panels: Mapping[str, Mapping[str, tuple[np.ndarray, Band]]]) -> str:
    """Whose median is lowest after the last trial, panel by panel."""
    winners: dict[str, list[str]] = {}
    for title, panel in panels.items():
        winners.setdefault(min(panel, key=lambda name: panel[name][1].median[-1]), []).append(title)
    ranked = sorted(winners.items(), key=lambda item: -len(item[1]))
    return f"lowest median after the last trial: {'; '.join(f'{name} on {in_words(on)}' for name, on in ranked)}."
