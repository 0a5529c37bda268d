import subprocess
import sys

import pytest

from photinus.errors import ArgumentError
from photinus.storage import hide_password
from photinus.storage.address import PostgresqlAddress, SqliteAddress, parse_address


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("studies.db", "studies.db"),
        ("/home/me/studies.db", "/home/me/studies.db"),
        ("a b/ü 🔥?.db", "a b/ü 🔥?.db"),
        ("C:\\studies.db", "C:\\studies.db"),
        ("sqlite:///studies.db", "studies.db"),
        ("sqlite:////home/me/studies.db", "/home/me/studies.db"),
        ("sqlite+pysqlite:///studies.db", "studies.db"),
    ],
)
def test_a_path_is_a_sqlite_file(address, path):
    assert parse_address(address) == SqliteAddress(path)


def test_a_sqlite_file_may_be_written_more_carefully():
    assert parse_address("sqlite:///s.db?synchronous=FULL") == SqliteAddress("s.db", "full")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_has_several_names(scheme):
    assert parse_address(f"{scheme}://me@host/name") == PostgresqlAddress("me@host/name")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "leave `storage` out to keep a study in memory"),
        (":memory:", "leave `storage` out"),
        ("sqlite://", "leave `storage` out"),
        ("sqlite:///:memory:", "leave `storage` out"),
        ("sqlite://studies.db", "write sqlite:///studies.db"),
        ("sqlite:///s.db?synchronous=off", "must be one of normal, full, extra"),
        ("sqlite:///s.db?mode=ro", "only option of a SQLite address is `synchronous`, got mode"),
        ("a\0b", "NUL"),
        ("mysql://me@host/name", r"a store must be a path .* or postgresql://user@host/name, got 'mysql"),
        ("postgresql+psycopg2://me@host/name", "a store must be a path"),
        ("postgresql:/me@host/name", "a store must be a path .*, got 'postgresql:/me@host/name'"),
        ("sqlite:studies.db", "a store must be a path"),
        ("host=h password=s3cret", "a store must be a path"),
    ],
)
def test_other_addresses_are_refused(address, message):
    with pytest.raises(ArgumentError, match=message):
        parse_address(address)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("studies.db", "studies.db"),
        ("sqlite:///studies.db", "sqlite:///studies.db"),
        ("postgresql://me@host/name", "postgresql://me@host/name"),
        ("postgresql://host:5432/name", "postgresql://host:5432/name"),
        ("postgresql://me:s3cret@host:5432/name", "postgresql://me:***@host:5432/name"),
        ("postgresql://:s3cret@host/name", "postgresql://:***@host/name"),
        ("postgresql://me:s3@cret/s3cret@host/name", "postgresql://me:***@host/name"),
        ("postgresql://me:s3cret:x@/name", "postgresql://me:***@/name"),
        (
            "postgresql:///name?host=h&password=s3cret&user=me",
            "postgresql:///name?host=h&password=***&user=me",
        ),
        ("postgresql:///name?sslpassword=s3cret", "postgresql:///name?sslpassword=***"),
        ("mysql://me:s3cret@host/name", "mysql://me:***@host/name"),
        ("postgresql:/me:s3cret@host/name", "postgresql:/me:***@host/name"),
        ("postgresql:me:s3cret@host/name", "postgresql:me:***@host/name"),
        ("postgresql:///name?password=s3 cret&user=me", "postgresql:///name?password=***&user=me"),
        ("host=h password = 's3&c ret' user=me", "host=h password =***"),
        ("C:/me:x@y.db", "C:/me:x@y.db"),
    ],
)
def test_passwords_do_not_show(address, shown):
    assert hide_password(address) == shown


@pytest.mark.parametrize(
    "address",
    ["mysql://me:s3cret@host/name", "postgresql:/me:s3cret@host/name", "host=h user=me password=s3cret"],
)
def test_a_refused_address_does_not_show_its_password(address):
    with pytest.raises(ArgumentError) as caught:
        parse_address(address)
    assert "s3cret" not in str(caught.value)


def test_addresses_are_read_without_loading_a_database():
    code = "import sys, photinus, photinus.storage as s; s.hide_password('x'); s.open_storage(None)"
    check = "sys.exit(any(name in sys.modules for name in ('sqlalchemy', 'alembic', 'psycopg', 'sqlite3')))"
    assert subprocess.run([sys.executable, "-c", f"{code}; {check}"]).returncode == 0
