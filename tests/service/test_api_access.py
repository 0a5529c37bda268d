"""Who may do what: tokens, roles, projects, sessions of the dashboard, and requests from elsewhere."""

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from api_calls import ONE, Api, bearer, serving
from fastapi.testclient import TestClient

from photinus.errors import ArgumentError, AuthenticationError
from photinus.record import Role
from photinus.service.auth import Sessions, TokenCache, hash_secret, identify, make_token, parse_token
from photinus.service.callers import COOKIE

POINT = {"params": {"x": 0.5}}
# Every address of the API: the role it needs, and a body that it takes.
ROUTES: dict[tuple[str, str], tuple[str, Any]] = {
    ("GET", "/whoami"): ("read", None),
    ("GET", "/studies"): ("read", None),
    ("POST", "/studies"): ("write", {"problem": ONE, "project": "p"}),
    ("POST", "/studies/restore"): ("write", {}),
    ("GET", "/studies/1"): ("read", None),
    ("DELETE", "/studies/1"): ("admin", None),
    ("POST", "/studies/1/stop"): ("write", None),
    ("POST", "/studies/1/resume"): ("write", None),
    ("PATCH", "/studies/1/metadata"): ("write", {}),
    ("GET", "/studies/1/count"): ("read", None),
    ("GET", "/studies/1/best"): ("read", None),
    ("GET", "/studies/1/export"): ("read", None),
    ("GET", "/studies/1/model?max_trials=0"): (
        "read",
        None,
    ),  # refused after who asks is known, and costs no fit
    ("GET", "/studies/1/plots/history"): ("read", None),
    ("POST", "/studies/1/predict"): ("read", {"points": [{}]}),  # refused, too
    ("POST", "/studies/1/ask"): ("write", {}),
    ("GET", "/studies/1/trials"): ("read", None),
    ("POST", "/studies/1/trials"): ("write", {"trials": [POINT]}),
    ("POST", "/studies/1/tell"): ("write", {"results": []}),
    ("GET", "/studies/1/trials/0"): ("read", None),
    ("POST", "/studies/1/trials/0/tell"): ("write", {"values": 1}),
    ("POST", "/studies/1/trials/0/amend"): ("write", {"values": 1}),
    ("POST", "/studies/1/trials/0/report"): ("write", {"values": {"value": 1}, "step": 1}),
    ("POST", "/studies/1/trials/0/lease"): ("write", {"lease_s": 1}),
    ("POST", "/studies/1/trials/0/release"): ("write", {}),
    ("POST", "/studies/1/trials/0/stop"): ("write", None),
    ("PATCH", "/studies/1/trials/0/metadata"): ("write", {}),
    ("GET", "//metrics"): ("admin", None),
}
OPEN = {("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/login"), ("POST", "/logout")}
ALL = pytest.mark.parametrize(("method", "path"), ROUTES, ids=[" ".join(key) for key in ROUTES])
OF_A_STUDY = [key for key in ROUTES if key[1].startswith("/studies/1")]


@pytest.fixture
def study(guarded: Api) -> Api:
    """A server with one study in project p, with one trial told and one running."""
    guarded.client.headers = bearer(guarded.token("admin"))
    guarded.create(project="p", name="a")
    guarded.told(1, 1.0)
    guarded.ask(1)
    guarded.client.headers = {}
    return guarded


def test_the_table_above_has_every_address(guarded: Api):
    documented = guarded.get("//openapi.json")["paths"]
    addresses = {(method.upper(), path) for path, verbs in documented.items() for method in verbs}
    listed = {
        (method, (path[1:] if path.startswith("//") else f"/api/v1{path}").partition("?")[0])
        for method, path in ROUTES
    }
    replaced = {
        (method, path.replace("{study_id}", "1").replace("{number}", "0").replace("{kind}", "history"))
        for method, path in addresses
    }
    assert replaced == listed | OPEN


@ALL
def test_without_a_token_nothing_is_answered(study: Api, method: str, path: str):
    body = ROUTES[method, path][1]
    answer = study.call(method, path, status=401, json=body)
    assert answer.json()["error"]["kind"] == "AuthenticationError"
    assert answer.headers["www-authenticate"] == "Bearer"


@ALL
def test_a_role_may_do_its_own_and_no_more(study: Api, method: str, path: str):
    needed, body = ROUTES[method, path]
    for role in Role:
        headers = bearer(study.token(role.value, "p" if role != Role.ADMIN else None))
        url = path[1:] if path.startswith("//") else f"/api/v1{path}"
        answer = study.client.request(method, url, json=body, headers=headers)
        is_refused = answer.status_code == 403
        assert is_refused == (list(Role).index(role) < list(Role).index(Role(needed))), answer.text
        assert answer.status_code not in (401, 500)
        if is_refused:
            assert repr(needed) in answer.json()["error"]["message"]


@pytest.mark.parametrize("role", ["read", "write", "admin"])
@pytest.mark.parametrize(("method", "path"), OF_A_STUDY, ids=[" ".join(key) for key in OF_A_STUDY])
def test_a_study_of_another_project_looks_like_one_that_is_not_there(
    study: Api, role: str, method: str, path: str
):
    needed, body = ROUTES[method, path]
    headers = bearer(study.token(role, "q")) | {"X-Request-Id": "same"}
    hidden, absent = (
        study.client.request(
            method, f"/api/v1{path.replace('/1', f'/{study_id}')}", json=body, headers=headers
        )
        for study_id in ("1", "2")
    )
    assert hidden.status_code == absent.status_code
    assert hidden.content.replace(b"id 1:", b"id 2:") == absent.content
    assert {**hidden.headers, "content-length": ""} == {**absent.headers, "content-length": ""}
    if list(Role).index(Role(role)) >= list(Role).index(Role(needed)):
        assert hidden.status_code == 404


def test_how_long_a_refusal_takes_does_not_tell_what_is_there(study: Api, monkeypatch: pytest.MonkeyPatch):
    """The store is asked the same for what is hidden as for what is absent, however often, whoever looked before."""
    asked: list[str] = []
    storage = study.server.storage
    names = (
        "get_study",
        "find_study",
        "list_studies",
        "progress",
        "get_trials",
        "find_trials",
        "count_trials",
    )
    for name in names:
        call = getattr(storage, name)
        monkeypatch.setattr(
            storage, name, lambda *a, _n=name, _c=call, **k: (asked.append(f"{_n}{a}{k}"), _c(*a, **k))[1]
        )

    def asked_for(path: str) -> list[str]:
        asked.clear()
        study.client.get(f"/api/v1/studies{path}", headers=stranger)
        return [call.replace("[2]", "[1]") for call in asked]

    stranger = bearer(study.token("read", "q"))
    for _ in range(2):
        study.get("/studies/1", headers=bearer(study.token("read", "p")))
        assert asked_for("/1") == asked_for("/2") != []
        assert asked_for("/1/trials") == asked_for("/2/trials") != []
        for query in ("?project=p", "?project=p&name=a", "?project=none", "?project=none&name=a"):
            assert asked_for(query) == []


def test_a_token_of_a_project_lists_makes_and_restores_there_alone(study: Api):
    document = study.get("/studies/1/export", headers=bearer(study.token("read")))
    study.client.headers = bearer(study.token("admin", "q"))
    assert study.get("/studies")["studies"] == []
    for query in ({"project": "p"}, {"name": "a"}, {"name": "a", "project": "p"}, {"search": "a"}):
        assert study.get("/studies", params=query)["studies"] == []
    body = {"problem": ONE, "algorithm": "random", "name": "a"}
    assert "'q'" in study.refused("POST", "/studies", 403, "PermissionDenied", json=body | {"project": "p"})
    study.refused("POST", "/studies/restore", 403, "PermissionDenied", json=document)
    assert study.post("/studies", body, status=201)["project"] == "q"
    document["study"] |= {"project": "q", "name": "b"}
    assert study.post("/studies/restore", document, status=201)["project"] == "q"
    assert [s["name"] for s in study.get("/studies")["studies"]] == ["a", "b"]
    study.client.headers = bearer(study.token("read"))
    assert len(study.get("/studies")["studies"]) == 3


def test_whoami_tells_the_caller(guarded: Api):
    answer = guarded.get("/whoami", headers=bearer(guarded.token("write", "p")))
    assert answer == {"role": "write", "project": "p", "name": "write of p", "tokens_required": True}


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer nonsense", "Basic {}", "{}", "Bearer {}x", "Bearer pho_x_y", "Bearer pho__",
     "Bearer pho_{}", "Bearer {} {}", "bearer" + " x" * 500],
)  # fmt: skip
def test_a_header_that_is_no_valid_token_is_refused(guarded: Api, header: str):
    token = guarded.token("admin")
    text = header.replace("{}", token)
    message = guarded.refused("GET", "/whoami", 401, "AuthenticationError", headers={"Authorization": text})
    assert token not in message


def test_a_revoked_or_expired_token_is_refused_within_seconds():
    with serving(tokens_required=True, token_cache_s=0.2) as api:
        headers = bearer(api.token("read"))
        api.get("/whoami", headers=headers)
        [token] = api.server.storage.list_tokens()
        api.server.storage.revoke_token(token.id)
        deadline = time.monotonic() + 60
        while (answer := api.client.get("/api/v1/whoami", headers=headers)).status_code == 200:
            assert time.monotonic() < deadline, "a revoked token is believed for ever"
            time.sleep(0.05)
        assert "revoked" in answer.json()["error"]["message"]

        now = datetime.now(UTC)
        record, text = make_token("old", "read", expires_at=now + timedelta(seconds=1))
        api.server.storage.add_token(record)
        while (answer := api.client.get("/api/v1/whoami", headers=bearer(text))).status_code == 200:
            assert time.monotonic() < deadline, "an expired token is believed for ever"
            time.sleep(0.05)
        assert "expired" in answer.json()["error"]["message"]


def test_tokens_are_looked_up_once_in_a_while():
    with serving(tokens_required=True, token_cache_s=600) as api:
        headers, get_token, num_calls = bearer(api.token("read")), api.server.storage.get_token, 0

        def counted(token_id: str) -> Any:
            nonlocal num_calls
            num_calls += 1
            return get_token(token_id)

        api.server.tokens = TokenCache(counted, 600)
        for _ in range(5):
            api.get("/whoami", headers=headers)
            api.refused("GET", "/whoami", 401, "AuthenticationError", headers=bearer("pho_none_x"))
        assert num_calls == 2


def test_the_cache_of_tokens_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("photinus.service.auth.MAX_CACHED", 3)
    record, _ = make_token("a", "read")
    cache = TokenCache(lambda token_id: record, 600)
    for token_id in "abcde":
        cache.read(token_id)
    assert [cache.recall(token_id)[0] for token_id in "abcde"] == [False, False, True, True, True]


def test_a_secret_is_random_and_kept_only_as_its_hash():
    (first, text), (second, other) = make_token("a", "read"), make_token("a", "read")
    assert first.id != second.id and text != other
    parsed = parse_token(text)
    assert parsed is not None and parsed[0] == first.id
    assert len(parsed[1]) >= 43 and hash_secret(parsed[1]) == first.secret_hash
    assert parsed[1] not in repr(first)
    assert identify(first, parsed[1], now=datetime.now(UTC)).role == Role.READ
    for record, secret in ((second, parsed[1]), (None, parsed[1]), (first, ""), (first, first.secret_hash)):
        with pytest.raises(AuthenticationError, match="not valid"):
            identify(record, secret, now=datetime.now(UTC))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "root"), "`role`"),
        (("", "read"), "`name`"),
        (("a", "read", ""), "`project`"),
        (("a", "read", None, datetime.now(UTC)), "`expires_at`"),
        (("a", "read", None, datetime(2999, 1, 1)), "`expires_at`"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(arguments: tuple, message: str):
    name, role, project, expires_at = (*arguments, None, None)[:4]
    with pytest.raises(ArgumentError, match=message):
        make_token(name, role, project=project, expires_at=expires_at)


# The dashboard's sessions

OWN = {"Origin": "http://localhost"}


def log_in(api: Api, token: str) -> Any:
    return api.call("POST", "//login", json={"token": f" {token}\n"})


def test_a_login_gives_a_cookie_that_reads_and_with_the_page_s_own_origin_writes(guarded: Api):
    token = guarded.token("write")
    answer = log_in(guarded, token)
    assert answer.json()["role"] == "write"
    [cookie] = answer.headers.get_list("set-cookie")
    flags = {flag.strip().lower() for flag in cookie.split(";")}
    assert {"httponly", "samesite=strict", "path=/", "max-age=43200"} <= flags and "secure" not in flags
    assert token not in cookie and parse_token(token)[1] not in cookie  # pyright: ignore[reportOptionalSubscript]
    assert guarded.get("/whoami")["name"] == "write of None"
    body = {"problem": ONE, "algorithm": "random"}
    guarded.post("/studies", body, status=201, headers=OWN)
    guarded.post("/studies", body, status=201, headers={"Sec-Fetch-Site": "same-origin"})
    guarded.call("POST", "//logout", status=204, headers=OWN)
    guarded.refused("GET", "/whoami", 401, "AuthenticationError")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://localhost:81"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
    ],
)
def test_a_page_elsewhere_changes_nothing_with_a_session(guarded: Api, headers: dict[str, str]):
    log_in(guarded, guarded.token("admin"))
    body = {"problem": ONE, "algorithm": "random"}
    guarded.refused("POST", "/studies", 403, "PermissionDenied", json=body, headers=headers)
    assert guarded.get("/studies", headers=headers)["studies"] == []  # reading is kept from pages by browsers
    guarded.client.cookies.clear()
    token = bearer(guarded.token("admin"))
    guarded.post("/studies", body, status=201, headers=headers | token)  # a token was put there on purpose


def test_a_session_over_tls_is_for_tls_alone(guarded: Api):
    url = "https://localhost/login"
    answer = guarded.client.post(url, json={"token": guarded.token("read")})
    assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize("token", ["", "nonsense", "pho_a_b", "pho_ä_b"])
def test_a_wrong_token_gets_no_cookie(guarded: Api, token: str):
    answer = guarded.call("POST", "//login", status=401, json={"token": token})
    assert "set-cookie" not in answer.headers


def test_a_login_from_elsewhere_is_refused(guarded: Api):
    body, headers = {"token": guarded.token("read")}, {"Origin": "http://evil.example"}
    guarded.refused("POST", "//login", 403, "PermissionDenied", json=body, headers=headers)


def test_a_session_ends_with_its_token(guarded: Api):
    log_in(guarded, guarded.token("read"))
    guarded.get("/whoami")
    guarded.server.storage.revoke_token(guarded.server.storage.list_tokens()[0].id)
    assert "revoked" in guarded.refused("GET", "/whoami", 401, "AuthenticationError")


def test_a_session_cannot_be_forged_or_prolonged():
    now = datetime.now(UTC)
    record, token = make_token("a", "read")
    other, _ = make_token("b", "admin")
    secret = token.split("_", 2)[2]
    sessions = Sessions("key", 100)
    text = sessions.issue(record, secret, now=now)
    assert sessions.identify(record, text, now=now).name == "a"
    token_id, end, proof, signature = text.split(".")
    later = f"{token_id}.{int(end) + 1000}.{proof}.{signature}"
    for session, stored, at in (
        (later, record, now),
        (text, other, now),
        (text, None, now),
        (text, record, now + timedelta(seconds=101)),
        (f"{token_id}.{end}.{proof}.", record, now),
        (Sessions(None, 100).issue(record, secret, now=now), record, now),  # of a server with another key
    ):
        with pytest.raises(AuthenticationError, match="session has ended"):
            sessions.identify(stored, session, now=at)


def test_a_copy_of_the_store_opens_nothing(guarded: Api):
    """Neither as a token nor as a session, though it has all that the server has."""
    guarded.token("admin")
    [stored] = guarded.server.storage.list_tokens()
    for secret in (stored.secret_hash, "guessed"):
        session = {
            "Cookie": f"{COOKIE}={guarded.server.sessions.issue(stored, secret, now=datetime.now(UTC))}"
        }
        guarded.refused("GET", "/whoami", 401, "AuthenticationError", headers=session)
        token = bearer(f"pho_{stored.id}_{secret}")
        guarded.refused("GET", "/whoami", 401, "AuthenticationError", headers=token)


def test_what_a_session_shows_is_no_token(guarded: Api):
    token = guarded.token("admin")
    log_in(guarded, token)
    token_id, _, proof, _ = guarded.client.cookies[COOKIE].split(".")
    guarded.client.cookies.clear()
    guarded.refused("GET", "/whoami", 401, "AuthenticationError", headers=bearer(f"pho_{token_id}_{proof}"))


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "a.b.c.d",
        "a.1",
        "a.1.b",
        "a.1.b.c",
        "a.1.b.c.d",
        "a.١.b.c",
        "." * 300,
        "a." + "9" * 500 + ".b.c",
    ],
)
def test_a_cookie_that_is_no_session_is_refused(guarded: Api, value: str):
    headers = {"Cookie": f"{COOKIE}={value}".encode()}
    guarded.refused("GET", "/whoami", 401, "AuthenticationError", headers=headers)


# Where requests come from


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.2", "", "a b", "[", "localhost@x"]
)
def test_without_tokens_a_server_answers_under_no_name_but_its_machine_s(api: Api, host: str):
    api.refused("GET", "/studies", 403, "PermissionDenied", headers={"Host": host})


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_without_tokens_this_machine_has_these_names(api: Api, host: str):
    api.get("/studies", headers={"Host": host})


def test_without_tokens_other_machines_are_refused(api: Api):
    app = api.client.app
    for address, status in (("10.0.0.7", 403), ("::1", 200), ("127.0.0.9", 200), ("nonsense", 403)):
        caller = TestClient(app, base_url="http://localhost", client=(address, 1))
        assert caller.get("/api/v1/studies").status_code == status


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}]
)
def test_without_tokens_a_page_elsewhere_changes_nothing(api: Api, headers: dict[str, str]):
    study_id = api.create()
    api.refused("POST", f"/studies/{study_id}/stop", 403, "PermissionDenied", headers=headers)
    api.refused("DELETE", f"/studies/{study_id}", 403, "PermissionDenied", headers=headers)
    api.post(f"/studies/{study_id}/stop", headers=OWN)
    assert api.get("/whoami")["tokens_required"] is False
    assert log_in(api, "anything").json()["role"] == "admin"


def test_names_of_the_server_can_be_limited():
    with serving(tokens_required=True, allowed_hosts=("Tune.Example",)) as api:
        headers = bearer(api.token("read"))
        api.get("/whoami", headers=headers | {"Host": "tune.example:8000"})
        api.refused("GET", "/whoami", 403, "PermissionDenied", headers=headers)
        assert api.get("//healthz") == {"status": "ok"}  # a load balancer asks by address


@pytest.mark.parametrize(
    "path", ["//", "//healthz", "//openapi.json", "/studies", "/nothing", "//static/none.js"]
)
def test_every_answer_has_the_security_headers(guarded: Api, path: str):
    answer = guarded.client.get(path[1:] if path.startswith("//") else f"/api/v1{path}")
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy and "default-src" in policy and "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert {"referrer-policy", "x-request-id", "cache-control"} <= set(answer.headers)
    assert "access-control-allow-origin" not in answer.headers


def test_no_secret_reaches_the_log(guarded: Api, caplog):
    token = guarded.token("read")
    secret = token.split("_", 2)[2]
    with caplog.at_level(logging.DEBUG):
        guarded.get("/whoami", headers=bearer(token), params={"token": token})
        session = log_in(guarded, token).cookies[COOKIE]
        guarded.refused("GET", "/studies/7", 404, "UnknownStudy")
        guarded.refused("POST", "//login", 401, "AuthenticationError", json={"token": token + "x"})
    ours = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("photinus"))
    assert ours.count("GET") == 2 and secret not in ours and session not in ours
