"""One part of the report: a claim, what was found, figures, and how to make the records behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from photinus_bench.analysis.bootstrap import NUM_DRAWS, SEED, Interval, median_interval
from photinus_bench.analysis.comparison import Comparison


@dataclass
class Section:
    """Markdown, and figures by file name with their captions."""

    title: str
    claim: str | None  # of the paper; None where the paper shows nothing
    command: str  # that makes or extends the records
    text: list[str] = field(default_factory=list)
    figures: list[tuple[str, str, Figure]] = field(default_factory=list)  # (name, caption, figure)
    found: str | None = None  # a sentence beside the claim

    def add_figure(self, name: str, caption: str, figure: Figure) -> None:
        """Put a figure at the end of the section."""
        self.figures.append((name, caption, figure))

    @property
    def is_empty(self) -> bool:
        """Whether there are no records for it."""
        return not self.figures and not self.text


def comparison_table(
    comparisons: Mapping[str, Comparison], others: Mapping[str, Comparison] | None = None
) -> str:
    """Medians with intervals and verdicts, best first; `others` are by google-vizier's comparator."""
    lines = [
        "| algorithm | median log-efficiency | 95 % interval | verdict | problems | repeats |",
        "|---|---|---|---|---|---|",
    ]
    if others:
        lines = [f"{lines[0]} by google-vizier's comparator |", f"{lines[1]}---|"]
    for name in sorted(comparisons, key=lambda each: -comparisons[each].interval.median):
        comparison = comparisons[name]
        interval = comparison.interval
        lines.append(
            f"| {name} | {interval.median:+.2f} | {interval.low:+.2f} to {interval.high:+.2f} "
            f"| {comparison.verdict.value} | {len(comparison.scores)} | {range_text(comparison.num_repeats)} |"
        )
        if others:
            lines[-1] += f" {interval_text(others[name].interval) if name in others else ''} |"
    return "\n".join(lines)


def grid_table(rows: Mapping[str, Mapping[str, Comparison]], columns: Sequence[str], corner: str = "") -> str:
    """Comparisons by row and column; a cell is empty where there is none."""
    lines = [f"| {corner} | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for name, points in rows.items():
        cells = [comparison_text(points[column]) if column in points else "" for column in columns]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def interval_text(interval: Interval) -> str:
    """A number and its interval in a few characters."""
    return f"{interval.median:+.2f} ({interval.low:+.2f} to {interval.high:+.2f})"


def comparison_text(comparison: Comparison) -> str:
    """A number, its interval and verdict, and on how many problems and repeats they rest."""
    count = f"{len(comparison.scores)} x {range_text(comparison.num_repeats)}"
    return f"{interval_text(comparison.interval)}, {comparison.verdict.value}; {count}"


def median_text(values: Sequence[float], show: Callable[[float], str] = "{:.3f}".format) -> str:
    """The median of what was measured several times on one problem, with its interval where that shows a width."""
    if not values:
        return ""
    interval = several_times(values)
    middle, low, high = map(show, (interval.median, interval.low, interval.high))
    return middle if low == high else f"{middle} ({low} to {high})"


def several_times(values: Sequence[float]) -> Interval:
    """Of a median over repeats of one problem; of a few values it is about their range."""
    return median_interval([np.asarray(values, float)], SEED, num_resamples=NUM_DRAWS)


def range_text(counts: Sequence[int]) -> str:
    """Counts as one number, or their range where they differ."""
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
