"""Servers for the server benchmark: started on ports of their own, killed, started again.

A contestant's server is a command with an address of a database and a port. What goes wrong on purpose (killed servers,
a restarted PostgreSQL) happens here, in a thread beside the load.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from photinus_bench.databases import Kind, start_server

START_LIMIT_S = 120.0
POLL_S = 0.1


class ServerProcess:
    """One server: a command line, and how to know that it is up."""

    def __init__(self, command: Sequence[str], port: int, log: Path, *, health: str | None = None) -> None:
        self.port = port
        self.num_starts = 0
        self._command = list(command)
        self._log = log
        self._health = health  # path of a page that answers once the server is up; its port alone for None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns before it is up."""
        source = Path(__file__).parents[1]  # rivals' environments find this package by its path
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": str(source)},
            )
        self.num_starts += 1

    def wait(self) -> None:
        """Until it is up."""
        deadline = time.monotonic() + START_LIMIT_S
        while not self.is_up():
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"the server ended; see {self._log.name}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"the server is not up after {START_LIMIT_S:.0f} s; see {self._log.name}")
            time.sleep(POLL_S)

    def is_up(self) -> bool:
        """Whether it answers."""
        try:
            if self._health is None:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return True
            url = f"http://127.0.0.1:{self.port}{self._health}"
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def kill(self) -> None:
        """SIGKILL, wherever it is."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> int | None:
        """Ask it to end; its exit code."""
        if self._process is None:
            return None
        self._process.terminate()
        try:
            code = self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL
        self._process = None
        return code


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def photinus_server(address: str, log: Path, *options: str) -> ServerProcess:
    """`photinus serve` over a database."""
    port = free_port()
    program = str(Path(sys.executable).with_name("photinus"))
    command = [
        program,
        "serve",
        "--storage",
        address,
        "--port",
        str(port),
        "--log-level",
        "warning",
        *options,
    ]
    return ServerProcess(command, port, log, health="/readyz")


@contextlib.contextmanager
def running(servers: Sequence[ServerProcess]) -> Iterator[None]:
    """Servers that are up, and end in the end."""
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.wait()
        yield
    finally:
        for server in servers:
            server.stop()


@contextlib.contextmanager
def database(kind: Kind) -> Iterator[tuple[str, Any]]:
    """The address of an empty database, and the PostgreSQL server that has it; None for a SQLite file."""
    # A short path: the server's socket is in it, and sockets have a limit of some hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="ph-serve-", dir="/tmp" if Path("/tmp").is_dir() else None))
    try:
        if kind == "sqlite":
            yield f"sqlite:///{folder}/store.db", None
            return
        server = start_server(folder / "pg")
        try:
            yield server.get_uri(), server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def faults(
    break_something: Callable[[random.Random], None], every_s: float | None, for_s: float, seed: int
) -> Iterator[list[float]]:
    """Break something every few seconds for some time, or never; the moments at which it was done."""
    moments: list[float] = []
    if every_s is None:
        yield moments
        return
    failures: list[BaseException] = []
    is_over = threading.Event()
    rng = random.Random(seed)
    deadline = time.monotonic() + for_s

    def go_on() -> None:
        # Around the mean, so that faults fall on every stage of whatever has a rhythm of its own.
        while not is_over.wait(every_s * rng.uniform(0.5, 1.5)):
            try:
                break_something(rng)
            except BaseException as error:
                failures.append(error)
                return
            moments.append(time.monotonic())
            if time.monotonic() > deadline:
                return

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield moments
    finally:
        is_over.set()
        thread.join()
    if failures:
        raise failures[0]


def kill_one_of(servers: Sequence[ServerProcess]) -> Callable[[random.Random], None]:
    """Kills a server and starts it again; the next one is spared until it is up, as a supervisor would wait."""

    def kill(rng: random.Random) -> None:
        victim = rng.choice(servers)
        victim.kill()
        victim.start()
        victim.wait()

    return kill


def restart_postgresql(server: Any) -> Callable[[random.Random], None]:
    """Has PostgreSQL drop everything, as in a crash, and start again."""

    def restart(rng: random.Random) -> None:
        os.kill(server.get_pid(), signal.SIGQUIT)  # "immediate shutdown"
        deadline = time.monotonic() + START_LIMIT_S
        while server.get_postmaster_info().is_running():
            if time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL did not end")
            time.sleep(POLL_S)
        server.start()

    return restart
