"""Rows from values and back. JSON is written in plain ASCII, so that any text fits any database."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row

from photinus.problem import Problem
from photinus.record import Role, StudyRecord, StudyState, TokenRecord
from photinus.storage.sql.models import studies, trials
from photinus.trial import Amendment, Report, Trial, TrialState, values_from_json, values_to_json

RECORD_COLUMNS = tuple(
    studies.c[name]
    for name in ("id", "project", "name", "problem", "algorithm", "seed", "state", "created_at", "metadata")
)
BESIDE_TRIALS = frozenset(["study_id", "added_key", "request_key", "updated_at"])  # of trials' rows
TRIAL_COLUMNS = tuple(column for column in trials.c if column.name not in BESIDE_TRIALS)
FIXED_COLUMNS = frozenset(  # of a trial: they never change after it was created
    [
        "study_id",
        "number",
        "params",
        "created_at",
        "created_event",
        "reason",
        "algorithm",
        "engine_version",
        "added_key",
    ]
)


def to_json(value: Any) -> str:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":"))


def record_to_row(record: StudyRecord) -> dict[str, Any]:
    """All columns of a study but its id and counters."""
    return {
        "project": record.project,
        "name": record.name,
        "problem": to_json(record.problem.to_dict()),
        "algorithm": record.algorithm,
        "seed": record.seed,
        "state": record.state.value,
        "created_at": record.created_at,
        "metadata": to_json(record.metadata),
    }


def record_from_row(row: Row[Any]) -> StudyRecord:
    """From `RECORD_COLUMNS`."""
    return StudyRecord(
        id=row.id,
        project=row.project,
        name=row.name,
        problem=_problem(row.problem),
        algorithm=row.algorithm,
        seed=row.seed,
        state=StudyState(row.state),
        created_at=row.created_at,
        metadata=json.loads(row.metadata),
    )


@functools.lru_cache(maxsize=1024)
def _problem(text: str) -> Problem:
    """Remembered, since lists of studies have the same ones again and again, and checking one takes a while."""
    return Problem.from_dict(json.loads(text))


def trial_to_row(study_id: int, trial: Trial) -> dict[str, Any]:
    """All columns of a trial itself."""
    return {
        "study_id": study_id,
        "number": trial.number,
        "params": to_json(trial.params),
        "state": trial.state.value,
        "values": None if trial.values is None else to_json(trial.values),
        "message": trial.message,
        "worker": trial.worker,
        "created_at": trial.created_at,
        "started_at": trial.started_at,
        "completed_at": trial.completed_at,
        "lease_expires_at": trial.lease_expires_at,
        "attempts": trial.attempts,
        "created_event": trial.created_event,
        "asked_event": trial.asked_event,
        "completed_event": trial.completed_event,
        "updated_event": trial.updated_event,
        "reason": None if trial.reason is None else to_json(trial.reason),
        "algorithm": trial.algorithm,
        "engine_version": trial.engine_version,
        "metadata": to_json(trial.metadata),
        "has_reports": bool(trial.reports),
        "has_amendments": bool(trial.amendments),
    }


def trial_from_row(row: Row[Any], reports: Sequence[Report], amendments: Sequence[Amendment]) -> Trial:
    """From `TRIAL_COLUMNS`; unpacked as a tuple, because reading thousands of rows by name takes twice as long."""
    cells: Any = row
    number, params, state, values, message, worker, *rest = cells
    created_at, started_at, completed_at, lease_expires_at, attempts, *rest = rest
    created_event, asked_event, completed_event, updated_event, *rest = rest
    reason, algorithm, engine_version, metadata, _, _ = rest
    return Trial(
        number=number,
        params=json.loads(params),
        state=TrialState(state),
        values=None if values is None else json.loads(values),
        message=message,
        worker=worker,
        created_at=created_at,
        started_at=started_at,
        completed_at=completed_at,
        lease_expires_at=lease_expires_at,
        attempts=attempts,
        created_event=created_event,
        asked_event=asked_event,
        completed_event=completed_event,
        updated_event=updated_event,
        reason=None if reason is None else json.loads(reason),
        algorithm=algorithm,
        engine_version=engine_version,
        reports=tuple(reports),
        amendments=tuple(amendments),
        metadata=json.loads(metadata),
    )


def report_to_row(study_id: int, number: int, report: Report) -> dict[str, Any]:
    """All columns of a report."""
    values = to_json(values_to_json(report.values))
    return {"study_id": study_id, "number": number, "step": report.step, "values": values, "at": report.at}


def report_from_row(row: Row[Any]) -> Report:
    """From all columns."""
    values: Mapping[str, float | str] = json.loads(row._mapping["values"])
    return Report(row.step, values_from_json(values), row.at)


def amendment_to_row(study_id: int, number: int, amendment: Amendment) -> dict[str, Any]:
    """All columns of an amendment."""
    return {
        "study_id": study_id,
        "number": number,
        "event": amendment.event,
        "old_values": to_json(amendment.old_values),
        "new_values": to_json(amendment.new_values),
        "at": amendment.at,
    }


def amendment_from_row(row: Row[Any]) -> Amendment:
    """From all columns."""
    return Amendment(json.loads(row.old_values), json.loads(row.new_values), row.at, row.event)


def token_to_row(token: TokenRecord) -> dict[str, Any]:
    """All columns of a token."""
    return {
        "id": token.id,
        "name": token.name,
        "role": Role(token.role).value,
        "project": token.project,
        "secret_hash": token.secret_hash,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "revoked_at": token.revoked_at,
    }


def token_from_row(row: Row[Any]) -> TokenRecord:
    """From all columns."""
    return TokenRecord(**{**row._mapping, "role": Role(row.role)})
