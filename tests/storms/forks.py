"""Child processes that start in milliseconds: forks of a process that has imported everything and has no threads."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

KILLED = -signal.SIGKILL


@dataclass(frozen=True)
class Child:
    """A running child, and the file that its standard error goes to."""

    pid: int
    complaints: Path

    def kill(self) -> None:
        """SIGKILL, wherever it is."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> "Ending":
        """How it ended, once it has."""
        _, status = os.waitpid(self.pid, 0)
        text = self.complaints.read_text()
        self.complaints.unlink()
        return Ending(os.waitstatus_to_exitcode(status), text)


@dataclass(frozen=True)
class Ending:
    """How a child ended: its exit code, negative for a signal, and what it wrote to standard error."""

    code: int
    complaint: str


def fork(work: Callable[[], object], complaints: Path) -> Child:
    """Do the work in a child, which ends with 0, or with 1 and a traceback."""
    complaints.touch()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return Child(pid, complaints)
    code = 1
    try:
        os.dup2(os.open(complaints, os.O_WRONLY | os.O_APPEND), 2)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)  # no handlers, no buffers of the parent


def is_orphan(parent: int) -> bool:
    """Whether the process that forked this one has ended: time to go, too."""
    return os.getppid() != parent
