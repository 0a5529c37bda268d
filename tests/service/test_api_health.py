import asyncio
import threading
import time
from typing import Any

import pytest
from api_calls import Api, bearer, serving
from prometheus_client.parser import text_string_to_metric_families

from photinus.errors import StorageError
from photinus.service.metrics import ENGINE_NUMBERS
from photinus.service.routes import health


def metrics(api: Api, **headers: str) -> dict[tuple[str, tuple[str, ...]], float]:
    """Numbers by name and labels."""
    text = api.call("GET", "//metrics", headers=headers).text
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_server_lives_and_is_ready(api: Api):
    assert api.get("//healthz") == api.get("//readyz") == {"status": "ok"}


def test_a_server_without_its_store_lives_but_is_not_ready(api: Api, monkeypatch: pytest.MonkeyPatch):
    def fail(creator: str) -> int:
        raise StorageError("the database is away")

    monkeypatch.setattr(api.server.storage, "count_studies", fail)
    api.refused("GET", "//readyz", 503, "StorageError")
    api.get("//healthz")


def test_a_store_that_does_not_answer_is_no_store(api: Api, monkeypatch: pytest.MonkeyPatch):
    is_over = threading.Event()
    monkeypatch.setattr(health, "STORE_TIMEOUT_S", 0.1)
    monkeypatch.setattr(api.server.storage, "count_studies", lambda creator: is_over.wait(120))
    try:
        assert "did not answer" in api.refused("GET", "//readyz", 503, "StorageError")
    finally:
        is_over.set()


def test_a_server_without_its_engine_is_not_ready(api: Api, monkeypatch: pytest.MonkeyPatch):
    stats = api.server.suggestions.stats()
    monkeypatch.setattr(api.server.suggestions, "stats", lambda: stats | {"alive": False})
    api.refused("GET", "//readyz", 503, "SuggestionError")


def test_a_stopping_server_is_not_ready(api: Api):
    api.server.is_running = False
    try:
        api.refused("GET", "//readyz", 503, "StorageError")
    finally:
        api.server.is_running = True


def test_requests_are_counted_by_route_and_never_by_what_callers_make_up(api: Api):
    study_id = api.create()
    api.told(study_id, 1.0, 2.0)
    api.post(f"/studies/{study_id}/ask", {"count": 0}, status=422)
    api.client.request("BREW", "/api/v1/studies")
    for path in ("/a", "/b/c"):
        api.client.get(path)
    numbers = metrics(api)
    route = "/api/v1/studies/{study_id}"
    assert numbers["photinus_requests_total", ("POST", f"{route}/trials/{{number}}/tell", "200")] == 2
    assert numbers["photinus_requests_total", ("POST", f"{route}/ask", "422")] == 1
    assert numbers["photinus_requests_total", ("GET", "unmatched", "404")] == 2
    assert numbers["photinus_request_seconds_count", ("POST", f"{route}/ask")] == 2
    assert numbers["photinus_asks_total", ()] == 1 and numbers["photinus_trials_asked_total", ()] == 2
    assert numbers["photinus_suggestion_seconds_count", ("random",)] == 1
    assert numbers["photinus_trials_told_total", ("completed",)] == 2
    assert numbers["photinus_engine_restarts_total", ()] == 0
    assert {
        method for (name, labels) in numbers if name == "photinus_requests_total" for method in labels[:1]
    } <= {
        "GET",
        "POST",
        "OTHER",
    }


def test_every_number_of_the_engine_is_explained(api: Api):
    assert set(api.server.suggestions.stats()) == set(ENGINE_NUMBERS)


def test_two_servers_in_one_process_count_apart(api: Api):
    api.create()
    with serving() as other:
        assert ("photinus_requests_total", ("POST", "/api/v1/studies", "201")) not in metrics(other)


def test_metrics_need_an_admin(guarded: Api):
    metrics(guarded, **bearer(guarded.token("admin")))
    guarded.refused("GET", "//metrics", 403, "PermissionDenied", headers=bearer(guarded.token("write")))


def test_too_many_requests_at_a_time_are_refused_but_not_the_probes():
    with serving(max_concurrent_requests=1) as api:
        study_id = api.create()
        is_waiting, may_go_on, statuses = threading.Event(), threading.Event(), []
        get_trial = api.server.storage.get_trial

        def slow(*args: Any) -> Any:
            is_waiting.set()
            assert may_go_on.wait(120)
            return get_trial(*args)

        api.server.storage.get_trial = slow  # pyright: ignore[reportAttributeAccessIssue]
        api.ask(study_id)
        url = f"/api/v1/studies/{study_id}/trials/0"
        thread = threading.Thread(target=lambda: statuses.append(api.client.get(url).status_code))
        thread.start()
        try:
            assert is_waiting.wait(120)
            answer = api.call("GET", "/studies", status=429)
            assert (
                answer.json()["error"]["kind"] == "TooManyRequests" and answer.headers["retry-after"] == "1"
            )
            assert api.get("//healthz") == api.get("//readyz") == {"status": "ok"}
        finally:
            may_go_on.set()
            thread.join(120)
        assert statuses == [200]
        api.get("/studies")


def test_a_slow_store_holds_up_nobody_who_does_not_need_it():
    """With one thread for the store, taken: pages, health and who one is are still answered."""
    with serving(store_threads=1, tokens_required=True, token_cache_s=600) as api:
        headers = bearer(api.token("admin"))
        api.get("/whoami", headers=headers)
        may_go_on = threading.Event()
        future = asyncio.run_coroutine_threadsafe(
            api.server.run(lambda: may_go_on.wait(120)), api.client.portal.call(asyncio.get_running_loop)
        )
        try:
            assert api.get("//healthz") == {"status": "ok"}
            assert api.get("/whoami", headers=headers)["role"] == "admin"
            assert api.client.get("/").status_code == 200
            assert metrics(api, **headers)
            assert not future.done()
        finally:
            may_go_on.set()
        assert future.result(120)


def test_a_caller_that_leaves_before_its_request_is_whole_harms_nobody(api: Api):
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/api/v1/studies", "headers": [(b"host", b"localhost")],
        "query_string": b"", "client": ("127.0.0.1", 1), "state": {},
    }  # fmt: skip
    api.client.portal.call(api.client.app, scope, receive, send)
    assert sent == []
    deadline = time.monotonic() + 60
    while ("photinus_requests_total", ("POST", "unmatched", "499")) not in metrics(api):
        assert time.monotonic() < deadline, "the request was not counted"
