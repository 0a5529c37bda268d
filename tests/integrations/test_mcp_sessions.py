"""`photinus mcp` as a process: several sessions, sessions that die, other transports, and what is missing."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client
from mcp_sessions import PROGRAM, STUDY, Agent, process, run
from serving import PATIENCE_S, served

import photinus as ph
from photinus.service import Settings
from photinus.service.auth import make_token
from photinus.storage import open_storage

STORE = ("--storage", "studies.db")


def test_a_session_over_standard_input_and_output(tmp_path: Path):
    async def script() -> None:
        async with process(tmp_path, *STORE) as agent:
            await agent.call("create_study", **STUDY)
            [trial] = (await agent.call("ask", study="net", worker="ann"))["trials"]
            await agent.call("tell", study="net", trial=trial["number"], values=0.5)
            assert "UnknownStudy" in await agent.refused("ask", study="nope")

    run(script)
    assert ph.load_study("net", storage=str(tmp_path / "studies.db")).best_trial.values == {"error": 0.5}


@pytest.mark.long
def test_an_agent_is_given_reasons_predictions_and_advice(tmp_path: Path):
    async def script() -> None:
        async with process(tmp_path, *STORE) as agent:
            await agent.call("create_study", **{**STUDY, "algorithm": "default"})
            for _ in range(5):
                [trial] = (await agent.call("ask", study="net", worker="ann"))["trials"]
                await agent.call(
                    "tell", study="net", trial=trial["number"], values=1.0 / trial["params"]["layers"]
                )
            assert set(trial["reason"]) == {"method", "intent", "predicted", "nearest", "trust_region"}
            assert trial["reason"]["predicted"]["error"]["q50"] is not None
            assert "expected error" in trial["why"]
            points = [{**trial["params"], "layers": layers} for layers in (1, 8)]
            predicted = await agent.call("predict", study="net", points=points)
            worse, better = (row["error"]["q50"] for row in predicted["predictions"])
            assert worse > better
            advice = await agent.call("advise", study="net")
            assert advice["verdict"] in ("go_on", "little_to_gain")
            [outlook] = advice["objectives"]
            assert 0.0 <= outlook["chance_of_gain"] <= 1.0 and outlook["expected_gain"] >= 0.0
            assert set(outlook["promising_params"]) == {"lr", "layers", "opt"}

    run(script)


def test_two_sessions_at_once_share_a_study(tmp_path: Path):
    numbers: list[int] = []

    async def work(agent: Agent, worker: str) -> None:
        for _ in range(5):
            [trial] = (await agent.call("ask", study="net", worker=worker))["trials"]
            numbers.append(trial["number"])
            await agent.call("tell", study="net", trial=trial["number"], values=float(trial["number"]))

    async def script() -> None:
        async with process(tmp_path, *STORE) as ann, process(tmp_path, *STORE) as bob:
            await ann.call("create_study", **STUDY)
            async with anyio.create_task_group() as group:
                group.start_soon(work, ann, "ann")
                group.start_soon(work, bob, "bob")
            [study] = (await ann.call("list_studies"))["studies"]
            assert study["num_finished"] == 10

    run(script)
    assert sorted(numbers) == list(range(10))
    workers = [trial.worker for trial in ph.load_study("net", storage=str(tmp_path / "studies.db")).trials]
    assert workers.count("ann") == workers.count("bob") == 5


class RawSession:
    """The protocol by hand, in an older version of it, with a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *PROGRAM, *STORE],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.request("initialize", **about)
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        self.send(id=1, method=method, params=params)
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.request("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def interrupt(self) -> int:
        """As a terminal and some clients do to end it; its return code."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[RawSession]:
    session = RawSession(tmp_path)
    try:
        yield session
    finally:
        session.kill()


def test_a_killed_session_loses_nothing(tmp_path: Path, raw: RawSession):
    raw.call("create_study", **STUDY)
    first = raw.call("ask", study="net", count=3, worker="ann")["trials"]
    raw.call("tell", study="net", trial=0, values=0.5)
    raw.kill()

    async def script() -> None:
        async with process(tmp_path, *STORE) as agent:
            described = await agent.call("describe_study", study="net")
            assert described["states"] == {"active": 2, "completed": 1}
            assert described["open_trials"] == first[1:]
            again = await agent.call("ask", study="net", count=2, worker="ann")
            assert again["trials"] == first[1:]

    run(script)


def test_an_interrupt_ends_a_session_that_waits_for_input(raw: RawSession):
    raw.call("list_studies")
    assert raw.interrupt() == -signal.SIGINT


def test_loopback_http(tmp_path: Path):
    server = subprocess.Popen(
        [sys.executable, *PROGRAM, *STORE, "--http-port", "0"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        url = server.stdout.readline().split()[-1]
        assert url.startswith("http://127.0.0.1:") and url.endswith("/mcp")

        async def script() -> None:
            async with Client(url) as ann, Client(url) as bob:
                await Agent(ann).call("create_study", **STUDY)
                assert (await Agent(bob).call("ask", study="net"))["trials"][0]["number"] == 0

        run(script)
        # A page on the internet that made its own name point here must not get in.
        headers = {"Host": "evil.example", "Accept": "application/json, text/event-stream"}
        assert httpx.post(url, headers=headers, json={}).status_code in (403, 421)
        port = url.split(":")[2].removesuffix("/mcp")
        taken = photinus_mcp(tmp_path, *STORE, "--http-port", port)
        assert taken.returncode == 2 and taken.stderr.endswith("choose another --http-port\n")
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
        server.stdout.close()


def test_a_server_in_place_of_a_store(tmp_path: Path):
    address = str(tmp_path / "server.db")
    token, secret = make_token("agent", "write", project="vision")
    storage = open_storage(address)
    storage.add_token(token)
    with served(Settings(storage=address, tokens_required=True)) as url:

        async def script() -> None:
            async with process(tmp_path, "--url", url, PHOTINUS_TOKEN=secret) as agent:
                assert (await agent.call("create_study", **STUDY))["project"] == "vision"
                await agent.call("ask", study="net")
                await agent.call("tell", study="net", trial=0, values=0.25)

        run(script)
        wrong = photinus_mcp(tmp_path, "--url", url, PHOTINUS_TOKEN="pho_wrong")
        assert wrong.returncode == 4 and wrong.stdout == "" and "pho_wrong" not in wrong.stderr
    assert [trial.values for trial in ph.load_study("net", storage=address, project="vision").trials] == [
        {"error": 0.25}
    ]


def test_standard_output_is_the_agents(tmp_path: Path):
    done = photinus_mcp(tmp_path, *STORE, "--json")
    assert done.returncode == 2 and done.stdout == "" and "--json needs --http-port" in done.stderr


def test_a_store_that_cannot_be_opened_is_told_before_the_session(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("no database, and too long for an empty one\n" * 100)
    done = photinus_mcp(tmp_path, "--storage", "notes.txt")
    assert done.returncode == 5 and done.stdout == "" and "notes.txt" in done.stderr


def test_a_missing_package_is_named_with_the_line_that_installs_it(tmp_path: Path):
    (tmp_path / "hide.py").write_text("""
import importlib.metadata, sys
found = importlib.metadata.version
def version(name):
    if name == "mcp":
        raise importlib.metadata.PackageNotFoundError(name)
    return found(name)
importlib.metadata.version = version
sys.modules["mcp"] = None
from photinus.cli import main
sys.argv = ["photinus", "mcp"]
main()
""")
    done = subprocess.run([sys.executable, "hide.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert 'this needs mcp, which is not installed: pip install --upgrade "photinus[mcp]"' in done.stderr
    assert not list(tmp_path.glob("*.db"))


@pytest.mark.long
def test_the_example_runs():
    example = Path(__file__).parents[2] / "examples" / "mcp_agent.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "trial 11 is active" in done.stdout and "one more trial gains" in done.stdout


def photinus_mcp(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A session that ends at once."""
    return subprocess.run(
        [sys.executable, *PROGRAM, *words],
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
