"""The page that the demo leaves behind: one file that opens without a network."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

import photinus as ph

METHOD_COLOURS = {
    "centre": "#7f7f7f",
    "quasi_random": "#bcbd22",
    "ucb": "#d95f02",
    "pure_exploration": "#1b9e77",
}
METHOD_NAMES = {
    "centre": "the centre of the space",
    "quasi_random": "a quasi-random point",
    "ucb": "the upper confidence bound",
    "pure_exploration": "pure exploration",
}
BEST_COLOUR = "#222222"
ERROR_TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
ERROR_AXIS = {
    "type": "log",
    "title": "misread",
    "tickvals": ERROR_TICKS,
    "ticktext": [f"{tick:.0%}" for tick in ERROR_TICKS],
    "range": [math.log10(ERROR_TICKS[0]), math.log10(1.1)],
}
SMALLEST_ERROR = ERROR_TICKS[
    0
]  # predictions below it, some of them negative, end at the edge of the logarithmic axis

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Photinus demo</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }}
  h1 {{ font-size: 1.7rem; margin-bottom: 0; }}
  h2 {{ font-size: 1.2rem; margin: 2.2rem 0 0; }}
  p {{ max-width: 46rem; margin: .4rem 0; }}
  table {{ border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; }}
  th, td {{ padding: .25rem .9rem .25rem 0; text-align: left; border-bottom: 1px solid #ddd; }}
</style>
</head>
<body>
<h1>Reading handwritten digits</h1>
<p>A neural network from scikit-learn, {num_trials} trials by Photinus. {summary}</p>
{scores}
<h2>How the search went</h2>
<p>Each dot is a trial, its colour the rule that chose it. The line is the best so far.</p>
{history}
<h2>Why trial {best_number} was tried</h2>
<p>{why}</p>
{nearest}
<h2>What the model expected, and what came</h2>
<p>Bars reach from the 5 % to the 95 % quantile of the prediction made before the trial ran; dots are measurements.</p>
{predictions}
<h2>One parameter at a time</h2>
<p>Later trials are darker.</p>
{slices}
<h2>All parameters at once</h2>
<p>Drag along an axis to select trials.</p>
{parallel}
</body>
</html>
"""


def write_page(study: ph.Study, scores: Mapping[str, tuple[float, float]], path: Path) -> None:
    """Write the page about a finished demo study."""
    trials = [trial for trial in study.trials if trial.values]
    best = study.best_trial
    figures = {
        "history": history(trials),
        "predictions": predictions(trials, best),
        "slices": slices(study.problem, trials),
        "parallel": parallel(study.problem, trials),
    }
    # The library itself goes into the page once, in front of the first figure.
    parts = {
        name: figure.to_html(
            full_html=False, include_plotlyjs=name == "history", config={"displayModeBar": False}
        )
        for name, figure in figures.items()
    }
    (_, unseen_default), (_, unseen_found) = scores.values()
    page = PAGE.format(
        num_trials=len(study.trials),
        summary=(
            f"Of the images that tuning never saw, {unseen_default:.1%} were misread with scikit-learn's default "
            f"settings and {unseen_found:.1%} with the settings found."
        ),
        scores=_table(
            ["settings", "misread in cross-validation", "misread of the images put aside"],
            [[name, f"{validation:.2%}", f"{unseen:.2%}"] for name, (validation, unseen) in scores.items()],
        ),
        best_number=best.number,
        why=_why(best),
        nearest=_nearest(best, {trial.number: trial for trial in trials}),
        **parts,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")


def history(trials: Sequence[ph.Trial]) -> go.Figure:
    """Error by trial number, and the best so far."""
    figure = go.Figure()
    for method, colour in METHOD_COLOURS.items():
        chosen = [trial for trial in trials if _method(trial) == method]
        if chosen:
            figure.add_scatter(
                x=[trial.number for trial in chosen],
                y=[_error(trial) for trial in chosen],
                mode="markers",
                marker={"color": colour, "size": 9},
                name=METHOD_NAMES[method],
                text=[_lines(trial.params) for trial in chosen],
                hovertemplate="trial %{x}: %{y:.2%}<br>%{text}<extra></extra>",
            )
    best_so_far = [min(_error(t) for t in trials[: i + 1]) for i in range(len(trials))]
    figure.add_scatter(
        x=[trial.number for trial in trials],
        y=best_so_far,
        mode="lines",
        line={"color": BEST_COLOUR, "shape": "hv", "width": 1.5},
        name="best so far",
        hoverinfo="skip",
    )
    figure.update_layout(**_layout(380), xaxis_title="trial", legend={"orientation": "h", "y": 1.12})
    return figure.update_yaxes(**ERROR_AXIS)


def predictions(trials: Sequence[ph.Trial], best: ph.Trial) -> go.Figure:
    """Predicted intervals beside measurements, for trials that a model chose."""
    chosen = [trial for trial in trials if "predicted" in (trial.reason or {})]
    quantiles = [(trial.reason or {})["predicted"]["error"] for trial in chosen]
    low, high = ([max(q[name], SMALLEST_ERROR) for q in quantiles] for name in ("q05", "q95"))
    numbers = [trial.number for trial in chosen]
    figure = go.Figure()
    figure.add_bar(
        x=numbers,
        base=low,
        y=[top - bottom for bottom, top in zip(low, high, strict=True)],
        marker={"color": [METHOD_COLOURS[_method(trial)] for trial in chosen], "opacity": 0.35},
        name="predicted, 5 to 95 %",
        customdata=[[q["q05"], q["q50"], q["q95"]] for q in quantiles],
        hovertemplate="trial %{x}: %{customdata[0]:.1%}, %{customdata[1]:.1%}, %{customdata[2]:.1%}<extra></extra>",
    )
    figure.add_scatter(
        x=numbers,
        y=[_error(trial) for trial in chosen],
        mode="markers",
        marker={"color": BEST_COLOUR, "size": [13 if t.number == best.number else 7 for t in chosen]},
        name="measured (large: the best)",
        hovertemplate="trial %{x}: %{y:.2%}<extra></extra>",
    )
    figure.update_layout(**_layout(360), xaxis_title="trial", legend={"orientation": "h", "y": 1.12})
    return figure.update_yaxes(**ERROR_AXIS)


def slices(problem: ph.Problem, trials: Sequence[ph.Trial]) -> go.Figure:
    """Error against each parameter."""
    parameters = problem.space.parameters
    num_columns = 3
    figure = make_subplots(
        rows=math.ceil(len(parameters) / num_columns),
        cols=num_columns,
        shared_yaxes=True,
        subplot_titles=list(parameters),
        vertical_spacing=0.18,
    )
    for i, (name, parameter) in enumerate(parameters.items()):
        row, column = divmod(i, num_columns)
        place: dict[str, Any] = {"row": row + 1, "col": column + 1}
        figure.add_scatter(
            x=[trial.params[name] for trial in trials],
            y=[_error(trial) for trial in trials],
            mode="markers",
            marker={
                "color": [trial.number for trial in trials],
                "colorscale": "Blues",
                "cmin": -10,
                "size": 7,
            },
            showlegend=False,
            hovertemplate="%{x}: %{y:.2%}<extra></extra>",
            **place,
        )
        ticks = _ticks(parameter)
        scale = (
            "category" if isinstance(parameter, ph.Categorical) else "log" if _is_log(parameter) else "linear"
        )
        figure.update_xaxes(type=scale, tickvals=ticks, ticktext=[f"{tick}" for tick in ticks], **place)
    figure.update_layout(**_layout(520))
    return figure.update_yaxes(**{**ERROR_AXIS, "title": None})


def parallel(problem: ph.Problem, trials: Sequence[ph.Trial]) -> go.Figure:
    """One line per trial through all its parameters."""
    dimensions = [_dimension(name, p, trials) for name, p in problem.space.parameters.items()]
    magnitudes = [math.log10(max(_error(trial), SMALLEST_ERROR)) for trial in trials]
    ticks = {"tickvals": [math.log10(t) for t in ERROR_TICKS], "ticktext": ERROR_AXIS["ticktext"]}
    dimensions.append(
        {"label": "misread", "values": magnitudes, "range": [math.log10(SMALLEST_ERROR), 0], **ticks}
    )
    line = {"color": magnitudes, "colorscale": "Viridis", "reversescale": True}
    figure = go.Figure(go.Parcoords(dimensions=dimensions, line=line, labelfont={"size": 13}))
    return figure.update_layout(**{**_layout(380), "margin": {"l": 70, "r": 50, "t": 60, "b": 30}})


def _dimension(name: str, parameter: Any, trials: Sequence[ph.Trial]) -> dict[str, Any]:
    def place(value: Any) -> float:
        if isinstance(parameter, ph.Categorical):
            return parameter.values.index(value)
        return math.log10(value) if _is_log(parameter) else value

    ticks = _ticks(parameter)
    return {
        "label": name,
        "values": [place(trial.params[name]) for trial in trials],
        "range": [place(ticks[0]), place(ticks[-1])],
        "tickvals": [place(tick) for tick in ticks],
        "ticktext": [f"{tick}" for tick in ticks],
    }


def _ticks(parameter: Any) -> list[Any]:
    """Values of a parameter to write on its axis, first and last included."""
    if isinstance(parameter, ph.Categorical | ph.Discrete):
        return list(parameter.values)
    if not _is_log(parameter):
        return list(range(parameter.low, parameter.high + 1))
    if isinstance(parameter, ph.Int):
        return [parameter.low, round(math.sqrt(parameter.low * parameter.high)), parameter.high]
    low, high = round(math.log10(parameter.low)), round(math.log10(parameter.high))
    return [10.0**exponent for exponent in range(low, high + 1, 2 if high - low > 4 else 1)]


def _why(trial: ph.Trial) -> str:
    reason = trial.reason or {}
    chosen = f"It was chosen by {METHOD_NAMES.get(_method(trial), _method(trial))}, to {reason['intent']}."
    if "predicted" not in reason:
        return f"{chosen} There were no results yet to learn from."
    quantiles = reason["predicted"]["error"]
    sharpest = sorted(reason["hyperparameters"]["length_scales"].items(), key=lambda item: item[1])[:2]
    radius = reason["trust_region"]["radius"]
    region = (
        "no trust region"
        if radius is None
        else f"a trust region of radius {radius:.2f} around earlier trials"
    )
    return escape(
        f"{chosen} The model expected an error of {quantiles['q50']:.1%}, with 90 % probability between "
        f"{quantiles['q05']:.1%} and {quantiles['q95']:.1%}; {_error(trial):.2%} came out. The search looked at "
        f"{reason['evaluations']:,} points, with {region}. At that moment the model took "
        f"{' and '.join(name for name, _ in sharpest)} for the parameters in which the smallest changes matter."
    )


def _nearest(trial: ph.Trial, trials: Mapping[int, ph.Trial]) -> str:
    nearest = (trial.reason or {}).get("nearest", [])
    rows = [
        [
            f"trial {near['number']}",
            f"distance {near['distance']:.2f}",
            f"{_error(trials[near['number']]):.2%}" if near["number"] in trials else "infeasible",
            _lines(trials[near["number"]].params, ", ") if near["number"] in trials else "",
        ]
        for near in nearest
    ]
    return _table(["nearest trials then", "in the unit cube", "error", "parameters"], rows) if rows else ""


def _table(header: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _layout(height: int) -> dict[str, Any]:
    return {"height": height, "template": "plotly_white", "margin": {"l": 60, "r": 20, "t": 40, "b": 50}}


def _lines(params: Mapping[str, Any], separator: str = "<br>") -> str:
    shown = (f"{k}={v:.2g}" if isinstance(v, float) else f"{k}={v}" for k, v in params.items())
    return separator.join(shown)


def _is_log(parameter: Any) -> bool:
    return getattr(parameter, "scale", None) == "log"


def _method(trial: ph.Trial) -> str:
    return (trial.reason or {}).get("method", "you")


def _error(trial: ph.Trial) -> float:
    assert trial.values is not None
    return trial.values["error"]
