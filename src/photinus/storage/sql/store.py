"""`SqlStorage`: the store in a database."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from photinus.problem import Problem
from photinus.record import StudyRecord, StudyState
from photinus.storage import lifecycle
from photinus.storage.changing import NO_CHANGE, ChangingStorage, Footprint, Result, StudyChange
from photinus.storage.sql import reading
from photinus.storage.sql.change import LARGEST, SqlChange
from photinus.storage.sql.connecting import Database
from photinus.storage.sql.models import UNFINISHED, amendments, reports, studies, trials
from photinus.storage.sql.rows import (
    RECORD_COLUMNS,
    amendment_to_row,
    record_from_row,
    record_to_row,
    report_to_row,
    trial_to_row,
)
from photinus.storage.sql.schema import ensure_schema
from photinus.trial import Trial

_BY_ID = select(*RECORD_COLUMNS).where(studies.c.id == bindparam("study_id"))
_BY_NAME = select(*RECORD_COLUMNS).where(
    studies.c.project == bindparam("in_project"), studies.c.name == bindparam("of_name")
)
_ALL_STUDIES = select(*RECORD_COLUMNS).order_by(studies.c.id)
_NUM_OPEN = (
    select(func.count())
    .select_from(trials)
    .where(trials.c.study_id == bindparam("study_id"), UNFINISHED)
    .scalar_subquery()
)
_COUNTS = select(studies.c.num_trials, _NUM_OPEN).where(studies.c.id == bindparam("study_id"))
_ENGINES = (
    select(trials.c.engine_version)
    .distinct()
    .where(trials.c.study_id == bindparam("study_id"), trials.c.engine_version.is_not(None))
)


class SqlStorage(ChangingStorage):
    """A `Storage` in a SQLite file or a PostgreSQL database, for any number of threads and processes.

    Time is the database server's on PostgreSQL and this host's on SQLite, unless a `clock` is given.
    """

    def __init__(self, address: str, *, clock: Callable[[], datetime] | None = None) -> None:
        self._address = address
        self._database = Database(address)
        if clock is None and self._database.is_sqlite:
            clock = _utc_now
        self._clock = clock
        try:
            ensure_schema(self._database)
        except BaseException:
            self._database.close()
            raise

    def __repr__(self) -> str:
        return f"SqlStorage({self._database.shown!r})"

    def __reduce__(self) -> tuple[type["SqlStorage"], tuple[str]]:
        return SqlStorage, (self._address,)

    def close(self) -> None:
        """Close connections that nobody uses; the store can still be used, and opens new ones."""
        self._database.close()

    def create_study(
        self,
        *,
        project: str,
        name: str,
        problem: Problem,
        algorithm: str,
        seed: int,
        metadata: Mapping[str, str] | None = None,
        load_if_exists: bool = False,
    ) -> StudyRecord:
        """See `Storage.create_study`."""

        def work(connection: Connection) -> StudyRecord:
            stored = _find(connection, project, name)
            if stored is not None:
                return lifecycle.reopened(stored, problem, algorithm, load_if_exists)
            record = StudyRecord(
                id=0,
                project=project,
                name=name,
                problem=problem,
                algorithm=algorithm,
                seed=seed,
                state=StudyState.ACTIVE,
                created_at=self._now(connection),
                metadata=dict(metadata or {}),
            )
            study_id = _insert(connection, record)
            if study_id is not None:
                return _get(connection, study_id)
            return lifecycle.reopened(_find_winner(connection, record), problem, algorithm, load_if_exists)

        return self._database.write(work)

    def restore_study(self, record: StudyRecord, trials: Sequence[Trial]) -> StudyRecord:
        """See `Storage.restore_study`."""
        lifecycle.check_history(trials)

        def work(connection: Connection) -> StudyRecord:
            study_id = _insert(
                connection,
                record,
                num_trials=len(trials),
                last_event=max((trial.updated_event for trial in trials), default=0),
            )
            if study_id is None:
                raise lifecycle.duplicate_study(record)
            _insert_trials(connection, study_id, trials)
            return _get(connection, study_id)

        return self._database.write(work)

    def get_study(self, study_id: int) -> StudyRecord:
        """See `Storage.get_study`."""
        return self._database.read(lambda connection: _get(connection, study_id))

    def find_study(self, project: str, name: str) -> StudyRecord:
        """See `Storage.find_study`."""
        stored = self._database.read(lambda connection: _find(connection, project, name))
        if stored is None:
            raise lifecycle.unknown_name(project, name)
        return stored

    def list_studies(self, project: str | None = None) -> list[StudyRecord]:
        """See `Storage.list_studies`."""
        statement = _ALL_STUDIES if project is None else _ALL_STUDIES.where(studies.c.project == project)
        rows = self._database.read(lambda connection: connection.execute(statement).all())
        return [record_from_row(row) for row in rows]

    def delete_study(self, study_id: int) -> None:
        """See `Storage.delete_study`."""

        def work(connection: Connection) -> None:
            if connection.execute(delete(studies).where(studies.c.id == study_id)).rowcount == 0:
                raise lifecycle.unknown_study(study_id)

        self._database.write(work)

    def set_study_state(self, study_id: int, state: StudyState) -> StudyRecord:
        """See `Storage.set_study_state`."""

        def work(connection: Connection) -> StudyRecord:
            connection.execute(update(studies).where(studies.c.id == study_id).values(state=state.value))
            return _get(connection, study_id)

        return self._database.write(work)

    def get_trial(self, study_id: int, number: int) -> Trial:
        """See `Storage.get_trial`."""

        def work(connection: Connection) -> Trial:
            found = _is_countable(number)
            arguments = {"study_id": study_id, "number": number if found else -1}
            rows = connection.execute(reading.ONE_TRIAL, arguments).all()
            if not rows:
                record, num_trials = _get(connection, study_id), _counts(connection, study_id)[0]
                raise lifecycle.unknown_trial(record.name, num_trials, number)
            return reading.read_trials(connection, study_id, rows)[0]

        return self._database.read(work)

    def get_trials(self, study_id: int, *, since_event: int = 0) -> list[Trial]:
        """See `Storage.get_trials`."""
        statement = reading.ALL_TRIALS if since_event == 0 else reading.CHANGED_TRIALS
        arguments = {"study_id": study_id} | ({"since_event": since_event} if since_event else {})

        def work(connection: Connection) -> list[Trial]:
            rows = connection.execute(statement, arguments).all()
            if not rows:
                _counts(connection, study_id)  # raises if there is no such study
            return reading.read_trials(connection, study_id, rows)

        return self._database.read(work)

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """See `Storage.count_trials`."""
        return self._database.read(lambda connection: _counts(connection, study_id))

    def engine_versions(self, study_id: int) -> set[str]:
        """See `Storage.engine_versions`."""

        def work(connection: Connection) -> set[str]:
            versions = set(connection.execute(_ENGINES, {"study_id": study_id}).scalars())
            if not versions:
                _counts(connection, study_id)
            return versions

        return self._database.read(work)

    def _change(
        self, study_id: int, work: Callable[[StudyChange], Result], expected: Footprint = NO_CHANGE
    ) -> Result:
        def change_and_save(connection: Connection) -> Result:
            change = SqlChange(connection, study_id, self._clock, expected)
            result = work(change)
            change.save()
            return result

        return self._database.change(change_and_save)

    def _now(self, connection: Connection) -> datetime:
        if self._clock is not None:
            return self._clock()
        return connection.execute(select(func.clock_timestamp())).scalar_one().astimezone(UTC)


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _get(connection: Connection, study_id: int) -> StudyRecord:
    row = connection.execute(_BY_ID, {"study_id": study_id}).one_or_none()
    if row is None:
        raise lifecycle.unknown_study(study_id)
    return record_from_row(row)


def _find(connection: Connection, project: str, name: str) -> StudyRecord | None:
    row = connection.execute(_BY_NAME, {"in_project": project, "of_name": name}).one_or_none()
    return None if row is None else record_from_row(row)


def _find_winner(connection: Connection, record: StudyRecord) -> StudyRecord:
    """The study that another process created a moment earlier."""
    stored = _find(connection, record.project, record.name)
    if stored is None:  # and deleted right after
        raise lifecycle.duplicate_study(record)
    return stored


def _insert(
    connection: Connection, record: StudyRecord, *, num_trials: int = 0, last_event: int = 0
) -> int | None:
    """Insert a study and give its id; None if the name is taken."""
    dialect: Any = sqlite if connection.dialect.name == "sqlite" else postgresql
    row = record_to_row(record) | {"num_trials": num_trials, "last_event": last_event}
    statement = dialect.insert(studies).values(row).on_conflict_do_nothing().returning(studies.c.id)
    return connection.execute(statement).scalar_one_or_none()


def _insert_trials(connection: Connection, study_id: int, complete: Sequence[Trial]) -> None:
    rows = {
        trials: [trial_to_row(study_id, trial) for trial in complete],
        reports: [report_to_row(study_id, t.number, report) for t in complete for report in t.reports],
        amendments: [amendment_to_row(study_id, t.number, entry) for t in complete for entry in t.amendments],
    }
    for table, content in rows.items():
        if content:
            connection.execute(table.insert(), content)


def _counts(connection: Connection, study_id: int) -> tuple[int, int]:
    row = connection.execute(_COUNTS, {"study_id": study_id}).one_or_none()
    if row is None:
        raise lifecycle.unknown_study(study_id)
    num_trials, num_open = row
    return num_trials, num_trials - num_open


def _is_countable(number: int) -> bool:
    return 0 <= number <= LARGEST
