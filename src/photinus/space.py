"""Search spaces: what may be varied, within which bounds, on which scale.

    Float(low, high, scale)   a real interval
    Int(low, high, scale)     whole numbers, both ends included
    Discrete(values, scale)   a list of numbers; their order and distances mean something
    Categorical(values)       a list of choices without order (booleans are `Categorical([False, True])`)

Scales say which differences matter: "linear"; "log", where factors matter (low > 0); "reverse_log", the
mirror image of log, fine near `high` (momentum 0.9, 0.99, 0.999). A parameter may have a single value.

The stored form has a place for what is refused so far, so that adding it will not change the format:
`children` of a parameter, `[{"values": [...], "parameters": [...]}]`, exist while their parent has one of
these values; `constraints` of a space, `[{"weights": {name: number}, "upper": number}]`, are linear;
`context` lists parameters that are given rather than chosen.
"""

import bisect
import difflib
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, cast, get_args

from photinus.display import MAX_PARAMETERS, Card, Displayed, Table, short_text
from photinus.errors import ParameterError, SpaceError, UnsupportedError

Scale = Literal["linear", "log", "reverse_log"]
Value = str | bool | int | float | None

SCALES: tuple[str, ...] = get_args(Scale)
SPACE_FORMAT = 1  # version of the stored form
MAX_INT = 2**53  # beyond it float64, in which the algorithms work, cannot tell neighbouring integers apart


@dataclass(frozen=True, slots=True)
class Float:
    """A real number between `low` and `high`."""

    low: float
    high: float
    scale: Scale = "linear"
    children: tuple[()] = field(default=(), kw_only=True, repr=False)

    type_name: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        _freeze(self, low=_float_bound("low", self.low), high=_float_bound("high", self.high))
        _check_range(self, self.low, self.high)

    @property
    def num_values(self) -> int | None:
        """1 where `low == high`, None (a continuum) otherwise."""
        return 1 if self.low == self.high else None

    def validate(self, value: object) -> float:
        """`value` as a float, if it is a number within the bounds."""
        number = _number(value)
        if number is None or not self.low <= number <= self.high:
            raise ParameterError(
                f"must be a number with {self.low!r} <= value <= {self.high!r}, got {value!r}"
            )
        return float(number)


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number between `low` and `high`, both included."""

    low: int
    high: int
    scale: Scale = "linear"
    children: tuple[()] = field(default=(), kw_only=True, repr=False)

    type_name: ClassVar[str] = "int"

    def __post_init__(self) -> None:
        _freeze(self, low=_int_bound("low", self.low), high=_int_bound("high", self.high))
        _check_range(self, self.low, self.high)

    @property
    def num_values(self) -> int:
        """How many values there are."""
        return self.high - self.low + 1

    def validate(self, value: object) -> int:
        """`value` as an int, if it is a whole number (3.0 is one) within the bounds."""
        number = _number(value)
        if number is None or number != int(number) or not self.low <= number <= self.high:
            raise ParameterError(
                f"must be a whole number with {self.low!r} <= value <= {self.high!r}, got {value!r}"
            )
        return int(number)


@dataclass(frozen=True, slots=True)
class Discrete:
    """One of several numbers whose order and distances mean something; kept in ascending order."""

    values: tuple[int | float, ...]
    scale: Scale = "linear"
    children: tuple[()] = field(default=(), kw_only=True, repr=False)

    type_name: ClassVar[str] = "discrete"

    # Written out because a caller may give any iterable of numbers, while the attribute is always a tuple.
    def __init__(
        self, values: Iterable[int | float], scale: Scale = "linear", *, children: tuple[()] = ()
    ) -> None:
        _freeze(self, values=_sorted_numbers(values), scale=scale, children=children)
        _check_range(self, self.values[0], self.values[-1])

    @property
    def num_values(self) -> int:
        """How many values there are."""
        return len(self.values)

    def validate(self, value: object) -> int | float:
        """The member of `values` that equals `value`."""
        number = _number(value)
        if number is None:
            raise ParameterError(f"must be one of the numbers {_listing(self.values)}, got {value!r}")
        position = bisect.bisect_left(self.values, number)
        if position == len(self.values) or self.values[position] != number:
            nearest = min(self.values, key=lambda member: abs(member - number))
            raise ParameterError(
                f"must be one of {_listing(self.values)}, got {value!r}; the nearest is {nearest!r}"
            )
        return self.values[position]


@dataclass(frozen=True, slots=True, eq=False)
class Categorical:
    """One of several choices without order: strings, booleans, numbers or None. `True` is not `1`."""

    values: tuple[Value, ...]
    children: tuple[()] = field(default=(), kw_only=True, repr=False)

    type_name: ClassVar[str] = "categorical"

    def __init__(self, values: Iterable[Value], *, children: tuple[()] = ()) -> None:
        _freeze(self, values=_unique_choices(values), children=children)
        _refuse_children(self)

    # Python holds True == 1 == 1.0, so the generated comparison would take different choices for the same.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categorical):
            return NotImplemented
        return _typed(self.values) == _typed(other.values) and self.children == other.children

    def __hash__(self) -> int:
        return hash((_typed(self.values), self.children))

    @property
    def num_values(self) -> int:
        """How many choices there are."""
        return len(self.values)

    def validate(self, value: object) -> Value:
        """The member of `values` that is `value`; 2.0 also finds 2 where 2.0 itself is no choice."""
        plain = plain_value(value)
        for choice in self.values:
            if type(choice) is type(plain) and choice == plain:
                return choice
        number = _number(plain)
        for choice in self.values:
            if number is not None and not isinstance(choice, bool | str) and choice == number:
                return choice
        hint = _closest(plain, [choice for choice in self.values if isinstance(choice, str)])
        raise ParameterError(f"must be one of {_listing(self.values)}, got {value!r}{hint}")


Parameter = Float | Int | Discrete | Categorical


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace(Displayed):
    """Named parameters, in the order in which they were given."""

    parameters: Mapping[str, Parameter]
    constraints: tuple[()] = field(default=(), kw_only=True, repr=False)
    context: tuple[()] = field(default=(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.constraints:
            raise UnsupportedError(
                "linear constraints between parameters are not supported yet: leave them out"
            )
        if self.context:
            raise UnsupportedError("context parameters are not supported yet: leave `context` empty")
        if not isinstance(self.parameters, Mapping) or not self.parameters:
            raise SpaceError(
                'a search space must be a dict of at least one parameter, such as {"x": Float(0, 1)}, '
                f"got {self.parameters!r}"
            )
        for name, parameter in self.parameters.items():
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be a non-empty string, got {name!r}")
            if not isinstance(parameter, Parameter):
                raise SpaceError(
                    f"parameter {name!r} must be a Float, Int, Discrete or Categorical, got {parameter!r}"
                )
        _freeze(self, parameters=dict(self.parameters))

    # The order counts, unlike in dict: it is the order of the algorithm's features.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SearchSpace):
            return NotImplemented
        return list(self.parameters.items()) == list(other.parameters.items())

    def __hash__(self) -> int:
        return hash(tuple(self.parameters.items()))

    def __len__(self) -> int:
        return len(self.parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parameters)

    def __getitem__(self, name: str) -> Parameter:
        return self.parameters[name]

    def validate(self, params: Mapping[str, object]) -> dict[str, Value]:
        """`params` as plain Python values in this space's order, if every parameter is there and fits."""
        if not isinstance(params, Mapping):
            raise ParameterError(f"parameters must be a dict by name, got {params!r}")
        for name in params:
            if name not in self.parameters:
                hint = _closest(name, list(self.parameters))
                raise ParameterError(
                    f"unknown parameter {name!r}: the space has {_listing(list(self))}{hint}"
                )
        missing = [name for name in self.parameters if name not in params]
        if missing:
            raise ParameterError(f"every parameter needs a value, missing {_listing(missing)}")
        canonical: dict[str, Value] = {}
        for name, parameter in self.parameters.items():
            try:
                canonical[name] = parameter.validate(params[name])
            except ParameterError as error:
                raise ParameterError(f"parameter {name!r} {error}") from None
        return canonical

    def _card(self) -> Card:
        def row(name: str) -> list[str]:
            parameter = self.parameters[name]
            return [name, parameter.type_name, _extent(parameter), getattr(parameter, "scale", "")]

        header = ["parameter", "type", "values", "scale"]
        table = Table.of(header, list(self), row, max_rows=MAX_PARAMETERS)
        return Card(f"Search space: {len(self)} parameter{'' if len(self) == 1 else 's'}", tables=[table])

    def to_dict(self) -> dict[str, Any]:
        """The stored form: plain JSON values. A list keeps the order where JSON objects would not."""
        return {
            "format": SPACE_FORMAT,
            "parameters": [
                {"name": name, **parameter_to_dict(parameter)} for name, parameter in self.parameters.items()
            ],
            "constraints": [],
            "context": [],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SearchSpace":
        """The space that `to_dict` described."""
        if data.get("format") != SPACE_FORMAT:
            raise UnsupportedError(
                f"search space of format {data.get('format')!r}, this version reads {SPACE_FORMAT}: "
                "upgrade photinus"
            )
        return cls(
            {entry["name"]: parameter_from_dict(entry) for entry in data["parameters"]},
            constraints=tuple(data["constraints"]),
            context=tuple(data["context"]),
        )


def parameter_to_dict(parameter: Parameter) -> dict[str, Any]:
    """The stored form of one parameter, without its name."""
    stored: dict[str, Any] = {"type": parameter.type_name}
    if isinstance(parameter, Float | Int):
        stored |= {"low": parameter.low, "high": parameter.high}
    else:
        stored |= {"values": list(parameter.values)}
    if not isinstance(parameter, Categorical):
        stored |= {"scale": parameter.scale}
    return stored | {"children": []}


def parameter_from_dict(data: Mapping[str, Any]) -> Parameter:
    """The parameter that `parameter_to_dict` described."""
    children = tuple(data["children"])
    match data["type"]:
        case "float":
            return Float(data["low"], data["high"], data["scale"], children=children)
        case "int":
            return Int(data["low"], data["high"], data["scale"], children=children)
        case "discrete":
            return Discrete(data["values"], data["scale"], children=children)
        case "categorical":
            return Categorical(data["values"], children=children)
        case other:
            raise UnsupportedError(
                f"parameter of type {other!r} is unknown to this version: upgrade photinus"
            )


def _freeze(instance: object, **fields: object) -> None:
    """Set fields of a frozen dataclass while it is being made."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)


def plain_value(value: object) -> object:
    """The Python value inside a NumPy scalar or another array without dimensions; else the value itself."""
    if isinstance(value, str):
        return str.__str__(value)  # a member of a string enum, or NumPy's string
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return cast(Any, value).item()
    return value


def middle(parameter: Parameter) -> Value:
    """The middle on the parameter's scale; of choices, which have no order, the first."""
    match parameter:
        case Float(low=low, high=high, scale=scale):
            return min(max(_mean(low, high, scale), low), high)
        case Int(low=low, high=high, scale=scale):
            return (
                (low + high) // 2
                if scale == "linear"
                else min(max(round(_mean(low, high, scale)), low), high)
            )
        case Discrete(values=values):
            return values[len(values) // 2]
        case Categorical(values=values):
            return values[0]


def _mean(low: float, high: float, scale: Scale) -> float:
    if scale == "linear":
        return low + 0.5 * (high - low)
    geometric = math.sqrt(low) * math.sqrt(high)
    return geometric if scale == "log" else low + (high - geometric)


def _number(value: object) -> int | float | None:
    """`value` as a finite Python number; None if it is none. A bool is no number here: it is a mistake."""
    plain = plain_value(value)
    if isinstance(plain, bool) or not isinstance(plain, Real):
        return None
    try:
        number = float(plain)
    except OverflowError:
        return None
    if isinstance(plain, Integral):
        return int(plain)
    return number + 0.0 if math.isfinite(number) else None  # -0.0 becomes 0.0


def _float_bound(name: str, value: object) -> float:
    number = _number(value)
    if number is None or abs(number) > sys.float_info.max:
        raise SpaceError(f"`{name}` of a Float must be a finite number, got {value!r}")
    return float(number)


def _int_bound(name: str, value: object) -> int:
    number = _number(value)
    if number is None or number != int(number) or abs(number) > MAX_INT:
        raise SpaceError(f"`{name}` of an Int must be a whole number within ±2**53, got {value!r}")
    return int(number)


def _sorted_numbers(values: Iterable[object]) -> tuple[int | float, ...]:
    numbers: list[int | float] = []
    for value in _as_list("Discrete", values):
        number = _number(value)
        if number is None or (isinstance(number, int) and abs(number) > MAX_INT):
            raise SpaceError(
                f"values of a Discrete must be finite numbers (integers within ±2**53), got {value!r}; "
                "use Categorical for anything else"
            )
        numbers.append(number)
    if len(set(numbers)) < len(numbers):
        raise SpaceError(f"values of a Discrete must be distinct, got {_listing(sorted(numbers))}")
    return tuple(sorted(numbers))


def _unique_choices(values: Iterable[object]) -> tuple[Value, ...]:
    choices = tuple(_choice(value) for value in _as_list("Categorical", values))
    if len(set(_typed(choices))) < len(choices):
        raise SpaceError(f"values of a Categorical must be distinct, got {_listing(choices)}")
    return choices


def _choice(value: object) -> Value:
    plain = plain_value(value)
    if plain is None or isinstance(plain, bool | str):
        return plain
    number = _number(plain)
    if number is None:
        raise SpaceError(
            f"values of a Categorical must be strings, booleans, finite numbers or None, got {value!r}; "
            "use a name for each choice and look the object up in the objective"
        )
    return number


def _as_list(kind: str, values: object) -> list[object]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SpaceError(f"values of a {kind} must be a list, got {values!r}")
    members = list(values)
    if not members:
        raise SpaceError(f"values of a {kind} must not be empty")
    return members


def _check_range(parameter: Float | Int | Discrete, low: int | float, high: int | float) -> None:
    """The rules that every numeric parameter shares."""
    kind = type(parameter).__name__
    if parameter.scale not in SCALES:
        raise SpaceError(f"`scale` must be one of {_listing(SCALES)}, got {parameter.scale!r} of {kind}")
    if low > high:
        raise SpaceError(f"`low <= high` must hold, got {low=}, {high=} of {kind}")
    if not math.isfinite(high - low):
        raise SpaceError(f"`high - low` must be finite, got {low=}, {high=} of {kind}: narrow the range")
    if parameter.scale != "linear" and low <= 0:
        raise SpaceError(
            f"`low > 0` must hold on a {parameter.scale} scale, got {low=} of {kind}: "
            'raise it or use scale="linear"'
        )
    if parameter.scale != "linear" and low < high and math.log(low) == math.log(high):
        raise SpaceError(
            f"`log(low) < log(high)` must hold on a {parameter.scale} scale, got {low=}, {high=} of "
            f'{kind}: use scale="linear" for so narrow a range'
        )
    _refuse_children(parameter)


def _refuse_children(parameter: Parameter) -> None:
    if parameter.children:
        raise UnsupportedError(
            "conditional parameters (`children` of a value) are not supported yet: "
            "put every parameter at the top level and ignore it in the objective where it does not apply"
        )


def _extent(parameter: Parameter) -> str:
    if isinstance(parameter, Float | Int):
        return f"{short_text(parameter.low)} to {short_text(parameter.high)}"
    return ", ".join(short_text(value) for value in parameter.values)


def _typed(values: Iterable[Value]) -> tuple[tuple[type, Value], ...]:
    return tuple((type(value), value) for value in values)


def _closest(name: object, candidates: Sequence[str]) -> str:
    matches = difflib.get_close_matches(str(name), candidates, n=1)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def _listing(values: Sequence[object], limit: int = 10) -> str:
    """The values for a message, long lists cut in the middle."""
    shown = [repr(value) for value in values[:limit]]
    if len(values) > limit:
        shown += ["...", repr(values[-1])]
    return ", ".join(shown)
