"""From a store's address to the store."""

import os

from photinus.errors import ArgumentError
from photinus.storage.base import Storage
from photinus.storage.memory import MemoryStorage

StorageLike = Storage | str | os.PathLike[str] | None


def open_storage(storage: StorageLike) -> Storage:
    """The store itself, the one at an address, or a new one in memory for None.

    A path, or `sqlite:///path`, is a SQLite file, created where there is none; `postgresql://user@host/name`
    is a PostgreSQL database.
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, str | os.PathLike):
        from photinus.storage.sql import SqlStorage

        return SqlStorage(os.fspath(storage))
    if not isinstance(storage, Storage):
        raise ArgumentError(
            "`storage` must be a path, an address such as sqlite:///studies.db or "
            f"postgresql://user@host/name, a Storage, or None for memory, got {storage!r}"
        )
    return storage


def upgrade_storage(address: str | os.PathLike[str]) -> tuple[str | None, str]:
    """Bring the store at an address to the newest schema; its versions before (None: no store) and after.

    Make a copy first. Nobody can change the store meanwhile, and if the upgrade fails, it is as it was.
    """
    from photinus.storage.sql import upgrade_storage as upgrade

    return upgrade(os.fspath(address))
