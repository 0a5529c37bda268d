"""Trials by objectives, and the set that no other trial beats."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from photinus.best import best_trials
from photinus.plots.drawn import draw
from photinus.plots.source import Source, choose_objectives, completed_trials, value_of
from photinus.plots.theme import ACCENT, QUIET, direction, drawn_note, hover, message, styled, words
from photinus.problem import Metric
from photinus.trial import Trial

MAX_DOTS = 1200
MAX_DOTS_OF_MANY = 300  # in each of several panels
PANEL = 230


def pareto(study: Source, objectives: Sequence[str] | None = None) -> go.Figure:
    """See `StudyPlots.pareto`."""
    problem, trials = study.problem, study.trials
    metrics = choose_objectives(problem, objectives)
    title = "The Pareto set"
    completed = completed_trials(trials)
    if not completed:
        return message(title, "No trial is completed yet.")
    front = best_trials(problem, completed)
    on_front = {trial.number for trial in front}
    drawn = draw(completed, MAX_DOTS if len(metrics) == 2 else MAX_DOTS_OF_MANY, on_front)
    front = [trial for trial in drawn.trials if trial.number in on_front]
    others = [trial for trial in drawn.trials if trial.number not in on_front]
    size = len(metrics) - 1
    triangle = [[{} if column <= row else None for column in range(size)] for row in range(size)]
    figure = make_subplots(
        rows=size,
        cols=size,
        specs=triangle,
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.02,
        vertical_spacing=0.02,
    )
    for (i, x), (j, y) in combinations(enumerate(metrics), 2):
        place: dict[str, Any] = {"row": j, "col": i + 1}
        _add_panel(figure, others, front, x, y, place, joins=len(problem.metrics) == 2)
        if j == size:
            figure.update_xaxes(title_text=words(x.name, 24), **place)
        if i == 0:
            figure.update_yaxes(title_text=words(y.name, 24), **place)
    better = "; ".join(f"{words(metric.name)}: {direction(metric)}" for metric in metrics)
    caption = (
        f"{len(on_front):,} of {len(completed):,} trials are beaten by no other. {better}.{drawn_note(drawn)}"
    )
    return styled(figure, title, caption, 420 if size == 1 else 130 + PANEL * size)


def _add_panel(
    figure: go.Figure,
    others: Sequence[Trial],
    front: Sequence[Trial],
    x: Metric,
    y: Metric,
    place: dict[str, Any],
    joins: bool,
) -> None:
    is_first = place == {"row": 1, "col": 1}
    ordered = sorted(front, key=lambda trial: value_of(trial, x))
    for trials, name, colour, size in (
        (others, "other trials", QUIET, 5),
        (ordered, "Pareto set", ACCENT, 8),
    ):
        figure.add_scatter(
            x=[value_of(trial, x) for trial in trials],
            y=[value_of(trial, y) for trial in trials],
            mode="lines+markers" if joins and name == "Pareto set" else "markers",
            # The front is a staircase: between two of its points nothing better than the worse of both is known.
            line={"shape": "hv" if x.goal == "minimize" else "vh", "width": 1, "color": colour},
            marker={"color": colour, "size": size, "opacity": 0.9 if name == "Pareto set" else 0.6},
            name=name,
            legendgroup=name,
            showlegend=is_first,
            text=[hover(trial) for trial in trials],
            hovertemplate="%{text}<extra></extra>",
            **place,
        )
