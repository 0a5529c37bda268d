"""From a database's errors to ours: what failed, where, and what to do about it."""

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from photinus.errors import StorageError

REPEATABLE = ("40001", "40P01")  # PostgreSQL: serialisation failure, deadlock

# By the beginning of SQLite's error name, or of PostgreSQL's SQLSTATE: what is wrong, and the remedy.
SQLITE_TROUBLE = {
    "SQLITE_FULL": ("the disk is full", "make room and go on; nothing that was acknowledged is lost"),
    "SQLITE_READONLY": (
        "it cannot be written",
        "give yourself the right to write the file and its directory, or copy the file",
    ),
    "SQLITE_CANTOPEN": (
        "it cannot be opened",
        "check the path, and the rights to the file and its directory; copy a store from a read-only directory to "
        "read it, as SQLite needs files beside it",
    ),
    "SQLITE_PERM": ("it cannot be opened", "check the path, and the rights to the file and its directory"),
    "SQLITE_NOTADB": ("the file is not a SQLite database", "check the path, or choose a new file"),
    "SQLITE_CORRUPT": (
        "the file is damaged",
        "restore it from a copy, or save what can be read with `sqlite3 FILE .recover`",
    ),
    "SQLITE_BUSY": (
        "it stayed locked by someone else",
        "end what holds it, or use PostgreSQL for many workers",
    ),
    "SQLITE_LOCKED": ("it stayed locked by someone else", "end what holds it"),
    "SQLITE_IOERR": ("reading or writing failed", "check the disk; nothing that was acknowledged is lost"),
}
POSTGRESQL_TROUBLE = {
    "25006": ("the server takes no writes", "connect to the primary server"),
    "28": ("the server refused the login", "check the user and the password"),
    "3D": ("there is no such database", "create it, for example with createdb"),
    "42501": ("the user lacks a right", "grant it the right to create and change tables in the schema"),
    "53100": ("the server's disk is full", "make room and go on; nothing that was acknowledged is lost"),
    "53300": ("the server has no connection left", "end some, or raise its max_connections"),
    "55P03": ("it stayed locked by someone else", "end what holds it"),
    "57": ("the server is shutting down or starting", "try again when it runs"),
    "08": ("the connection was lost", "check the server; nothing that was acknowledged is lost"),
}


def storage_error(shown: str, error: Exception) -> StorageError:
    """Our error for one of SQLAlchemy or a driver; `shown` is the address without its password."""
    if isinstance(error, PoolTimeout):
        what, remedy = "all its connections stayed in use", "use fewer threads at once"
        return StorageError(f"store {shown!r} failed: {what}; {remedy}")
    what, remedy = _diagnose(error)
    return StorageError(f"store {shown!r} failed: {what} ({_message(error)}); {remedy}")


def is_repeatable(error: Exception) -> bool:
    """Whether the same transaction may well succeed when it is tried again."""
    if not isinstance(error, DBAPIError):
        return False
    return error.connection_invalidated or getattr(error.orig, "sqlstate", None) in REPEATABLE


def _diagnose(error: Exception) -> tuple[str, str]:
    cause = _cause(error)
    if isinstance(cause, sqlite3.Error):
        name, table = getattr(cause, "sqlite_errorname", ""), SQLITE_TROUBLE
    else:
        name, table = getattr(cause, "sqlstate", None) or "", POSTGRESQL_TROUBLE
    for prefix, trouble in table.items():
        if name.startswith(prefix):
            return trouble
    if not name and table is POSTGRESQL_TROUBLE:
        return (
            "the server could not be reached, or the connection was lost",
            "check the address and the server",
        )
    return "the database refused a statement", "report this if the store was not changed by hand"


def _message(error: Exception) -> str:
    """The driver's own first line: SQLAlchemy's text would add the statement and what it was given."""
    return str(_cause(error)).strip().partition("\n")[0]


def _cause(error: Exception) -> BaseException:
    if isinstance(error, SQLAlchemyError):
        return getattr(error, "orig", None) or error
    return error
