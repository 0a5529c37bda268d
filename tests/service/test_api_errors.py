import inspect
import json
import logging
from typing import Any

import pytest
from api_calls import ONE, Api, serving

from photinus import errors
from photinus.errors import PhotinusError, StorageError
from photinus.service.errors import KEPT_IN_LOG, RETRY_AFTER_S, STATUS, respond
from photinus.wire import ErrorBody

TREE = [kind for kind in vars(errors).values() if inspect.isclass(kind) and kind is not PhotinusError]
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_of_its_own_choice(kind: type[PhotinusError]):
    answer = respond(kind("what is wrong"), "id-1")
    assert answer.status_code == STATUS[kind] and 400 <= answer.status_code < 600
    error = ErrorBody.model_validate_json(bytes(answer.body)).error
    assert (error.kind, error.request_id) == (kind.__name__, "id-1")
    assert (error.message == "what is wrong") == (kind not in KEPT_IN_LOG)
    assert ("retry-after" in answer.headers) == (kind in RETRY_AFTER_S)
    assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)


def test_what_is_worth_trying_again_says_so():
    assert set(RETRY_AFTER_S) == {errors.StorageError, errors.TooManyRequests}
    assert respond(errors.SchemaMismatch("old"), "").headers.get("retry-after") is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"nonsense",
        b"[1]",
        b"null",
        b'{"count": NaN}',
        b'{"count": Infinity}',
        b'{"count": 1e999}',
        b'{"count": 1' + b"0" * 5000 + b"}",
        b'{"lease_s": NaN}',
        b'{"lease_s": -Infinity}',
        b'{"worker": "\\ud800"}',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"\xff\xfe\x00",
        b'{"worker": "\xff"}',
    ],
    ids=lambda content: content[:20].decode("ascii", "replace"),
)
def test_what_is_no_ask_in_json_is_refused(api: Api, content: bytes):
    study_id = api.create()
    response = api.client.post(f"/api/v1/studies/{study_id}/ask", content=content, headers=JSON)
    assert response.status_code == 422, response.text
    assert ErrorBody.model_validate_json(response.content).error.kind == "ArgumentError"
    assert api.get(f"/studies/{study_id}/count")["total"] == 0


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_body_that_does_not_call_itself_json_is_refused(api: Api, media_type: str | None):
    study_id = api.create()
    headers = {} if media_type is None else {"Content-Type": media_type}
    path = f"/studies/{study_id}/ask"
    api.refused("POST", path, 422, "ArgumentError", content=b'{"count": 1}', headers=headers)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, '"1"', "[1]"])
@pytest.mark.parametrize("body", ['{"values": %s}', '{"values": {"value": %s}}'])
def test_no_number_that_is_none_is_ever_told(api: Api, body: str, value: str):
    study_id = api.create()
    [before] = api.ask(study_id)
    path = f"/studies/{study_id}/trials/0/tell"
    api.refused("POST", path, 422, "ArgumentError", content=body % value, headers=JSON)
    assert api.get(f"/studies/{study_id}/trials/0") == before


@pytest.mark.parametrize("number", ["x", "-1", "1.5", str(2**63), "9" * 30, "%00", "0x1", "1e3"])
def test_ids_that_are_none_are_refused(api: Api, number: str):
    study_id = api.create()
    api.refused("GET", f"/studies/{number}", 422, "ArgumentError")
    api.refused("GET", f"/studies/{study_id}/trials/{number}", 422, "ArgumentError")


@pytest.mark.parametrize("study_id", [0, 7, 2**63 - 1])
def test_a_study_that_is_not_there_is_unknown(api: Api, study_id: int):
    assert str(study_id) in api.refused("GET", f"/studies/{study_id}", 404, "UnknownStudy")


def test_paths_and_methods_that_are_not_there_say_so(api: Api):
    assert "/openapi.json" in api.refused("GET", "/nothing", 404, "ArgumentError")
    assert "PUT" in api.refused("PUT", "/studies", 405, "ArgumentError")
    assert api.client.put("/api/v1/studies").headers["allow"]
    assert api.refused("GET", "//docs", 404, "ArgumentError")


def test_a_complaint_names_the_field_and_what_was_given(api: Api):
    message = api.refused("POST", "/studies", 422, "ArgumentError", json={"problem": ONE, "seed": -5})
    assert "`seed` in the body" in message and "-5" in message
    message = api.refused("GET", "/studies", 422, "ArgumentError", params={"limit": "many"})
    assert "`limit` in the query" in message and "many" in message


def test_messages_do_not_grow_with_what_was_sent(api: Api):
    long = "n" * 100_000
    path = f"/studies/{api.create()}/trials"
    answer = api.call("POST", path, status=422, json={"trials": [{"params": {long: 1}}]})
    assert len(answer.content) < 20_000


def test_a_store_that_fails_is_worth_another_try_and_its_address_stays_in_the_log(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog
):
    study_id = api.create()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise StorageError("store 'postgresql://inside' failed: the disk is full")

    monkeypatch.setattr(api.server.storage, "tell", fail)
    answer = api.call("POST", f"/studies/{study_id}/trials/0/tell", status=503, json={"values": 1})
    assert answer.headers["retry-after"] == "1" and "inside" not in answer.text
    assert answer.json()["error"]["request_id"] in answer.json()["error"]["message"]
    assert "postgresql://inside" in caplog.text and answer.json()["error"]["request_id"] in caplog.text


def test_what_nobody_expected_stays_in_the_log(api: Api, monkeypatch: pytest.MonkeyPatch, caplog):
    study_id = api.create()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("a secret of the store")

    monkeypatch.setattr(api.server.storage, "tell", fail)
    with caplog.at_level(logging.INFO, "photinus.service"):
        answer = api.call("POST", f"/studies/{study_id}/trials/0/tell", status=500, json={"values": 1})
    error = answer.json()["error"]
    assert error["kind"] == "ServerError" and "secret" not in answer.text
    assert error["request_id"] in error["message"] and error["request_id"] in caplog.text
    assert "ZeroDivisionError" in caplog.text and "secret of the store" in caplog.text


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("abc-1.2_3", True), ("a" * 64, True), ("a" * 65, False), ("a b", False), ("", False), ("a\tb", False)],
)
def test_a_request_id_is_echoed_if_it_is_harmless(api: Api, given: str, is_kept: bool):
    answer = api.client.get("/api/v1/studies/7", headers={"X-Request-Id": given})
    echoed = answer.headers["x-request-id"]
    assert (echoed == given) == is_kept and len(echoed) >= 9
    assert answer.json()["error"]["request_id"] == echoed


def test_logs_have_a_line_per_request_without_its_query(api: Api, caplog):
    with caplog.at_level(logging.INFO, "photinus.service"):
        api.get("/studies", params={"search": "private"}, headers={"X-Request-Id": "r-1"})
        api.client.get("/api/v1/a%0Aforged", headers={"X-Request-Id": "r-2"})
    first, second = [record.getMessage() for record in caplog.records]
    assert first.startswith("r-1 GET /api/v1/studies 200 ") and first.endswith(" ms")
    assert second.startswith("r-2 GET /api/v1/a%0Aforged 404 ")
    assert "private" not in caplog.text


def test_bodies_that_are_too_large_are_refused_whether_announced_or_not():
    with serving(max_body_bytes=2000, max_document_bytes=4000) as api:
        path = f"/studies/{api.create()}/trials"
        small = json.dumps({"trials": [{"params": {"x": 0.5}, "metadata": {"a": "x" * 1500}}]})
        large = json.dumps({"trials": [{"params": {"x": 0.5}, "metadata": {"a": "x" * 2500}}]})
        api.call("POST", path, status=201, content=small, headers=JSON)
        assert "2000" in api.refused("POST", path, 413, "ArgumentError", content=large, headers=JSON)

        def pieces():
            for start in range(0, len(large), 100):
                yield large[start : start + 100].encode()

        api.refused("POST", path, 413, "ArgumentError", content=pieces(), headers=JSON)
        lie = JSON | {"Content-Length": "9" * 25}
        api.refused("POST", path, 413, "ArgumentError", content=b"{}", headers=lie)
        # A whole study may be larger, but not without end.
        api.refused("POST", "/studies/restore", 422, "ArgumentError", content=b" " * 3000, headers=JSON)
        api.refused("POST", "/studies/restore", 413, "ArgumentError", content=b" " * 5000, headers=JSON)
        api.refused("POST", "//login", 413, "ArgumentError", content=b" " * 20_000, headers=JSON)
        assert api.get(path.replace("/trials", "/count"))["total"] == 1
