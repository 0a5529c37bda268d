"""Values against each parameter."""

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from photinus.plots.axes import axis_of
from photinus.plots.drawn import draw
from photinus.plots.source import Source, choose_objective, choose_params, ranked, value_of
from photinus.plots.theme import ACCENT, direction, drawn_note, hover, message, styled, words

MAX_PANELS = 12
MAX_DOTS = 400  # in each panel
COLUMNS = 3
PANEL_HEIGHT = 250
AGE = [[0.0, "#b9c3d1"], [1.0, "#4f7cac"]]  # early to late


def slices(study: Source, objective: str | None = None, params: Sequence[str] | None = None) -> go.Figure:
    """See `StudyPlots.slice`."""
    problem = study.problem
    metric = choose_objective(problem, objective)
    names = choose_params(problem, params)
    title = "One parameter at a time"
    by_rank = ranked(problem, study.trials, metric)
    if not by_rank:
        return message(title, "No trial is completed yet.")
    shown = names if params is not None else names[:MAX_PANELS]
    drawn = draw(sorted(by_rank, key=lambda t: t.number), MAX_DOTS, {t.number for t in by_rank[:20]})
    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    figure = make_subplots(
        rows=rows, cols=columns, shared_yaxes=True, vertical_spacing=0.32 / rows if rows > 1 else 0.1
    )
    for i, name in enumerate(shown):
        axis = axis_of(problem.space.parameters, name)
        place: dict[str, Any] = {"row": i // columns + 1, "col": i % columns + 1}
        for label, trials, marker in (
            ("trials", drawn.trials, _by_age([trial.number for trial in drawn.trials])),
            ("best", by_rank[:1], {"color": ACCENT, "size": 12, "symbol": "star"}),
        ):
            figure.add_scatter(
                x=axis.place([trial.params[name] for trial in trials]),
                y=[value_of(trial, metric) for trial in trials],
                mode="markers",
                marker=marker,
                name=label,
                showlegend=False,
                text=[hover(trial) for trial in trials],
                hovertemplate="%{text}<extra></extra>",
                **place,
            )
        figure.update_xaxes(**axis.layout(), **place)
    figure.update_yaxes(title_text=words(metric.name), col=1)
    hidden = len(names) - len(shown)
    more = f" {hidden} more parameters are not drawn; name them in `params`." if hidden else ""
    caption = f"Later trials are darker, the star is the best; {direction(metric)}.{more}{drawn_note(drawn)}"
    return styled(figure, title, caption, 130 + PANEL_HEIGHT * rows)


def _by_age(numbers: list[int]) -> dict[str, object]:
    return {"color": numbers, "colorscale": AGE, "size": 6, "opacity": 0.85}
