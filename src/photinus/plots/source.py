"""What a picture needs to know of a study, and how its arguments are understood."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from photinus.best import costs
from photinus.engine.encoding import Encoder
from photinus.errors import ArgumentError
from photinus.problem import Goal, Metric, Problem
from photinus.space import Value
from photinus.trial import Trial, TrialState

MODEL_TRIALS = 384  # ours: a model of more trials takes too long for a picture


class Source(Protocol):
    """The part of a `Study` that pictures look at; a server's study has it as well."""

    @property
    def name(self) -> str:
        """Name of the study."""
        ...

    @property
    def problem(self) -> Problem:
        """Search space and objectives."""
        ...

    @property
    def trials(self) -> Sequence[Trial]:
        """All trials, by number."""
        ...

    def predict(
        self, points: Sequence[Mapping[str, Any]], *, max_trials: int | None = None
    ) -> list[dict[str, dict[str, float | None]]]:
        """What the model expects at each point."""
        ...

    def describe_model(self, *, max_trials: int | None = None) -> dict[str, Any]:
        """What the model believes beyond that."""
        ...


def choose_objective(problem: Problem, name: str | None) -> Metric:
    """The objective of that name, or the first."""
    for metric in problem.metrics:
        if name is None or metric.name == name:
            return metric
    raise ArgumentError(f"`objective` must be one of {_listing(problem.metric_names)}, got {name!r}")


def choose_objectives(problem: Problem, names: Sequence[str] | None) -> list[Metric]:
    """The objectives of these names, two or more, or all."""
    if isinstance(names, str):
        raise ArgumentError(f"`objectives` must be a list of names, got {names!r}: put it in brackets")
    chosen = [choose_objective(problem, name) for name in (problem.metric_names if names is None else names)]
    if len(chosen) < 2 or len(set(chosen)) < len(chosen):
        raise ArgumentError(
            f"a Pareto picture needs two or more different objectives of {_listing(problem.metric_names)}, "
            f"got {[metric.name for metric in chosen]}; for one objective there is plot.history()"
        )
    return chosen


def choose_params(problem: Problem, names: str | Sequence[str] | None) -> list[str]:
    """The parameters of these names, or all that can vary; all of them if none can."""
    space = problem.space
    if names is None:
        return varying(problem) or list(space)
    chosen = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in chosen if name not in space.parameters]
    if unknown or not chosen or len(set(chosen)) < len(chosen):
        raise ArgumentError(
            f"`params` must be one or more different names of {_listing(list(space))}, got {names!r}"
        )
    return chosen


def varying(problem: Problem) -> list[str]:
    """Parameters with more than one value."""
    return [name for name, parameter in problem.space.parameters.items() if parameter.num_values != 1]


def sharpest(study: Source, count: int) -> list[str]:
    """The parameters to which the model reacts most sharply, by length scale."""
    scales = study.describe_model(max_trials=MODEL_TRIALS)["length_scales"]
    return sorted(varying(study.problem), key=lambda name: scales[name])[:count]


def model_of(described: Mapping[str, Any], metric: Metric) -> Mapping[str, Any]:
    """Hyperparameters that hold for one objective, of a model as it was described."""
    own = described["objectives"][metric.name]
    return own if own and "length_scales" in own else described


def completed_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Trials with values."""
    return [trial for trial in trials if trial.state is TrialState.COMPLETED]


def value_of(trial: Trial, metric: Metric) -> float:
    """A completed trial's value of one objective."""
    assert trial.values is not None
    return trial.values[metric.name]


def cost_of(trial: Trial, metric: Metric) -> float:
    """The value, turned so that less is better."""
    return value_of(trial, metric) if metric.goal is Goal.MINIMIZE else -value_of(trial, metric)


def best_in(trials: Sequence[Trial], metric: Metric) -> Trial | None:
    """The completed trial with the best value of one objective; the first of them."""
    return min(completed_trials(trials), key=lambda trial: cost_of(trial, metric), default=None)


def ranked(problem: Problem, trials: Sequence[Trial], metric: Metric | None = None) -> list[Trial]:
    """Completed trials, best first, by one objective or by the first and so on."""
    if metric is not None:
        return sorted(completed_trials(trials), key=lambda trial: cost_of(trial, metric))
    return sorted(completed_trials(trials), key=lambda trial: costs(problem, trial))


def reference_point(study: Source, metric: Metric, at: Mapping[str, Any] | None) -> dict[str, Value]:
    """Where a cut through the space is made: `at`, completed by the best trial, or by the space's centre."""
    best = best_in(study.trials, metric)
    point: dict[str, Any] = middle(study.problem) if best is None else dict(best.params)
    if at is not None and not isinstance(at, Mapping):
        raise ArgumentError(f"`at` must be a dict of parameter values by name, got {at!r}")
    return study.problem.space.validate({**point, **(at or {})})


def middle(problem: Problem) -> dict[str, Any]:
    """The centre of the space on its scales; first categories."""
    encoder = Encoder(problem.space)
    categories = {name: parameter.values[0] for name, parameter in encoder.categoricals.items()}
    numbers = {axis.name: axis.decode(np.array([0.5]))[0] for axis in encoder.axes}
    every = {**encoder.fixed, **categories, **numbers}
    return {name: every[name] for name in problem.space}


def _listing(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
