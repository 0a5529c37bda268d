"""The schema of a database: made when there is none, checked when there is one, changed only on demand."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from photinus.errors import SchemaMismatch, StorageError
from photinus.storage.sql.connecting import Database
from photinus.storage.sql.models import SCHEMA_VERSIONS, VERSION_TABLE, metadata

NEWEST = SCHEMA_VERSIONS[-1]
MIGRATIONS = Path(__file__).parent / "migrations"
CREATION_LOCK = 0x70686F74  # "phot": PostgreSQL's advisory lock of whoever creates or upgrades


def ensure_schema(database: Database) -> None:
    """Create the tables in an empty database; refuse one that this version cannot work with."""
    version = database.read(lambda connection: _version(connection, database))
    if version is None:
        if database.is_sqlite:
            database.use_write_ahead_log()
        database.write(lambda connection: _create(connection, database))
        version = NEWEST
    _check(version, database)
    if database.is_sqlite:
        database.use_write_ahead_log()


def upgrade_storage(address: str) -> tuple[str | None, str]:
    """Bring the store at an address to the newest schema; the versions before (None: no store) and after."""
    database = Database(address)
    try:
        before = database.read(lambda connection: _version(connection, database))
        if before is not None and before not in SCHEMA_VERSIONS:
            _check(before, database)
        return database.write(lambda connection: _upgrade(connection, database)), NEWEST
    finally:
        database.close()


def _create(connection: Connection, database: Database) -> None:
    _lock(connection)
    if _version(connection, database) is None:  # else somebody else was quicker
        migrate(connection, NEWEST)


def _upgrade(connection: Connection, database: Database) -> str | None:
    _lock(connection)
    before = _version(connection, database)
    if before != NEWEST:
        migrate(connection, NEWEST)
    return before


def _lock(connection: Connection) -> None:
    """Wait for others who create or upgrade; on SQLite a write transaction excludes them anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": CREATION_LOCK})


def _version(connection: Connection, database: Database) -> str | None:
    """The schema's version; None where nothing is stored yet."""
    tables = set(inspect(connection).get_table_names())
    if VERSION_TABLE in tables:
        return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one_or_none()
    if connection.dialect.name == "sqlite" and tables:
        raise StorageError(
            f"{database.shown!r} is a SQLite database of another program (it has the tables "
            f"{', '.join(sorted(tables)[:5])}), and was left alone: choose another file"
        )
    ours = tables & set(metadata.tables)
    if ours:
        raise StorageError(
            f"{database.shown!r} has tables with our names ({', '.join(sorted(ours))}) but no schema version, and "
            "was left alone: choose another database or schema"
        )
    return None


def _check(version: str, database: Database) -> None:
    if version == NEWEST:
        return
    if version in SCHEMA_VERSIONS:
        raise SchemaMismatch(
            f"store {database.shown!r} must have schema {NEWEST} for this version of Photinus, but has {version}: "
            f"run `photinus storage upgrade --storage {database.shown}`, after making a copy"
        )
    raise SchemaMismatch(
        f"store {database.shown!r} has schema {version}, newer than {NEWEST}, the newest that this version of "
        "Photinus knows: upgrade photinus (pip install -U photinus)"
    )


def migrate(connection: Connection, version: str) -> None:
    """Run the migrations up to a version, within the transaction that is open on the connection."""
    # Imported late: Alembic takes a while, and most processes find the schema in place.
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(MIGRATIONS))

    def steps(revision: object, context: object) -> object:
        return script._upgrade_revs(version, revision)  # type: ignore[arg-type]

    with EnvironmentContext(Config(), script, fn=steps, destination_rev=version) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE, transactional_ddl=True)
        environment.run_migrations()
