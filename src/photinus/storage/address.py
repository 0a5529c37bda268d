"""Addresses of stores: what they may look like, and how they are shown without their passwords."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from photinus.errors import ArgumentError

SYNCHRONOUS = ("normal", "full", "extra")
SUPPORTED = (
    "a path such as studies.db, sqlite:///studies.db, sqlite:////home/me/studies.db, "
    "or postgresql://user@host/name"
)

# With too few slashes; and a password among `name=value` pairs, be they those of an address or of libpq.
_MEANT_AS_ADDRESS = re.compile(r"(sqlite|postgres(ql)?)(\+\w+)?:", re.IGNORECASE)
_PASSWORD_FIELD = re.compile(r"((?:^|[?&\s])[^=&\s]*password\s*=)([^&]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """A SQLite file, and how carefully it is written."""

    path: str
    synchronous: str = "normal"


@dataclass(frozen=True, slots=True)
class PostgresqlAddress:
    """A PostgreSQL database; what stands after `postgresql://`."""

    rest: str


def parse_address(address: str) -> SqliteAddress | PostgresqlAddress:
    """What an address means."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        if _MEANT_AS_ADDRESS.match(address) or _PASSWORD_FIELD.search(address):
            # As a path it would be shown with its password, or become a file of that name.
            raise ArgumentError(f"a store must be {SUPPORTED}, got {hide_password(address)!r}")
        return _sqlite(address, address)
    match scheme:
        case "sqlite" | "sqlite+pysqlite":
            path, _, query = rest.partition("?")
            if path and not path.startswith("/"):
                raise ArgumentError(
                    f"the address of a SQLite file has three slashes, or four before an absolute path, "
                    f"got {address!r}: write sqlite:///{path}"
                )
            return _sqlite(address, path[1:], **_options(address, query))
        case "postgresql" | "postgres" | "postgresql+psycopg":
            return PostgresqlAddress(rest)
        case _:
            raise ArgumentError(f"a store must be {SUPPORTED}, got {hide_password(address)!r}")


def hide_password(address: str) -> str:
    """The address, fit for eyes and logs."""
    # Up to the last @: a password with an @ that should have been written %40 must not show either.
    hidden = re.sub(r"(\w{2,}:/{0,2})([^:/@]*):.*@", r"\1\2:***@", address, flags=re.DOTALL)
    if "://" not in address and (field := _PASSWORD_FIELD.search(hidden)):
        return f"{hidden[: field.end(1)]}***"  # nothing marks its end
    return _PASSWORD_FIELD.sub(r"\1***", hidden)


def _sqlite(address: str, path: str, synchronous: str = "normal") -> SqliteAddress:
    if path in ("", ":memory:"):
        raise ArgumentError(
            f"the path of a SQLite file must not be empty or :memory:, got {address!r}: "
            "leave `storage` out to keep a study in memory"
        )
    if "\0" in path:
        raise ArgumentError(f"a path cannot hold a NUL character, got {address!r}")
    if synchronous not in SYNCHRONOUS:
        raise ArgumentError(f"`synchronous` must be one of {', '.join(SYNCHRONOUS)}, got {address!r}")
    return SqliteAddress(path, synchronous)


def _options(address: str, query: str) -> dict[str, str]:
    options = {name: value.lower() for name, value in parse_qsl(query, keep_blank_values=True)}
    unknown = sorted(options.keys() - {"synchronous"})
    if unknown:
        raise ArgumentError(
            f"the only option of a SQLite address is `synchronous`, got {', '.join(unknown)} in {address!r}"
        )
    return options
