"""Stores of studies: one contract (`base.py`), one file or package per store."""

from photinus.storage.base import Storage as Storage
from photinus.storage.memory import MemoryStorage as MemoryStorage
