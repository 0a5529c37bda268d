"""One server in this process for many tests; each leaves it empty."""

from collections.abc import Iterator

import pytest
from serving import served

import photinus as ph
from photinus.client import Server
from photinus.service import Settings
from photinus.service.auth import make_token
from photinus.storage import open_storage


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server on a SQLite file that wants no token."""
    store = tmp_path_factory.mktemp("server") / "studies.db"
    with served(Settings(storage=str(store), tokens_required=False)) as address:
        yield address


@pytest.fixture
def server(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A connection to a server without studies."""
    monkeypatch.delenv("PHOTINUS_TOKEN", raising=False)
    with ph.connect(url) as connected:
        yield connected
        for record in connected.backend.list_studies():
            connected.backend.delete_study(record.id)


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a server that wants tokens, and tokens by name."""
    address = str(tmp_path_factory.mktemp("guarded") / "studies.db")
    storage = open_storage(address)
    tokens: dict[str, str] = {}
    for name, role, project in (
        ("admin", "admin", None),
        ("writer", "write", "vision"),
        ("reader", "read", "vision"),
        ("stranger", "write", "speech"),
    ):
        record, tokens[name] = make_token(name, role, project=project)
        storage.add_token(record)
    with served(Settings(storage=address, tokens_required=True)) as url:
        yield url, tokens
