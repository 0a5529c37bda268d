"""Ray Tune's search spaces as ours: nested dicts and lists with domains somewhere inside.

Every domain becomes a parameter whose name is its path, `optimizer/lr`. What is no domain is a constant, and stays with
Ray.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from photinus.errors import ParameterError, SpaceError
from photinus.integrations.packages import RAY
from photinus.space import (
    Categorical,
    Discrete,
    Float,
    Int,
    Parameter,
    Scale,
    SearchSpace,
    Value,
    plain_value,
)

with RAY:
    from ray.tune.search import sample

GRID = "grid_search"
SEPARATOR = "/"
LONGEST_LIST = 1000  # ours: beyond it, multiples are counted rather than listed
NEARLY = 1e-6  # of a step: how far rounding may put a value from its place

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """One domain: its parameter, and how values go from there to Ray and back."""

    parameter: Parameter
    decode: Callable[[Value], Any]
    encode: Callable[[Any], Any]


class RaySpace:
    """A search space of Ray Tune's, converted."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._axes: dict[str, tuple[Path, Axis]] = {}
        self._collect(config, ())
        if not self._axes:
            raise SpaceError("a search space needs a domain such as tune.uniform(0, 1), got constants only")
        self.space = SearchSpace({name: axis.parameter for name, (_, axis) in self._axes.items()})

    def to_config(self, params: Mapping[str, Value]) -> dict[str, Any]:
        """Parameters as a config in the shape of the space, without its constants."""
        values = {path: axis.decode(params[name]) for name, (path, axis) in self._axes.items()}
        return _filled(self._config, (), values)

    def to_params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters in a config, nested or with paths for keys; constants in it do not matter."""
        params: dict[str, Any] = {}
        for name, (path, axis) in self._axes.items():
            try:
                params[name] = axis.encode(config[name] if name in config else _at(config, path))
            except (KeyError, IndexError, TypeError):
                raise ParameterError(f"a point must have a value for {name!r}, got {config!r}") from None
            except ParameterError as error:
                raise ParameterError(f"{name!r}: {error}") from None
        return params

    def _collect(self, node: Any, path: Path) -> None:
        if _is_domain(node):
            name = SEPARATOR.join(map(str, path))
            if name in self._axes:
                raise SpaceError(f"names of domains must differ, but two are at {name!r}")
            try:
                self._axes[name] = (path, _read(node))
            except SpaceError as error:
                raise SpaceError(f"{name!r}: {error}") from None
        elif isinstance(node, Mapping):
            for key, child in node.items():
                self._collect(child, (*path, key))
        elif isinstance(node, list | tuple):
            for index, child in enumerate(node):
                self._collect(child, (*path, index))


def has_domains(node: Any) -> bool:
    """Whether anything is to be searched in a config."""
    if _is_domain(node):
        return True
    children = node.values() if isinstance(node, Mapping) else node if isinstance(node, list | tuple) else ()
    return any(map(has_domains, children))


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Ray's results have paths for keys; this puts the dicts back."""
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *folders, last = name.split(SEPARATOR)
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
            if not isinstance(node, dict):  # a key with a separator of its own
                break
        else:
            node[last] = value
    return tree


def _is_domain(node: Any) -> bool:
    return isinstance(node, sample.Domain) or (isinstance(node, Mapping) and set(node) == {GRID})


def _filled(node: Any, path: Path, values: Mapping[Path, Any]) -> Any:
    """A copy of the node with values for its domains. Dicts lose what is constant; lists cannot."""
    if path in values:
        return values[path]
    if isinstance(node, Mapping):
        inside = {key: (*path, key) for key in node}
        is_used = {key: any(p[: len(place)] == place for p in values) for key, place in inside.items()}
        return {key: _filled(node[key], place, values) for key, place in inside.items() if is_used[key]}
    if isinstance(node, list | tuple):
        return type(node)(_filled(child, (*path, i), values) for i, child in enumerate(node))
    return node


def _at(config: Any, path: Path) -> Any:
    for key in path:
        config = config[key]
    return config


def _read(domain: Any) -> Axis:
    """The axis of a domain; `SpaceError` if we have nothing like it."""
    if isinstance(domain, Mapping):
        if any(isinstance(value, Mapping) for value in domain[GRID]):
            raise SpaceError("Ray cannot put a dict in the place of a grid: use tune.choice")
        return _read_choices(list(domain[GRID]))
    if isinstance(domain, sample.Categorical):
        return _read_choices(domain.categories)
    if not isinstance(domain, sample.Float | sample.Integer):
        raise SpaceError(f"must be a range or a choice, got {domain}: compute it in the trainable instead")
    sampler, step = domain.get_sampler(), None
    if isinstance(sampler, sample.Quantized):
        sampler, step = sampler.get_sampler(), sampler.q
    if isinstance(sampler, sample.Normal) or not (
        math.isfinite(domain.lower) and math.isfinite(domain.upper)
    ):
        raise SpaceError("must have bounds, which a normal distribution has not: use tune.uniform")
    scale: Scale = "log" if isinstance(sampler, sample.LogUniform) else "linear"
    is_whole = isinstance(domain, sample.Integer)
    if step is not None and not (is_whole and step == 1):
        return _read_steps(domain.lower, domain.upper, step, scale, is_whole)
    if is_whole:
        return _plain(Int(domain.lower, domain.upper - 1, scale))  # Ray leaves the upper bound out
    return _plain(Float(domain.lower, domain.upper, scale))


def _read_choices(choices: Sequence[Any]) -> Axis:
    plain: list[Any] = [plain_value(choice) for choice in choices]
    if all(choice is None or isinstance(choice, str | bool | int | float) for choice in plain):
        try:
            return _plain(Categorical(plain))
        except SpaceError:  # such as twice the same; numbered, they are different
            pass
    labels = [f"{index}: {choice!r}"[:80] for index, choice in enumerate(choices)]

    def encode(value: Any) -> str:
        for label, choice in zip(labels, choices, strict=True):
            if choice is value or (type(choice) is type(value) and bool(choice == value)):
                return label
        raise ParameterError(f"must be one of the choices {choices!r}, got {value!r}")

    return Axis(Categorical(labels), lambda label: choices[labels.index(str(label))], encode)


def _read_steps(low: float, high: float, step: float, scale: Scale, is_whole: bool) -> Axis:
    """Multiples of the step between the bounds, both included."""
    first, last = math.ceil(low / step - NEARLY), math.floor(high / step + NEARLY)
    if last < first:
        raise SpaceError(f"must hold a multiple of {step!r}, but there is none from {low!r} to {high!r}")

    def multiple(count: int) -> int | float:
        return int(count * step) if is_whole else float(count * step)

    def count_of(value: Any) -> int:
        number: Any = plain_value(value)
        is_number = isinstance(number, int | float) and math.isfinite(number)
        if not is_number or abs(number / step - round(number / step)) > NEARLY:
            raise ParameterError(f"must be a multiple of {step!r}, got {value!r}")
        return round(number / step)

    if last - first < LONGEST_LIST:
        values = [multiple(count) for count in range(first, last + 1)]
        return Axis(Discrete(values, scale), _same, lambda value: multiple(count_of(value)))
    return Axis(Int(first, last, scale), lambda count: multiple(int(count or 0)), count_of)


def _plain(parameter: Parameter) -> Axis:
    return Axis(parameter, _same, _same)


def _same(value: Any) -> Any:
    return value
