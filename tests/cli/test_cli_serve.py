"""serve: what it refuses, what it says, and how it ends."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT

from photinus.cli.serving import is_loopback, listen

PHOTINUS = str(Path(sys.executable).with_name("photinus"))
LIMIT_S = 120  # for whatever a test waits for


class Served:
    """A server that a test started: its process, and what it printed first."""

    def __init__(self, process: subprocess.Popen[str], facts: dict[str, Any]) -> None:
        self.process = process
        self.facts = facts
        self.port = int(facts["url"].rpartition(":")[2])

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, Any]]:
        """Status and document of an answer."""
        request = urllib.request.Request(self.facts["url"] + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[..., Served]]:
    """Starts servers on free ports; they end with the test."""
    with contextlib.ExitStack() as cleanup:

        def start(*words: object) -> Served:
            log = cleanup.enter_context((folder / "serve.log").open("w"))
            process = subprocess.Popen(
                [PHOTINUS, "serve", "--port", "0", "--json", *map(str, words)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=folder,
                start_new_session=True,  # so that a signal to its group is none to the tests
            )
            cleanup.enter_context(process)
            cleanup.callback(kill_group, process)
            assert process.stdout is not None
            lines = list(iter(process.stdout.readline, "}\n"))
            assert process.poll() is None, (folder / "serve.log").read_text()
            return Served(process, json.loads("".join(lines) + "}"))

        yield start


def kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {LIMIT_S} s"
        time.sleep(0.05)


def answers(served: Served) -> bool:
    try:
        return served.get("/healthz")[0] == 200
    except OSError:
        return False


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def num_in_session(leader: int) -> int:
    """How many processes belong to the session of a server, its engine included."""
    done = subprocess.run(["ps", "-o", "stat=", "-s", str(leader)], capture_output=True, text=True)
    return sum(not line.startswith("Z") for line in done.stdout.split())


def begin_request(port: int) -> socket.socket:
    """A request whose body does not come: the server has something to finish."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
    head = "POST /api/v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: 100\r\n\r\n".encode() + b"{")
    return connection


def test_it_serves_until_it_is_told_to_end(serve, folder):
    served = serve("--storage", "studies.db")
    assert served.facts["storage"] == "studies.db"
    assert served.facts["url"] == f"http://127.0.0.1:{served.port}"
    assert (served.facts["tokens_required"], served.facts["workers"]) == (False, 1)
    assert served.get("/api/v1/whoami")[1]["role"] == "admin"
    assert served.get("/api/v1/studies")[1]["studies"] == []
    assert (folder / "studies.db").exists()
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(LIMIT_S) == 0
    wait_for(lambda: num_in_session(served.process.pid) == 0, "the end of all its processes")
    assert "Traceback" not in (folder / "serve.log").read_text()


def test_ctrl_c_ends_it_and_its_engine_quietly(serve, folder):
    served = serve()
    wait_for(lambda: served.get("/readyz")[0] == 200, "readiness")
    os.killpg(served.process.pid, signal.SIGINT)  # as a terminal does: everyone hears it
    assert served.process.wait(LIMIT_S) == 0
    wait_for(lambda: num_in_session(served.process.pid) == 0, "the end of all its processes")
    assert "Traceback" not in (folder / "serve.log").read_text()


def test_a_second_signal_ends_it_at_once(serve):
    served = serve()
    wait_for(lambda: answers(served), "an answer")
    with begin_request(served.port):
        served.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not is_listening(served.port), "the end of listening")
        assert served.process.poll() is None
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(LIMIT_S) == 128 + signal.SIGTERM
    wait_for(lambda: num_in_session(served.process.pid) == 0, "the end of all its processes")


def workers_of(served: Served) -> set[int]:
    """Ids of the server processes under a supervisor."""
    words = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(served.process.pid)]
    lines = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()
    return {int(line.split()[0]) for line in lines if "spawn_main" in line}


def test_workers_share_a_port_and_are_replaced_and_end_together(serve):
    served = serve("--workers", 2)
    wait_for(lambda: answers(served), "an answer")
    first = workers_of(served)
    assert len(first) == 2
    victim = min(first)
    os.kill(victim, signal.SIGKILL)
    wait_for(lambda: len(workers_of(served) - {victim}) == 2, "a replacement")
    wait_for(lambda: answers(served), "an answer")
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(LIMIT_S) == 0
    wait_for(lambda: num_in_session(served.process.pid) == 0, "the end of all its processes")
    assert not is_listening(served.port)


@pytest.mark.long
def test_workers_do_not_outlive_a_supervisor_that_was_killed(serve):
    served = serve("--workers", 2)
    wait_for(lambda: answers(served), "an answer")
    served.process.kill()
    wait_for(lambda: num_in_session(served.process.pid) == 0, "the end of all its processes")
    assert not is_listening(served.port)


def test_with_tokens_nobody_else_comes_in(photinus, as_json, serve):
    token = as_json("token", "create", "alice", "--role", "admin")["token"]
    served = serve("--host", "0.0.0.0")
    assert served.facts["tokens_required"] is True
    assert served.get("/api/v1/whoami")[0] == 401
    assert served.get("/api/v1/whoami", Authorization=f"Bearer {token[:-1]}")[0] == 401
    status, who = served.get("/api/v1/whoami", Authorization=f"Bearer {token}")
    assert (status, who["name"], who["role"]) == (200, "alice", "admin")


def make_certificate(folder: Path, password: str | None) -> tuple[Path, Path]:
    """A certificate for localhost, signed by itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=localhost -days 2"
    protection = ["-noenc"] if password is None else ["-passout", f"pass:{password}"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [*words.split(), *names, *protection, "-keyout", key, "-out", cert], check=True, capture_output=True
    )
    return cert, key


def test_tls_with_a_protected_key(serve, folder, monkeypatch):
    cert, key = make_certificate(folder, "open sesame")
    monkeypatch.setenv("PHOTINUS_TLS_KEY_PASSWORD", "open sesame")
    served = serve("--tls-cert", cert, "--tls-key", key)
    assert served.facts["url"].startswith("https://")
    context = ssl.create_default_context(cafile=cert)
    url = f"https://localhost:{served.port}/healthz"
    with urllib.request.urlopen(url, timeout=LIMIT_S, context=context) as answer:
        assert answer.status == 200


def test_tls_files_that_do_not_fit_are_refused_before_anything_starts(photinus, folder):
    cert, key = make_certificate(folder, "open sesame")
    assert (
        "PHOTINUS_TLS_KEY_PASSWORD" in photinus("serve", "--tls-cert", cert, "--tls-key", key, code=2).stderr
    )
    assert "PEM" in photinus("serve", "--tls-cert", key, "--tls-key", cert, code=2).stderr
    assert "--tls-key needs --tls-cert" in photinus("serve", "--tls-key", key, code=2).stderr


@pytest.mark.parametrize("words", [["--host", "0.0.0.0"], ["--host", "::"], ["--token-required"]])
def test_without_a_valid_token_it_does_not_start_where_tokens_are_demanded(photinus, as_json, words):
    complaint = photinus("serve", "--port", 0, *words, code=4).stderr
    assert "photinus token create NAME --role admin --storage photinus.db" in complaint
    made = as_json("token", "create", "gone")
    photinus("token", "revoke", made["id"])
    assert "has no valid one" in photinus("serve", "--port", 0, *words, code=4).stderr


def test_a_store_of_an_older_version_is_left_alone(photinus, folder):
    script = (ROOT / "tests" / "storage" / "first_schema" / "store.sql").read_text()
    with contextlib.closing(sqlite3.connect(folder / "old.db")) as store:
        store.executescript(script)
    before = (folder / "old.db").read_bytes()
    complaint = photinus("serve", "--storage", "old.db", "--port", 0, code=5).stderr
    assert "photinus storage upgrade --storage old.db" in complaint
    assert (folder / "old.db").read_bytes() == before


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "prometheus_client"])
def test_a_missing_package_names_the_extra(photinus, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    complaint = photinus("serve", code=2).stderr
    assert package in complaint
    assert 'pip install "photinus[server]"' in complaint


def test_a_port_that_is_taken_says_so(photinus):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "choose another --port" in photinus("serve", "--port", port, code=2).stderr


@pytest.mark.parametrize("host", ["", "no.such.machine.invalid"])
def test_a_host_that_is_none_says_so(photinus, host):
    assert "--host must be an address of this machine" in photinus("serve", "--host", host, code=2).stderr


def test_a_store_in_memory_is_for_one_process_without_tokens(photinus, folder):
    assert "has one process" in photinus("serve", "--storage", "memory", "--workers", 2, code=2).stderr
    assert "has no tokens" in photinus("serve", "--storage", "memory", "--token-required", code=2).stderr
    assert not (folder / "memory").exists()


def test_settings_in_the_environment_are_checked(photinus, monkeypatch):
    monkeypatch.setenv("PHOTINUS_STORE_THREADS", "many")
    assert "PHOTINUS_STORE_THREADS" in photinus("serve", code=2).stderr


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.7", False),
    ],
)
def test_what_only_this_machine_reaches(host, expected):
    assert is_loopback(host) is expected


def test_answers_do_not_wait_for_acknowledgements():
    with listen("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
