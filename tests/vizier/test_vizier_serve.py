"""`photinus serve --grpc-port`: what it opens, for whom, and what it says about that."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import PATIENCE_S, wait_until
from typer.testing import CliRunner
from vizier.service import clients
from vizier.service import pyvizier as vz
from vizier_servers import simple_config, talking_at

from photinus.cli import serving
from photinus.cli.app import app
from photinus.integrations import packages
from photinus.record import Role
from photinus.service import Settings
from photinus.service.auth import make_token
from photinus.storage import open_storage

PHOTINUS = [sys.executable, "-c", "from photinus.cli import main; main()"]
FREE_PORTS = ["--port", "0", "--grpc-port", "0"]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], dict[str, Any]]]]:
    """Starts a server on free ports, and gives what it says; it ends with the test."""
    with contextlib.ExitStack() as cleanup:

        def start(*words: object) -> tuple[subprocess.Popen[str], dict[str, Any]]:
            log = cleanup.enter_context((tmp_path / "serve.log").open("w"))
            process = subprocess.Popen(
                [*PHOTINUS, "serve", *FREE_PORTS, "--json", *map(str, words)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=tmp_path,
                start_new_session=True,
            )
            cleanup.enter_context(process)
            cleanup.callback(kill_group, process)
            assert process.stdout is not None
            lines = list(iter(process.stdout.readline, "}\n"))
            assert process.poll() is None, (tmp_path / "serve.log").read_text()
            return process, json.loads("".join(lines) + "}")

        yield start


def kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def prepare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Settings, str]]:
    """Goes through a command up to where the server would run: what it would be told, and what people are."""
    given: list[Settings] = []
    monkeypatch.setattr(serving, "run", lambda settings, listener, **options: given.append(settings))
    monkeypatch.chdir(tmp_path)

    def prepare(*words: str, **environment: str) -> tuple[Settings, str]:
        said = CliRunner().invoke(
            app, ["serve", *FREE_PORTS, *words], env=environment, catch_exceptions=False
        )
        return given.pop(), " ".join(said.stdout.split())

    return prepare


def add_token(address: Path) -> None:
    record, _ = make_token("ann", Role.ADMIN)
    storage = open_storage(str(address))
    storage.add_token(record)
    storage.close()  # pyright: ignore[reportAttributeAccessIssue]


def refuse(*words: object) -> str:
    """What a command says that does not start a server."""
    result = CliRunner().invoke(app, ["serve", "--storage", "memory", *map(str, words)])
    assert result.exit_code != 0
    return " ".join(result.stderr.split())


def is_listening(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def test_workers_share_a_port_of_this_machine_alone_and_it_ends_with_them(serve, tmp_path):
    add_token(tmp_path / "studies.db")
    process, facts = serve("--storage", "studies.db", "--host", "0.0.0.0", "--workers", 2)
    assert facts["tokens_required"] is True
    endpoint = facts["grpc_address"]
    assert endpoint.startswith("127.0.0.1:")
    wait_until(lambda: is_listening(endpoint), "the port is open")
    assert not is_listening(endpoint.replace("127.0.0.1", "127.0.0.2"))  # open on every address, it would be
    with talking_at(endpoint):
        study = clients.Study.from_study_config(simple_config(), owner="me", study_id="shared")
        for trial in study.suggest(count=3):
            trial.complete(vz.Measurement({"gain": trial.parameters["x"]}))
        assert len(list(study.optimal_trials())) == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert not is_listening(endpoint)


@pytest.mark.parametrize(
    ("words", "environment"),
    [(["--grpc-insecure"], {}), ([], {"PHOTINUS_GRPC_INSECURE": "true"})],
    ids=["option", "variable"],
)
def test_other_machines_come_in_where_it_is_said(prepare, tmp_path, words, environment):
    add_token(tmp_path / "studies.db")
    settings, said = prepare("--storage", "studies.db", "--host", "0.0.0.0", *words, **environment)
    assert (settings.tokens_required, settings.grpc_insecure) == (True, True)
    assert settings.grpc_address.startswith("0.0.0.0:")
    assert "without tokens: whoever reaches it may do everything" in said


def test_what_the_port_means_is_said_at_the_start(prepare):
    settings, said = prepare("--storage", "memory")
    assert f"google-vizier {settings.grpc_address}, without tokens: whoever is on this machine" in said
    assert not settings.grpc_insecure


def test_a_port_of_somebody_else_is_not_shared():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refuse("--port", 0, "--grpc-port", taken.getsockname()[1])
    assert "choose another --grpc-port" in said


def test_nor_is_that_of_another_server(vizier_server):
    said = refuse("--port", 0, "--grpc-port", vizier_server.endpoint.rpartition(":")[2])
    assert "choose another --grpc-port" in said


def test_insecure_is_about_a_port():
    assert "--grpc-insecure needs --grpc-port" in refuse("--grpc-insecure")


def test_a_package_that_is_too_old_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(packages.metadata, "version", lambda name: "1.69")
    said = refuse("--grpc-port", 0)
    assert "this needs grpcio >= 1.70, but 1.69 is installed" in said
    assert 'pip install --upgrade "photinus[vizier]"' in said


def test_a_package_that_is_missing_is_too(monkeypatch):
    def version(name: str) -> str:
        raise packages.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(packages.metadata, "version", version)
    said = refuse("--grpc-port", 0)
    assert 'this needs grpcio, which is not installed: pip install --upgrade "photinus[vizier]"' in said
