"""How far studies are, from their rows and from indexes that hold few of their trials.

COMPLETED trials, most of those of a long study, are never counted: they are what is left.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Executable, Row, func, or_, select, text

from photinus.record import StudyProgress
from photinus.storage.sql.models import UNFINISHED, UNMEASURED, listed, studies, trials
from photinus.storage.sql.rows import RECORD_COLUMNS, record_from_row
from photinus.trial import TrialState

MAX_IDS = 500  # in one statement

_CHANGED_AT = (
    select(func.max(trials.c.updated_at, type_=trials.c.updated_at.type))
    .where(trials.c.study_id == studies.c.id, trials.c.updated_event == studies.c.last_event)
    .scalar_subquery()
    .label("changed_at")
)
_STUDIES = select(*RECORD_COLUMNS, studies.c.num_trials, studies.c.last_event, _CHANGED_AT)
_BY_STATE = (trials.c.study_id, trials.c.state)
_COUNTED = select(*_BY_STATE, func.count().label("num_trials")).group_by(*_BY_STATE)
_RUNNING = text("state IN " + listed(state for state in TrialState if state.is_running))
_WORKERS = (
    select(
        trials.c.study_id,
        # Nobody knows which trials one anonymous worker has: each counts as one.
        (func.count(trials.c.worker.distinct()) + func.count() - func.count(trials.c.worker)).label(
            "num_workers"
        ),
    )
    .where(UNFINISHED, _RUNNING)
    .group_by(trials.c.study_id)
)


def statements(project: str | None, study_ids: Sequence[int] | None, now: datetime) -> dict[str, Executable]:
    """What is read, by what it is about."""
    chosen: list[ColumnElement[bool]] = []
    if project is not None:
        chosen.append(studies.c.project == project)
    if study_ids is not None:
        chosen.append(studies.c.id.in_(study_ids))
    of_chosen = [trials.c.study_id.in_(select(studies.c.id).where(*chosen))] if chosen else []
    holds_lease = or_(trials.c.lease_expires_at.is_(None), trials.c.lease_expires_at > now)
    return {
        "studies": _STUDIES.where(*chosen).order_by(studies.c.id),
        "open": _COUNTED.where(UNFINISHED, *of_chosen),
        "unmeasured": _COUNTED.where(UNMEASURED, *of_chosen),
        "workers": _WORKERS.where(holds_lease, *of_chosen),
    }


def read_progress(
    connection: Connection, now: datetime, project: str | None, study_ids: Collection[int] | None
) -> list[StudyProgress]:
    """See `Storage.progress`."""
    if study_ids is None:
        return _read(connection, statements(project, None, now))
    ids = sorted(set(study_ids))
    return [
        progress
        for start in range(0, len(ids), MAX_IDS)
        for progress in _read(connection, statements(project, ids[start : start + MAX_IDS], now))
    ]


def _read(connection: Connection, chosen: dict[str, Executable]) -> list[StudyProgress]:
    rows = {about: connection.execute(statement).all() for about, statement in chosen.items()}
    workers = {row.study_id: row.num_workers for row in rows["workers"]}
    counts: dict[int, dict[TrialState, int]] = defaultdict(lambda: dict.fromkeys(TrialState, 0))
    for row in (*rows["open"], *rows["unmeasured"]):
        counts[row.study_id][TrialState(row.state)] = row.num_trials
    return [_progress(row, counts[row.id], workers.get(row.id, 0)) for row in rows["studies"]]


def _progress(row: Row[Any], counts: dict[TrialState, int], num_workers: int) -> StudyProgress:
    counts[TrialState.COMPLETED] = row.num_trials - sum(counts.values())
    return StudyProgress(
        record=record_from_row(row),
        last_event=row.last_event,
        counts=counts,
        last_change_at=row.changed_at,
        num_workers=num_workers,
    )
