"""What the model expects over two parameters, and the trials."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from photinus.errors import ArgumentError
from photinus.plots.axes import axis_of
from photinus.plots.drawn import draw
from photinus.plots.source import (
    Source,
    choose_objective,
    choose_params,
    completed_trials,
    ranked,
    reference_point,
    sharpest,
    varying,
)
from photinus.plots.surface import draw_surface, predict_surface
from photinus.plots.theme import ACCENT, drawn_note, held_note, hover, message, model_note, styled, words

MAX_DOTS = 300


def contour(
    study: Source,
    objective: str | None = None,
    params: Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
) -> go.Figure:
    """See `StudyPlots.contour`."""
    problem, trials = study.problem, study.trials
    metric = choose_objective(problem, objective)
    chosen = None if params is None else choose_params(problem, params)
    if (len(varying(problem)) if chosen is None else len(chosen)) < 2 or (chosen and len(chosen) > 2):
        raise ArgumentError(
            f"a contour needs two parameters that can vary, got {chosen or varying(problem)}; "
            "for one there is plot.model()"
        )
    point = reference_point(study, metric, at)
    title = f"{words(metric.name)} as the model sees it"
    if not completed_trials(trials):
        return message(title, "No trial is completed yet.")
    names = chosen or sharpest(study, 2)
    axes = [axis_of(problem.space.parameters, name) for name in names]
    surface = predict_surface(study, metric, axes, point)
    if surface is None:
        return message(title, "The model has no finite answer here.")
    medians = surface.quantiles["q50"]
    figure = go.Figure(draw_surface(surface, "q50", metric, axes, (medians.min(), medians.max())))
    by_rank = ranked(problem, trials, metric)
    drawn = draw(completed_trials(trials), MAX_DOTS, {trial.number for trial in by_rank[:20]})
    for shown, name, marker in (
        (drawn.trials, "trials", {"color": "#ffffff", "size": 5, "opacity": 0.75}),
        (by_rank[:1], "best", {"color": ACCENT, "size": 14, "symbol": "star"}),
    ):
        outline = {"line": {"color": "#222a35", "width": 1}}
        figure.add_scatter(
            x=axes[0].place([trial.params[names[0]] for trial in shown]),
            y=axes[1].place([trial.params[names[1]] for trial in shown]),
            mode="markers",
            marker={**marker, **outline},
            name=name,
            showlegend=False,
            text=[hover(trial) for trial in shown],
            hovertemplate="%{text}<extra></extra>",
        )
    caption = (
        "Colour is the predicted median, lighter is better; dots are trials, the star the best."
        f"{held_note(point, names)}{drawn_note(drawn)}{model_note(trials)}"
    )
    figure.update_layout(xaxis=axes[0].layout(), yaxis=axes[1].layout())
    return styled(figure, title, caption, 440)
