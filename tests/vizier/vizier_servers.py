"""Servers for google-vizier's own client, and what it asks of them."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from serving import PATIENCE_S, free_port, wait_until
from vizier._src.service import stubs_util
from vizier.service import clients, pyvizier


@dataclass(frozen=True, slots=True)
class VizierServer:
    """A server with a port for google-vizier clients."""

    url: str
    endpoint: str

    def call(self, method: str, path: str, body: object = None) -> Any:
        """A request to the HTTP API, as the dashboard sends it; `path` follows that of the study or of all studies."""
        answer = httpx.request(method, f"{self.url}/api/v1/studies{path}", json=body, timeout=PATIENCE_S)
        answer.raise_for_status()
        return answer.json()

    def study_path(self, project: str, name: str) -> str:
        """Where the HTTP API has a study."""
        [found] = self.call("GET", f"?project={project}&name={name}")["studies"]
        return f"/{found['id']}"


class VizierProcess:
    """A server in a process of its own, with a store on disk; can be killed and started again."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.port, grpc_port = free_port(), free_port()
        self.url, self.endpoint = f"http://127.0.0.1:{self.port}", f"127.0.0.1:{grpc_port}"
        self._folder = folder
        given = {
            "storage": str(folder / "studies.db"),
            "tokens_required": False,
            "grpc_address": self.endpoint,
            **settings,
        }
        self._variables = {f"PHOTINUS_{name.upper()}": str(value) for name, value in given.items()}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        application = ["--factory", "photinus.service.app:app_from_environment", "--port", str(self.port)]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "uvicorn", *application],
                env=os.environ | self._variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._answers, "the server answers")

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, self.log
        with grpc.insecure_channel(self.endpoint) as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=1)
            except grpc.FutureTimeoutError:
                return False
        return True

    def kill(self) -> None:
        """End it, and all it started, without any time to say goodbye."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE_S)
            self._process = None

    @property
    def pid(self) -> int:
        """Id of the process that answers."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """What it printed."""
        return (self._folder / "server.log").read_text()


@contextlib.contextmanager
def running(folder: Path, **settings: object) -> Iterator[VizierProcess]:
    """A server that ends with the block, and google-vizier's client talking to it."""
    server = VizierProcess(folder, **settings)
    try:
        server.start()
        with talking_at(server.endpoint):
            yield server
    finally:
        server.kill()


@contextlib.contextmanager
def talking_at(endpoint: str) -> Iterator[None]:
    """Have google-vizier's client talk to whoever listens there; it has one address for the whole process."""
    variables = clients.environment_variables
    before = variables.server_endpoint, variables.new_suggestion_polling_secs
    variables.server_endpoint, variables.new_suggestion_polling_secs = endpoint, 0.0
    try:
        yield
    finally:
        variables.server_endpoint, variables.new_suggestion_polling_secs = before
        stubs_util.create_vizier_server_stub.cache_clear()  # closes its connections


def refused(call: Callable[[], object], code: grpc.StatusCode, *words: str) -> None:
    """The call fails with that code, and the message has the words."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    assert caught.value.code() == code, caught.value.details()
    for word in words:
        assert word in caught.value.details()


def simple_config(algorithm: str = "RANDOM_SEARCH") -> pyvizier.StudyConfig:
    """One number to choose and one to maximise."""
    config = pyvizier.StudyConfig(algorithm=algorithm)
    config.search_space.root.add_float_param("x", 0.0, 1.0)
    config.metric_information.append(
        pyvizier.MetricInformation(name="gain", goal=pyvizier.ObjectiveMetricGoal.MAXIMIZE)
    )
    return config


def mixed_config(algorithm: str = "RANDOM_SEARCH") -> pyvizier.StudyConfig:
    """Parameters of all kinds, and two objectives."""
    config = pyvizier.StudyConfig(algorithm=algorithm)
    root = config.search_space.root
    root.add_float_param("lr", 1e-4, 1e-1, scale_type=pyvizier.ScaleType.LOG, default_value=1e-2)
    root.add_int_param("layers", 1, 8)
    root.add_discrete_param("batch", [16, 32, 64])
    root.add_discrete_param("rate", [0.1, 0.5])
    root.add_bool_param("is_deep")
    root.add_categorical_param("optimizer", ["adam", "sgd"], default_value="sgd")
    config.metric_information.append(
        pyvizier.MetricInformation(name="accuracy", goal=pyvizier.ObjectiveMetricGoal.MAXIMIZE)
    )
    config.metric_information.append(
        pyvizier.MetricInformation(name="seconds", goal=pyvizier.ObjectiveMetricGoal.MINIMIZE)
    )
    return config
