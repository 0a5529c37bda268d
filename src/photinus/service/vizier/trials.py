"""Trials: ours as Vizier's messages, and new ones out of them."""

from collections.abc import Iterable
from typing import Any

from photinus.arguments import MAX_MESSAGE
from photinus.errors import ArgumentError
from photinus.record import NewTrial, StudyRecord
from photinus.service.vizier.measurements import FINAL, Measured, curve, final, given_key
from photinus.service.vizier.messages import Trial as TrialMessage
from photinus.service.vizier.names import StudyName
from photinus.service.vizier.notes import OWN, new_notes, write_entries
from photinus.service.vizier.parameters import read_params, write_params
from photinus.service.vizier.studies import write_time
from photinus.trial import Measurement, Trial, TrialState

REQUESTED, ACTIVE, STOPPING, SUCCEEDED, INFEASIBLE = range(1, 6)
STATE_NUMBERS = {
    TrialState.QUEUED: REQUESTED,
    TrialState.EXPIRED: REQUESTED,  # the next to be handed out, like those
    TrialState.ACTIVE: ACTIVE,
    TrialState.STOPPING: STOPPING,
    TrialState.COMPLETED: SUCCEEDED,
    TrialState.INFEASIBLE: INFEASIBLE,
    TrialState.FAILED: INFEASIBLE,  # as Vizier has no word for it; the reason says so
}
DELETED = OWN + "deleted"  # a note of our own
NO_REASON = "no reason given"


def is_visible(trial: Trial) -> bool:
    """Whether no Vizier client has deleted the trial."""
    return DELETED not in trial.metadata


def visible(trials: Iterable[Trial]) -> list[Trial]:
    """Trials that no Vizier client has deleted."""
    return [trial for trial in trials if is_visible(trial)]


def write_trial(record: StudyRecord, trial: Trial) -> Any:
    """A trial as a message."""
    message = TrialMessage(
        name=StudyName(record.project, record.name).trial(trial.number),
        id=str(trial.number + 1),
        state=STATE_NUMBERS[trial.state],
        client_id="" if trial.worker is None or trial.state == TrialState.EXPIRED else trial.worker,
    )
    write_params(message, record.problem.space, trial.params)
    message.measurements.extend(measured.write() for measured in curve(trial))
    result = final(trial)
    if result is not None:
        message.final_measurement.CopyFrom(result.write())
    if message.state == INFEASIBLE:
        is_failed = trial.state == TrialState.FAILED
        message.infeasible_reason = f"failed: {trial.message}" if is_failed else trial.message or NO_REASON
    write_time(message.start_time, trial.started_at or trial.created_at)
    write_time(message.end_time, trial.completed_at)
    message.metadata.extend(write_entries(trial.metadata))
    return message


def read_new_trial(record: StudyRecord, message: Any) -> NewTrial:
    """A trial to add: with its outcome if it has one, to be handed out if not, whatever else its state says."""
    problem = record.problem
    notes = new_notes(message.metadata)
    for number, given in enumerate(message.measurements):
        notes |= Measured.read(given).note(given_key(number), kept={}, step=-1)
    outcome = None
    if message.state == INFEASIBLE:
        outcome = infeasible(message.infeasible_reason)
    elif message.state == SUCCEEDED:
        measured = Measured.read(message.final_measurement)
        outcome = Measurement.completed(measured.objectives(problem))
    if outcome is not None and message.HasField("final_measurement"):
        notes |= Measured.read(message.final_measurement).note(FINAL, kept=outcome.values or {}, step=0)
    return NewTrial(read_params(problem.space, message.parameters), outcome, notes)


def infeasible(reason: str) -> Measurement:
    """The outcome of a trial that cannot be measured."""
    if len(reason) > MAX_MESSAGE:
        raise ArgumentError(f"an infeasible reason has at most {MAX_MESSAGE} characters, got {len(reason)}")
    return Measurement.infeasible(reason or NO_REASON)
