"""Optuna's distributions as parameters.

Two readings of the same thing. To suggest, all that counts is geometry: steps are counted and choices numbered, so that
any step size and any object will do (`Axis`). To import a study, people want to read the values (`merge`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from photinus.errors import SpaceError
from photinus.integrations.packages import OPTUNA
from photinus.space import Categorical, Discrete, Float, Int, Parameter, Scale, Value, plain_value

with OPTUNA:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

LONGEST_LIST = 1000  # ours: beyond it, steps are too fine for a list of values to be of use
NEARLY = 1e-6  # of a step: how far rounding may put a value from its place


class Steps(NamedTuple):
    """Evenly spaced values from `low` to `high`."""

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, distribution: BaseDistribution) -> "Steps | None":
        """The steps of a distribution; None for a continuum, for choices and for all whole numbers of a range."""
        match distribution:
            case FloatDistribution(low=low, high=high, step=float(step)):
                return cls(low, high, step)
            case IntDistribution(low=low, high=high, step=step) if step != 1:
                return cls(low, high, step)
        return None

    @property
    def num_steps(self) -> int:
        """From the first value to the last."""
        return round((self.high - self.low) / self.step)


@dataclass(frozen=True, slots=True)
class Axis:
    """One distribution for the engine. Values of trials come and go in Optuna's internal form, as floats."""

    distribution: BaseDistribution
    parameter: Parameter
    steps: Steps | None = None

    @classmethod
    def of(cls, distribution: BaseDistribution) -> "Axis":
        """The axis of a distribution; `SpaceError` if the engine cannot hold it."""
        if (steps := Steps.of(distribution)) is not None:
            return cls(distribution, Int(0, steps.num_steps), steps)
        match distribution:
            case CategoricalDistribution(choices=choices):
                return cls(distribution, Categorical(range(len(choices))))
            case FloatDistribution(low=low, high=high, log=log):
                return cls(distribution, Float(low, high, _scale(log)))
            case IntDistribution(low=low, high=high, log=log):
                return cls(distribution, Int(low, high, _scale(log)))
        raise SpaceError(
            f"an Optuna distribution must be of floats, integers or choices, got {distribution!r}"
        )

    def encode(self, internal: float) -> float | int:
        """Optuna's internal value as the parameter's."""
        if self.steps is not None:
            return round((internal - self.steps.low) / self.steps.step)
        return internal if isinstance(self.parameter, Float) else int(internal)

    def decode(self, value: Value) -> float:
        """The parameter's value as Optuna's internal one."""
        assert isinstance(value, int | float)  # choices are numbered
        if self.steps is None:
            return float(value)
        return float(min(self.steps.low + value * self.steps.step, self.steps.high))


def merge(name: str, distributions: Sequence[BaseDistribution]) -> Parameter:
    """One parameter for all distributions that a study has had under a name: their union."""
    kinds = {type(distribution) for distribution in distributions}
    if len(kinds) > 1 or not isinstance(
        distributions[0], CategoricalDistribution | FloatDistribution | IntDistribution
    ):
        raise SpaceError(
            f"parameter {name!r} of the Optuna study must be of one kind in all trials, got {distributions!r}: "
            "import a copy of the study without some of its trials"
        )
    try:
        if isinstance(distributions[0], CategoricalDistribution):
            return _merge_choices(distributions)
        return _merge_ranges(distributions)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r} of the Optuna study: {error}") from None


def read_value(parameter: Parameter, value: Any) -> Value:
    """A value of an Optuna trial, as a parameter of `merge` has it."""
    match parameter:
        case Categorical():
            return _label(value)
        case Discrete(values=values) if isinstance(value, int | float):
            nearest = min(values, key=lambda member: abs(member - value))
            step = values[1] - values[0] if len(values) > 1 else 1.0
            # What is no member is left for validation to complain about.
            return nearest if abs(nearest - value) <= NEARLY * step else value
    return value


def _merge_choices(distributions: Sequence[Any]) -> Categorical:
    labels = [_label(choice) for distribution in distributions for choice in distribution.choices]
    unique = {(type(label), label): label for label in labels}  # True and 1 are different choices
    return Categorical(unique.values())


def _merge_ranges(distributions: Sequence[Any]) -> Parameter:
    low, high = min(d.low for d in distributions), max(d.high for d in distributions)
    kind = Float if isinstance(distributions[0], FloatDistribution) else Int
    grids = [grid for grid in map(Steps.of, distributions) if grid is not None]
    if len(grids) < len(distributions) or not all(_is_part(grid, low, grids[0].step) for grid in grids):
        return kind(low, high, _scale(all(d.log for d in distributions)))
    steps = Steps(low, high, grids[0].step)
    if steps.num_steps >= LONGEST_LIST:
        return kind(low, high)
    return Discrete([*(low + k * steps.step for k in range(steps.num_steps)), high])


def _is_part(grid: Steps, low: float, step: float) -> bool:
    """Whether a grid is a piece of the one from `low` in the same steps."""
    distance = (grid.low - low) / step
    return grid.step == step and abs(distance - round(distance)) < NEARLY


def _label(choice: Any) -> Value:
    """A choice as a categorical value: itself, or its text where it is no plain value."""
    plain = plain_value(choice)
    if plain is None or isinstance(plain, str | bool | int):
        return plain
    return plain if isinstance(plain, float) and math.isfinite(plain) else str(plain)


def _scale(is_log: bool) -> Scale:
    return "log" if is_log else "linear"
