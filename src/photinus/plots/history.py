"""Values by trial number, and the best so far."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from photinus.errors import ArgumentError
from photinus.plots.drawn import Drawn, draw
from photinus.plots.source import Source, choose_objective, completed_trials, cost_of, value_of
from photinus.plots.theme import (
    ACCENT,
    BAD,
    HEIGHT,
    QUIET,
    direction,
    drawn_note,
    hover,
    message,
    styled,
    words,
)
from photinus.problem import Metric
from photinus.trial import Trial, TrialState

MAX_DOTS = 1500
MAX_POWERS = 6  # of ten, written on a logarithmic axis
FEW = 10  # up to so many trials each number is written
ROW_HEIGHT = 260  # where there are several objectives
WIDE_RANGE = 1000.0  # a larger ratio of values is drawn on a logarithmic axis


def history(study: Source, objective: str | None = None, *, log_scale: bool | None = None) -> go.Figure:
    """See `StudyPlots.history`."""
    problem, trials = study.problem, study.trials
    metrics = list(problem.metrics) if objective is None else [choose_objective(problem, objective)]
    title = "How the search went"
    if not any(trial.state.is_finished for trial in trials):
        return message(title, "No trial is finished yet.")
    figure = make_subplots(rows=len(metrics), cols=1, shared_xaxes=True, vertical_spacing=0.12 / len(metrics))
    unmeasured = [t for t in trials if t.state in (TrialState.INFEASIBLE, TrialState.FAILED)]
    steps = {metric: improvements(trials, metric) for metric in metrics}
    keep = {trial.number for found in steps.values() for trial in found}
    drawn = draw(completed_trials(trials), MAX_DOTS, keep)
    for row, metric in enumerate(metrics, start=1):
        _add_values(figure, drawn, steps[metric], metric, trials, row)
        _add_unmeasured(figure, unmeasured, len(metrics), row)
        values = [value_of(trial, metric) for trial in drawn.trials]
        kind = "log" if _is_logarithmic(values, metric, log_scale) else "linear"
        figure.update_yaxes(title_text=words(metric.name), type=kind, row=row, col=1)
        if kind == "log" and values:
            decades = math.log10(max(values)) - math.log10(min(values))
            figure.update_yaxes(dtick=max(1, math.ceil(decades / MAX_POWERS)), row=row, col=1)
    if not drawn.trials:
        figure.update_yaxes(showticklabels=False)
    if len(trials) <= FEW:
        figure.update_xaxes(dtick=1)
    figure.update_xaxes(exponentformat="none", separatethousands=True)
    figure.update_xaxes(title_text="trial", row=len(metrics), col=1)
    better = direction(metrics[0]) if len(metrics) == 1 else "each objective on its own"
    caption = f"Dots are trials, the line is the best so far; {better}.{drawn_note(drawn)}"
    if not drawn.trials:
        caption = "No trial has a value yet; marks on the lower edge are trials without one."
    return styled(figure, title, caption, HEIGHT if len(metrics) == 1 else 90 + ROW_HEIGHT * len(metrics))


def improvements(trials: Sequence[Trial], metric: Metric) -> list[Trial]:
    """Completed trials that were better than all before them, by number."""
    found: list[Trial] = []
    for trial in completed_trials(trials):
        if not found or cost_of(trial, metric) < cost_of(found[-1], metric):
            found.append(trial)
    return found


def _add_values(
    figure: go.Figure, drawn: Drawn, steps: list[Trial], metric: Metric, trials: Sequence[Trial], row: int
) -> None:
    place = {"row": row, "col": 1}
    figure.add_scatter(
        x=[trial.number for trial in drawn.trials],
        y=[value_of(trial, metric) for trial in drawn.trials],
        mode="markers",
        marker={"color": QUIET, "size": 7 if len(drawn.trials) < 300 else 4, "opacity": 0.75},
        name="trials",
        legendgroup="trials",
        showlegend=row == 1,
        text=[hover(trial) for trial in drawn.trials],
        hovertemplate="%{text}<extra></extra>",
        **place,
    )
    # The line goes on to the last trial: the best stays the best until another one comes.
    ends = [trials[-1].number] if steps else []
    figure.add_scatter(
        x=[trial.number for trial in steps] + ends,
        y=[value_of(trial, metric) for trial in steps] + [value_of(t, metric) for t in steps[-1:]],
        mode="lines",
        line={"color": ACCENT, "shape": "hv", "width": 2.5},
        name="best so far",
        legendgroup="best",
        showlegend=row == 1,
        hovertemplate="best after trial %{x}: %{y:.4g}<extra></extra>",
        **place,
    )


def _add_unmeasured(figure: go.Figure, trials: Sequence[Trial], num_rows: int, row: int) -> None:
    """Trials without a value stand on the lower edge, on an axis of their own."""
    axis = f"y{num_rows + row}"
    for state, symbol, colour in (
        (TrialState.INFEASIBLE, "x-thin-open", BAD),
        (TrialState.FAILED, "line-ns-open", QUIET),
    ):
        chosen = draw([trial for trial in trials if trial.state is state], MAX_DOTS // 3).trials
        if chosen:
            figure.add_trace(
                go.Scatter(
                    x=[trial.number for trial in chosen],
                    y=[0.02] * len(chosen),
                    xaxis="x" if row == 1 else f"x{row}",
                    yaxis=axis,
                    mode="markers",
                    marker={
                        "symbol": symbol,
                        "color": colour,
                        "size": 8,
                        "line": {"width": 2, "color": colour},
                    },
                    name=state.value,
                    legendgroup=state.value,
                    showlegend=row == 1,
                    text=[hover(trial) for trial in chosen],
                    hovertemplate="%{text}<extra></extra>",
                )
            )
    overlay = {
        "overlaying": "y" if row == 1 else f"y{row}",
        "range": [0, 1],
        "visible": False,
        "fixedrange": True,
    }
    figure.update_layout({f"yaxis{num_rows + row}": overlay})


def _is_logarithmic(values: list[float], metric: Metric, wanted: bool | None) -> bool:
    is_positive = bool(values) and min(values) > 0
    if wanted and values and not is_positive:
        raise ArgumentError(
            f"`log_scale=True` needs positive values, but {metric.name!r} goes down to {min(values)}: leave it out"
        )
    return is_positive and (max(values) / WIDE_RANGE > min(values) if wanted is None else wanted)
