"""What the model expects along one or two parameters, with its uncertainty."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from photinus.errors import ArgumentError
from photinus.plots.axes import ParameterAxis, axis_of
from photinus.plots.drawn import draw
from photinus.plots.source import (
    MODEL_TRIALS,
    Source,
    best_in,
    choose_objective,
    choose_params,
    completed_trials,
    ranked,
    reference_point,
    sharpest,
    value_of,
)
from photinus.plots.surface import draw_surface, predict_surface
from photinus.plots.theme import (
    ACCENT,
    MODEL,
    QUIET,
    held_note,
    hover,
    message,
    model_note,
    styled,
    words,
)
from photinus.problem import Metric
from photinus.trial import Trial

NUM_POINTS = 81  # along a line
MAX_DOTS = 250
BAND = "rgba(79,124,172,0.22)"
PANELS = {"q05": "5 % quantile", "q50": "median", "q95": "95 % quantile"}


def model(
    study: Source,
    objective: str | None = None,
    params: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
) -> go.Figure:
    """See `StudyPlots.model`."""
    problem = study.problem
    metric = choose_objective(problem, objective)
    chosen = None if params is None else choose_params(problem, params)
    if chosen is not None and len(chosen) > 2:
        raise ArgumentError(f"`params` must be one parameter or two, got {chosen}: draw them one by one")
    point = reference_point(study, metric, at)
    title = f"What the model expects of {words(metric.name)}"
    if not completed_trials(study.trials):
        return message(title, "No trial is completed yet.")
    names = chosen or sharpest(study, 1) or list(problem.space)[:1]
    axes = [axis_of(problem.space.parameters, name) for name in names]
    if len(axes) == 1:
        return _line(study, metric, axes[0], point, title)
    return _surfaces(study, metric, axes, point, title)


def _line(
    study: Source, metric: Metric, axis: ParameterAxis, point: Mapping[str, Any], title: str
) -> go.Figure:
    values = axis.grid(NUM_POINTS)
    rows = study.predict([{**point, axis.name: value} for value in values], max_trials=MODEL_TRIALS)
    quantiles: dict[str, list[Any]] = {
        q: [row[metric.name][q] for row in rows] for q in ("q05", "q50", "q95")
    }
    if any(q is None for column in quantiles.values() for q in column):
        return message(title, "The model has no finite answer here.")
    figure = go.Figure()
    draw_band = _add_bars if axis.is_coarse else _add_band
    draw_band(figure, axis.place(values), quantiles)
    trials = study.trials
    best = ranked(study.problem, trials, metric)[:20]
    _add_trials(
        figure, draw(completed_trials(trials), MAX_DOTS, {t.number for t in best}).trials, metric, axis
    )
    caption = (
        "9 of 10 measurements should fall between the 5 and 95 % quantiles. Dots are trials, wherever their other "
        f"parameters were.{held_note(point, [axis.name])}{model_note(trials)}"
    )
    figure.update_layout(xaxis=axis.layout(), yaxis_title_text=words(metric.name))
    return styled(figure, title, caption)


def _add_band(figure: go.Figure, x: list[Any], quantiles: dict[str, list[float]]) -> None:
    """A shaded interval around a line."""
    edge = {"mode": "lines", "line": {"width": 0, "color": MODEL}, "showlegend": False, "hoverinfo": "skip"}
    figure.add_scatter(x=x, y=quantiles["q05"], name="5 %", **edge)
    figure.add_scatter(x=x, y=quantiles["q95"], name="95 %", fill="tonexty", fillcolor=BAND, **edge)
    figure.add_scatter(
        x=x,
        y=quantiles["q50"],
        mode="lines",
        line={"color": MODEL, "width": 2.5},
        name="median, 5 to 95 %",
        customdata=list(zip(quantiles["q05"], quantiles["q95"], strict=True)),
        hovertemplate="%{x}: %{y:.4g}, 5 to 95 %: %{customdata[0]:.4g} to %{customdata[1]:.4g}<extra></extra>",
    )


def _add_bars(figure: go.Figure, x: list[Any], quantiles: dict[str, list[float]]) -> None:
    """A bar at each value, where there is nothing between them."""
    low, middle, high = (quantiles[q] for q in ("q05", "q50", "q95"))
    figure.add_scatter(
        x=x,
        y=middle,
        mode="markers",
        marker={"color": MODEL, "size": 11, "symbol": "line-ew-open", "line": {"width": 3}},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [top - m for top, m in zip(high, middle, strict=True)],
            "arrayminus": [m - bottom for bottom, m in zip(low, middle, strict=True)],
            "color": MODEL,
            "thickness": 6,
            "width": 0,
        },
        opacity=0.75,
        name="median, 5 to 95 %",
        hovertemplate="%{x}: %{y:.4g}<extra></extra>",
    )


def _add_trials(figure: go.Figure, trials: list[Trial], metric: Metric, axis: ParameterAxis) -> None:
    figure.add_scatter(
        x=axis.place([trial.params[axis.name] for trial in trials]),
        y=[value_of(trial, metric) for trial in trials],
        mode="markers",
        marker={"color": QUIET, "size": 5, "opacity": 0.6},
        name="trials",
        text=[hover(trial) for trial in trials],
        hovertemplate="%{text}<extra></extra>",
    )
    best = best_in(trials, metric)
    assert best is not None
    figure.add_scatter(
        x=axis.place([best.params[axis.name]]),
        y=[value_of(best, metric)],
        mode="markers",
        marker={"color": ACCENT, "size": 13, "symbol": "star"},
        name="best",
        text=[hover(best)],
        hovertemplate="%{text}<extra></extra>",
    )


def _surfaces(
    study: Source, metric: Metric, axes: Sequence[ParameterAxis], point: Mapping[str, Any], title: str
) -> go.Figure:
    surface = predict_surface(study, metric, axes, point)
    if surface is None:
        return message(title, "The model has no finite answer here.")
    limits = surface.quantiles["q05"].min(), surface.quantiles["q95"].max()
    figure = make_subplots(rows=1, cols=3, shared_yaxes=True, subplot_titles=list(PANELS.values()))
    for column, quantile in enumerate(PANELS, start=1):
        panel = draw_surface(surface, quantile, metric, axes, limits)
        figure.add_trace(panel.update(showscale=column == 3), row=1, col=column)
        figure.update_xaxes(**axes[0].layout(), row=1, col=column)
        figure.update_yaxes(**axes[1].layout(), row=1, col=column)
    figure.update_yaxes(title_text="", col=2).update_yaxes(title_text="", col=3)
    caption = (
        "9 of 10 measurements should fall between the left and the right picture."
        f"{held_note(point, [axis.name for axis in axes])}{model_note(study.trials)}"
    )
    return styled(figure, title, caption, 420)
