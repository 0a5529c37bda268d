"""What the model believes about each parameter, in plain words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from photinus.plots.axes import ParameterAxis, axis_of
from photinus.plots.sensitivity import Sensitivity
from photinus.plots.source import MODEL_TRIALS, varying
from photinus.plots.theme import number
from photinus.problem import Goal
from photinus.report.moment import Moment
from photinus.report.prospects import Prospect

NUM_POINTS = 33  # along each parameter
GOOD_SHARE = 0.1  # of the span of a parameter's curve: values so close to its best count as good
SMALL_SHARE = 0.01  # of the variation: below it a parameter counts as without effect
END = 0.06  # part of the range that counts as its end
PACES = ((0.25, "changes within a small part of the range"), (0.8, "changes across the range"))
SLOW, FLAT = "changes slowly", "nearly flat"
FLAT_LENGTH = 3.0


@dataclass(frozen=True)
class Habit:
    """One parameter as the model sees it around the likely best point."""

    name: str
    total: float | None  # share of the variation, together with other parameters
    alone: float | None
    good: str  # values that are about as good as the best
    behaviour: str
    length_scale: float  # over which part of the range results stay alike
    pace: str


def find_habits(
    moment: Moment, prospect: Prospect, sensitivity: Sensitivity | None, length_scales: Mapping[str, float]
) -> list[Habit]:
    """Parameters that can vary, most important first."""
    names = list(sensitivity.total) if sensitivity else varying(moment.problem)
    axes = [axis_of(moment.problem.space.parameters, name) for name in names]
    grids = [axis.grid(NUM_POINTS) for axis in axes]
    points = [
        {**prospect.likely_params, axis.name: value}
        for axis, grid in zip(axes, grids, strict=True)
        for value in grid
    ]
    metric = prospect.metric
    sign = 1.0 if metric.goal is Goal.MINIMIZE else -1.0
    rows = moment.predict(points, max_trials=MODEL_TRIALS)
    costs = np.array([sign * (row[metric.name]["q50"] or 0.0) for row in rows])
    ends = np.cumsum([len(grid) for grid in grids])
    return [
        _habit(axis, grid, costs[end - len(grid) : end], sensitivity, length_scales[axis.name])
        for axis, grid, end in zip(axes, grids, ends, strict=True)
    ]


def _habit(
    axis: ParameterAxis,
    grid: Sequence[Any],
    costs: np.ndarray,
    sensitivity: Sensitivity | None,
    length_scale: float,
) -> Habit:
    total = None if sensitivity is None else sensitivity.total[axis.name]
    has_effect = total is not None and total >= SMALL_SHARE
    describe = _choices if axis.is_categorical else _range
    good, behaviour = describe(axis, grid, costs)
    return Habit(
        name=axis.name,
        total=total,
        alone=None if sensitivity is None else sensitivity.alone[axis.name],
        good=good if has_effect else "any",
        behaviour=behaviour if has_effect else "no effect that the model can see",
        length_scale=length_scale,
        pace=pace(length_scale),
    )


def pace(length_scale: float) -> str:
    """How quickly results change along a parameter, by its length scale in parts of the range."""
    for longest, text in PACES:
        if length_scale < longest:
            return text
    return SLOW if length_scale < FLAT_LENGTH else FLAT


def _choices(axis: ParameterAxis, grid: Sequence[Any], costs: np.ndarray) -> tuple[str, str]:
    """Which choices are good, and by how much the best beats the next."""
    texts = [_plain(value) for value in grid]
    order = np.argsort(costs, kind="stable")
    limit = costs[order[0]] + GOOD_SHARE * (costs.max() - costs.min())
    good = [texts[i] for i in order if costs[i] <= limit]
    gap = costs[order[1]] - costs[order[0]]
    return ", ".join(good), f"best {texts[order[0]]}, ahead of {texts[order[1]]} by {number(float(gap))}"


def _range(axis: ParameterAxis, grid: Sequence[Any], costs: np.ndarray) -> tuple[str, str]:
    """The range around the best value where it is about as good, and which way is better."""
    best = int(np.argmin(costs))
    is_good = costs <= costs[best] + GOOD_SHARE * (costs.max() - costs.min())
    first = last = best
    while first > 0 and is_good[first - 1]:
        first -= 1
    while last < len(grid) - 1 and is_good[last + 1]:
        last += 1
    good = _plain(grid[first]) if first == last else f"{_plain(grid[first])} to {_plain(grid[last])}"
    place = axis.unit([grid[best]])[0]
    if place <= END:
        return good, "better towards small values"
    if place >= 1.0 - END:
        return good, "better towards large values"
    return good, f"best near {_plain(grid[best])}"


def _plain(value: object) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
