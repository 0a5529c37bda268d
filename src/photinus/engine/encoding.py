"""Parameters to features and back (docs/algorithm.md §1).

Every numeric parameter becomes one coordinate of the unit cube by its scale, every categorical an index.
A parameter with a single value has nothing to tell and becomes no feature at all. NumPy only.
"""

import functools
import heapq
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from photinus.engine.features import Domain, Features
from photinus.space import Categorical, Discrete, Float, Int, SearchSpace

LARGEST_GRID = 1024  # ours: neighbours closer than this fraction of a range are one to the search
LARGEST_TRUSTED_GAP = 0.2  # the trust region's first radius: a wider gap could never be crossed
ROUNDING = 1e-12  # six evenly spaced values are 0.2 apart but for this


@dataclass(frozen=True, slots=True)
class Axis:
    """One numeric parameter with at least two values, as a coordinate in [0, 1]."""

    name: str
    parameter: Float | Int | Discrete

    @property
    def low(self) -> float:
        """Smallest value, in the user's units."""
        return self.parameter.values[0] if isinstance(self.parameter, Discrete) else self.parameter.low

    @property
    def high(self) -> float:
        """Largest value, in the user's units."""
        return self.parameter.values[-1] if isinstance(self.parameter, Discrete) else self.parameter.high

    def scale(self, x: np.ndarray) -> np.ndarray:
        """Map the user's units to the unit interval, eqs. 1 to 3."""
        low, high = float(self.low), float(self.high)
        if self.parameter.scale == "linear":
            return (x - low) / (high - low)  # (1)
        span = math.log(high) - math.log(low)
        if self.parameter.scale == "log":
            return (np.log(x) - math.log(low)) / span  # (2)
        return 1.0 - (np.log(low + (high - x)) - math.log(low)) / span  # (3), never the logarithm of 0

    def unscale(self, u: np.ndarray) -> np.ndarray:
        """Map the unit interval back, inside the bounds and with both ends exact, whatever the rounding."""
        low, high = float(self.low), float(self.high)
        x = np.clip(_unscale(u, low, high, self.parameter.scale), low, high)
        return np.where(u <= 0.0, low, np.where(u >= 1.0, high, x))

    def encode(self, values: Sequence[float]) -> np.ndarray:
        """Coordinates of valid values."""
        return np.clip(self.scale(np.asarray(values, dtype=np.float64)), 0.0, 1.0)

    def decode(self, u: np.ndarray) -> list[float | int]:
        """Nearest feasible values, nearness measured in scaled space, eq. 4."""
        if isinstance(self.parameter, Discrete):
            index = np.abs(self.scaled_values[None, :] - u[:, None]).argmin(axis=1)
            return [self.parameter.values[i] for i in index]
        x = self.unscale(u)
        if isinstance(self.parameter, Float):
            return x.tolist()
        below = np.floor(x)
        above = np.minimum(below + 1, self.high)
        is_above = np.abs(self.scale(above) - u) < np.abs(self.scale(below) - u)
        return [int(v) for v in np.where(is_above, above, below)]

    def others(self, value: float) -> list[Iterator[tuple[float, str, float]]]:
        """Feasible values above, and those below, with their distances and this axis' name, near ones first."""
        assert not isinstance(self.parameter, Float)
        if isinstance(self.parameter, Discrete):
            index = self.parameter.values.index(value)
            above, below = self.parameter.values[index + 1 :], self.parameter.values[:index][::-1]
        else:
            low, high = self.parameter.low, self.parameter.high
            above, below = range(int(value) + 1, high + 1), range(int(value) - 1, low - 1, -1)
        here = self.encode([value])[0]
        return [((abs(self.encode([v])[0] - here), self.name, v) for v in side) for side in (above, below)]

    def spread(self, u: np.ndarray) -> list[float | int]:
        """Turn uniform numbers in [0, 1) into values so that every feasible value gets its fair share."""
        match self.parameter:
            case Discrete(values=values):
                return [values[i] for i in _index(u, len(values))]
            case Int(low=low, high=high, scale=scale):
                # Half a step is added at both ends; without it the outer values would come up half as often.
                x = _unscale(u, low - 0.5, high + 0.5, scale)
                return [int(v) for v in np.clip(np.rint(x), low, high)]
            case _:
                return self.unscale(u).tolist()

    @property
    def scaled_values(self) -> np.ndarray:
        """Coordinates of a Discrete parameter's values."""
        assert isinstance(self.parameter, Discrete)
        return self.encode(self.parameter.values)

    @property
    def grid(self) -> "Grid":
        """Where the search must round on this axis."""
        match self.parameter:
            case Float():
                return Grid()
            case Discrete():
                return Grid(values=self.scaled_values)
            case Int(low=low, high=high, scale="linear"):
                return Grid(steps=high - low) if high - low < LARGEST_GRID else Grid()
            case Int(low=low, high=high, scale=scale):
                return self._uneven_grid(low, high, is_coarse_below=scale == "log")

    def _uneven_grid(self, low: int, high: int, is_coarse_below: bool) -> "Grid":
        """Grid of a log-scaled Int: listed where values are far apart, free where they are dense."""
        span = math.log(high) - math.log(low)
        # Neighbours k and k+1 counted from the coarse end are log(1 + 1/k)/span apart.
        coarse = math.ceil(1.0 / math.expm1(span / LARGEST_GRID)) if span / LARGEST_GRID < 30 else low
        num_listed = min(high - low, max(coarse - low, 0)) + 1
        if is_coarse_below:
            values = self.encode(range(low, low + num_listed))
            return Grid(values=values, fine_low=values[-1] if num_listed <= high - low else math.inf)
        values = self.encode(range(high - num_listed + 1, high + 1))
        return Grid(values=values, fine_high=values[0] if num_listed <= high - low else -math.inf)


@dataclass(frozen=True, slots=True)
class Grid:
    """Feasible coordinates of one axis: evenly spaced `steps`, or a sorted list, or neither (continuous)."""

    steps: int = 0
    values: np.ndarray | None = None
    fine_low: float = math.inf  # coordinates in [fine_low, 1] need no rounding
    fine_high: float = -math.inf  # coordinates in [0, fine_high] need no rounding

    @property
    def largest_gap(self) -> float:
        """Largest distance between neighbouring feasible coordinates."""
        if self.values is not None:
            # One value alone is listed where all others lie too close together to be.
            return float(np.max(np.diff(self.values), initial=0.0))
        return 1.0 / self.steps if self.steps else 0.0


class Encoder:
    """Encodes one search space. Feature order is the space's order, numeric and categorical apart."""

    def __init__(self, space: SearchSpace) -> None:
        parameters = space.parameters
        self.names = tuple(parameters)
        free = {name: p for name, p in parameters.items() if p.num_values != 1}
        self.axes = tuple(Axis(name, p) for name, p in free.items() if not isinstance(p, Categorical))
        self.categoricals = {name: p for name, p in free.items() if isinstance(p, Categorical)}
        self.fixed = {name: _only_value(p) for name, p in parameters.items() if name not in free}
        self._index = {
            name: {_category_key(value): i for i, value in enumerate(p.values)}
            for name, p in self.categoricals.items()
        }

    @property
    def num_features(self) -> int:
        """D of the paper: parameters that can vary."""
        return len(self.axes) + len(self.categoricals)

    @property
    def is_finite(self) -> bool:
        """Whether the space has no Float that varies."""
        return not any(isinstance(axis.parameter, Float) for axis in self.axes)

    @property
    def num_points(self) -> float:
        """How many points the space has; infinitely many with a Float, or where no number holds them."""
        varying = [axis.parameter for axis in self.axes] + list(self.categoricals.values())
        return math.prod(math.inf if p.num_values is None else float(p.num_values) for p in varying)

    def neighbours(self, params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Points of a space without Floats that differ in one parameter, near ones first; categories are 1 apart."""
        sides = [side for axis in self.axes for side in axis.others(params[axis.name])]
        categories = [
            (1.0, name, value)
            for name, p in self.categoricals.items()
            for value in p.values
            if _category_key(value) != _category_key(params[name])
        ]
        for _, name, value in heapq.merge(*sides, categories, key=operator.itemgetter(0)):
            yield {**params, name: value}

    def encode(self, points: Sequence[Mapping[str, Any]]) -> Features:
        """Features of valid parameter dictionaries."""
        continuous = np.empty((len(points), len(self.axes)))
        for d, axis in enumerate(self.axes):
            continuous[:, d] = axis.encode([point[axis.name] for point in points])
        categorical = np.empty((len(points), len(self.categoricals)), dtype=np.int32)
        for d, (name, index) in enumerate(self._index.items()):
            categorical[:, d] = [index[_category_key(point[name])] for point in points]
        return Features(continuous, categorical)

    def decode(self, features: Features) -> list[dict[str, Any]]:
        """Feasible parameter dictionaries nearest to the features."""
        continuous, categorical = np.asarray(features.continuous), np.asarray(features.categorical)
        columns = {axis.name: axis.decode(continuous[:, d]) for d, axis in enumerate(self.axes)}
        for d, (name, parameter) in enumerate(self.categoricals.items()):
            columns[name] = [parameter.values[i] for i in categorical[:, d]]
        return self._rows(columns, len(continuous))

    def spread(self, u: np.ndarray) -> list[dict[str, Any]]:
        """Turn uniform points (N, D) of the unit cube into parameters, each value with its fair share."""
        columns: dict[str, list[Any]] = {a.name: a.spread(u[:, d]) for d, a in enumerate(self.axes)}
        for d, (name, parameter) in enumerate(self.categoricals.items(), start=len(self.axes)):
            columns[name] = [parameter.values[i] for i in _index(u[:, d], len(parameter.values))]
        return self._rows(columns, len(u))

    def centre(self, rng: np.random.Generator) -> dict[str, Any]:
        """Middle of the scaled space; categories are drawn uniformly."""
        sizes = [len(p.values) for p in self.categoricals.values()]
        categories = np.array([[rng.integers(size) for size in sizes]], dtype=np.int32).reshape(1, -1)
        return self.decode(Features(np.full((1, len(self.axes)), 0.5), categories))[0]

    @functools.cached_property
    def domain(self) -> Domain:
        """Feasibility as arrays; grids are padded to a power of two so that spaces share programs."""
        grids = [axis.grid for axis in self.axes]
        longest = max((len(g.values) for g in grids if g.values is not None), default=0)
        table = np.full((len(grids), 1 << (longest - 1).bit_length() if longest else 0), np.inf)
        for row, grid in zip(table, grids, strict=True):
            if grid.values is not None:
                row[: len(grid.values)] = grid.values
        return Domain(
            steps=np.array([float(g.steps) for g in grids]),
            grid=table,
            fine_low=np.array([g.fine_low for g in grids]),
            fine_high=np.array([g.fine_high for g in grids]),
            is_trusted=np.array([g.largest_gap <= LARGEST_TRUSTED_GAP + ROUNDING for g in grids], dtype=bool),
            num_categories=np.array([len(p.values) for p in self.categoricals.values()], dtype=np.int32),
        )

    def _rows(self, columns: Mapping[str, Sequence[Any]], count: int) -> list[dict[str, Any]]:
        fixed = {name: [value] * count for name, value in self.fixed.items()}
        every = {name: (columns if name in columns else fixed)[name] for name in self.names}
        return [{name: column[i] for name, column in every.items()} for i in range(count)]


def encode_labels(
    values: Iterable[Mapping[str, float] | None], names: Sequence[str], signs: Sequence[float]
) -> np.ndarray:
    """Labels (N, M), flipped so that everything inside maximises; a row of NaN where there are no values."""
    missing = [math.nan] * len(names)
    rows = [missing if v is None else [s * v[m] for m, s in zip(names, signs, strict=True)] for v in values]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


def _unscale(u: np.ndarray, low: float, high: float, scale: str) -> np.ndarray:
    if scale == "linear":
        return low * (1.0 - u) + high * u
    span = math.log(high) - math.log(low)
    if scale == "log":
        return np.exp(math.log(low) + u * span)
    return (low - np.exp(math.log(low) + (1.0 - u) * span)) + high


def _index(u: np.ndarray, size: int) -> np.ndarray:
    return np.minimum((u * size).astype(np.int64), size - 1)


def _category_key(value: Any) -> tuple[type, Any]:
    """True and 1 are equal to Python and different to a user."""
    return type(value), value


def _only_value(parameter: Any) -> Any:
    return parameter.low if isinstance(parameter, Float | Int) else parameter.values[0]
