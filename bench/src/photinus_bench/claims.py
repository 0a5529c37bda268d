"""Claims on runs, so that two runners on one folder of records never run the same.

A claim is a lock on one byte of a file, at a place that the run's name decides. The system lets go of it when its
process ends, however that happens, and nothing is left behind.
"""

import fcntl
import hashlib
from pathlib import Path

from photinus_bench.record import RunKey


class Claims:
    """What this process has claimed. One object per process and folder: locks belong to processes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "claims").open("w")

    def __enter__(self) -> "Claims":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def take(self, key: RunKey) -> bool:
        """Claim a run; False where another process has."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except OSError:
            return False
        return True

    def release(self, key: RunKey) -> None:
        """Let others have it."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(key))


def _place(key: RunKey) -> int:
    return int.from_bytes(hashlib.sha256(str(key).encode()).digest()[:7])
