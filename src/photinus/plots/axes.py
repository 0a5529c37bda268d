"""Parameters as axes of a picture: where their values lie, and what is written there."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from photinus.engine.encoding import Axis
from photinus.plots.theme import value_text, words
from photinus.space import Categorical, Discrete, Float, Int, Parameter, Value

MAX_POWERS = 5  # of ten, written on a logarithmic axis
LARGEST_SQUARE_ROOT = 1e150
MAX_TICKS = 10  # values that are written out one by one


@dataclass(frozen=True)
class ParameterAxis:
    """One parameter of a space, drawn along an axis."""

    name: str
    parameter: Parameter

    @property
    def is_categorical(self) -> bool:
        """Whether the axis has names instead of numbers."""
        return isinstance(self.parameter, Categorical)

    @property
    def is_coarse(self) -> bool:
        """Whether there are so few values that a line between them would say too much."""
        count = self.parameter.num_values
        return self.is_categorical or (count is not None and count <= MAX_TICKS)

    @property
    def is_extreme(self) -> bool:
        """Whether squares of the axis's numbers overflow, which Plotly computes for lines of equal value."""
        return not self.is_categorical and max(abs(float(v)) for v in self.grid(2)) > LARGEST_SQUARE_ROOT

    def labels(self) -> list[str]:
        """Names of a categorical's choices, distinct also where `1` and `"1"` are choices."""
        assert isinstance(self.parameter, Categorical)
        texts = [value_text(value) for value in self.parameter.values]
        return texts if len(set(texts)) == len(texts) else [words(repr(v)) for v in self.parameter.values]

    def place(self, values: list[Value]) -> list[Any]:
        """Coordinates of values: themselves, or the names of choices."""
        if not isinstance(self.parameter, Categorical):
            return list(values)
        keys = [(type(value), value) for value in self.parameter.values]
        labels = self.labels()
        return [labels[keys.index((type(value), value))] for value in values]

    def grid(self, count: int) -> list[Any]:
        """Up to `count` feasible values, evenly spread on the parameter's own scale, ends included."""
        match self.parameter:
            case Categorical(values=values):
                return list(values[:count])
            case Float(low=low, high=high) | Int(low=low, high=high) if low == high:
                return [low]
            case Discrete(values=values) if len(values) == 1:
                return list(values)
            case numeric:
                return list(dict.fromkeys(Axis(self.name, numeric).decode(np.linspace(0.0, 1.0, count))))

    def unit(self, values: list[Any]) -> list[float]:
        """Places in [0, 1] on the parameter's own scale."""
        if isinstance(self.parameter, Categorical):
            labels, last = self.labels(), max(len(self.parameter.values) - 1, 1)
            return [labels.index(label) / last for label in self.place(values)]
        if self.parameter.num_values == 1:
            return [0.5 for _ in values]
        return Axis(self.name, self.parameter).encode(values).tolist()

    def ticks(self) -> tuple[list[float], list[str]]:
        """Places in [0, 1] and what to write there: every value where they are few, else ends and middle."""
        values = self.grid(MAX_TICKS) if self.is_coarse else self.grid(3)
        texts = self.labels()[:MAX_TICKS] if self.is_categorical else [value_text(v) for v in values]
        return self.unit(values), texts

    def layout(self) -> dict[str, Any]:
        """Plotly's settings of the axis."""
        title = {"title": {"text": words(self.name)}}
        if isinstance(self.parameter, Categorical):
            order = {"categoryorder": "array", "categoryarray": self.labels()}
            return {**title, "type": "category", **order, "range": [-0.5, len(self.parameter.values) - 0.5]}
        values = self.grid(MAX_TICKS) if self.is_coarse else self.grid(2)
        ticks: dict[str, Any] = {}
        is_log = self.parameter.scale == "log"
        if self.is_coarse or is_log:
            marks = values if self.is_coarse else _round_values(values[0], values[-1])
            ticks = {"tickvals": marks, "ticktext": [value_text(v) for v in marks]}
        low, high = (float(np.log10(v)) if is_log else float(v) for v in (values[0], values[-1]))
        margin = 0.04 * (high - low) or 0.5 * max(abs(low), 1.0)
        return {
            **title,
            **ticks,
            "type": "log" if is_log else "linear",
            "range": [low - margin, high + margin],
        }


def _round_values(low: float, high: float) -> list[float]:
    """A few round numbers on a logarithmic axis: powers of ten, or of the series 1, 2, 5 where they are too few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / MAX_POWERS))
    for factors in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
        marks = [f * 10.0**power for power in range(first, last + 1, step) for f in factors]
        inside = [mark for mark in marks if low * 0.999 <= mark <= high * 1.001]
        if len(inside) > 2:
            return inside
    return [low, high]


def axis_of(parameters: Any, name: str) -> ParameterAxis:
    """The axis of the parameter of that name."""
    return ParameterAxis(name, parameters[name])
