"""Search spaces: Vizier's parameters as ours, and back."""

from typing import Any

from photinus.errors import ArgumentError, ParameterError, SpaceError, UnsupportedError
from photinus.service.vizier.messages import ParameterSpec
from photinus.space import Categorical, Discrete, Float, Int, Parameter, Scale, SearchSpace, Value

SCALES: dict[int, Scale] = {0: "linear", 1: "linear", 2: "log", 3: "reverse_log"}
SCALE_NUMBERS: dict[Scale, int] = {"linear": 1, "log": 2, "reverse_log": 3}
# What the client turns values into for its user.
AS_INTERNAL, AS_BOOLEAN, AS_INTEGER, AS_FLOAT = range(4)


def read_space(specs: Any) -> SearchSpace:
    """The search space that parameters make."""
    parameters: dict[str, Parameter] = {}
    for spec in specs:
        name = spec.parameter_id
        if name in parameters:
            raise SpaceError(f"names of parameters must be distinct, got {name!r} twice")
        try:
            parameters[name] = _read(spec)
        except (SpaceError, UnsupportedError) as error:
            raise type(error)(f"parameter {name!r}: {error}") from None
    return SearchSpace(parameters)


def _read(spec: Any) -> Parameter:
    if spec.conditional_parameter_specs:
        raise UnsupportedError(
            "conditional parameters are not supported yet: put every parameter at the top level and ignore it in the "
            "objective where it does not apply"
        )
    if spec.scale_type not in SCALES:
        raise SpaceError(f"`scale_type` must be one of {', '.join(map(str, SCALES))}, got {spec.scale_type}")
    scale = SCALES[spec.scale_type]
    match spec.WhichOneof("kind"):
        case "double":
            return Float(spec.double.min_value, spec.double.max_value, scale)
        case "integer":
            return Int(spec.integer.min_value, spec.integer.max_value, scale)
        case "discrete":
            values = list(spec.discrete.values)
            is_whole = spec.external_type == AS_INTEGER and all(map(float.is_integer, values))
            return Discrete(map(int, values) if is_whole else values, scale)
        case "categorical":
            words = list(spec.categorical.values)
            is_boolean = spec.external_type == AS_BOOLEAN and {*words} <= {"True", "False"}
            return Categorical([word == "True" for word in words] if is_boolean else words)
        case _:
            raise SpaceError("a parameter must be of one of the kinds double, integer, categorical, discrete")


def write_parameter(name: str, parameter: Parameter) -> Any:
    """A parameter as a message, without default value."""
    spec = ParameterSpec(parameter_id=name, external_type=_external_type(parameter))
    if not isinstance(parameter, Categorical):
        is_left_out = isinstance(parameter, Int) and parameter.scale == "linear"  # as the client does
        spec.scale_type = 0 if is_left_out else SCALE_NUMBERS[parameter.scale]
    match parameter:
        case Float():
            spec.double.min_value, spec.double.max_value = parameter.low, parameter.high
        case Int():
            spec.integer.min_value, spec.integer.max_value = parameter.low, parameter.high
        case Discrete():
            spec.discrete.values.extend(map(float, parameter.values))
        case Categorical():
            words = [to_word(value) for value in parameter.values]
            if len({*words}) < len(words):
                raise UnsupportedError(
                    f"a Vizier client cannot tell the choices {parameter.values!r} of parameter {name!r} apart: there, "
                    "they are text"
                )
            spec.categorical.values.extend(words)
    return spec


def _external_type(parameter: Parameter) -> int:
    """As what the client shows values of a parameter, if it was not told."""
    if isinstance(parameter, Categorical):
        return AS_BOOLEAN if all(isinstance(value, bool) for value in parameter.values) else AS_INTERNAL
    if isinstance(parameter, Discrete):
        return AS_INTEGER if all(isinstance(value, int) for value in parameter.values) else AS_FLOAT
    return AS_INTEGER if isinstance(parameter, Int) else AS_INTERNAL


def read_default(spec: Any, parameter: Parameter) -> Value:
    """A parameter's default value, if it has one that fits; None otherwise."""
    kind = getattr(spec, spec.WhichOneof("kind"))
    if not kind.HasField("default_value"):
        return None
    try:
        return parameter.validate(_from_word(parameter, kind.default_value.value))
    except ParameterError as error:
        raise ParameterError(f"the default value of parameter {spec.parameter_id!r} {error}") from None


def write_default(spec: Any, value: Value) -> None:
    """Give a parameter's message its default value."""
    kind = spec.WhichOneof("kind")
    getattr(spec, kind).default_value.value = to_word(value) if kind == "categorical" else value


def read_params(space: SearchSpace, parameters: Any) -> dict[str, Value]:
    """A trial's values, checked against the space."""
    given: dict[str, Any] = {}
    for entry in parameters:
        kind = entry.value.WhichOneof("kind")
        if kind not in ("number_value", "string_value", "bool_value") or entry.parameter_id in given:
            raise ArgumentError(
                f"a trial needs one number or text for each parameter, got {kind} for {entry.parameter_id!r}"
            )
        value = getattr(entry.value, kind)
        parameter = space.parameters.get(entry.parameter_id)
        given[entry.parameter_id] = value if parameter is None else _from_word(parameter, value)
    return space.validate(given)


def write_params(message: Any, space: SearchSpace, params: dict[str, Value]) -> None:
    """Put a trial's values into its message."""
    for name, value in params.items():
        entry = message.parameters.add(parameter_id=name)
        if isinstance(space[name], Categorical):
            entry.value.string_value = to_word(value)
        else:
            entry.value.number_value = float(value)  # pyright: ignore[reportArgumentType]


def to_word(value: Value) -> str:
    """A choice as Vizier has it: text."""
    return value if isinstance(value, str) else repr(value)


def _from_word(parameter: Parameter, value: object) -> object:
    """The choice that a word stands for."""
    if not isinstance(parameter, Categorical):
        return value
    return next((choice for choice in parameter.values if to_word(choice) == value), value)
