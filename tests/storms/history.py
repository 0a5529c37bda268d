"""Every change of a trial, as the database itself saw it.

A trigger writes it down in the transaction of the change, so it has exactly what was committed: also what no
worker lived to hear of, and nothing that was rolled back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

_COLUMNS = (
    "study_id",
    "number",
    "updated_event",
    "state",
    "worker",
    "started_at",
    "lease_expires_at",
    '"values"',
)
_NAMES = ", ".join(_COLUMNS)
_NEW = ", ".join(f"NEW.{name}" for name in _COLUMNS)
_SQLITE = (
    f"CREATE TABLE storm_history (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT, {_NAMES})",
    *(
        f"CREATE TRIGGER storm_{verb} AFTER {verb} ON photinus_trials BEGIN "
        f"INSERT INTO storm_history (at, {_NAMES}) VALUES (strftime('%Y-%m-%d %H:%M:%f', 'now'), {_NEW}); END"
        for verb in ("INSERT", "UPDATE")
    ),
)
_POSTGRESQL = (
    "CREATE TABLE storm_history (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TIMESTAMPTZ, "
    "study_id BIGINT, number BIGINT, updated_event BIGINT, state TEXT, worker TEXT, started_at TIMESTAMPTZ, "
    'lease_expires_at TIMESTAMPTZ, "values" TEXT)',
    "CREATE FUNCTION storm_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"INSERT INTO storm_history (at, {_NAMES}) VALUES (clock_timestamp(), {_NEW}); RETURN NEW; END $$",
    "CREATE TRIGGER storm_changes AFTER INSERT OR UPDATE ON photinus_trials "
    "FOR EACH ROW EXECUTE FUNCTION storm_note()",
)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A trial as it was after a change."""

    at: datetime
    number: int
    event: int
    state: str
    worker: str | None = None
    started_at: datetime | None = None
    lease_expires_at: datetime | None = None
    values: str | None = None


def begin_history(address: str) -> None:
    """Have the database write down all changes from now on."""
    engine = _engine(address)
    with engine.begin() as connection:
        for statement in _SQLITE if engine.dialect.name == "sqlite" else _POSTGRESQL:
            connection.exec_driver_sql(statement)
    engine.dispose()


def read_history(address: str, study_id: int | None = None) -> list[Change]:
    """All changes, of one study or of the only one, in the order in which they happened."""
    engine = _engine(address)
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT * FROM storm_history ORDER BY id")).mappings().all()
    engine.dispose()
    return [_change(row) for row in rows if study_id in (None, row["study_id"])]


def _change(row: Mapping[Any, Any]) -> Change:
    return Change(
        at=_time(row["at"]) or datetime.min.replace(tzinfo=UTC),
        number=row["number"],
        event=row["updated_event"],
        state=row["state"],
        worker=row["worker"],
        started_at=_time(row["started_at"]),
        lease_expires_at=_time(row["lease_expires_at"]),
        values=row["values"],
    )


def _time(value: str | datetime | None) -> datetime | None:
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return value


def _engine(address: str) -> sa.Engine:
    return sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)
