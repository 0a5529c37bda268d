"""Every kind of store, empty, for tests that hold on all of them."""

from pathlib import Path

import pytest

from photinus.storage import MemoryStorage, Storage
from photinus.storage.sql import SqlStorage
from photinus.testing.storage import ManualClock


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Storage:
    """An empty store whose time passes when the test says so."""
    if request.param == "memory":
        return MemoryStorage(clock=clock)
    if request.param == "postgresql":
        return SqlStorage(request.getfixturevalue("postgresql"), clock=clock)
    return SqlStorage(str(tmp_path / "store.db"), clock=clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
