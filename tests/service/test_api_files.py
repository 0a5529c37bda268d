import copy
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from api_calls import MIXED, Api, serving

from photinus.exchange import study_from_dict
from photinus.wire import ExportedStudy

AT = "2026-01-01T00:00:00+00:00"


@pytest.fixture
def document(api: Api) -> dict[str, Any]:
    """An exported study with trials in many states."""
    study_id = api.create(MIXED, name="resnet", metadata={"owner": "ann"})
    path = f"/studies/{study_id}"
    api.ask(study_id, 4, body={"worker": "w", "lease_s": 100})
    api.post(f"{path}/trials/0/report", {"values": {"error": "nan"}, "step": 3}, status=204)
    api.post(f"{path}/trials/0/tell", {"values": 1})
    api.post(f"{path}/trials/0/amend", {"values": 2})
    api.post(f"{path}/trials/1/tell", {"infeasible": "too hot"})
    return api.get(f"{path}/export")


def test_an_export_is_the_whole_study(api: Api, document: dict[str, Any]):
    ExportedStudy.model_validate(document)
    record, trials = study_from_dict(document, "test")
    assert record.name == "resnet" and [trial.state for trial in trials] == [
        "completed",
        "infeasible",
        "expired",
        "expired",
    ]
    assert api.get("/studies/1/export", params={"format": "json"}) == document


def test_a_restored_study_is_the_same_but_for_its_id(api: Api, document: dict[str, Any]):
    api.refused("POST", "/studies/restore", 409, "DuplicateStudy", json=document)
    with serving() as other:
        other.create(name="first")
        restored = other.post("/studies/restore", document, status=201)
        assert (restored["id"], restored["name"], restored["last_event"]) == (2, "resnet", 8)
        again = other.get("/studies/2/export")
        assert again["study"] == document["study"]
        assert again["trials"][:2] == document["trials"][:2]
        assert [trial["state"] for trial in again["trials"][2:]] == ["expired", "expired"]


def test_restoring_again_with_the_same_key_restores_nothing_more(document: dict[str, Any]):
    with serving() as other:
        first, again = (
            other.post("/studies/restore", document, status=201, headers={"Idempotency-Key": "k"})
            for _ in range(2)
        )
        assert first == again and len(other.get("/studies")["studies"]) == 1


def test_a_table_has_a_row_per_trial(api: Api, document: dict[str, Any]):
    answer = api.call("GET", "/studies/1/export", params={"format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="resnet.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["state"] for row in rows] == ["completed", "infeasible", "active", "active"]


def test_no_name_of_a_study_escapes_into_a_header(api: Api):
    study_id = api.create(name='a"; x=\r\nSet-Cookie: b=1/../☃')
    answer = api.call("GET", f"/studies/{study_id}/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="a_x_Set-Cookie_b_1_.._.json"'
    assert "set-cookie" not in answer.headers


def damage(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The document with another value at a place."""
    damaged = copy.deepcopy(document)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = damaged
    for step in steps:
        place = place[step]
    place[last] = value
    return damaged


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("kind", "else"),
        ("study", 5),
        ("trials", {}),
        ("study.name", ""),
        ("study.name", "a\0"),
        ("study.seed", -1),
        ("study.seed", 2**32),
        ("study.state", "asleep"),
        ("study.algorithm", "magic"),
        ("study.created_at", "yesterday"),
        ("study.created_at", "2026-01-01T00:00:00"),
        ("study.metadata", {"a": 1}),
        ("study.problem", {}),
        ("trials.0.number", 5),
        ("trials.0.number", 10**30),
        ("trials.0.params", {"lr": 1}),
        ("trials.0.values", None),
        ("trials.0.values", {"error": "1"}),
        ("trials.0.state", "done"),
        ("trials.0.attempts", 2**63),
        ("trials.0.updated_event", 0),
        ("trials.0.updated_event", 2**63),
        ("trials.0.created_at", 5),
        ("trials.0.reports", [{"step": 10**30, "values": {}, "at": "2026-01-01T00:00:00+00:00"}]),
        ("trials.0.reports", [{"step": 1, "values": {"error": "x"}, "at": "2026-01-01T00:00:00+00:00"}]),
        ("trials.0.amendments", [5]),
        ("trials.0.metadata", []),
        ("trials.0.worker", 5),
        ("trials.0.message", ["a"]),
        ("trials.0.reason", 5),
        ("trials.0.more", 5),
    ],
)
def test_a_damaged_document_is_refused_and_restores_nothing(document: dict[str, Any], path: str, value: Any):
    with serving() as other:
        damaged = damage(document, path, value)
        other.refused("POST", "/studies/restore", 422, "ArgumentError", json=damaged)
        assert other.get("/studies")["studies"] == []


def test_a_document_of_a_later_version_says_so(api: Api, document: dict[str, Any]):
    later = document | {"format": 2}
    assert "upgrade" in api.refused("POST", "/studies/restore", 501, "UnsupportedError", json=later)


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff", b"[]", b'"a"', b'{"kind": NaN}'])
def test_what_is_no_document_is_refused(api: Api, content: bytes):
    api.refused("POST", "/studies/restore", 422, "ArgumentError", content=content)


def test_numbers_that_are_none_never_break_an_answer(document: dict[str, Any]):
    text = json.dumps(damage(document, "trials.0.reason", {"why": 12345.5})).replace("12345.5", "1e999")
    with serving() as other:
        restored = other.call("POST", "/studies/restore", status=201, content=text)
        trials = other.get(f"/studies/{restored.json()['id']}/trials")["trials"]
        assert trials[0]["reason"] == {"why": "inf"}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("trials", 1, "updated_event"), 2**63 - 1, "at most"),
        (("trials", 1, "attempts"), 2**63 - 1, "at most"),
        (("trials", 0, "completed_at"), "9999-12-31T23:59:59-14:00", "between the years"),
        (("study", "created_at"), "0001-01-01T00:00:00+14:00", "between the years"),
        (("trials", 1, "reports"), [{"step": 1, "values": {"value": 1.0}, "at": AT}] * 2, "distinct steps"),
        (("trials", 1, "reports"), [{"step": 1, "values": {"other": 1.0}, "at": AT}], "'other'"),
    ],
)
def test_a_document_that_no_store_could_go_on_with_is_refused(
    tmp_path: Path, path: tuple[Any, ...], value: Any, message: str
):
    with serving(str(tmp_path / "a.db")) as api:
        study_id = api.create()
        api.told(study_id, 1.0)
        api.ask(study_id)
        document = api.get(f"/studies/{study_id}/export")
        document["study"]["name"] = "copy"
        *way, last = path
        part = document
        for step in way:
            part = part[step]
        part[last] = value
        assert message in api.refused("POST", "/studies/restore", 422, "ArgumentError", json=document)
