"""Studies: Vizier's configurations as ours, and back."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from photinus.errors import ArgumentError, ProblemError, UnsupportedError
from photinus.problem import ALGORITHMS, Goal, Metric, Problem
from photinus.record import StudyRecord, StudyState
from photinus.service.vizier.messages import Study, StudySpec
from photinus.service.vizier.names import StudyName
from photinus.service.vizier.notes import new_notes, own_note, read_own, write_entries
from photinus.service.vizier.parameters import (
    read_default,
    read_space,
    write_default,
    write_parameter,
)
from photinus.space import Value, middle

ACTIVE, INACTIVE, COMPLETED = 1, 2, 3  # states of a study; 0 counts as active
GOALS = {1: Goal.MAXIMIZE, 2: Goal.MINIMIZE}
GOAL_NUMBERS = {goal: number for number, goal in GOALS.items()}
# Vizier's names beside our own. Its default is the algorithm of the paper, which ours began as.
ALIASES = {
    "": "default",
    "ALGORITHM_UNSPECIFIED": "default",
    "DEFAULT": "default",
    "GP_UCB_PE": "paper",
    "GAUSSIAN_PROCESS_BANDIT": "paper",
    "QUASI_RANDOM_SEARCH": "quasi_random",
    "RANDOM_SEARCH": "random",
}
SHOWN_ALGORITHMS = {
    "default": "ALGORITHM_UNSPECIFIED",
    "paper": "GP_UCB_PE",
    "quasi_random": "QUASI_RANDOM_SEARCH",
    "random": "RANDOM_SEARCH",
}
PYTHIA = (":service", "PYTHIA_ENDPOINT")  # namespace and key of the address of another algorithm
SHAPES = ("scale_type", "external_type")  # of a parameter: numbers that may differ and mean the same
SPEC, STATE = "spec", "state"  # notes of our own


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a study is to be created with."""

    problem: Problem
    algorithm: str
    metadata: dict[str, str]


def read_spec(spec: Any) -> Configuration:
    """A study's configuration; refuses what would have no effect but promises one."""
    space = read_space(spec.parameters)
    problem = Problem(space, tuple(_read_metric(metric) for metric in spec.metrics))
    if any((entry.ns, entry.key) == PYTHIA for entry in spec.metadata):
        raise UnsupportedError(
            "this server suggests by its own algorithms, not by those of a Pythia service: leave pythia_endpoint out"
        )
    algorithm = _read_algorithm(spec.algorithm)
    pairs = [(parameter, space[parameter.parameter_id]) for parameter in spec.parameters]
    kept = {
        "algorithm": spec.algorithm if spec.algorithm != SHOWN_ALGORITHMS[algorithm] else None,
        "defaults": {
            given.parameter_id: default
            for given, parameter in pairs
            if (default := read_default(given, parameter)) is not None
        },
        **{
            field: {
                given.parameter_id: getattr(given, field)
                for given, parameter in pairs
                if getattr(given, field) != getattr(write_parameter(given.parameter_id, parameter), field)
            }
            for field in SHAPES
        },
        "observation_noise": spec.observation_noise,
        "stops_early": spec.HasField("default_stopping_spec"),
    }
    note = own_note(SPEC, {name: value for name, value in kept.items() if value})
    return Configuration(problem, algorithm, new_notes(spec.metadata) | note)


def first_point(record: StudyRecord) -> dict[str, Value] | None:
    """The point that default values name, completed by middles; None if there are no such values."""
    defaults = read_own(record.metadata, SPEC).get("defaults")
    if not defaults:
        return None
    space = record.problem.space
    return space.validate({name: defaults.get(name, middle(space[name])) for name in space})


def write_study(record: StudyRecord) -> Any:
    """A study as a message."""
    name = StudyName(record.project, record.name)
    study = Study(name=str(name), display_name=record.name, state=state_number(record))
    write_time(study.create_time, record.created_at)
    study.study_spec.CopyFrom(_write_spec(record))
    return study


def state_number(record: StudyRecord) -> int:
    """A study's state as Vizier has it."""
    if record.state == StudyState.ACTIVE:
        return ACTIVE
    return COMPLETED if read_own(record.metadata, STATE).get("is_completed") else INACTIVE


def state_note(number: int) -> dict[str, str | None]:
    """What tells Vizier's two ways of having ended apart."""
    return dict(own_note(STATE, {"is_completed": number == COMPLETED}))


def write_time(message: Any, time: datetime | None) -> None:
    """Set a time, if there is one."""
    if time is not None:
        message.FromDatetime(time)


def _write_spec(record: StudyRecord) -> Any:
    kept = read_own(record.metadata, SPEC)
    spec = StudySpec(
        algorithm=kept.get("algorithm", SHOWN_ALGORITHMS[record.algorithm]),
        observation_noise=kept.get("observation_noise", 0),
    )
    for metric in record.problem.metrics:
        spec.metrics.add(metric_id=metric.name, goal=GOAL_NUMBERS[metric.goal])
    for name, parameter in record.problem.space.parameters.items():
        written = write_parameter(name, parameter)
        for field in SHAPES:
            if name in kept.get(field, {}):
                setattr(written, field, kept[field][name])
        if name in kept.get("defaults", {}):
            write_default(written, kept["defaults"][name])
        spec.parameters.append(written)
    spec.metadata.extend(write_entries(record.metadata))
    if kept.get("stops_early"):
        spec.default_stopping_spec.SetInParent()
    return spec


def _read_metric(metric: Any) -> Metric:
    if metric.HasField("safety_config"):
        raise UnsupportedError(
            f"safety limits are not supported yet, but metric {metric.metric_id!r} has one: make it an objective, or "
            "complete unsafe trials as infeasible"
        )
    if metric.goal not in GOALS:
        raise ProblemError(
            f"a metric needs a goal, 1 (maximize) or 2 (minimize), got {metric.goal} for {metric.metric_id!r}"
        )
    return Metric(metric.metric_id, GOALS[metric.goal])


def _read_algorithm(name: str) -> str:
    if name in ALGORITHMS:
        return name
    if name not in ALIASES:
        known = ", ".join([*filter(None, ALIASES), *ALGORITHMS])
        raise ArgumentError(f"`algorithm` must be one of {known}, got {name[:100]!r}")
    return ALIASES[name]
