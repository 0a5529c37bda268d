"""Connections and transactions, per kind of database.

SQLite is in WAL mode: readers never wait, writers wait for each other, from the start of their transaction on, so
that none of them ever has to give up half-way. `synchronous=NORMAL` means that whatever was acknowledged
outlives the process, however it ends; a power failure may cost the last transactions, never the file. With
`?synchronous=full` in the address nothing is lost then either, and each change waits for the disk.
"""

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import ArgumentError as BadUrl
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from photinus.errors import ArgumentError, MissingDependency, StorageError
from photinus.storage.address import PostgresqlAddress, SqliteAddress, hide_password, parse_address
from photinus.storage.sql.file_systems import refuse_network
from photinus.storage.sql.trouble import is_repeatable, storage_error

BUSY_TIMEOUT_S = 60.0  # how long a writer waits for the others before it gives up
CONNECT_TIMEOUT_S = 15  # ours: a host that does not answer would keep a command waiting for minutes
OLDEST_SQLITE = (3, 35)  # the first with RETURNING
MAX_ATTEMPTS = 10
FIRST_PAUSE_S = 0.01
POOL_SIZE, POOL_OVERFLOW = 5, 25
EMPTY_COMMIT = (
    "SELECT pg_logical_emit_message(true, 'photinus', '')"  # written to the log, and changes nothing
)

Result = TypeVar("Result")


class Database:
    """One database: its engine, and how work is done in a transaction. Safe for threads, and after a fork."""

    def __init__(self, address: str) -> None:
        self.shown = hide_password(address)
        parsed = parse_address(address)
        self.is_sqlite = isinstance(parsed, SqliteAddress)
        self._engine = _sqlite_engine(parsed) if isinstance(parsed, SqliteAddress) else _postgresql(parsed)
        if self.is_sqlite:
            self._writer = self._engine.execution_options(photinus_begin="BEGIN IMMEDIATE")
            self._reader = self._engine.execution_options(photinus_begin="BEGIN")
        else:
            # Several statements of one reader see the same moment.
            self._writer = self._engine
            self._reader = self._engine.execution_options(isolation_level="REPEATABLE READ")
        # The driver's own errors come from where it is used without SQLAlchemy.
        self._errors = (DBAPIError, PoolTimeout, self._engine.dialect.loaded_dbapi.Error)
        self._begin_in_this_process()

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Do the work in one transaction; nothing of it stays if it raises. It may be called again."""
        return self._run(self._writer, work, is_alone=self.is_sqlite)

    def change(self, work: Callable[[Connection], Result]) -> Result:
        """`write`, for work that has PostgreSQL commit without waiting for its disk.

        Everyone who changes a study holds its row. Were it held until the disk has answered, a study could
        change only as often as the disk answers, however many workers it has. So the commit does not wait, and
        only the caller does, for another commit behind it: the log is written in order.
        """
        return self._run(self._writer, work, is_alone=self.is_sqlite, flushes=not self.is_sqlite)

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """Do work that changes nothing, on one consistent view."""
        return self._run(self._reader, work, is_alone=False)

    def use_write_ahead_log(self) -> None:
        """Put a SQLite file into WAL mode, which it then stays in."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        while True:
            try:
                with closing(self._engine.raw_connection()) as connection:
                    [(mode,)] = connection.cursor().execute("PRAGMA journal_mode").fetchall()
                    if mode != "wal":
                        connection.cursor().execute("PRAGMA journal_mode = WAL")
                    return
            except sqlite3.OperationalError as error:
                # This one statement does not wait for others by itself.
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise storage_error(self.shown, error) from error
                time.sleep(FIRST_PAUSE_S)

    def close(self) -> None:
        """Close connections that nobody uses."""
        self._engine.dispose()

    def _run(
        self, engine: Engine, work: Callable[[Connection], Result], *, is_alone: bool, flushes: bool = False
    ) -> Result:
        if self._process != os.getpid():
            self._engine.dispose(close=False)  # after a fork: the connections are the parent's
            self._begin_in_this_process()
        # In one process writers queue up here, which is fairer and quicker than SQLite's own polling.
        turn: AbstractContextManager[Any] = self._turn if is_alone else nullcontext()
        attempt = 1
        while True:
            is_committing = False
            try:
                with turn, engine.connect() as connection:
                    result = work(connection)
                    is_committing = True
                    connection.commit()
                    if flushes:
                        _wait_for_disk(connection)
                    return result
            except self._errors as error:
                # Before the commit nothing has happened; once it is on its way, nobody knows.
                if is_committing or attempt == MAX_ATTEMPTS or not is_repeatable(error):
                    raise storage_error(self.shown, error) from error
            time.sleep(FIRST_PAUSE_S * attempt * random.random())
            attempt += 1

    def _begin_in_this_process(self) -> None:
        self._process = os.getpid()
        self._turn = threading.Lock()
        weakref.finalize(self, _dispose, self._engine, self._process)


def _wait_for_disk(connection: Connection) -> None:
    """Return when all that was committed before is as safe as the server's `synchronous_commit` says."""
    raw: Any = connection.connection.dbapi_connection
    try:
        raw.autocommit = True  # one message to the server rather than three
        raw.execute(EMPTY_COMMIT)
        raw.autocommit = False
    except BaseException:
        connection.invalidate()  # nobody may be given a connection that commits by itself
        raise


def _dispose(engine: Engine, process: int) -> None:
    """Close the connections of a database that is not used any more, unless they are another process's."""
    if os.getpid() == process:
        engine.dispose()


def _sqlite_engine(address: SqliteAddress) -> Engine:
    path = os.path.abspath(address.path)
    directory = os.path.dirname(path)
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StorageError(f"SQLite {oldest} or newer is needed, this Python has {sqlite3.sqlite_version}")
    if not os.path.isdir(directory):
        raise StorageError(
            f"the directory of a SQLite file must exist, but {directory!r} does not: create it, or correct {path!r}"
        )
    if os.path.isdir(path):
        raise StorageError(f"a SQLite store must be a file, but {path!r} is a directory: name a file in it")
    refuse_network(path)
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=path),
        connect_args={"timeout": BUSY_TIMEOUT_S, "isolation_level": None, "check_same_thread": False},
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        poolclass=sa.QueuePool,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, record: object) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {address.synchronous}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # The driver is in autocommit mode: it would begin by itself too late, after the first reads.
        options = connection.get_execution_options()
        raw: Any = connection.connection.dbapi_connection
        raw.execute(options["photinus_begin"])

    return engine


def _postgresql(address: PostgresqlAddress) -> Engine:
    shown = hide_password(f"postgresql://{address.rest}")
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingDependency(
            f'PostgreSQL needs psycopg: pip install "photinus[postgres]" to use {shown!r}'
        ) from error
    try:
        url = sa.make_url(f"postgresql+psycopg://{address.rest}")
    except (BadUrl, ValueError):
        # Without its cause, which shows the address with the password.
        raise ArgumentError(
            f"an address must have the form postgresql://user:password@host:port/name, got {shown!r}: "
            "write special characters of the password as %XX"
        ) from None
    is_timed = "connect_timeout" in url.query or "PGCONNECT_TIMEOUT" in os.environ
    return sa.create_engine(
        url,
        connect_args={} if is_timed else {"connect_timeout": CONNECT_TIMEOUT_S},
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        hide_parameters=True,
    )
