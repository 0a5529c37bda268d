"""Parameter values to features and back."""

import numpy as np
from vizier import pyvizier as vz
from vizier._src.jax import types
from vizier.pyvizier import converters

SCALES = {
    "linear": vz.ScaleType.LINEAR,
    "log": vz.ScaleType.LOG,
    "reverse_log": vz.ScaleType.REVERSE_LOG,
}
FLOATS = (
    ("linear", -3.0, 7.5),
    ("linear", 0.0, 1e-6),
    ("log", 1e-5, 1e-1),
    ("log", 2.0, 3.0),
    ("reverse_log", 1e-4, 1.0),
    ("reverse_log", 0.9, 0.999),
    ("linear", 2.5, 2.5),
)
INTS = (("linear", 1, 8), ("linear", -4, 3), ("linear", 0, 1), ("log", 1, 1000), ("reverse_log", 1, 64))
DISCRETES = (
    ("linear", (16.0, 32.0, 64.0, 128.0)),
    ("log", (0.001, 0.01, 0.02, 0.5)),
    ("reverse_log", (1.0, 2.0, 5.0, 10.0)),
)
CATEGORICALS = (("adam", "lion", "sgd"), ("a", "b"))
NUM_VALUES = 7
NOTES = {
    "comparable": [
        "encoded: features of values, exactly (a single-valued parameter becomes 0.5; categoricals become"
        " the index of the value, values being listed sorted as the reference stores them).",
        "decoded: values of features, exactly for floats; int and discrete take the nearest feasible value.",
    ],
    "differs": [
        "the reference takes int and discrete values nearest in the value's own units, equation (4) nearest"
        " in scaled units: with a log or reverse log scale a feature between two values may round"
        " differently (nearest_agrees is false there); on a linear scale they agree."
    ],
}


def make(rng: np.random.Generator) -> dict:
    cases = []
    for scale, low, high in FLOATS:
        parameter = {"kind": "float", "low": low, "high": high, "scale": scale}
        values = np.sort(rng.uniform(low, high, size=NUM_VALUES)).tolist()
        cases.append(measure(rng, parameter, [low, *values, high]))
    for scale, low, high in INTS:
        parameter = {"kind": "int", "low": low, "high": high, "scale": scale}
        values = np.unique([low, *rng.integers(low, high + 1, size=NUM_VALUES), high]).tolist()
        cases.append(measure(rng, parameter, values))
    for scale, choices in DISCRETES:
        parameter = {"kind": "discrete", "values": list(choices), "scale": scale}
        cases.append(measure(rng, parameter, list(choices)))
    for choices in CATEGORICALS:
        cases.append(measure(rng, {"kind": "categorical", "values": list(choices)}, list(choices)))
    return {"notes": NOTES, "cases": cases}


def build(parameter: dict) -> converters.TrialToModelInputConverter:
    problem = vz.ProblemStatement()
    root = problem.search_space.root
    match parameter["kind"]:
        case "float":
            scale = SCALES[parameter["scale"]]
            root.add_float_param("p", parameter["low"], parameter["high"], scale_type=scale)
        case "int":
            scale = SCALES[parameter["scale"]]
            root.add_int_param("p", parameter["low"], parameter["high"], scale_type=scale)
        case "discrete":
            scale = SCALES[parameter["scale"]]
            root.add_discrete_param("p", parameter["values"], scale_type=scale)
        case _:
            root.add_categorical_param("p", parameter["values"])
    problem.metric_information.append(vz.MetricInformation("m", goal=vz.ObjectiveMetricGoal.MAXIMIZE))
    return converters.TrialToModelInputConverter.from_problem(problem, scale=True, max_discrete_indices=0)


def measure(rng: np.random.Generator, parameter: dict, values: list) -> dict:
    converter = build(parameter)
    features = converter.to_features([vz.Trial(parameters={"p": value}) for value in values])
    kind = parameter["kind"]
    name = kind if kind == "categorical" else f"{kind} {parameter['scale']}"
    case = {"name": name, "parameter": parameter, "values": values}
    if kind == "categorical":
        return case | {"encoded": np.ravel(features.categorical.unpad())}
    encoded = np.ravel(features.continuous.unpad())
    queries = np.sort(rng.uniform(size=2 * NUM_VALUES))
    case |= {"encoded": encoded, "features": queries, "decoded": decode(converter, features, queries)}
    if kind != "float":
        case["nearest_agrees"] = nearest_agrees(converter, parameter, queries, case["decoded"])
    return case


def decode(
    converter: converters.TrialToModelInputConverter, template: types.ModelInput, queries: np.ndarray
) -> list:
    blank = template.categorical.unpad()[:1]
    points = type(template)(
        template.continuous.as_padded(queries[:, np.newaxis]),
        template.categorical.as_padded(np.repeat(blank, len(queries), axis=0)),
    )
    return [parameters["p"].value for parameters in converter.to_parameters(points)]


def nearest_agrees(
    converter: converters.TrialToModelInputConverter, parameter: dict, queries: np.ndarray, decoded: list
) -> list[bool]:
    """Whether the value nearest in scaled units is the one the reference chose."""
    feasible = parameter.get("values") or list(range(parameter["low"], parameter["high"] + 1))
    trials = [vz.Trial(parameters={"p": value}) for value in feasible]
    scaled = np.ravel(converter.to_features(trials).continuous.unpad())
    nearest = np.argmin(np.abs(queries[:, np.newaxis] - scaled), axis=1)
    return [feasible[index] == value for index, value in zip(nearest, decoded, strict=True)]
