"""A real server for a browser, and what a browser has to say about its pages."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn

import photinus as ph
from photinus.record import NewTrial
from photinus.service import Settings, create_app
from photinus.service.auth import make_token
from photinus.storage import Storage
from photinus.trial import Measurement

PATIENCE_S = 90.0
HOSTILE = "</td><script>alert('x')</script><b>bold</b> \u202egnp.exe\u202c \u200f&amp; ${x}"
SPACE = {
    "lr": ph.Float(1e-5, 1e-1, scale="log"),
    "layers": ph.Int(1, 8),
    "batch": ph.Discrete([16, 32, 64, 128]),
    "optimizer": ph.Categorical(["adam", "sgd", None]),
}


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    """Look again and again; fail with what was waited for."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:g} s in vain: {what}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Site:
    """A running server, its store, and where it is."""

    url: str
    storage: Storage

    def connect(self, token: str | None = None) -> Any:
        return ph.connect(self.url, token=token)

    def token(self, role: str, project: str | None = None) -> str:
        """The text of a new token."""
        record, text = make_token(f"{role} of {project}", role, project=project)
        self.storage.add_token(record)
        return text

    def add_study(
        self,
        name: str,
        objectives: dict[str, str] | None = None,
        space: dict[str, Any] = SPACE,
        algorithm: str = "quasi_random",
        **fields: Any,
    ) -> int:
        """A study in the store; its id."""
        problem = ph.Problem.define(space, objectives or {"error": "minimize"})
        record = self.storage.create_study(
            project="default",
            name=name,
            problem=problem,
            algorithm=algorithm,
            seed=0,
            metadata=fields.get("metadata", {}),
        )
        return record.id

    def add_measured(
        self, study_id: int, points: list[tuple[dict[str, Any], dict[str, float] | str]]
    ) -> None:
        """Trials measured elsewhere; text instead of values says why there are none."""
        self.storage.add_trials(
            study_id,
            [
                NewTrial(
                    params,
                    Measurement.infeasible(outcome)
                    if isinstance(outcome, str)
                    else Measurement.completed(outcome),
                    {},
                )
                for params, outcome in points
            ],
        )


@contextlib.contextmanager
def running_site(*, port: int = 0, **settings: Any) -> Iterator[Site]:
    """A server with a store in memory, in a thread of this process."""
    app = create_app(Settings(**{"storage": "memory", "tokens_required": False, "grace_s": 0.0, **settings}))
    listener = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), "the server starts")
        assert server.started
        yield Site(f"http://127.0.0.1:{listener.getsockname()[1]}", app.state.server.storage)
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listener.close()
        assert not thread.is_alive(), "the server does not end"


@dataclass
class Visit:
    """A page in a browser, and every complaint of that browser: errors, refusals of the policy, foreign addresses."""

    page: Any
    url: str
    expected: list[str] = field(default_factory=list)  # parts of complaints that belong to the test
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Collect complaints from now on."""
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a script ran"), dialog.dismiss()))
        self.page.on("request", self._on_request)

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)

    def wait_for(self, script: str, argument: Any = None) -> None:
        """Until a function of the page gives true; a bare expression would be evaluated, which the policy forbids."""
        assert "=>" in script
        self.page.wait_for_function(script, arg=argument, timeout=PATIENCE_S * 1000)

    def check(self) -> None:
        """Nobody complained."""
        unexpected = [text for text in self.complaints if not any(part in text for part in self.expected)]
        assert unexpected == []

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.complaints.append(f"fetched {request.url}")
