"""What agents can do with studies, and what they are told when they may not."""

import json
import re
import threading
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference
from mcp_sessions import PARAMETERS, STUDY, Agent, act, run

import photinus as ph
from photinus.errors import StorageError
from photinus.integrations import mcp_calls
from photinus.integrations.mcp_server import make_server
from photinus.local import LocalBackend, open_backend

READING = {"list_studies", "describe_study", "list_trials", "best_trials", "predict", "advise"}
TOOLS = READING | {"create_study", "ask", "tell", "amend", "release", "add_point"}
POINT = {"lr": 1e-3, "layers": 2, "opt": "adam"}


@pytest.fixture
def backend() -> LocalBackend:
    return open_backend(ph.MemoryStorage())


def content_of(backend: LocalBackend) -> list[Any]:
    """Everything that is stored."""
    return [(record, backend.get_trials(record.id)) for record in backend.list_studies()]


def test_every_tool_describes_itself(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert set(tools) == TOOLS
        for name, tool in tools.items():
            assert tool.title and tool.description and "\n   " not in tool.description
            assert tool.output_schema is not None and tool.output_schema["type"] == "object"
            assert tool.input_schema["additionalProperties"] is False
            for argument in tool.input_schema["properties"].values():
                assert argument.get("description") or "items" in argument, (name, argument)
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is (name in READING)
            assert tool.annotations.open_world_hint is False
            if name not in READING:
                assert tool.annotations.destructive_hint is (name == "amend")
                assert tool.annotations.idempotent_hint is (name == "tell")

    act(backend, script)


def test_a_loop_of_asking_and_telling(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        created = await agent.call("create_study", **STUDY)
        assert [parameter["name"] for parameter in created["parameters"]] == ["lr", "layers", "opt"]
        asked = await agent.call("ask", study="net", count=3)
        assert [trial["number"] for trial in asked["trials"]] == [0, 1, 2]
        first = asked["trials"][0]
        assert first["reason"] == {"method": "random"} and first["why"] == "a random point"
        assert set(first["params"]) == {"lr", "layers", "opt"}

        told = await agent.call("tell", study="net", trial=0, values={"error": 0.25})
        assert told["trials"][0]["state"] == "completed" and told["trials"][0]["values"] == {"error": 0.25}
        await agent.call("tell", study="net", trial=1, infeasible="too hot")
        assert await agent.text("tell", study="net", trial=2, failed="power cut") == (
            "trial 2 is failed: power cut"
        )
        described = await agent.call("describe_study", study="net")
        assert described["states"] == {"completed": 1, "infeasible": 1, "failed": 1}
        assert [trial["number"] for trial in described["best_trials"]] == [0]
        assert described["open_trials"] == []
        listed = await agent.call("list_studies")
        assert [(study["name"], study["num_finished"]) for study in listed["studies"]] == [("net", 3)]

    act(backend, script)
    study = ph.Study(backend, backend.find_study("default", "net"))
    assert [trial.state for trial in study.trials] == ["completed", "infeasible", "failed"]
    assert study.trials[1].message == "too hot"


def test_text_says_what_the_data_say(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        assert "no such studies in project default" in await agent.text("list_studies")
        await agent.call("create_study", **STUDY)
        text = await agent.text("ask", study="net")
        [trial] = (await agent.call("list_trials", study="net"))["trials"]
        assert text.startswith(f"trial 0 is active; at lr={trial['params']['lr']!r}, layers=")
        assert "why: a random point" in text
        await agent.call("tell", study="net", trial=0, values=0.5)
        assert "trial 0 is completed: error=0.5" in await agent.text("best_trials", study="net")
        assert "net: minimize error; 1 of 1 trials finished, 0 running" in await agent.text("list_studies")
        summary = await agent.text("describe_study", study="net")
        assert "parameter layers: Int(low=1, high=8" in summary and "best: trial 0" in summary

    act(backend, script)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("ask", {"study": "nett"}, r"UnknownStudy: there is no study 'nett' .* list_studies shows"),
        (
            "ask",
            {"study": "net", "n": 3},
            r"ArgumentError: `n`: Extra inputs .* got 3; ask takes study, count",
        ),
        (
            "ask",
            {"study": "net", "count": 0},
            r"ArgumentError: `count`: .* greater than or equal to 1, got 0",
        ),
        ("ask", {"study": "net", "worker": ""}, r"ArgumentError: `worker` must be"),
        ("tell", {"study": "net", "trial": 0}, r"ArgumentError: exactly one of values"),
        ("tell", {"study": "net", "trial": 9, "values": 1.0}, r"UnknownTrial: .* got number=9"),
        ("tell", {"study": "net", "trial": 0, "values": True}, r"ArgumentError: `values.*got True"),
        ("tell", {"study": "net", "trial": 0, "values": {"loss": 1.0}}, r"ValuesError: .*exactly 'error'"),
        ("tell", {"study": "net", "trial": 0, "values": 1.0, "failed": "x"}, r"exactly one of values"),
        ("tell", {"study": "net", "trial": "0"}, r"ArgumentError: `trial`: .*integer, got '0'"),
        ("amend", {"study": "net", "trial": 0, "values": 1.0}, r"InvalidState: "),
        ("release", {"study": "net", "trial": 9}, r"UnknownTrial: "),
        ("add_point", {"study": "net", "params": {"lr": 1e-3}}, r"ParameterError: .*missing 'layers', 'opt'"),
        (
            "add_point",
            {"study": "net", "params": {**POINT, "lr": 9.0}},
            r"^ParameterError: parameter 'lr' must be",
        ),
        ("predict", {"study": "net", "points": [{"lr": 1e-3}]}, r"ParameterError: every parameter needs"),
        ("create_study", STUDY, r"DuplicateStudy: "),
        (
            "create_study",
            {**STUDY, "load_if_exists": True, "objectives": {"e": "minimize"}},
            "StudyMismatch: ",
        ),
        (
            "create_study",
            {**STUDY, "name": "b", "parameters": []},
            r"`parameters`: .*at least 1 item.*got \[\]",
        ),
        ("create_study", {**STUDY, "name": "b", "objectives": {}}, r"ProblemError: .*one or more objectives"),
        ("create_study", {**STUDY, "name": "b", "objectives": {"e": "down"}}, r"objectives.e.*got 'down'"),
        ("create_study", {**STUDY, "name": "b", "seed": -1}, r"ArgumentError: `seed` must be an integer"),
        (
            "create_study",
            {**STUDY, "name": "b", "parameters": [*PARAMETERS, PARAMETERS[0]]},
            r"SpaceError: .*distinct names, got 'lr' more than once",
        ),
        (
            "create_study",
            {**STUDY, "name": "b", "parameters": [{"name": "x", "type": "float", "low": 2, "high": 1}]},
            r"SpaceError: parameter 'x': `low <= high` must hold, got low=2.0, high=1.0",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_the_reason(
    backend: LocalBackend, tool: str, arguments: dict[str, Any], words: str
):
    async def script(agent: Agent) -> None:
        await agent.call("create_study", **STUDY)
        await agent.call("ask", study="net")
        before = content_of(backend)
        assert re.search(words, await agent.refused(tool, **arguments), re.DOTALL)
        assert content_of(backend) == before

    act(backend, script)


def test_an_outcome_is_told_once_and_corrected_on_record(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        await agent.call("create_study", **STUDY)
        await agent.call("ask", study="net")
        for _ in range(2):  # the same again changes nothing
            await agent.call("tell", study="net", trial=0, values=0.5)
        assert "AlreadyTold" in await agent.refused("tell", study="net", trial=0, values=0.6)
        amended = await agent.call("amend", study="net", trial=0, values=0.6)
        assert amended["trials"][0]["values"] == {"error": 0.6}

    act(backend, script)
    [(_, [trial])] = content_of(backend)
    assert [entry.old_values for entry in trial.amendments] == [{"error": 0.5}]


def test_a_worker_with_a_name_finds_its_trials_again(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        await agent.call("create_study", **STUDY)
        first = await agent.call("ask", study="net", worker="ann", count=2)
        again = await agent.call("ask", study="net", worker="ann", count=3)
        assert again["trials"][:2] == first["trials"] and len(again["trials"]) == 3
        other = await agent.call("ask", study="net", worker="bob")
        assert [trial["number"] for trial in other["trials"]] == [3]
        await agent.call("release", study="net", trial=3)
        assert (await agent.call("ask", study="net"))["trials"][0]["number"] == 3

    act(backend, script)


def test_points_of_ones_own(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        await agent.call("create_study", **STUDY)
        await agent.call("add_point", study="net", params=POINT, values=0.1, metadata={"from": "paper"})
        queued = await agent.call("add_point", study="net", params={**POINT, "opt": None})
        assert queued["trials"][0]["state"] == "queued"
        [trial] = (await agent.call("ask", study="net"))["trials"]
        assert trial["number"] == 1 and trial["params"]["opt"] is None and trial["why"] == ""

    act(backend, script)
    [(_, [measured, _])] = content_of(backend)
    assert measured.values == {"error": 0.1} and measured.metadata == {"from": "paper"}


def test_best_trials_and_lists(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        await agent.call("create_study", **STUDY)
        await agent.call(
            "create_study", **{**STUDY, "name": "two", "objectives": {"a": "minimize", "b": "maximize"}}
        )
        for number, value in enumerate([3.0, 1.0, 2.0]):
            await agent.call("add_point", study="net", params=POINT, values=value)
            await agent.call("add_point", study="two", params=POINT, values={"a": value, "b": float(number)})
        best = await agent.call("best_trials", study="net", limit=2)
        assert [trial["number"] for trial in best["trials"]] == [1, 2] and best["num_left_out"] == 1
        front = await agent.call("best_trials", study="two")
        assert [trial["number"] for trial in front["trials"]] == [1, 2]
        latest = await agent.call("list_trials", study="net", limit=1, states=["completed", "failed"])
        assert [trial["number"] for trial in latest["trials"]] == [2] and latest["num_left_out"] == 2
        assert (await agent.call("list_trials", study="net", states=["active"]))["trials"] == []

    act(backend, script)


def test_studies_are_found_by_name_and_not_listed_without_end(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        for name in ("net 1", "Net 2", "other", "net 3"):
            await agent.call("create_study", **{**STUDY, "name": name})
        found = await agent.call("list_studies", containing="net", limit=2)
        assert [study["name"] for study in found["studies"]] == ["Net 2", "net 3"]
        assert found["num_left_out"] == 1
        assert (await agent.text("list_studies", limit=1)).endswith("and 3 older ones")

    act(backend, script)


def test_a_stopped_study_says_so_wherever_an_agent_looks(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        await agent.call("create_study", **STUDY)
        ph.Study(backend, backend.find_study("default", "net")).stop()
        for tool, arguments in (
            ("list_studies", {}),
            ("describe_study", {"study": "net"}),
            ("advise", {"study": "net"}),
        ):
            assert "stopped" in await agent.text(tool, **arguments)
        assert (await agent.call("describe_study", study="net"))["is_stopped"]

    act(backend, script)


def test_advice_before_there_is_anything_to_learn_from(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        await agent.call("create_study", **STUDY)
        for _ in range(2):
            await agent.call("add_point", study="net", params=POINT, failed="power cut")
        advice = await agent.call("advise", study="net")
        assert advice["verdict"] == "too_early" and advice["objectives"] == []
        assert advice["warnings"] == [
            "2 of the latest 2 finished trials are failed: find out what breaks before more trials are spent"
        ]

    act(backend, script)


@pytest.mark.parametrize("name", ["net", "a/b", "../x", "ü 50 %", "C:\\x"])
def test_a_study_is_a_resource_whatever_its_name(backend: LocalBackend, name: str):
    async def script(agent: Agent) -> None:
        await agent.call("create_study", **{**STUDY, "name": name})
        await agent.call("add_point", study=name, params=POINT, values=0.5)
        [listed] = (await agent.client.read_resource("photinus://studies")).contents
        assert [study["name"] for study in json.loads(listed.text)["studies"]] == [name]
        uri = f"photinus://studies/{quote(name, safe='')}"
        [one] = (await agent.client.read_resource(uri)).contents
        assert json.loads(one.text)["name"] == name and one.mime_type == "application/json"
        [table] = (await agent.client.read_resource(f"{uri}/trials")).contents
        assert table.mime_type == "text/csv" and len(table.text.splitlines()) == 2

    act(backend, script)


def test_a_resource_that_is_not_there(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        with pytest.raises(MCPError, match="there is no study 'nope'"):
            await agent.client.read_resource("photinus://studies/nope")

    act(backend, script)


def test_names_are_completed_and_a_prompt_says_how_to_work(backend: LocalBackend):
    async def script(agent: Agent) -> None:
        for name in ("net", "nest", "other"):
            await agent.call("create_study", **{**STUDY, "name": name})
        for reference, argument in (
            (PromptReference(name="run_experiment"), "study"),
            (ResourceTemplateReference(uri="photinus://studies/{name}"), "name"),
        ):
            found = await agent.client.complete(reference, {"name": argument, "value": "ne"})
            assert found.completion.values == ["net", "nest"]
        prompt = await agent.client.get_prompt("run_experiment", {"study": "net", "budget": "9 trials"})
        text = prompt.messages[0].content.text.replace("Tell", "tell")
        assert "study 'net'" in text and "within this budget: 9 trials" in text
        assert {word for word in TOOLS if word in text} >= {
            "ask",
            "tell",
            "advise",
            "describe_study",
            "best_trials",
        }

    act(backend, script)


def test_only_one_project_is_seen(backend: LocalBackend):
    ph.Study.create(backend, ph.Problem.define({"x": ph.Float(0, 1)}), name="theirs", project="speech")

    async def script(agent: Agent) -> None:
        assert (await agent.call("list_studies"))["studies"] == []
        assert "UnknownStudy" in await agent.refused("describe_study", study="theirs")
        assert (await agent.call("create_study", **STUDY))["project"] == "vision"

    act(backend, script, project="vision")


def test_errors_carry_no_secrets(backend: LocalBackend, monkeypatch: pytest.MonkeyPatch):
    async def script(agent: Agent) -> None:
        monkeypatch.setattr(LocalBackend, "progress", failing(StorageError("no way to pw:hunter2")))
        assert await agent.refused("list_studies") == "StorageError: no way to pw:***"
        monkeypatch.setattr(LocalBackend, "progress", failing(RuntimeError("hunter2")))
        assert "hunter2" not in await agent.refused("list_studies")

    act(backend, script, redact=lambda text: text.replace("hunter2", "***"))


def failing(error: Exception) -> Any:
    def fail(*args: object, **options: object) -> None:
        raise error

    return fail


class HeldAsks:
    """Asks of every back end of this process wait until they may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.may_go = threading.Event(), threading.Event()
        ask = LocalBackend.ask

        def slowly(backend: LocalBackend, *args: Any, **options: Any) -> Any:
            self.began.set()
            assert self.may_go.wait(60), "nobody let the suggestion go on"
            return ask(backend, *args, **options)

        monkeypatch.setattr(LocalBackend, "ask", slowly)


def test_the_session_goes_on_while_a_suggestion_is_made(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mcp_calls, "SIGN_OF_LIFE_S", 0.02)
    held = HeldAsks(monkeypatch)
    signs: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        signs.append(message or "")

    async def script() -> None:
        async with Client(make_server(backend)) as client, anyio.create_task_group() as group:
            agent = Agent(client)
            await agent.call("create_study", **STUDY)
            group.start_soon(lambda: client.call_tool("ask", {"study": "net"}, progress_callback=hear))
            while not held.began.is_set() or len(signs) < 2:
                await anyio.sleep(0.01)
            assert (await agent.call("list_studies"))["studies"][0]["num_trials"] == 0
            held.may_go.set()

    run(script)
    assert all(sign.startswith("suggesting for") for sign in signs)
    [(_, trials)] = content_of(backend)
    assert len(trials) == 1


@pytest.mark.parametrize(("worker", "state"), [(None, "expired"), ("ann", "active")])
def test_a_cancelled_ask_leaves_no_trial_that_nobody_knows_of(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch, worker: str | None, state: str
):
    held = HeldAsks(monkeypatch)

    async def script() -> None:
        async with Client(make_server(backend), mode="legacy") as client:
            agent = Agent(client)
            await agent.call("create_study", **STUDY)
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: agent.call("ask", study="net", worker=worker))
                while not held.began.is_set():
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()
            held.may_go.set()
            while (await agent.call("describe_study", study="net"))["states"] != {state: 1}:
                await anyio.sleep(0.01)

    run(script)
