"""What is to be optimised: a search space and one or several metrics with their goals."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any, cast

from photinus.display import Card, Displayed, Table
from photinus.errors import ProblemError, UnsupportedError, ValuesError
from photinus.space import Parameter, SearchSpace, plain_value

ALGORITHMS: tuple[str, ...] = ("default", "paper", "quasi_random", "random")
DEFAULT_METRIC = "value"  # name of the only objective where the user gives none
PROBLEM_FORMAT = 1  # version of the stored form


class Goal(StrEnum):
    """Which way is better."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured quantity and which way it should go."""

    name: str
    goal: Goal

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ProblemError(f"an objective's name must be a non-empty string, got {self.name!r}")
        try:
            object.__setattr__(self, "goal", Goal(self.goal))
        except ValueError:
            raise ProblemError(
                f'the direction of an objective must be "minimize" or "maximize", got {self.goal!r} '
                f"for {self.name!r}"
            ) from None


@dataclass(frozen=True, slots=True)
class Problem(Displayed):
    """A search space and the metrics measured in it."""

    space: SearchSpace
    metrics: tuple[Metric, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", tuple(self.metrics))
        names = self.metric_names
        if not names or len(set(names)) < len(names):
            raise ProblemError(f"a problem needs one or more objectives of distinct names, got {list(names)}")

    @classmethod
    def define(
        cls,
        space: SearchSpace | Mapping[str, Parameter],
        objectives: str | Mapping[str, str] = "minimize",
    ) -> "Problem":
        """A problem in the words users type: a dict of parameters, a direction or a dict of directions."""
        if not isinstance(space, SearchSpace):
            space = SearchSpace(space)
        if isinstance(objectives, str):
            objectives = {DEFAULT_METRIC: objectives}
        if not isinstance(objectives, Mapping):
            raise ProblemError(
                'objectives must be "minimize", "maximize" or a dict such as {"accuracy": "maximize"}, '
                f"got {objectives!r}"
            )
        return cls(space, tuple(Metric(name, cast(Goal, goal)) for name, goal in objectives.items()))

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of the objectives, in order."""
        return tuple(metric.name for metric in self.metrics)

    @property
    def is_multi_objective(self) -> bool:
        """Whether there are several objectives."""
        return len(self.metrics) > 1

    def parse_values(self, values: object) -> dict[str, float]:
        """Measured values by objective, in order; a bare number will do for a single objective.

        They may still be infinite or NaN: see `validate_values`.
        """
        if not isinstance(values, Mapping):
            if self.is_multi_objective:
                raise ValuesError(f"values must be a dict with {_names(self.metric_names)}, got {values!r}")
            return {self.metrics[0].name: _measured(self.metrics[0].name, values)}
        unknown = [name for name in values if name not in self.metric_names]
        missing = [name for name in self.metric_names if name not in values]
        if unknown or missing:
            raise ValuesError(
                f"values must be given for exactly {_names(self.metric_names)}, "
                f"got {_names(values) if values else 'none'}"
            )
        return {name: _measured(name, values[name]) for name in self.metric_names}

    def validate_values(self, values: object) -> dict[str, float]:
        """Measured values by objective, all of them finite."""
        parsed = self.parse_values(values)
        for name, value in parsed.items():
            if not math.isfinite(value):
                raise ValuesError(
                    f"the value of {name!r} must be finite, got {value}: tell infeasible='why' if it cannot "
                    "be measured at this point, failed='why' if the measurement broke for another reason"
                )
        return parsed

    def differences(self, other: "Problem") -> list[str]:
        """What tells two problems apart, one line each; neither order of parameters nor of metrics counts."""
        our_goals = {metric.name: metric.goal.value for metric in self.metrics}
        their_goals = {metric.name: metric.goal.value for metric in other.metrics}
        return [
            *_differences("parameter", self.space.parameters, other.space.parameters),
            *_differences("objective", our_goals, their_goals),
        ]

    def _card(self) -> Card:
        goals = [[metric.name, metric.goal.value] for metric in self.metrics]
        return Card("Problem", tables=[Table(["objective", "goal"], goals), *self.space._card().tables])

    def to_dict(self) -> dict[str, Any]:
        """The stored form: plain JSON values."""
        return {
            "format": PROBLEM_FORMAT,
            "space": self.space.to_dict(),
            "metrics": [{"name": metric.name, "goal": metric.goal.value} for metric in self.metrics],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Problem":
        """The problem that `to_dict` described."""
        if data.get("format") != PROBLEM_FORMAT:
            raise UnsupportedError(
                f"problem of format {data.get('format')!r}, this version reads {PROBLEM_FORMAT}: "
                "upgrade photinus"
            )
        metrics = tuple(Metric(entry["name"], Goal(entry["goal"])) for entry in data["metrics"])
        return cls(SearchSpace.from_dict(data["space"]), metrics)


def _measured(name: str, value: object) -> float:
    plain = plain_value(value)
    if isinstance(plain, bool) or not isinstance(plain, Real):
        raise ValuesError(f"the value of {name!r} must be a number, got {value!r}")
    try:
        return float(plain)
    except OverflowError:
        return math.inf if cast(Any, plain) > 0 else -math.inf


def _names(names: Any) -> str:
    return ", ".join(repr(name) for name in names)


def _differences(kind: str, ours: Mapping[str, object], theirs: Mapping[str, object]) -> list[str]:
    return [
        f"{kind} {name!r}: {ours.get(name, 'absent')}, now {theirs.get(name, 'absent')}"
        for name in {**ours, **theirs}
        if ours.get(name) != theirs.get(name)
    ]
