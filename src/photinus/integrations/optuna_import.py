"""An Optuna study as a study of Photinus: `import_optuna_study("sqlite:///optuna.db", into="studies.db")`.

Optuna's programs define their space while they run, a Photinus study has one space for all trials. It is made of all
distributions seen, each range as wide as it ever was. A parameter that a finished trial did not have, because a branch
of the program was not taken, is filled in with a value that stands for "does not matter", and the trial's metadata says
so.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, get_args

from photinus.arguments import check_algorithm, check_name, check_seed
from photinus.errors import ArgumentError, ParameterError
from photinus.integrations.optuna_source import open_study, read_objectives, read_parameters
from photinus.integrations.optuna_space import read_value
from photinus.integrations.optuna_trials import Pruned, known_params, read_outcome
from photinus.integrations.packages import OPTUNA
from photinus.local import open_backend
from photinus.problem import Problem
from photinus.record import DEFAULT_PROJECT, StudyRecord, StudyState
from photinus.space import Parameter, Value, middle
from photinus.storage import StorageLike
from photinus.study import Study
from photinus.trial import Report, Trial, TrialState, storable_text

with OPTUNA:
    import optuna
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial
    from optuna.trial import TrialState as OptunaState

NUMBER_KEY, FILLED_KEY, STUDY_KEY = "optuna:number", "optuna:filled", "optuna:study"

logger = logging.getLogger("photinus")


def import_optuna_study(
    source: "str | BaseStorage | optuna.Study",
    study_name: str | None = None,
    *,
    into: StorageLike = None,
    name: str | None = None,
    project: str = DEFAULT_PROJECT,
    objectives: Sequence[str] | None = None,
    algorithm: str = "default",
    seed: int | None = None,
    pruned: Pruned = "failed",
    absent: Mapping[str, Any] | None = None,
) -> Study:
    """A copy of an Optuna study, all of it or nothing, to go on with.

    Values, states, intermediate values, times and user attributes come along, the latter as metadata. Violated
    constraints and infinite values make a trial infeasible. Trials that were running or waiting are handed out first.
    Trials whose parameters are not known are left out: ones that failed at once, and unfinished ones that lack some. So
    are ones that were enqueued outside of their ranges, which Optuna runs nevertheless.

    Args:
        source: an Optuna study, an Optuna storage, or the address of one.
        study_name: which study of the storage; may be left out where there is only one.
        into: where the copy is kept, see `photinus.create_study`; in memory if left out.
        name: of the copy; Optuna's if left out.
        project: a group of studies.
        objectives: their names, in order; Optuna's if it has some, else "value", or "value_0", "value_1" and so on.
        algorithm: what suggests from now on, see `photinus.create_study`.
        seed: of what is suggested from now on; drawn if left out.
        pruned: what a pruned trial counts as: "failed", its "last_value" reported, or "infeasible".
        absent: values, by parameter, for finished trials that did not have it; the middle of its range, or its first
            choice, if left out.
    """
    record, trials = read_optuna_study(
        source,
        study_name,
        name=name,
        project=project,
        objectives=objectives,
        algorithm=algorithm,
        seed=seed,
        pruned=pruned,
        absent=absent,
    )
    backend = open_backend(into)
    return Study(backend, backend.restore_study(record, trials))


def read_optuna_study(
    source: "str | BaseStorage | optuna.Study",
    study_name: str | None = None,
    *,
    name: str | None = None,
    project: str = DEFAULT_PROJECT,
    objectives: Sequence[str] | None = None,
    algorithm: str = "default",
    seed: int | None = None,
    pruned: Pruned = "failed",
    absent: Mapping[str, Any] | None = None,
) -> tuple[StudyRecord, list[Trial]]:
    """What `import_optuna_study` stores, ready for `Backend.restore_study` of any back end."""
    check_algorithm(algorithm)
    if pruned not in get_args(Pruned):
        raise ArgumentError(f"`pruned` must be one of {', '.join(get_args(Pruned))}, got {pruned!r}")
    study = open_study(source, study_name)
    trials = study.get_trials(deepcopy=False)
    if isinstance(source, str):
        study._storage.remove_session()
    parameters = read_parameters(study.study_name, trials)
    problem = Problem.define(parameters, read_objectives(study, objectives))
    reader = _Reader(problem, pruned, _absent(parameters, absent))
    imported = [copy for trial in trials if (copy := reader.read(trial)) is not None]
    record = StudyRecord(
        id=0,  # the store gives it one
        project=check_name("project", project),
        name=check_name("name", study.study_name if name is None else name),
        problem=problem,
        algorithm=algorithm,
        seed=check_seed(seed),
        state=StudyState.ACTIVE,
        created_at=min(
            (trial.created_at for trial in imported if trial.created_at), default=datetime.now(UTC)
        ),
        metadata={**_notes(study.user_attrs), STUDY_KEY: storable_text(study.study_name)},
    )
    _log(study.study_name, len(trials), imported)
    return record, _in_order(imported)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads trials of one Optuna study."""

    problem: Problem
    pruned: Pruned
    absent: Mapping[str, Value]

    def read(self, trial: FrozenTrial) -> Trial | None:
        """The trial without its place among the others; None if its point is not known, or not in the space."""
        outcome = read_outcome(trial, self.problem.metric_names, self.pruned)
        known = known_params(trial)
        missing = [name for name in self.problem.space if name not in known]
        if missing and (outcome is None or not known):
            return None
        try:
            params = self._params(known)
        except ParameterError:  # Optuna runs what was enqueued, whatever it is
            return None
        started_at, completed_at = _utc(trial.datetime_start), _utc(trial.datetime_complete)
        state = TrialState.EXPIRED if trial.state == OptunaState.RUNNING else TrialState.QUEUED
        notes = _notes(trial.user_attrs) | {NUMBER_KEY: str(trial.number)}
        if missing:
            notes[FILLED_KEY] = storable_text(json.dumps(missing, ensure_ascii=False))
        return Trial(
            number=trial.number,
            params=params,
            state=state if outcome is None else outcome.state,
            values=None if outcome is None else outcome.values,
            message=None if outcome is None else outcome.message,
            created_at=started_at or completed_at or datetime.now(UTC),
            started_at=started_at,
            completed_at=None if outcome is None else completed_at,
            attempts=0 if started_at is None else 1,
            reports=self._reports(trial, completed_at or started_at),
            metadata=notes,
        )

    def _params(self, known: Mapping[str, Any]) -> dict[str, Value]:
        return self.problem.space.validate(
            {
                name: read_value(parameter, known[name]) if name in known else self.absent[name]
                for name, parameter in self.problem.space.parameters.items()
            }
        )

    def _reports(self, trial: FrozenTrial, at: datetime | None) -> tuple[Report, ...]:
        name = self.problem.metric_names[0]
        return tuple(
            Report(step, {name: value}, at or datetime.now(UTC))
            for step, value in sorted(trial.intermediate_values.items())
        )


def _absent(parameters: Mapping[str, Parameter], given: Mapping[str, Any] | None) -> dict[str, Value]:
    """What to fill in, by parameter."""
    values = {name: middle(parameter) for name, parameter in parameters.items()}
    for name, value in (given or {}).items():
        if name not in parameters:
            listing = ", ".join(parameters)
            raise ArgumentError(f"`absent` must name parameters of the study, {listing}, got {name!r}")
        try:
            values[name] = parameters[name].validate(value)
        except ParameterError as error:
            raise ParameterError(f"`absent` of {name!r} {error}") from None
    return values


def _in_order(trials: Sequence[Trial]) -> list[Trial]:
    """The trials numbered from 0, their events in the order of Optuna's clocks."""
    latest = datetime.max.replace(tzinfo=UTC)
    events = sorted(
        (time or latest, number, kind)
        for number, trial in enumerate(trials)
        for kind, time in enumerate((trial.created_at, trial.completed_at))
        if kind == 0 or trial.state.is_finished
    )
    place = {(number, kind): event for event, (_, number, kind) in enumerate(events, start=1)}
    return [
        replace(
            trial,
            number=number,
            created_event=place[number, 0],
            asked_event=place[number, 0] if trial.attempts else None,
            completed_event=place.get((number, 1)),
            updated_event=max(place[number, 0], place.get((number, 1), 0)),
        )
        for number, trial in enumerate(trials)
    ]


def _notes(attributes: Mapping[str, Any]) -> dict[str, str]:
    """User attributes as text: strings as they are, anything else as JSON."""
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for key, value in attributes.items()
    }
    return {storable_text(key): storable_text(text) for key, text in texts.items()}


def _utc(time: datetime | None) -> datetime | None:
    """Optuna's times have no zone: they are local."""
    return None if time is None else time.astimezone(UTC)


def _log(study_name: str, num_trials: int, imported: Sequence[Trial]) -> None:
    if num_left_out := num_trials - len(imported):
        logger.warning(
            "%d of %d trials of the Optuna study %r were left out: their parameters are not all known, or not in range",
            num_left_out,
            num_trials,
            study_name,
        )
    if num_filled := sum(FILLED_KEY in trial.metadata for trial in imported):
        logger.warning(
            "%d of %d trials of the Optuna study %r lacked some parameters: they were filled in, as metadata say",
            num_filled,
            num_trials,
            study_name,
        )
