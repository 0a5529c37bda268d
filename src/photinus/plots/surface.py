"""What the model expects over a grid of two parameters."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from photinus.plots.axes import ParameterAxis
from photinus.plots.source import MODEL_TRIALS, Source
from photinus.plots.theme import SCALE
from photinus.problem import Goal, Metric

NUM_CELLS = 33  # along each side


class Surface(NamedTuple):
    """Quantiles on a grid; rows along the second parameter."""

    x: list[Any]
    y: list[Any]
    quantiles: dict[str, np.ndarray]


def predict_surface(
    study: Source, metric: Metric, axes: Sequence[ParameterAxis], at: Mapping[str, Any]
) -> Surface | None:
    """Quantiles over two parameters, the others held; None as long as nothing was measured."""
    x, y = (axis.grid(NUM_CELLS) for axis in axes)
    points = [{**at, axes[0].name: a, axes[1].name: b} for b in y for a in x]
    rows = [row[metric.name] for row in study.predict(points, max_trials=MODEL_TRIALS)]
    if any(row[q] is None for row in rows for q in ("q05", "q50", "q95")):
        return None
    shape = len(y), len(x)
    return Surface(
        axes[0].place(x),
        axes[1].place(y),
        {q: np.array([row[q] for row in rows], dtype=float).reshape(shape) for q in ("q05", "q50", "q95")},
    )


def draw_surface(
    surface: Surface,
    quantile: str,
    metric: Metric,
    axes: Sequence[ParameterAxis],
    limits: tuple[float, float],
) -> go.Heatmap | go.Contour:
    """Lines of equal value, or cells where a parameter has too few values for lines."""
    settings: dict[str, Any] = {
        "x": surface.x,
        "y": surface.y,
        "z": surface.quantiles[quantile],
        "zmin": limits[0],
        "zmax": limits[1],
        "colorscale": SCALE,
        "reversescale": metric.goal is Goal.MINIMIZE,
        "colorbar": {"thickness": 12, "outlinewidth": 0},
        "hovertemplate": "%{x}, %{y}: %{z:.4g}<extra></extra>",
    }
    if any(axis.is_coarse or axis.is_extreme for axis in axes):
        return go.Heatmap(**settings)
    return go.Contour(**settings, line={"width": 0.6, "color": "rgba(255,255,255,0.35)"}, ncontours=18)
