"""The look of all pictures: colours, one Plotly template for light and one for dark pages, and words."""

import functools
import html
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from photinus.plots.drawn import Drawn
from photinus.plots.source import MODEL_TRIALS
from photinus.problem import Goal, Metric
from photinus.trial import Trial, TrialState

ACCENT = "#d9820f"  # the firefly's light: what is best
QUIET = "#7f8ea3"  # trials among others; readable on white and on black
MODEL = "#4f7cac"  # what is believed rather than measured
BAD = "#c2564b"  # infeasible
SCALE = [[0.0, "#43557f"], [0.4, "#8a6a94"], [0.7, "#cf7d62"], [1.0, "#f3b340"]]  # worse to better
HEIGHT = 380
MAX_LABEL = 32  # letters of a user's name on an axis
MAX_MESSAGE = 90
MAX_HOVER_PARAMS = 8

_EXPONENT = re.compile(r"e([-+])0*(\d)")  # 1e-05 becomes 1e-5

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"


def template(ink: str, grid: str, paper: str) -> dict[str, Any]:
    """A Plotly template for a page of these colours; backgrounds are left to the page."""
    axis = {
        "gridcolor": grid,
        "zerolinecolor": grid,
        "linecolor": grid,
        "tickcolor": grid,
        "exponentformat": "e",  # the default writes 10µ for 1e-5
        "title": {"standoff": 8, "font": {"size": 13}},
    }
    return {
        "layout": {
            "font": {"family": FONT, "size": 12, "color": ink},
            "title": {"x": 0.0, "xref": "paper", "xanchor": "left", "font": {"size": 16}},
            "colorway": [QUIET, ACCENT, MODEL, BAD],
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hoverlabel": {"font": {"family": FONT, "color": ink}, "bgcolor": paper, "bordercolor": grid},
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
                "bgcolor": "rgba(0,0,0,0)",
            },
            "margin": {"l": 56, "r": 16, "t": 84, "b": 44},
            # Each axis makes room on its own side only. Where labels may push all sides, two axes can push each
            # other for ever on a narrow screen.
            "xaxis": axis | {"automargin": "height"},
            "yaxis": axis | {"automargin": "width"},
            "annotationdefaults": {"font": {"color": ink}},
        }
    }


LIGHT = template(ink="#2b3440", grid="#e3e7ec", paper="#ffffff")
DARK = template(ink="#d5dce6", grid="#313b49", paper="#1b222c")


def styled(figure: go.Figure, title: str, caption: str = "", height: int = HEIGHT) -> go.Figure:
    """The figure in the house style; a page of ours shows title and caption as its own text."""
    heading = {"text": title, "subtitle": {"text": caption, "font": {"size": 12}}}
    return figure.update_layout(template=_light_page(), title=heading, height=height)


@functools.cache
def _light_page() -> go.layout.Template:
    """Made once: Plotly takes its time to check a template."""
    paper = {"paper_bgcolor": "#ffffff", "plot_bgcolor": "#ffffff"}
    return go.layout.Template({"layout": {**LIGHT["layout"], **paper}})


def message(title: str, text: str) -> go.Figure:
    """A figure that says why there is nothing to see yet."""
    figure = go.Figure()
    place = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
    figure.add_annotation(text=text, font={"size": 14}, **place)
    hidden = {"visible": False, "fixedrange": True}
    return styled(figure, title, height=200).update_layout(xaxis=hidden, yaxis=hidden)


def words(text: object, limit: int = MAX_LABEL) -> str:
    """A user's text for a label: Plotly would take some of its characters for markup."""
    plain = " ".join(str(text).split()) or repr(text)
    return html.escape(plain if len(plain) <= limit else plain[: limit - 1] + "…", quote=False)


def number(value: float) -> str:
    """A number as people read it."""
    if not math.isfinite(value):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{int(value)}"
    return _EXPONENT.sub(r"e\1\2", f"{value:.4g}")


def value_text(value: object) -> str:
    """A parameter's value as text, ready for a label."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        return number(value)
    return words(value)


def hover(trial: Trial) -> str:
    """What a trial says when it is pointed at."""
    outcome = [f"{words(name)} = {number(value)}" for name, value in (trial.values or {}).items()]
    if trial.values is None:
        outcome = [
            trial.state.value
            if trial.message is None
            else f"{trial.state.value}: {words(trial.message, MAX_MESSAGE)}"
        ]
    return "<br>".join([f"<b>trial {trial.number}</b>", *outcome, *params_lines(trial.params)])


def params_lines(params: Mapping[str, Any]) -> list[str]:
    """Parameters, one line each, as many as fit."""
    lines = [f"{words(name)}: {value_text(value)}" for name, value in list(params.items())[:MAX_HOVER_PARAMS]]
    hidden = len(params) - len(lines)
    return [*lines, f"and {hidden} more"] if hidden else lines


def direction(metric: Metric) -> str:
    """Which way is better, for people."""
    return "less is better" if metric.goal is Goal.MINIMIZE else "more is better"


def drawn_note(drawn: Drawn, choice: str = "the best among them") -> str:
    """That only some trials are drawn, where that is so."""
    if not drawn.num_hidden:
        return ""
    total = len(drawn.trials) + drawn.num_hidden
    return f" {len(drawn.trials):,} of {total:,} trials are drawn, {choice}."


def model_note(trials: Sequence[Trial]) -> str:
    """That the model knows only some trials, where that is so."""
    count = sum(trial.state in (TrialState.COMPLETED, TrialState.INFEASIBLE) for trial in trials)
    if count <= MODEL_TRIALS:
        return ""
    return f" The model is fitted to {MODEL_TRIALS} of {count:,} trials: the best, and others spread evenly."


def held_note(at: Mapping[str, Any], moved: Sequence[str]) -> str:
    """Which values the parameters that are not drawn have."""
    held = {name: value for name, value in at.items() if name not in moved}
    return (
        ""
        if not held
        else " Elsewhere " + ", ".join(line.replace(": ", " ") for line in params_lines(held)) + "."
    )


def colours(metric: Metric, values: Sequence[float]) -> dict[str, Any]:
    """Marker settings that colour trials by value, the better the lighter."""
    return {
        "color": list(values),
        "colorscale": SCALE,
        "reversescale": metric.goal is Goal.MINIMIZE,
    }
