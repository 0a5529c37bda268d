"""Ends commands whose `photinus` was killed: a process beside it that outlives it, but not for long.

It is told over its standard input which process groups run. When the input ends, the process at the other end has
ended, in whatever way, and what is still running has nobody left to read its results. Run as a script; imports
nothing but the standard library, so that it starts quickly and stays small.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

GRACE_S = 3.0  # between asking a command to end and ending it


class Keeper:
    """The end of the line that `photinus` holds."""

    def __init__(self) -> None:
        # In a session of its own: Ctrl-C in the terminal is not meant for it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__], stdin=subprocess.PIPE, start_new_session=True
        )

    def add(self, group: int) -> None:
        """Remember a process group that runs."""
        self._say(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Forget a process group that has ended."""
        self._say(f"-{group}\n")

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it was killed: commands run on without it
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


def keep() -> None:
    """Listen until the line is cut, then end what is left."""
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        groups.add(group) if line[0] == "+" else groups.discard(group)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for group in groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
        if groups and number == signal.SIGTERM:
            time.sleep(GRACE_S)


if __name__ == "__main__":
    keep()
