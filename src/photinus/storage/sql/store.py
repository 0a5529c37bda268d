"""`SqlStorage`: the store in a database."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, delete, func, select, update

from photinus.problem import Problem
from photinus.record import StudyProgress, StudyRecord, StudyState, TokenRecord
from photinus.storage import lifecycle
from photinus.storage.changing import ChangingStorage, Result
from photinus.storage.restoring import check_history
from photinus.storage.sql import reading, study_rows, tokens
from photinus.storage.sql.change import SqlChange
from photinus.storage.sql.connecting import Database
from photinus.storage.sql.models import studies, trials
from photinus.storage.sql.progress import read_progress
from photinus.storage.sql.rows import RECORD_COLUMNS, record_from_row
from photinus.storage.sql.schema import ensure_schema
from photinus.storage.study_change import NO_CHANGE, Footprint, StudyChange
from photinus.trial import Trial, TrialState

_ALL_STUDIES = select(*RECORD_COLUMNS).order_by(studies.c.id)
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
        key: str | None = None,
        creator: str | None = None,
    ) -> StudyRecord:
        """See `Storage.create_study`."""

        def work(connection: Connection) -> StudyRecord:
            stored = study_rows.find(connection, project, name)
            if stored is None:
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
                study_id = study_rows.insert(connection, record, key=key, creator=creator)
                if study_id is not None:
                    return study_rows.get(connection, study_id)
                stored = study_rows.find_winner(connection, record)
            may_exist = load_if_exists or stored.is_made_by(key)
            return lifecycle.reopened(stored.record, problem, algorithm, may_exist)

        return self._database.write(work)

    def restore_study(
        self,
        record: StudyRecord,
        trials: Sequence[Trial],
        *,
        key: str | None = None,
        creator: str | None = None,
    ) -> StudyRecord:
        """See `Storage.restore_study`."""
        check_history(record, trials)

        def work(connection: Connection) -> StudyRecord:
            study_id = study_rows.insert(
                connection,
                record,
                key=key,
                creator=creator,
                num_trials=len(trials),
                last_event=max((trial.updated_event for trial in trials), default=0),
            )
            if study_id is None:
                stored = study_rows.find_winner(connection, record)
                if stored.is_made_by(key):
                    return stored.record
                raise lifecycle.duplicate_study(record)
            study_rows.insert_trials(connection, study_id, trials)
            return study_rows.get(connection, study_id)

        return self._database.write(work)

    def get_study(self, study_id: int) -> StudyRecord:
        """See `Storage.get_study`."""
        return self._database.read(lambda connection: study_rows.get(connection, study_id))

    def find_study(self, project: str, name: str) -> StudyRecord:
        """See `Storage.find_study`."""
        stored = self._database.read(lambda connection: study_rows.find(connection, project, name))
        if stored is None:
            raise lifecycle.unknown_name(project, name)
        return stored.record

    def list_studies(self, project: str | None = None) -> list[StudyRecord]:
        """See `Storage.list_studies`."""
        statement = _ALL_STUDIES if project is None else _ALL_STUDIES.where(studies.c.project == project)
        rows = self._database.read(lambda connection: connection.execute(statement).all())
        return [record_from_row(row) for row in rows]

    def count_studies(self, creator: str) -> int:
        """See `Storage.count_studies`."""
        arguments = {"of_creator": creator}
        return self._database.read(
            lambda connection: connection.execute(study_rows.BY_CREATOR, arguments).scalar_one()
        )

    def progress(
        self, project: str | None = None, *, study_ids: Collection[int] | None = None
    ) -> list[StudyProgress]:
        """See `Storage.progress`."""
        return self._database.read(
            lambda connection: read_progress(connection, self._now(connection), project, study_ids)
        )

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
            return study_rows.get(connection, study_id)

        return self._database.write(work)

    def update_study_metadata(self, study_id: int, changes: Mapping[str, str | None]) -> StudyRecord:
        """See `Storage.update_study_metadata`."""
        return self._database.write(
            lambda connection: study_rows.update_metadata(connection, study_id, changes)
        )

    def get_trial(self, study_id: int, number: int) -> Trial:
        """See `Storage.get_trial`."""

        def work(connection: Connection) -> Trial:
            found = study_rows.is_countable(number)
            arguments = {"study_id": study_id, "number": number if found else -1}
            rows = connection.execute(reading.ONE_TRIAL, arguments).all()
            if not rows:
                record, num_trials = (
                    study_rows.get(connection, study_id),
                    study_rows.counts(connection, study_id)[0],
                )
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
                study_rows.counts(connection, study_id)  # raises if there is no such study
            return reading.read_trials(connection, study_id, rows)

        return self._database.read(work)

    def find_trials(
        self,
        study_id: int,
        *,
        states: Collection[TrialState] | None = None,
        worker: str | None = None,
        after: int = -1,
        limit: int,
        newest_first: bool = False,
    ) -> list[Trial]:
        """See `Storage.find_trials`."""
        statement = reading.page(states, worker, after, limit, newest_first)

        def work(connection: Connection) -> list[Trial]:
            rows = connection.execute(statement, {"study_id": study_id}).all()
            if not rows:
                study_rows.counts(connection, study_id)
            found = reading.read_trials(connection, study_id, rows)
            return found[::-1] if newest_first else found

        return self._database.read(work)

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """See `Storage.count_trials`."""
        return self._database.read(lambda connection: study_rows.counts(connection, study_id))

    def engine_versions(self, study_id: int) -> set[str]:
        """See `Storage.engine_versions`."""

        def work(connection: Connection) -> set[str]:
            versions = set(connection.execute(_ENGINES, {"study_id": study_id}).scalars())
            if not versions:
                study_rows.counts(connection, study_id)
            return versions

        return self._database.read(work)

    def add_token(self, token: TokenRecord) -> TokenRecord:
        """See `Storage.add_token`."""
        return self._database.write(lambda connection: tokens.add(connection, token))

    def get_token(self, token_id: str) -> TokenRecord:
        """See `Storage.get_token`."""
        return self._database.read(lambda connection: tokens.get(connection, token_id))

    def list_tokens(self) -> list[TokenRecord]:
        """See `Storage.list_tokens`."""
        return self._database.read(tokens.get_all)

    def revoke_token(self, token_id: str) -> TokenRecord:
        """See `Storage.revoke_token`."""
        return self._database.write(
            lambda connection: tokens.revoke(connection, token_id, self._now(connection))
        )

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
