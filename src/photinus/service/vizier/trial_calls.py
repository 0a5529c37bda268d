"""Calls about trials. Each is one function that runs in a thread of the store."""

import contextlib
from typing import Any

from photinus.best import best_trials
from photinus.errors import AlreadyTold, ArgumentError, InvalidState
from photinus.record import StudyRecord, StudyState
from photinus.service.server import Server
from photinus.service.vizier import messages
from photinus.service.vizier.finding import find_study, find_trial
from photinus.service.vizier.measurements import FINAL, Measured, curve, free_step, report_key
from photinus.service.vizier.trials import (
    DELETED,
    infeasible,
    is_visible,
    read_new_trial,
    visible,
    write_trial,
)
from photinus.trial import Measurement, Trial, TrialState

WITHDRAWN = "deleted by a Vizier client"


def create_trial(server: Server, request: Any) -> Any:
    """Add a trial that was measured elsewhere, or one to be handed out next."""
    record = find_study(server, request.parent)
    check_active(record)
    [trial] = server.storage.add_trials(record.id, [read_new_trial(record, request.trial)])
    return write_trial(record, trial)


def get_trial(server: Server, request: Any) -> Any:
    """One trial."""
    return write_trial(*find_trial(server, request.name))


def list_trials(server: Server, request: Any) -> Any:
    """All trials of a study."""
    record = find_study(server, request.parent)
    return _list(record, visible(server.storage.get_trials(record.id)))


def list_optimal_trials(server: Server, request: Any) -> Any:
    """The best trial, or the Pareto set of several objectives."""
    record = find_study(server, request.parent)
    best = [
        trial
        for entry in server.storage.progress(study_ids=[record.id])
        for trial in server.bests.find(entry)
    ]
    if not all(map(is_visible, best)):
        best = best_trials(record.problem, visible(server.storage.get_trials(record.id)))
    return _list(record, best)


def add_trial_measurement(server: Server, request: Any) -> Any:
    """Keep an intermediate measurement of a running trial."""
    record, trial = find_trial(server, request.trial_name)
    if trial.state in (TrialState.INFEASIBLE, TrialState.FAILED):
        return write_trial(record, trial)  # nobody will look at it, and clients expect no error
    measured = Measured.read(request.measurement)
    step, values = free_step(trial, measured.step), measured.values(record.problem)
    server.storage.report(record.id, trial.number, values, step)
    return _noted(server, record, trial, measured.note(report_key(step), kept=values, step=step))


def complete_trial(server: Server, request: Any) -> Any:
    """Give a trial its outcome: what is given, or else its last intermediate measurement."""
    record, trial = find_trial(server, request.name)
    measured = None
    if request.final_measurement.metrics:
        measured = Measured.read(request.final_measurement)
    elif not request.trial_infeasible:
        measured = _last(trial)
    if request.trial_infeasible:
        outcome = infeasible(request.infeasible_reason)
    else:
        assert measured is not None
        outcome = Measurement.completed(measured.objectives(record.problem))
    told = server.storage.tell(record.id, trial.number, outcome)
    server.metrics.count_told(told.state)
    if measured is None or trial.state.is_finished:  # a repeated call: what came with the first one stays
        return write_trial(record, told)
    return _noted(server, record, told, measured.note(FINAL, kept=outcome.values or {}, step=0))


def check_early_stopping(server: Server, request: Any) -> Any:
    """Whether somebody asked the trial to end early."""
    _, trial = find_trial(server, request.trial_name)
    if not trial.state.is_running:
        raise InvalidState(
            f"only a running trial can be asked to stop, but trial {trial.number + 1} is {trial.state}"
        )
    return messages.StoppingResponse(should_stop=trial.state == TrialState.STOPPING)


def stop_trial(server: Server, request: Any) -> Any:
    """Ask the worker of a running trial to end early; nothing happens if it has ended."""
    record, trial = find_trial(server, request.name)
    if trial.state != TrialState.STOPPING and not trial.state.is_finished:
        trial = server.storage.request_stop(record.id, trial.number)
    return write_trial(record, trial)


def delete_trial(server: Server, request: Any) -> Any:
    """Hide a trial from Vizier's clients; one that has no outcome yet will have none.

    What was measured stays in the study: numbers of trials have no gaps, and what was suggested later followed from it.
    """
    record, trial = find_trial(server, request.name)
    server.storage.update_trial_metadata(record.id, trial.number, {DELETED: "{}"})
    withdraw(server, record, trial)
    return messages.Empty()


def withdraw(server: Server, record: StudyRecord, trial: Trial) -> None:
    """End a trial that was handed out; one that waits is ended when its turn comes."""
    if trial.state.is_running or trial.state == TrialState.EXPIRED:
        with contextlib.suppress(AlreadyTold):  # somebody was quicker, and has a result
            server.storage.tell(record.id, trial.number, Measurement.failed(WITHDRAWN))


def check_active(record: StudyRecord) -> None:
    """Refuse new trials of a study that has ended."""
    if record.state != StudyState.ACTIVE:
        raise InvalidState(f"study {record.name!r} has ended: set its state to active for new trials")


def _last(trial: Trial) -> Measured:
    measured = curve(trial)
    if not measured:
        raise ArgumentError(
            f"trial {trial.number + 1} has no measurement to complete it with: give one, or say why it is infeasible"
        )
    return measured[-1]


def _noted(server: Server, record: StudyRecord, trial: Trial, note: dict[str, str]) -> Any:
    """The trial as it is now, with a note of our own."""
    if note:
        return write_trial(record, server.storage.update_trial_metadata(record.id, trial.number, note))
    return write_trial(record, server.storage.get_trial(record.id, trial.number))


def _list(record: StudyRecord, trials: list[Trial]) -> Any:
    return messages.TrialList(trials=[write_trial(record, trial) for trial in trials])
