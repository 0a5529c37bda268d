"""A server in this process, and its API as short calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.testclient import TestClient

import photinus as ph
from photinus.problem import Problem
from photinus.service import Settings, create_app
from photinus.service.auth import make_token
from photinus.service.server import Server

API = "/api/v1"
ONE = Problem.define({"x": ph.Float(0, 1)}).to_dict()
TWO = Problem.define({"x": ph.Float(0, 1)}, {"cost": "minimize", "gain": "maximize"}).to_dict()
MIXED = Problem.define(
    {
        "lr": ph.Float(1e-5, 0.1, scale="log"),
        "layers": ph.Int(1, 8),
        "batch": ph.Discrete([16, 32, 64]),
        "opt": ph.Categorical(["adam", "sgd", True, None, 2]),
    },
    {"error": "minimize"},
).to_dict()


class Api:
    """Calls that must succeed, unless another status is expected."""

    def __init__(self, client: TestClient, server: Server) -> None:
        self.client = client
        self.server = server

    def call(self, method: str, path: str, *, status: int = 200, **options: Any) -> Any:
        """One request; `path` is relative to the API unless it starts with two slashes."""
        url = path[1:] if path.startswith("//") else API + path
        response = self.client.request(method, url, **options)
        assert response.status_code == status, f"{response.status_code} {response.text[:1000]}"
        return response

    def get(self, path: str, **options: Any) -> Any:
        return self.call("GET", path, **options).json()

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        response = self.call("POST", path, json=body, **options)
        return response.json() if response.content else None

    def patch(self, path: str, body: Any, **options: Any) -> Any:
        return self.call("PATCH", path, json=body, **options).json()

    def refused(self, method: str, path: str, status: int, kind: str, **options: Any) -> str:
        """A request that must fail in that way; its message."""
        error = self.call(method, path, status=status, **options).json()["error"]
        assert error["kind"] == kind, error
        return error["message"]

    def create(self, problem: dict[str, Any] = ONE, **fields: Any) -> int:
        """A study that suggests at random; its id."""
        body = {"problem": problem, "algorithm": "random", "seed": 0, **fields}
        return self.post("/studies", body, status=201)["id"]

    def told(self, study_id: int, *values: Any) -> None:
        """Ask for as many trials, and tell them these values."""
        for trial, value in zip(self.ask(study_id, len(values)), values, strict=True):
            self.post(f"/studies/{study_id}/trials/{trial['number']}/tell", {"values": value})

    def ask(self, study_id: int, count: int = 1, **options: Any) -> list[dict[str, Any]]:
        return self.post(f"/studies/{study_id}/ask", {"count": count, **options.pop("body", {})}, **options)[
            "trials"
        ]

    def token(self, role: str, project: str | None = None) -> str:
        """The text of a new token."""
        record, text = make_token(f"{role} of {project}", role, project=project)
        self.server.storage.add_token(record)
        return text


@contextmanager
def serving(storage: str = "memory", **fields: Any) -> Iterator[Api]:
    """A running server that needs no tokens, unless told so."""
    settings = Settings(**{"storage": storage, "tokens_required": False, "grace_s": 0.0, **fields})
    app = create_app(settings)
    with TestClient(
        app, base_url="http://localhost", client=("127.0.0.1", 50000), raise_server_exceptions=False
    ) as client:
        yield Api(client, app.state.server)


def bearer(token: str) -> dict[str, str]:
    """The header that carries a token."""
    return {"Authorization": f"Bearer {token}"}
