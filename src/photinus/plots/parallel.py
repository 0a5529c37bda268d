"""One line per trial through all its parameters.

Plotly's own parallel coordinates need WebGL and code made at run time, which careful pages forbid; plain lines in four
groups, from best to worst, need neither, and a click on the legend hides a group.
"""

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from photinus.plots.axes import ParameterAxis, axis_of
from photinus.plots.drawn import draw
from photinus.plots.source import Source, choose_objective, choose_params, ranked, value_of
from photinus.plots.theme import ACCENT, MODEL, QUIET, direction, drawn_note, message, number, styled, words
from photinus.trial import Trial

MAX_AXES = 12
MAX_LINES = 600
LEVEL_LETTERS = 40  # longer names stand aslant
GROUPS = (  # name, share of the trials up to and with it, colour, width, opacity
    ("best tenth", 0.10, ACCENT, 2.2, 0.95),
    ("next quarter", 0.35, "#a4708f", 1.2, 0.7),
    ("next third", 0.65, MODEL, 1.0, 0.5),
    ("the rest", 1.0, QUIET, 0.8, 0.35),
)


def parallel(study: Source, objective: str | None = None, params: Sequence[str] | None = None) -> go.Figure:
    """See `StudyPlots.parallel`."""
    problem = study.problem
    metric = choose_objective(problem, objective)
    names = choose_params(problem, params)
    title = "All parameters at once"
    by_rank = ranked(problem, study.trials, metric)
    if not by_rank:
        return message(title, "No trial is completed yet.")
    shown = names if params is not None else names[:MAX_AXES]
    axes = [axis_of(problem.space.parameters, name) for name in shown]
    drawn = draw(by_rank, MAX_LINES, {trial.number for trial in by_rank[:20]})
    rank = {trial.number: i for i, trial in enumerate(by_rank)}
    values = [value_of(trial, metric) for trial in drawn.trials]
    low, high = min(values), max(values)

    figure = go.Figure()
    ends = [math.ceil(share * len(by_rank)) for _, share, *_ in GROUPS]
    # The worst first: what is drawn later lies on top.
    for (name, _, colour, width, opacity), start, end in zip(
        GROUPS[::-1], [0, *ends[:-1]][::-1], ends[::-1], strict=True
    ):
        group = [trial for trial in drawn.trials if start <= rank[trial.number] < end]
        if group:
            x, y, text = _lines(group, axes, [_share(value_of(t, metric), low, high) for t in group])
            figure.add_scatter(
                x=x,
                y=y,
                mode="lines",
                line={"color": colour, "width": width},
                opacity=opacity,
                name=name,
                text=text,
                hovertemplate="%{text}<extra></extra>",
            )
    _draw_axes(figure, axes, words(metric.name), number(low), number(high))
    hidden = len(names) - len(shown)
    more = f" {hidden} more parameters are not drawn; name them in `params`." if hidden else ""
    caption = f"One line a trial, {direction(metric)} on the last axis.{more}{drawn_note(drawn)}"
    return styled(figure, title, caption, 420).update_layout(legend={"traceorder": "reversed"})


def _lines(
    group: Sequence[Trial], axes: Sequence[ParameterAxis], heights: Sequence[float]
) -> tuple[list[float | None], list[float | None], list[str | None]]:
    """One polyline after another, with a gap between them."""
    places = [axis.unit([trial.params[axis.name] for trial in group]) for axis in axes]
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str | None] = []
    for i, trial in enumerate(group):
        x += [*range(len(axes) + 1), None]
        y += [*(round(place[i], 4) for place in places), round(heights[i], 4), None]
        text += [f"trial {trial.number}"] * (len(axes) + 1) + [None]
    return x, y, text


def _draw_axes(figure: go.Figure, axes: Sequence[ParameterAxis], objective: str, low: str, high: str) -> None:
    for i in range(len(axes) + 1):
        places, texts = axes[i].ticks() if i < len(axes) else ([0.0, 1.0], [low, high])
        figure.add_shape(type="line", x0=i, x1=i, y0=0, y1=1, line={"color": QUIET, "width": 1})
        for place, text in zip(places, texts, strict=True):
            label = {"text": text, "font": {"size": 10}, "xanchor": "left", "xshift": 4, "opacity": 0.85}
            figure.add_annotation(x=i, y=place, showarrow=False, **label)
    titles = [words(axis.name, 18) for axis in axes] + [f"<b>{objective}</b>"]
    figure.update_xaxes(
        tickvals=list(range(len(titles))),
        ticktext=titles,
        range=[-0.1, 1.12 * len(axes) + 0.1],
        showgrid=False,
        zeroline=False,
        tickangle=0 if sum(len(title) for title in titles) < LEVEL_LETTERS else -35,
    )
    figure.update_yaxes(visible=False, range=[-0.06, 1.06])


def _share(value: float, low: float, high: float) -> float:
    # Halves, because the distance of the largest floats is infinite.
    return 0.5 if high == low else (value / 2 - low / 2) / (high / 2 - low / 2)
