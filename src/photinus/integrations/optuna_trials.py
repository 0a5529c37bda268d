"""Optuna's trials as ours: their outcomes, and what the engine should know of them.

Optuna has no counter of events, and its times are those of several machines. So results are put in the order of their
trials' numbers, and every trial that Photinus suggested carries a note, in its system attributes, of how many results
there were at that moment. That is enough to tell whether something new came in since.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from photinus.errors import ParameterError
from photinus.integrations.optuna_space import Axis
from photinus.integrations.packages import OPTUNA
from photinus.problem import DEFAULT_METRIC
from photinus.space import Value
from photinus.trial import Measurement, Trial, TrialState

with OPTUNA:
    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from optuna.trial import TrialState as OptunaState

Pruned = Literal["last_value", "infeasible", "failed"]  # what a pruned trial counts as

NOTE_KEY = "photinus"
FIXED_KEY = "fixed_params"  # where Optuna keeps the point of an enqueued trial
NOTE_PIECE = 2000  # characters; Optuna's relational store takes no more than 2045 in one attribute
RESULTS = (TrialState.COMPLETED, TrialState.INFEASIBLE)


@dataclass(frozen=True, slots=True)
class Note:
    """What was suggested for a trial, and when; parameters in Optuna's internal form."""

    num_results: int  # how many trials had a result
    params: dict[str, float]
    reason: dict[str, Any] | None

    def write(self, study: Study, trial: FrozenTrial) -> None:
        """Keep the note with its trial."""
        text = json.dumps({"results": self.num_results, "params": self.params, "reason": self.reason})
        for place in range(0, len(text), NOTE_PIECE):
            key = f"{NOTE_KEY}:{place // NOTE_PIECE}"
            study._storage.set_trial_system_attr(trial._trial_id, key, text[place : place + NOTE_PIECE])

    @classmethod
    def of(cls, trial: FrozenTrial) -> "Note | None":
        """The note of a trial that Photinus suggested; None for any other."""
        pieces: list[str] = []
        while (piece := trial.system_attrs.get(f"{NOTE_KEY}:{len(pieces)}")) is not None:
            pieces.append(piece)
        try:
            data = json.loads("".join(pieces))
        except ValueError:  # not there, or half written by a process that was killed
            return None
        return cls(data["results"], data["params"], data["reason"])


@dataclass(frozen=True, slots=True)
class History:
    """An Optuna study as the engine takes it when it suggests for one of its trials."""

    trials: list[Trial]
    numbers: list[int]  # Optuna's, of these trials
    num_results: int  # in the whole study

    @classmethod
    def before(
        cls,
        number: int,
        trials: Sequence[FrozenTrial],
        axes: Mapping[str, Axis],
        *,
        num_objectives: int,
        pruned: Pruned,
    ) -> "History":
        """All trials but number `number` that have a value on every axis; unfinished ones are pending."""
        names = metric_names(num_objectives)
        num_results = 0
        rows: list[Trial] = []
        numbers: list[int] = []
        for trial in trials:
            if trial.number == number or trial.state == OptunaState.WAITING:
                continue
            outcome = read_outcome(trial, names, pruned)
            num_results += outcome is not None and outcome.state in RESULTS
            note = Note.of(trial)
            params = _params(trial, note, axes)
            if params is None:
                continue
            num_seen = num_results if note is None else note.num_results
            rows.append(
                Trial(
                    number=0,
                    params=params,
                    state=TrialState.ACTIVE if outcome is None else outcome.state,
                    values=None if outcome is None else outcome.values,
                    asked_event=2 * num_seen + 1,  # after so many results, and before the next
                    completed_event=None if outcome is None else 2 * num_results,
                    algorithm=None if note is None else NOTE_KEY,
                )
            )
            numbers.append(trial.number)
        return cls(_numbered(rows, number), numbers, num_results)

    def explain(self, reason: Mapping[str, Any]) -> dict[str, Any]:
        """The engine's reason, with Optuna's numbers in it."""
        ours = dict(zip((trial.number for trial in self.trials), self.numbers, strict=True))
        nearest = [{**entry, "number": ours[entry["number"]]} for entry in reason.get("nearest", [])]
        return {**reason, "nearest": nearest} if nearest else dict(reason)


def metric_names(num_objectives: int) -> list[str]:
    """Names for objectives, which Optuna only counts."""
    return (
        [DEFAULT_METRIC] if num_objectives == 1 else [f"{DEFAULT_METRIC}_{i}" for i in range(num_objectives)]
    )


def known_params(trial: FrozenTrial) -> dict[str, Any]:
    """The trial's point as far as it is known; of an enqueued one, also what its program has not asked for yet."""
    if trial.state.is_finished():
        return dict(trial.params)
    return {**trial.system_attrs.get(FIXED_KEY, {}), **trial.params}


def read_outcome(trial: FrozenTrial, names: Sequence[str], pruned: Pruned) -> Measurement | None:
    """The outcome of a finished trial, None for any other.

    Violated constraints and infinite values make a trial infeasible.
    """
    if trial.state == OptunaState.FAIL:
        return Measurement.failed(str(trial.system_attrs.get("fail_reason") or "failed in Optuna"))
    if not trial.state.is_finished():
        return None
    if violated := violated_constraints(trial):
        return Measurement.infeasible(f"violates {', '.join(violated)}")
    if trial.state == OptunaState.PRUNED:
        return _pruned_outcome(trial, names, pruned)
    if not all(math.isfinite(value) for value in trial.values):
        return Measurement.infeasible(f"measured {', '.join(map(str, trial.values))}")
    return Measurement.completed(dict(zip(names, trial.values, strict=True)))


def violated_constraints(trial: FrozenTrial) -> list[str]:
    """The constraints of a trial that are greater than 0, as text."""
    named: Mapping[str, float] | None = getattr(trial, "constraints", None)  # since Optuna 5
    if named is None:
        named = {str(i): value for i, value in enumerate(trial.system_attrs.get("constraints") or ())}
    return [f"constraint {name} ({value:g} > 0)" for name, value in named.items() if value > 0]


def _pruned_outcome(trial: FrozenTrial, names: Sequence[str], pruned: Pruned) -> Measurement:
    last = None if trial.last_step is None else trial.intermediate_values[trial.last_step]
    message = "pruned" if last is None else f"pruned at step {trial.last_step} with {last:g}"
    if pruned == "infeasible":
        return Measurement.infeasible(message)
    if pruned == "last_value" and last is not None and math.isfinite(last) and len(names) == 1:
        return Measurement.completed({names[0]: last})
    return Measurement.failed(message)


def _params(trial: FrozenTrial, note: Note | None, axes: Mapping[str, Axis]) -> dict[str, Value] | None:
    """The trial's place on the axes; None where one is missing, or was another one then."""
    known = known_params(trial)
    params: dict[str, Value] = {}
    for name, axis in axes.items():
        try:
            if name in known:
                if trial.distributions.get(name, axis.distribution) != axis.distribution:
                    return None
                internal = axis.distribution.to_internal_repr(known[name])
            elif note is not None and name in note.params:  # suggested, and not asked for yet
                internal = note.params[name]
            else:
                return None
            params[name] = axis.parameter.validate(axis.encode(internal))
        except (ParameterError, ValueError):  # an enqueued value may be anything
            return None
    return params


def _numbered(trials: Sequence[Trial], number: int) -> list[Trial]:
    """The trials renumbered so that the engine, which counts on from the last one, comes to `number`.

    So the random stream of a trial belongs to its own number, whichever trials are known and still run.
    """
    first = number - len(trials)
    return [replace(trial, number=first + i) for i, trial in enumerate(trials)]
