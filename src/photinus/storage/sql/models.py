"""The tables, as they are after the newest migration.

Points, values and reasons are JSON in text columns: PostgreSQL's own JSON type rewrites numbers (1e300 comes back
as a whole number) and cannot hold NUL, while text keeps every float to the last bit on every database.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TextClause,
    TypeDecorator,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.types import TypeEngine

from photinus.trial import TrialState

SCHEMA_VERSIONS = ("0001", "0002", "0003")  # oldest first, one per file in migrations/versions
VERSION_TABLE = "photinus_schema"


class UtcTime(TypeDecorator[datetime]):
    """A moment to the microsecond; on SQLite as text whose order is that of time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Text where the database has no type for moments."""
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """What is stored."""
        if value is None or dialect.name != "sqlite":
            return value
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """The moment in UTC, whatever the session's time zone."""
        if value is None:
            return None
        if dialect.name == "sqlite":
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        return value.astimezone(UTC)


# Only an INTEGER can be a key that SQLite counts by itself.
BIG = BigInteger().with_variant(Integer, "sqlite")


def listed(states: Iterable[TrialState]) -> str:
    """States as a list in SQL."""
    return "(" + ", ".join(f"'{state.value}'" for state in states) + ")"


UNFINISHED = text("state NOT IN " + listed(state for state in TrialState if state.is_finished))

UNMEASURED = text("state IN " + listed([TrialState.INFEASIBLE, TrialState.FAILED]))

metadata = MetaData()


def partial_index(name: str, *columns: str, where: TextClause) -> Index:
    """An index that costs nothing for rows it is not for."""
    return Index(name, *columns, sqlite_where=where, postgresql_where=where)


studies = Table(
    "photinus_studies",
    metadata,
    Column("id", BIG, primary_key=True),  # never used again, also after the study is deleted
    Column("project", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("problem", Text, nullable=False),
    Column("algorithm", Text, nullable=False),
    Column("seed", BIG, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("num_trials", BIG, nullable=False),
    Column("last_event", BIG, nullable=False),
    Column("lock_owner", Text),
    Column("lock_expires_at", UtcTime),
    Column("request_key", Text),  # of the request that created it
    Column("creator", Text),  # id of the token that created it
    UniqueConstraint("project", "name", name="photinus_studies_by_name"),
    partial_index("photinus_studies_by_creator", "creator", where=text("creator IS NOT NULL")),
    sqlite_autoincrement=True,
)

trials = Table(
    "photinus_trials",
    metadata,
    Column("study_id", BIG, ForeignKey("photinus_studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", BIG, primary_key=True, autoincrement=False),
    Column("params", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("values", Text),
    Column("message", Text),
    Column("worker", Text),
    Column("created_at", UtcTime),
    Column("started_at", UtcTime),
    Column("completed_at", UtcTime),
    Column("lease_expires_at", UtcTime),
    Column("attempts", BIG, nullable=False),
    Column("created_event", BIG, nullable=False),
    Column("asked_event", BIG),
    Column("completed_event", BIG),
    Column("updated_event", BIG, nullable=False),
    Column("reason", Text),
    Column("algorithm", Text),
    Column("engine_version", Text),
    Column("metadata", Text, nullable=False),
    Column("has_reports", Boolean, nullable=False, server_default=false()),
    Column("has_amendments", Boolean, nullable=False, server_default=false()),
    Column("added_key", Text),  # of the request that added it
    Column("request_key", Text),  # of the request that last handed it out
    Column("updated_at", UtcTime),  # when `updated_event` was
    partial_index("photinus_trials_open", "study_id", "state", "number", where=UNFINISHED),
    partial_index("photinus_trials_unmeasured", "study_id", "state", where=UNMEASURED),
    partial_index("photinus_trials_by_adding", "study_id", "added_key", where=text("added_key IS NOT NULL")),
    partial_index(
        "photinus_trials_by_request", "study_id", "request_key", where=text("request_key IS NOT NULL")
    ),
    Index("photinus_trials_changed", "study_id", "updated_event"),
)

reports = Table(
    "photinus_reports",
    metadata,
    Column("study_id", BIG, primary_key=True),
    Column("number", BIG, primary_key=True, autoincrement=False),
    Column("step", BIG, primary_key=True, autoincrement=False),
    Column("values", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
    ForeignKeyConstraint(
        ["study_id", "number"], ["photinus_trials.study_id", "photinus_trials.number"], ondelete="CASCADE"
    ),
    sqlite_with_rowid=False,
)

amendments = Table(
    "photinus_amendments",
    metadata,
    Column("study_id", BIG, primary_key=True),
    Column("number", BIG, primary_key=True, autoincrement=False),
    Column("event", BIG, primary_key=True, autoincrement=False),
    Column("old_values", Text, nullable=False),
    Column("new_values", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
    ForeignKeyConstraint(
        ["study_id", "number"], ["photinus_trials.study_id", "photinus_trials.number"], ondelete="CASCADE"
    ),
    sqlite_with_rowid=False,
)

tokens = Table(
    "photinus_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("project", Text),
    Column("secret_hash", Text, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
)
