"""Words for variants of a problem, such as `categorical50`: wrappers whose details are drawn by a generator."""

import re
from collections.abc import Callable, Container
from functools import partial

import numpy as np

from photinus.space import Categorical, Discrete, Float, Parameter, Value
from photinus_bench.noise import MODELS
from photinus_bench.problem import Experimenter, Params
from photinus_bench.wrappers import (
    categorised,
    discretised,
    infeasible,
    integral,
    negated,
    noisy,
    permuted,
    shifted,
)

Vary = Callable[[Experimenter, np.random.Generator], Experimenter]

FEWEST_LEVELS, MOST_LEVELS = 2, 16
REGION_SAMPLES = 4096  # points that decide where an infeasible region of given size begins


def parse_variant(word: str) -> Vary:
    """What a word does."""
    found = re.fullmatch(r"([a-z-]+)(\d*)", word)
    kind, number = found.groups() if found else (word, "")
    function, allowed = VARIANTS.get(kind, (None, ()))
    value = int(number) if number else None
    if function is None or value not in allowed:
        raise ValueError(f"no variant is named {word!r}: there are {', '.join(VARIANTS)}, some with a number")
    return lambda base, rng: function(base, value, rng)


def shift(base: Experimenter, rng: np.random.Generator) -> Experimenter:
    """The origin moved to a uniform point of the box."""
    parameters = base.problem.space.parameters.items()
    return shifted(base, {name: float(rng.uniform(each.low, each.high)) for name, each in parameters})


def permute(base: Experimenter, rng: np.random.Generator) -> Experimenter:
    """The choices of every categorical parameter renamed by a uniform permutation."""
    choices = {n: p.values for n, p in base.problem.space.parameters.items() if isinstance(p, Categorical)}
    return permuted(
        base, {n: [values[i] for i in rng.permutation(len(values))] for n, values in choices.items()}
    )


def categorise(base: Experimenter, percent: int, rng: np.random.Generator) -> Experimenter:
    """A share of the parameters, chosen at random, as categories of 10 grid points."""
    names = list(base.problem.space)
    chosen = rng.choice(len(names), size=round(len(names) * percent / 100), replace=False)
    return categorised(base, [names[i] for i in sorted(chosen)])


def coarsen(
    base: Experimenter, num_levels: int | None, rng: np.random.Generator, *, wrap: Callable[..., Experimenter]
) -> Experimenter:
    """All real parameters on grids: of the given number of levels, or each of a random one."""
    names = [name for name, p in base.problem.space.parameters.items() if isinstance(p, Float)]
    drawn = rng.integers(FEWEST_LEVELS, MOST_LEVELS, size=len(names), endpoint=True).tolist()
    return wrap(base, {name: num_levels or level for name, level in zip(names, drawn, strict=True)})


def cut(base: Experimenter, percent: int, rng: np.random.Generator) -> Experimenter:
    """The space beyond a random hyperplane, about so much of it, is infeasible; the optimum, where known, is not."""
    parameters = base.problem.space.parameters
    normal = rng.standard_normal(len(parameters))

    def position(params: Params) -> float:
        return float(normal @ [unit_value(each, params[name]) - 0.5 for name, each in parameters.items()])

    samples = [{name: draw_value(p, rng) for name, p in parameters.items()} for _ in range(REGION_SAMPLES)]
    edge = float(np.quantile([position(params) for params in samples], 1 - percent / 100))
    # The mirror image of the region is as large and, up to one half, does not meet it.
    side = -1 if base.optimum_at is not None and position(base.optimum_at) > edge else 1
    return infeasible(base, lambda params: side * position(params) > edge)


def unit_value(parameter: Parameter, value: Value) -> float:
    """Where a value is between the ends of its parameter, in [0, 1]; of a category its place in the list."""
    if isinstance(parameter, Categorical):
        return parameter.values.index(value) / max(1, len(parameter.values) - 1)
    ends = parameter.values if isinstance(parameter, Discrete) else (parameter.low, parameter.high)
    return (value - ends[0]) / (ends[-1] - ends[0])


def draw_value(parameter: Parameter, rng: np.random.Generator) -> Value:
    """A uniform value."""
    if isinstance(parameter, Float):
        return float(rng.uniform(parameter.low, parameter.high))
    index = int(rng.integers(parameter.num_values))
    return parameter.values[index] if hasattr(parameter, "values") else parameter.low + index


def add_noise(base: Experimenter, number: None, rng: np.random.Generator, *, model: str) -> Experimenter:
    """Noise of a model; its draws come with the measurements."""
    return noisy(base, MODELS[model])


LEVELS = (None, *range(FEWEST_LEVELS, MOST_LEVELS + 1))
VARIANTS: dict[str, tuple[Callable[..., Experimenter], Container[int | None]]] = {
    "categorical": (categorise, range(1, 101)),
    "integer": (partial(coarsen, wrap=integral), LEVELS),
    "discrete": (partial(coarsen, wrap=discretised), LEVELS),
    "infeasible": (cut, range(1, 51)),
    "permuted": (lambda base, number, rng: permute(base, rng), (None,)),
    "negated": (lambda base, number, rng: negated(base), (None,)),
    **{f"{model}-noise": (partial(add_noise, model=model), (None,)) for model in MODELS},
}
