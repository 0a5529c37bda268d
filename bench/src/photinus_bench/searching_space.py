"""A problem in the words that rivals share: reals, whole numbers and choices, linear or logarithmic.

What few of them know is said in these words: a list of numbers by positions in it, a scale that is logarithmic from
above (momentum) by the mirrored value, categories by positions. Parameters of a single value are left out, since many
refuse them, and filled in again. Standard library only: rivals' environments import this.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from photinus_bench.searching import Params, Unsupported, Values


@dataclass(frozen=True)
class Number:
    """A real or whole number between two bounds, both included."""

    name: str
    low: float
    high: float
    is_whole: bool = False
    is_log: bool = False
    is_mirrored: bool = False  # the rival sees low + high - value
    values: tuple[float, ...] | None = None  # the rival sees positions in it

    def encode(self, value: float) -> float:
        """What the rival sees."""
        if self.values is not None:
            return self.values.index(value)
        return self.clip(self.low + self.high - value if self.is_mirrored else value)

    def decode(self, seen: float) -> float:
        """The value that is meant; rounding errors of the rival's own scale end at the bounds."""
        seen = self.clip(seen)
        if self.values is not None:
            return self.values[int(seen)]
        return self.clip(self.low + self.high - seen if self.is_mirrored else seen)

    def to_unit(self, seen: float) -> float:
        """Position between the bounds on the parameter's scale: for rivals that know no scales."""
        low, high, seen = (math.log(x) if self.is_log else x for x in (self.low, self.high, seen))
        return (seen - low) / (high - low)

    def from_unit(self, u: float) -> float:
        """The inverse of `to_unit`, not rounded."""
        low, high = (math.log(x) if self.is_log else x for x in (self.low, self.high))
        seen = low + u * (high - low)
        return math.exp(seen) if self.is_log else seen

    def clip(self, value: float) -> float:
        number = round(float(value)) if self.is_whole else float(value)
        return min(max(number, self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """One of several values without order; the rival sees positions."""

    name: str
    values: tuple[Any, ...]

    def encode(self, value: Any) -> int:
        return [(type(v), v) for v in self.values].index((type(value), value))

    def decode(self, seen: Any) -> Any:
        return self.values[int(seen)]


class Space:
    """The parameters of a problem that can vary, and points between their two forms."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        entries = problem["space"]["parameters"]
        self.names = [entry["name"] for entry in entries]
        self.fixed: Params = {}
        self.parameters: list[Number | Choice] = []
        for entry in entries:
            values = entry.get("values") or sorted({entry["low"], entry["high"]})
            if len(values) == 1:
                self.fixed[entry["name"]] = values[0]
            else:
                self.parameters.append(parse_parameter(entry))

    def encode(self, params: Params) -> Params:
        """What the rival sees of a point."""
        return {p.name: p.encode(params[p.name]) for p in self.parameters}

    def decode(self, seen: Mapping[str, Any]) -> Params:
        """The point that the rival means."""
        found = self.fixed | {p.name: p.decode(seen[p.name]) for p in self.parameters}
        return {name: found[name] for name in self.names}

    def encode_list(self, params: Params) -> list[Any]:
        """What a rival sees that knows parameters by their order."""
        return [p.encode(params[p.name]) for p in self.parameters]

    def decode_list(self, seen: Sequence[Any]) -> Params:
        """The point that such a rival means."""
        return self.decode({p.name: value for p, value in zip(self.parameters, seen, strict=True)})


def parse_parameter(entry: Mapping[str, Any]) -> Number | Choice:
    """One parameter of several values, from its stored form."""
    name = entry["name"]
    match entry["type"]:
        case "categorical":
            return Choice(name, tuple(entry["values"]))
        case "discrete":
            values = tuple(entry["values"])
            return Number(name, 0, len(values) - 1, is_whole=True, values=values)
        case kind:
            return Number(
                name,
                entry["low"],
                entry["high"],
                is_whole=kind == "int",
                is_log=entry["scale"] != "linear",
                is_mirrored=entry["scale"] == "reverse_log",
            )


class Goals:
    """Objectives in their order, for rivals that minimise everything."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.names = [metric["name"] for metric in problem["metrics"]]
        self.are_minimized = [metric["goal"] == "minimize" for metric in problem["metrics"]]

    def losses(self, values: Values) -> list[float]:
        """Values with the signs of losses."""
        signs = [1.0 if is_minimized else -1.0 for is_minimized in self.are_minimized]
        return [sign * values[name] for sign, name in zip(signs, self.names, strict=True)]

    def require_single(self, rival: str) -> None:
        """Refuse several objectives."""
        if len(self.names) > 1:
            raise Unsupported(f"{rival} has one objective, the problem {len(self.names)}")


class WorstLoss:
    """Stands in for infeasible points with rivals that need numbers: the worst losses there have been.

    Points that are infeasible before anything was measured wait for the first numbers.
    """

    def __init__(self) -> None:
        self._worst: list[float] | None = None  # by objective
        self._waiting: list[Any] = []

    def fill(self, results: Sequence[tuple[Any, list[float] | None]]) -> list[tuple[Any, list[float]]]:
        """Points with numbers, in order."""
        known = [losses for _, losses in results if losses is not None] + (
            [self._worst] if self._worst else []
        )
        if not known:
            self._waiting += [point for point, _ in results]
            return []
        worst = self._worst = [max(column) for column in zip(*known, strict=True)]
        filled = [(point, worst) for point in self._waiting]
        self._waiting = []
        return filled + [(point, worst if losses is None else losses) for point, losses in results]
