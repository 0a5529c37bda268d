"""Real servers for tests: in a thread of this process, or as a process that can be killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from photinus.service import Settings, create_app

PATIENCE_S = 120.0


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    """Look again and again; fail with what was waited for."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:g} s in vain: {what}"
        time.sleep(0.02)


@contextlib.contextmanager
def served(settings: Settings, port: int = 0, **options: Any) -> Iterator[str]:
    """A server in a thread of this process; its address."""
    app = create_app(settings)
    listener = socket.create_server(("127.0.0.1", port))
    # Or the second half of each answer would wait for the other side to acknowledge the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, **options))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), "the server starts")
        assert server.started
        scheme = "https" if "ssl_certfile" in options else "http"
        yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listener.close()
        assert not thread.is_alive(), "the server does not end"


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class ServerProcess:
    """`photinus serve` on a port and a store of its own, to be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it may take a while to answer."""
        program = [sys.executable, "-c", "from photinus.cli import main; main()"]
        command = [*program, "serve", "--storage", "studies.db", "--port", str(self.port)]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        """End it, and all it started, without any time to say goodbye."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE_S)
            self._process = None

    def wait(self) -> None:
        """Until it answers."""

        def answers() -> bool:
            assert self._process is not None and self._process.poll() is None, self.log
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), 1.0) as line,
            ):
                line.sendall(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")
                return b" 200 " in line.recv(100)
            return False

        wait_until(answers, "the server answers")

    @property
    def log(self) -> str:
        """What it printed."""
        return (self._folder / "server.log").read_text()
