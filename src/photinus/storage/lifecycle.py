"""The changes of a trial, as pure functions from the old trial to the new one.

Every store applies these, so that no two of them can disagree about a trial's life. Each function checks that
the trial's state allows the change and raises otherwise. `now` is the time by the store's clock, `event` the
study's next event. At the end: who may suggest, and which studies may be opened.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from photinus.errors import (
    AlreadyTold,
    ArgumentError,
    DuplicateStudy,
    InvalidState,
    LockLost,
    StudyMismatch,
    UnknownStudy,
    UnknownToken,
    UnknownTrial,
)
from photinus.problem import Problem
from photinus.record import NewTrial, StudyRecord, TokenRecord
from photinus.trial import Amendment, Measurement, Report, Suggestion, Trial, TrialState


def suggested(
    number: int,
    suggestion: Suggestion,
    *,
    algorithm: str,
    engine_version: str,
    worker: str | None,
    lease_s: float | None,
    now: datetime,
    event: int,
) -> Trial:
    """A new trial by an algorithm, handed out from the start."""
    return Trial(
        number=number,
        params=dict(suggestion.params),
        state=TrialState.ACTIVE,
        worker=worker,
        created_at=now,
        started_at=now,
        lease_expires_at=_deadline(now, lease_s),
        attempts=1,
        created_event=event,
        asked_event=event,
        updated_event=event,
        reason=suggestion.reason,
        algorithm=algorithm,
        engine_version=engine_version,
    )


def new(number: int, entry: NewTrial, *, now: datetime, event: int) -> Trial:
    """A new trial by the user: waiting to be handed out, or finished if it was measured elsewhere."""
    measured = entry.measurement
    return Trial(
        number=number,
        params=dict(entry.params),
        state=TrialState.QUEUED if measured is None else measured.state,
        values=None if measured is None else measured.values,
        message=None if measured is None else measured.message,
        created_at=now,
        completed_at=None if measured is None else now,
        created_event=event,
        completed_event=None if measured is None else event,
        updated_event=event,
        metadata=dict(entry.metadata),
    )


def claim_order(trials: list[Trial], worker: str | None) -> list[Trial]:
    """Which of the unfinished trials, given by number, an ask may have, the first one first."""
    own = [t for t in trials if t.state.is_running and worker is not None and t.worker == worker]
    expired = [t for t in trials if t.state == TrialState.EXPIRED]
    queued = [t for t in trials if t.state == TrialState.QUEUED]
    return own + expired + queued


def has_run_out(trial: Trial, now: datetime) -> bool:
    """Whether the lease of a running trial is over."""
    return trial.state.is_running and trial.lease_expires_at is not None and trial.lease_expires_at <= now


def handed_out(
    trial: Trial, *, worker: str | None, lease_s: float | None, now: datetime, event: int
) -> Trial:
    """A trial of `claim_order`, given to a worker."""
    return replace(
        trial,
        # A worker that comes back to a trial it was asked to stop must still see that.
        state=TrialState.STOPPING if trial.state == TrialState.STOPPING else TrialState.ACTIVE,
        worker=worker,
        started_at=now,
        lease_expires_at=_deadline(now, lease_s),
        attempts=trial.attempts + 1,
        # Kept from the first time: what the algorithm knew when it suggested the point does not change later.
        asked_event=event if trial.asked_event is None else trial.asked_event,
        updated_event=event,
    )


def expired(trial: Trial, *, event: int) -> Trial:
    """A running trial that lost its worker; `worker` stays, for it may still come with a result."""
    return replace(trial, state=TrialState.EXPIRED, lease_expires_at=None, updated_event=event)


def is_repeated(trial: Trial, measurement: Measurement) -> bool:
    """Whether a finished trial has that outcome, or had it before it was amended."""
    first = Measurement.completed(trial.amendments[0].old_values) if trial.amendments else None
    return trial.state.is_finished and measurement in (trial.measurement, first)


def told(trial: Trial, measurement: Measurement, *, worker: str | None, now: datetime, event: int) -> Trial:
    """A trial with its outcome; the first one wins, whoever brings it."""
    if trial.state == TrialState.QUEUED:
        raise InvalidState(
            f"trial {trial.number} must be handed out before it is told, but it is queued: ask for it first, "
            "or use add_trial for a point measured elsewhere"
        )
    if trial.state.is_finished:
        raise AlreadyTold(
            f"trial {trial.number} is {trial.state} already ({trial.values or trial.message}), "
            f"got {measurement.state} ({measurement.values or measurement.message}): "
            "the first outcome counts; correct values with amend"
        )
    return replace(
        trial,
        state=measurement.state,
        values=measurement.values,
        message=measurement.message,
        worker=trial.worker if worker is None else worker,
        completed_at=now,
        lease_expires_at=None,
        completed_event=event,
        updated_event=event,
    )


def amended(trial: Trial, values: Mapping[str, float], *, now: datetime, event: int) -> Trial:
    """A completed trial with corrected values, the old ones on record."""
    if trial.values is None:
        raise InvalidState(
            f"only completed trials can be amended, but trial {trial.number} is {trial.state}: "
            "tell an unfinished trial; use add_trial to give an infeasible or failed point values"
        )
    amendment = Amendment(trial.values, dict(values), now, event)
    return replace(trial, values=dict(values), amendments=(*trial.amendments, amendment), updated_event=event)


def reported(trial: Trial, values: Mapping[str, float], step: int, *, now: datetime, event: int) -> Trial:
    """A trial with intermediate values at a step, in place of earlier ones at that step."""
    if trial.state == TrialState.QUEUED:
        raise InvalidState(f"trial {trial.number} must be handed out before it takes reports: ask for it")
    if trial.state.is_finished:
        raise AlreadyTold(
            f"trials take reports until they are told, but trial {trial.number} is {trial.state}"
        )
    kept = [report for report in trial.reports if report.step != step]
    reports = sorted([*kept, Report(step, dict(values), now)], key=lambda report: report.step)
    return replace(trial, reports=tuple(reports), updated_event=event)


def extended(
    trial: Trial, *, worker: str | None, attempt: int | None, lease_s: float, now: datetime, event: int
) -> Trial:
    """A running trial whose lease ends later."""
    _check_held(trial, worker, attempt)
    return replace(trial, lease_expires_at=_deadline(now, lease_s), updated_event=event)


def released(trial: Trial, *, worker: str | None, attempt: int | None, event: int) -> Trial:
    """A running trial that its worker hands back."""
    _check_held(trial, worker, attempt)
    return expired(trial, event=event)


def stopping(trial: Trial, *, event: int) -> Trial:
    """A running trial whose worker is asked to end early."""
    if not trial.state.is_running:
        raise InvalidState(
            f"only a running trial can be asked to stop, but trial {trial.number} is {trial.state}"
        )
    return replace(trial, state=TrialState.STOPPING, updated_event=event)


def last_known_time(trial: Trial) -> datetime | None:
    """About when a trial from elsewhere changed last."""
    return trial.completed_at or trial.started_at or trial.created_at


def noted(metadata: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Notes after changes to them."""
    return {name: text for name, text in {**metadata, **changes}.items() if text is not None}


def is_taken(lock: tuple[str, datetime], owner: str, now: datetime) -> bool:
    """Whether the suggest lock is someone else's and has not run out."""
    holder, expires_at = lock
    return holder != owner and expires_at > now


def check_lock(holder: str | None, owner: str, name: str) -> None:
    """Refuse suggestions of anyone but the lock's last owner.

    A lock that ran out and was not taken by anyone else still counts: nobody suggested meanwhile.
    """
    if holder != owner:
        raise LockLost(
            f"{owner!r} must hold the suggest lock of study {name!r} to store suggestions, but does not: "
            "take it and suggest again"
        )


def unknown_study(study_id: int) -> UnknownStudy:
    """The error for an id that is not there."""
    return UnknownStudy(f"no study with id {study_id!r}: it was deleted, or was never in this store")


def unknown_name(project: str, name: str) -> UnknownStudy:
    """The error for a name that is not there."""
    return UnknownStudy(f"no study named {name!r} in project {project!r}: create it with create_study")


def unknown_trial(name: str, num_trials: int, number: int) -> UnknownTrial:
    """The error for a number that is not there."""
    return UnknownTrial(f"study {name!r} has {num_trials} trials, numbered from 0, got {number=}")


def unknown_token(token_id: str) -> UnknownToken:
    """The error for a token's id that is not there."""
    return UnknownToken(f"no token with id {token_id!r} in this store: list them, or create one")


def duplicate_token(token: TokenRecord) -> ArgumentError:
    """The error for a token's id that is taken."""
    return ArgumentError(f"ids of tokens must be unique in a store, but it has one with id {token.id!r}")


def duplicate_study(record: StudyRecord) -> DuplicateStudy:
    """The error for a name that is taken."""
    return DuplicateStudy(
        f"a study named {record.name!r} exists in project {record.project!r}: "
        "pass load_if_exists=True to go on with it, or choose another name"
    )


def reopened(record: StudyRecord, problem: Problem, algorithm: str, may_exist: bool) -> StudyRecord:
    """The stored study of a name, if it may be opened under this definition."""
    if not may_exist:
        raise duplicate_study(record)
    differences = record.differences(problem, algorithm)
    if differences:
        raise StudyMismatch(
            f"study {record.name!r} was created with another definition; use that one or another name:\n  "
            + "\n  ".join(differences)
        )
    return record


def _check_held(trial: Trial, worker: str | None, attempt: int | None) -> None:
    # A name says who it is, however often the trial was handed out to it; nameless workers differ by the attempt.
    is_same = worker == trial.worker and (worker is not None or attempt in (None, trial.attempts))
    if not trial.state.is_running or not is_same:
        raise InvalidState(
            f"trial {trial.number} must be running and held by {worker or 'an anonymous worker'}"
            f"{'' if attempt is None else f' in attempt {attempt}'}, but it is {trial.state} and was last held "
            f"by {trial.worker or 'an anonymous worker'} in attempt {trial.attempts}"
        )


def _deadline(now: datetime, lease_s: float | None) -> datetime | None:
    return None if lease_s is None else now + timedelta(seconds=lease_s)
