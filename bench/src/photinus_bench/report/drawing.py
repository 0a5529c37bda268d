"""Figures, drawn by matplotlib without a screen; every function returns one, ready to be saved."""

import io
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from photinus_bench.analysis.bootstrap import Interval
from photinus_bench.analysis.comparison import Comparison
from photinus_bench.analysis.convergence import Band

# Colours that people who confuse red and green can tell apart (Okabe and Ito 2008); Photinus has the strongest.
COLOURS = {
    "photinus-paper": "#0072B2",
    "photinus-default": "#D55E00",
    "optuna-gp": "#009E73",
    "ax": "#CC79A7",
    "hebo": "#E69F00",
    "vizier": "#56B4E9",
    "vizier-gp-bandit": "#000000",
    "random": "#999999",
    "quasi-random": "#666666",
    "optuna-tpe": "#8C564B",
    "bayesopt": "#17BECF",
    "cma": "#BCBD22",
    "hyperopt": "#7F3C8D",
    "skopt": "#3969AC",
    "smac": "#80BA5A",
    "ax-ucb": "#E73F74",
}
MORE_COLOURS = ("#A5AA99", "#9D755D", "#54A24B", "#B279A2")  # of ablations and the like
MARKERS = "osD^v<>PX*hpd8"
STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and files stay small
    "svg.hashsalt": "photinus",  # the same figure gives the same file
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}
WIDTH = 8.0  # inches
LEGEND_LETTERS = 105  # that fit beside each other


def look(algorithms: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of every algorithm; colours of those that have a name here are the same everywhere."""
    others = itertools.cycle(MORE_COLOURS)
    return {
        name: (COLOURS.get(name) or next(others), MARKERS[i % len(MARKERS)])
        for i, name in enumerate(algorithms)
    }


def violins(comparisons: Mapping[str, Comparison], baseline: str, *, of: str | None = None) -> Figure:
    """Scores by problem of each algorithm, best median first, with the interval of the median.

    Where the rows are settings `of` one algorithm they stay in their order, in its colour.
    """
    with rc_context(STYLE):
        order = list(comparisons)
        if of is None:
            order.sort(key=lambda name: -comparisons[name].interval.median)
        figure, grid = _panels(height=0.9 + 0.42 * len(order))
        axes = grid[0, 0]
        for row, name in enumerate(order):
            comparison, (colour, _) = comparisons[name], look(order)[name] if of is None else look([of])[of]
            place = len(order) - row
            if len(comparison.scores) > 2 and np.ptp(comparison.scores) > 0:
                body = axes.violinplot(
                    comparison.scores, [place], orientation="horizontal", widths=0.8, showextrema=False
                )
                for part in body["bodies"]:
                    part.set(facecolor=colour, alpha=0.25)
            axes.plot(comparison.scores, np.full(len(comparison.scores), place), "|", color=colour, alpha=0.7)
            _interval(axes, comparison.interval, place, colour)
        axes.axvline(0, color="#000000", linewidth=0.8)
        axes.set_yticks(range(len(order), 0, -1), order)
        axes.set_xlabel(f"log-efficiency against {baseline} (above 0: needs fewer trials)")
        return figure


def medians(
    rows: Mapping[str, Mapping[float, Comparison]], xlabel: str, baseline: str, *, is_log: bool = False
) -> Figure:
    """Median log-efficiency with its interval against a setting, a line for each algorithm."""
    with rc_context(STYLE):
        figure, grid = _panels(height=3.6)
        axes = grid[0, 0]
        looks = look(list(rows))
        settings = sorted({x for points in rows.values() for x in points})
        step = min(np.diff(settings), default=1) * 0.02 if not is_log else 0
        for i, (name, points) in enumerate(rows.items()):
            colour, marker = looks[name]
            x = np.array(sorted(points), float)
            values = [points[setting].interval for setting in sorted(points)]
            shift = (i - len(rows) / 2) * step  # or intervals would cover each other
            middle = np.array([v.median for v in values])
            error = np.abs(np.array([[v.low, v.high] for v in values]).T - middle)
            axes.errorbar(
                x + shift, middle, yerr=error, color=colour, marker=marker, markersize=4, linewidth=1,
                capsize=2, label=name,
            )  # fmt: skip
        axes.axhline(0, color="#000000", linewidth=0.8)
        if is_log:
            axes.set_xscale("log", base=2)
        axes.set_xticks(settings, [f"{x:g}" for x in settings])
        axes.set_xlabel(xlabel)
        axes.set_ylabel(f"log-efficiency\nagainst {baseline}")
        _legend(figure, *axes.get_legend_handles_labels())
        return figure


def curves(
    panels: Mapping[str, Mapping[str, tuple[np.ndarray, Band]]],
    xlabel: str,
    ylabel: str,
    *,
    is_log: bool = False,
    is_log_x: bool = False,
) -> Figure:
    """Panels of curves with their bands: {title: {algorithm: (x, band)}}."""
    with rc_context(STYLE):
        num_columns = min(4, len(panels))
        num_rows = math.ceil(len(panels) / num_columns)
        figure, grid = _panels(num_rows, num_columns, height=2.3 * num_rows + 0.5)
        names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
        looks = look(names)
        for axes, (title, panel) in zip(grid.flat, panels.items(), strict=False):
            for name, (x, band) in panel.items():
                colour, _ = looks[name]
                axes.plot(x, band.median, color=colour, linewidth=1.2, label=name)
                axes.fill_between(x, band.low, band.high, color=colour, alpha=0.15, linewidth=0)
            axes.set_title(title, fontsize=9)
            if is_log:
                axes.set_yscale("log")
            if is_log_x:
                axes.set_xscale("log")
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        for axes in grid[-1]:
            axes.set_xlabel(xlabel)
        for axes in grid[:, 0]:
            axes.set_ylabel(ylabel)
        handles = {}
        for axes in grid.flat:
            handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        _legend(figure, list(handles.values()), list(handles))
        return figure


def clouds(
    panels: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]],
    xlabel: str,
    ylabel: str,
    *,
    joins_medians: bool = False,
    is_log_x: bool = False,
) -> Figure:
    """Panels of points, and the medians at equal x joined by lines: {title: {name: (x, y)}}."""
    with rc_context(STYLE):
        figure, grid = _panels(1, len(panels), height=3.4)
        for axes, (title, panel) in zip(grid.flat, panels.items(), strict=True):
            looks = look(list(panel))
            for name, (x, y) in panel.items():
                colour, marker = looks[name]
                axes.plot(x, y, marker, color=colour, alpha=0.35, markersize=4, label=name)
                if joins_medians:
                    places = np.unique(x)
                    axes.plot(places, [np.median(y[x == place]) for place in places], color=colour)
            axes.set(title=title, xlabel=xlabel)
            if is_log_x:
                axes.set_xscale("log")
        grid[0, 0].set_ylabel(ylabel)
        grid[0, -1].legend()
        return figure


def histograms(panels: Mapping[str, np.ndarray], xlabel: str) -> Figure:
    """One histogram for each set of numbers."""
    with rc_context(STYLE):
        figure, grid = _panels(1, len(panels), height=2.2)
        for axes, (title, values) in zip(grid.flat, panels.items(), strict=True):
            axes.hist(values, bins=24, color=COLOURS["photinus-paper"])
            axes.set_title(title, fontsize=9)
            axes.set_xlabel(xlabel)
        return figure


def bars(rows: Mapping[str, Interval], xlabel: str) -> Figure:
    """One number with its interval for each algorithm, smallest first, on a log scale."""
    with rc_context(STYLE):
        order = sorted(rows, key=lambda name: rows[name].median)
        figure, grid = _panels(height=0.9 + 0.32 * len(order))
        axes = grid[0, 0]
        for row, name in enumerate(order):
            _interval(axes, rows[name], len(order) - row, look(order)[name][0])
        axes.set_yticks(range(len(order), 0, -1), order)
        axes.set_xscale("log")
        axes.set_xlabel(xlabel)
        return figure


def to_svg(figure: Figure) -> str:
    """The figure as text, the same for the same numbers."""
    buffer = io.StringIO()
    with rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _panels(num_rows: int = 1, num_columns: int = 1, *, height: float) -> tuple[Figure, np.ndarray]:
    # Not by pyplot, which keeps every figure that it makes.
    figure = Figure(figsize=(WIDTH, height))
    return figure, figure.subplots(num_rows, num_columns, squeeze=False)


def _interval(axes: Axes, interval: Interval, place: float, colour: str) -> None:
    axes.plot([interval.low, interval.high], [place, place], color=colour, linewidth=3, alpha=0.8)
    axes.plot(interval.median, place, "o", color=colour, markersize=6, markeredgecolor="white")


def _legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Below everything, in as many columns as the longest name leaves room for."""
    longest = max((len(label) for label in labels), default=1)
    num_columns = min(5, max(1, LEGEND_LETTERS // (longest + 6)))  # 6: about as wide as a line's sample
    figure.legend(handles, labels, loc="outside lower center", ncols=num_columns)
