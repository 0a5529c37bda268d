"""Studies in a database: a SQLite file, or PostgreSQL."""

from photinus.storage.sql.schema import upgrade_storage as upgrade_storage
from photinus.storage.sql.store import SqlStorage as SqlStorage
