"""Problems made from problems: each wrapper takes an experimenter and gives another, and they compose.

Wrappers draw nothing by chance but the noise of a measurement: what is shifted by how much, or which parameters
become categorical, is given to them. `photinus_bench.tasks` draws it.

Wrappers that leave points of the search space out (grids) forget the optimum: it is no longer known.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from photinus.problem import Goal, Metric
from photinus.space import Categorical, Discrete, Float, Int, Parameter, SearchSpace, Value
from photinus.trial import Measurement
from photinus_bench.noise import Noise
from photinus_bench.problem import Experimenter, Params

Decode = Callable[[Value], Value]


def shifted(base: Experimenter, offsets: Mapping[str, float]) -> Experimenter:
    """f(x - c) on the same box. The function must be defined outside the box, too."""
    parameters = base.problem.space.parameters
    moved = recoded(base, {name: (parameters[name], _minus(offset)) for name, offset in offsets.items()})
    if base.optimum_at is None:
        return moved
    at = {name: value + offsets.get(name, 0.0) for name, value in base.optimum_at.items()}
    # One that left the box is no optimum of what is searched.
    is_inside = all(parameters[name].low <= value <= parameters[name].high for name, value in at.items())
    return replace(moved, optimum=base.optimum, optimum_at=at) if is_inside else moved


def categorised(base: Experimenter, names: Sequence[str], num_values: int = 10) -> Experimenter:
    """Choices without order in place of real parameters: equidistant points, both ends included.

    The choices are texts, since some algorithms take categories that are numbers for ordered ones.
    """
    grids = {name: grid(base, name, num_values) for name in names}
    return recoded(base, {name: (Categorical(map(repr, points)), float) for name, points in grids.items()})


def discretised(base: Experimenter, num_levels: Mapping[str, int]) -> Experimenter:
    """Lists of numbers in place of real parameters: so many equidistant points, both ends included."""
    grids = {name: grid(base, name, count) for name, count in num_levels.items()}
    return recoded(base, {name: (Discrete(points), float) for name, points in grids.items()})


def integral(base: Experimenter, num_levels: Mapping[str, int]) -> Experimenter:
    """Whole numbers 0, 1, ... in place of real parameters; each stands for one of equidistant points."""
    grids = {name: grid(base, name, count) for name, count in num_levels.items()}
    return recoded(
        base, {name: (Int(0, len(points) - 1), points.__getitem__) for name, points in grids.items()}
    )


def permuted(base: Experimenter, images: Mapping[str, Sequence[Value]]) -> Experimenter:
    """Categories renamed: the i-th choice of a parameter now means the i-th of its `images`."""
    parameters = base.problem.space.parameters
    meaning = {name: dict(zip(parameters[name].values, image, strict=True)) for name, image in images.items()}
    renamed = recoded(base, {name: (parameters[name], table.__getitem__) for name, table in meaning.items()})
    if base.optimum_at is None:
        return replace(renamed, optimum=base.optimum)
    inverse = {name: {image: choice for choice, image in table.items()} for name, table in meaning.items()}
    at = {name: inverse[name][v] if name in inverse else v for name, v in base.optimum_at.items()}
    return replace(renamed, optimum=base.optimum, optimum_at=at)


def infeasible(base: Experimenter, is_infeasible: Callable[[Params], bool]) -> Experimenter:
    """Points of a region cannot be measured: their truth is NaN."""

    def truth(params: Params) -> dict[str, float]:
        return (
            dict.fromkeys(base.problem.metric_names, math.nan)
            if is_infeasible(params)
            else base.truth(params)
        )

    is_reachable = base.optimum_at is not None and not is_infeasible(base.optimum_at)
    kept = (base.optimum, base.optimum_at) if is_reachable else (None, None)
    return replace(base, truth=truth, optimum=kept[0], optimum_at=kept[1])


def noisy(base: Experimenter, noise: Noise) -> Experimenter:
    """The algorithm is told noisy values; the truth, which is scored, stays.

    The noise models are made for values that are minimised and at least zero: where a metric is maximised they
    act on its negative.
    """
    signs = {metric.name: _sign(metric.goal) for metric in base.problem.metrics}
    num_parameters = len(base.problem.space)

    def observe(values: dict[str, float], rng: np.random.Generator) -> Measurement:
        told = {name: signs[name] * noise(signs[name] * v, num_parameters, rng) for name, v in values.items()}
        return base.observe(told, rng)

    return replace(base, observe=observe)


def negated(base: Experimenter) -> Experimenter:
    """-f, with every goal turned round."""

    def observe(values: dict[str, float], rng: np.random.Generator) -> Measurement:
        told = base.observe(_negative(values), rng)
        return told if told.values is None else replace(told, values=_negative(told.values))

    metrics = tuple(Metric(m.name, _opposite(m.goal)) for m in base.problem.metrics)
    return replace(
        base,
        problem=replace(base.problem, metrics=metrics),
        truth=lambda params: _negative(base.truth(params)),
        observe=observe,
        optimum=None if base.optimum is None else _negative(base.optimum),
    )


def recoded(base: Experimenter, codes: Mapping[str, tuple[Parameter, Decode]]) -> Experimenter:
    """Some parameters replaced by others, with what a value of the new one means to the old one."""
    parameters = {**base.problem.space.parameters, **{name: code[0] for name, code in codes.items()}}

    def truth(params: Params) -> dict[str, float]:
        return base.truth({n: codes[n][1](value) if n in codes else value for n, value in params.items()})

    problem = replace(base.problem, space=SearchSpace(parameters))
    return replace(base, problem=problem, truth=truth, optimum=None, optimum_at=None)


def grid(base: Experimenter, name: str, num_values: int) -> list[float]:
    """Equidistant points of a real parameter, both ends included."""
    parameter = base.problem.space.parameters[name]
    if not isinstance(parameter, Float) or num_values < 2:
        raise ValueError(f"a grid needs a Float and two or more points, got {parameter}, {num_values=}")
    return np.linspace(parameter.low, parameter.high, num_values).tolist()


def _minus(offset: float) -> Decode:
    return lambda value: value - offset


def _negative(values: dict[str, float]) -> dict[str, float]:
    return {name: 0.0 - value for name, value in values.items()}  # no -0.0


def _sign(goal: Goal) -> float:
    return 1.0 if goal is Goal.MINIMIZE else -1.0


def _opposite(goal: Goal) -> Goal:
    return Goal.MAXIMIZE if goal is Goal.MINIMIZE else Goal.MINIMIZE
