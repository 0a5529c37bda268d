"""Studies in and out of their tables, inside a transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from photinus.record import StudyRecord
from photinus.storage import lifecycle
from photinus.storage.sql import reading
from photinus.storage.sql.models import UNFINISHED, amendments, reports, studies, trials
from photinus.storage.sql.rows import (
    RECORD_COLUMNS,
    amendment_to_row,
    record_from_row,
    record_to_row,
    report_to_row,
    to_json,
    trial_to_row,
)
from photinus.trial import Trial

_BY_ID = select(*RECORD_COLUMNS).where(studies.c.id == bindparam("study_id"))
_BY_NAME = select(*RECORD_COLUMNS, studies.c.request_key).where(
    studies.c.project == bindparam("in_project"), studies.c.name == bindparam("of_name")
)
_NUM_OPEN = (
    select(func.count())
    .select_from(trials)
    .where(trials.c.study_id == bindparam("study_id"), UNFINISHED)
    .scalar_subquery()
)
COUNTS = select(studies.c.num_trials, _NUM_OPEN).where(studies.c.id == bindparam("study_id"))
BY_CREATOR = select(func.count()).select_from(studies).where(studies.c.creator == bindparam("of_creator"))


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study, and the key of the request that created it."""

    record: StudyRecord
    key: str | None

    def is_made_by(self, key: str | None) -> bool:
        """Whether a request of that key created it."""
        return key is not None and key == self.key


def get(connection: Connection, study_id: int, *, for_update: bool = False) -> StudyRecord:
    """The study of that id; with `for_update`, nobody else changes its row until the transaction ends."""
    statement = _BY_ID.with_for_update() if for_update else _BY_ID
    row = connection.execute(statement, {"study_id": study_id}).one_or_none()
    if row is None:
        raise lifecycle.unknown_study(study_id)
    return record_from_row(row)


def find(connection: Connection, project: str, name: str) -> StoredStudy | None:
    """The study of that name, if there is one."""
    row = connection.execute(_BY_NAME, {"in_project": project, "of_name": name}).one_or_none()
    return None if row is None else StoredStudy(record_from_row(row), row.request_key)


def find_winner(connection: Connection, record: StudyRecord) -> StoredStudy:
    """The study of that name, which another process created a moment earlier."""
    stored = find(connection, record.project, record.name)
    if stored is None:  # and deleted right after
        raise lifecycle.duplicate_study(record)
    return stored


def insert(
    connection: Connection,
    record: StudyRecord,
    *,
    key: str | None,
    creator: str | None,
    num_trials: int = 0,
    last_event: int = 0,
) -> int | None:
    """Insert a study and give its id; None if the name is taken."""
    dialect: Any = sqlite if connection.dialect.name == "sqlite" else postgresql
    row = record_to_row(record) | {
        "num_trials": num_trials,
        "last_event": last_event,
        "request_key": key,
        "creator": creator,
    }
    statement = dialect.insert(studies).values(row).on_conflict_do_nothing().returning(studies.c.id)
    return connection.execute(statement).scalar_one_or_none()


def insert_trials(connection: Connection, study_id: int, complete: Sequence[Trial]) -> None:
    """Insert trials of another store, as they were there."""
    rows = {
        trials: [
            trial_to_row(study_id, trial) | {"updated_at": lifecycle.last_known_time(trial)}
            for trial in complete
        ],
        reports: [report_to_row(study_id, t.number, report) for t in complete for report in t.reports],
        amendments: [amendment_to_row(study_id, t.number, entry) for t in complete for entry in t.amendments],
    }
    for table, content in rows.items():
        if content:
            connection.execute(table.insert(), content)


def update_metadata(connection: Connection, study_id: int, changes: Mapping[str, str | None]) -> StudyRecord:
    """Change the study's notes."""
    before = get(connection, study_id, for_update=True)
    metadata = to_json(lifecycle.noted(before.metadata, changes))
    connection.execute(update(studies).where(studies.c.id == study_id).values(metadata=metadata))
    return get(connection, study_id)


def counts(connection: Connection, study_id: int) -> tuple[int, int]:
    """How many trials there are, and how many of them are finished."""
    row = connection.execute(COUNTS, {"study_id": study_id}).one_or_none()
    if row is None:
        raise lifecycle.unknown_study(study_id)
    num_trials, num_open = row
    return num_trials, num_trials - num_open


def is_countable(number: int) -> bool:
    """Whether a database can look for that number."""
    return 0 <= number <= reading.LARGEST
