"""The factory under a real ASGI server, as `uvicorn --factory` and others start it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from api_calls import ONE

from photinus.service import Settings
from photinus.service.auth import make_token
from photinus.storage import open_storage

LIMIT_S = 120.0


@pytest.fixture
def token(tmp_path: Path) -> str:
    """A token of the store that the server will open."""
    storage = open_storage(tmp_path / "studies.db")
    record, text = make_token("team", "write", project="p")
    storage.add_token(record)
    return text


@pytest.fixture
def server(tmp_path: Path, token: str) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    """A server process, its address, and the file that its log goes to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = Settings(storage=str(tmp_path / "studies.db"), max_body_bytes=5000, grace_s=1.0)
    command = [sys.executable, "-m", "uvicorn", "--factory", "photinus.service.app:app_from_environment"]
    log = tmp_path / "log.txt"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--no-access-log"],
            env=os.environ | settings.to_environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield process, f"http://127.0.0.1:{port}", log
    finally:
        process.kill()
        process.wait(LIMIT_S)


def wait_until_ready(client: httpx.Client, log: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def test_a_server_process_works_and_ends_in_good_order(
    server: tuple[subprocess.Popen[str], str, Path], token: str
):
    process, address, log = server
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=address, headers=headers, timeout=LIMIT_S) as client:
        wait_until_ready(client, log)
        assert client.get("/api/v1/whoami").json()["project"] == "p"
        body = {"problem": ONE, "algorithm": "random"}
        study = client.post("/api/v1/studies", json=body).raise_for_status().json()
        path = f"/api/v1/studies/{study['id']}"
        [trial] = client.post(f"{path}/ask", json={}).raise_for_status().json()["trials"]
        client.post(f"{path}/trials/{trial['number']}/tell", json={"values": 1}).raise_for_status()

        # Sent in pieces, a body announces no length; the server must count for itself, and answer.
        pieces = (b" " * 1000 for _ in range(50))
        answer = client.post(f"{path}/ask", content=pieces, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413 and answer.json()["error"]["kind"] == "ArgumentError"
        assert client.get(f"{path}/count").json() == {"total": 1, "finished": 1}

    process.send_signal(signal.SIGTERM)
    process.wait(LIMIT_S)
    text = log.read_text()
    assert "Application shutdown complete" in text and "Traceback" not in text, text
    assert token.split("_", 2)[2] not in text
