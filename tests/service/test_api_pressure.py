"""A server with more to do than it can: what callers hear, and that it goes on afterwards."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_calls import Api, serving
from serving import served
from suggesting_world import freeze, resume

from photinus.service import Settings

PATIENCE_S = 120.0


@pytest.fixture
def crowd() -> Iterator[ThreadPoolExecutor]:
    """Callers at the same time."""
    with ThreadPoolExecutor(8) as threads:
        yield threads


def asked(api: Api, study_id: int, key: str) -> Any:
    """The whole answer to an ask."""
    path = f"/api/v1/studies/{study_id}/ask"
    return api.client.post(path, json={"count": 1}, headers={"Idempotency-Key": key})


def until(is_true: Callable[[], object], what: str) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.02)):
        if is_true():
            return
        pause.wait(0.02)
    pytest.fail(f"waited in vain: {what}")


def number(answer: Future[Any]) -> int:
    response = answer.result(PATIENCE_S)
    assert response.status_code == 200, response.text
    return response.json()["trials"][0]["number"]


def test_an_ask_that_waits_too_long_hears_so_and_finds_its_trial_later(tmp_path: Path):
    with serving(str(tmp_path / "a.db"), ask_timeout_s=1.0) as api:
        study_id = api.create(algorithm="default")
        freeze(api.server.suggestions)
        try:
            late = asked(api, study_id, "patient")
        finally:
            resume(api.server.suggestions)
        assert late.status_code == 504 and late.json()["error"]["kind"] == "SuggestionTimeout"
        assert "same idempotency key" in late.json()["error"]["message"]

        def repeat() -> bool:
            answer = asked(api, study_id, "patient")
            assert answer.status_code in (200, 504)
            return answer.status_code == 200

        until(repeat, "the trial is there")
        assert api.get(f"/studies/{study_id}/count")["total"] == 1


def test_asks_beyond_the_limit_are_told_to_come_back_and_the_others_are_served(
    tmp_path: Path, crowd: ThreadPoolExecutor
):
    with serving(str(tmp_path / "a.db"), max_queued_asks=2) as api:
        study_id, other = api.create(algorithm="default"), api.create(algorithm="default")
        suggestions = api.server.suggestions
        freeze(suggestions)
        try:
            begun = crowd.submit(asked, api, study_id, "begun")
            until(lambda: suggestions.stats()["studies_running"] == 1, "the engine has the first one")
            waiting = crowd.submit(asked, api, study_id, "waiting")
            until(lambda: suggestions.stats()["asks_waiting"] == 1, "the second one waits")
            refused = asked(api, study_id, "refused")
            assert refused.status_code == 429 and refused.json()["error"]["kind"] == "TooManyRequests"
            assert int(refused.headers["Retry-After"]) >= 1
            elsewhere = crowd.submit(asked, api, other, "other")  # one study cannot take all the room
            until(lambda: suggestions.stats()["studies_running"] == 2, "the other study is begun with")
            api.get(f"/studies/{study_id}/trials")  # reading goes on
        finally:
            resume(suggestions)
        assert sorted(map(number, (begun, waiting))) == [0, 1] and number(elsewhere) == 0
        assert number(crowd.submit(asked, api, study_id, "refused")) == 2


def test_an_engine_that_dies_fails_its_asks_and_the_next_one_is_answered(
    tmp_path: Path, crowd: ThreadPoolExecutor
):
    with serving(str(tmp_path / "a.db")) as api:
        study_id, suggestions = api.create(algorithm="default"), api.server.suggestions
        freeze(suggestions)
        dying = crowd.submit(asked, api, study_id, "dying")
        until(lambda: suggestions.stats()["studies_running"] == 1, "the engine has it")
        suggestions._link.kill()
        answer = dying.result(PATIENCE_S)
        assert answer.status_code == 503 and answer.json()["error"]["kind"] == "SuggestionError"
        assert int(answer.headers["Retry-After"]) >= 1  # clients repeat it, and a loop goes on
        assert number(crowd.submit(asked, api, study_id, "next")) == 0


def test_strangers_who_send_slowly_take_nobody_s_place():
    settings = Settings(storage="memory", tokens_required=True, max_concurrent_requests=1)
    with served(settings) as url, httpx.Client(base_url=url) as client:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        slow = [socket.create_connection(address) for _ in range(3)]
        try:
            for line in slow:
                line.sendall(b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            for _ in range(20):
                assert client.get("/openapi.json").status_code == 200
        finally:
            for line in slow:
                line.close()
