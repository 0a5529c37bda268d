import json
from typing import Any

import pytest
from api_calls import MIXED, ONE, TWO, Api, serving

import photinus as ph
from photinus.problem import Problem


def test_an_ask_hands_out_trials_of_the_space(api: Api):
    study_id = api.create(MIXED)
    trials = api.ask(study_id, 3, body={"worker": "w", "lease_s": 60})
    space = Problem.from_dict(MIXED).space
    assert [trial["number"] for trial in trials] == [0, 1, 2]
    assert all(space.validate(trial["params"]) == trial["params"] for trial in trials)
    assert all(trial["state"] == "active" and trial["worker"] == "w" for trial in trials)
    assert all(trial["lease_expires_at"] for trial in trials)


def test_a_named_worker_is_given_its_own_trials_again(api: Api):
    study_id = api.create()
    first = api.ask(study_id, 2, body={"worker": "w"})
    again = api.ask(study_id, 3, body={"worker": "w"})
    assert [trial["number"] for trial in again] == [0, 1, 2]
    assert [trial["params"] for trial in again[:2]] == [trial["params"] for trial in first]


def test_asking_again_with_the_same_key_gives_the_same_trials(api: Api):
    study_id = api.create()
    first = api.ask(study_id, 3, headers={"Idempotency-Key": "k"})
    again = api.ask(study_id, 3, headers={"Idempotency-Key": "k"})
    assert again == first and api.get(f"/studies/{study_id}/count")["total"] == 3
    api.post(f"/studies/{study_id}/trials/1/tell", {"values": 1})
    assert [t["number"] for t in api.ask(study_id, 3, headers={"Idempotency-Key": "k"})] == [0, 1, 2]
    assert [t["number"] for t in api.ask(study_id, headers={"Idempotency-Key": "other"})] == [3]


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "k" * 201])
def test_a_key_is_short_and_plain(api: Api, key: str):
    study_id = api.create()
    headers = {"Idempotency-Key": key.encode("utf-8")}
    api.refused("POST", f"/studies/{study_id}/ask", 422, "ArgumentError", json={}, headers=headers)
    assert api.get(f"/studies/{study_id}/count")["total"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {"count": 0},
        {"count": 10**30},
        {"count": "1"},
        {"count": 1.5},
        {"count": True},
        {"count": None},
        {"lease_s": 0},
        {"lease_s": 1e300},
        {"lease_s": "1"},
        {"worker": ""},
        {"worker": "\0"},
        {"worker": 5},
        {"counts": 1},
        [],
        None,
        "ask",
    ],
)
def test_a_bad_ask_is_refused_and_hands_out_nothing(api: Api, body: Any):
    study_id = api.create()
    api.refused("POST", f"/studies/{study_id}/ask", 422, "ArgumentError", json=body)
    assert api.get(f"/studies/{study_id}/count")["total"] == 0


def test_a_request_has_only_so_many_trials_and_points():
    with serving(max_trials_per_request=2, max_results_per_request=2, max_points=2) as api:
        path = f"/studies/{api.create()}"
        three = [{"params": {"x": 0.5}}] * 3
        results = [{"number": 0, "values": 1}] * 3
        for where, body in (
            ("/ask", {"count": 3}),
            ("/trials", {"trials": three}),
            ("/tell", {"results": results}),
            ("/predict", {"points": [{"x": 0.5}] * 3}),
        ):
            assert "2" in api.refused("POST", path + where, 422, "ArgumentError", json=body)
        assert api.get(f"{path}/count")["total"] == 0
        assert len(api.ask(1, 2)) == 2


def test_a_picture_is_a_plotly_figure(api: Api):
    study_id = api.create()
    api.told(study_id, 3.0, 1.0, 2.0)
    light = api.get(f"/studies/{study_id}/plots/history")
    dark = api.get(f"/studies/{study_id}/plots/history", params={"dark": True, "log_scale": True})
    assert light["data"] and light["layout"]["template"] != dark["layout"]["template"]


@pytest.mark.parametrize(
    ("kind", "query", "message"),
    [
        ("nonsense", {}, "one of history"),
        ("_study", {}, "one of history"),
        ("history", {"objective": "loss"}, "objective"),
        ("timeline", {"objective": "value"}, "options"),
        ("contour", {"at": "{"}, "JSON object"),
        ("contour", {"at": "[1]"}, "JSON object"),
        ("contour", {"at": "[" * 20_000}, "JSON object"),
        ("contour", {"params": ["x", "y"]}, "params"),
    ],
)
def test_a_picture_that_cannot_be_drawn_says_why(api: Api, kind: str, query: dict, message: str):
    study_id = api.create()
    api.told(study_id, 1.0)
    url = f"/studies/{study_id}/plots/{kind}"
    answer = api.call("GET", url, status=422, params=query)
    assert message in answer.json()["error"]["message"], answer.text


def test_points_to_predict_are_checked_first(api: Api):
    study_id = api.create()
    for points in ([{"x": 2}], [{"y": 1}], [{}]):
        body = {"points": points}
        api.refused("POST", f"/studies/{study_id}/predict", 422, "ParameterError", json=body)
    for body in ({"points": {}}, {}, {"points": [], "max_trials": 1}):
        api.refused("POST", f"/studies/{study_id}/predict", 422, "ArgumentError", json=body)


@pytest.mark.long
def test_the_engine_process_suggests_predicts_and_describes(tmp_path):
    with serving(str(tmp_path / "studies.db")) as api:
        study_id = api.create(TWO, algorithm="default")
        api.told(study_id, *({"cost": i, "gain": i * i} for i in range(3)))
        [trial] = api.ask(study_id, headers={"Idempotency-Key": "k"})
        assert api.ask(study_id, headers={"Idempotency-Key": "k"}) == [trial]
        assert trial["algorithm"] == "default" and trial["reason"]
        points = [{"x": 0.25}, {"x": 0.75}]
        predictions = api.post(f"/studies/{study_id}/predict", {"points": points})["predictions"]
        assert [set(prediction) for prediction in predictions] == [{"cost", "gain"}] * 2
        assert predictions[0]["cost"]["q05"] < predictions[0]["cost"]["q95"]
        model = api.get(f"/studies/{study_id}/model", params={"max_trials": 2})
        assert set(model["length_scales"]) == {"x"}
        figure = api.call("GET", f"/studies/{study_id}/plots/model", params={"params": "x"})
        assert json.loads(figure.text)["data"]
        assert api.get("//readyz") == {"status": "ok"}


def test_a_study_in_a_file_is_there_for_others(tmp_path):
    path = str(tmp_path / "studies.db")
    with serving(path) as api:
        study_id = api.create(ONE, name="a", algorithm="quasi_random")
        api.told(study_id, 1.0, 2.0)
        assert api.get(f"/studies/{study_id}/best")["trials"][0]["number"] == 0
    assert ph.load_study("a", storage=path).best_trial.values == {"value": 1.0}


@pytest.mark.long
def test_text_that_postgresql_cannot_hold_breaks_nothing(postgresql: str):
    odd = "a\0b"
    problem = Problem.define({odd: ph.Categorical([odd, "b"])}, {odd: "minimize"}).to_dict()
    with serving(postgresql) as api:
        study_id = api.create(problem, name="a", metadata={odd: odd})
        path = f"/studies/{study_id}"
        api.told(study_id, {odd: 1.0})
        api.ask(study_id, 2)
        assert api.post(f"{path}/trials/1/tell", {"infeasible": odd})["message"] == "a\ufffdb"
        api.patch(f"{path}/trials/2/metadata", {odd: odd})
        document = api.get(f"{path}/export")
        assert document["study"]["metadata"] == {odd: odd}
        assert api.get("/studies", params={"search": "\0"})["studies"] == []
        for query in ({"name": "\0"}, {"name": "\0", "project": "\0"}, {"project": "\0"}):
            answer = api.client.get("/api/v1/studies", params=query)
            assert answer.status_code in (200, 422), answer.text
        answer = api.client.get(f"/api/v1{path}/trials", params={"worker": "\0"})
        assert answer.status_code in (200, 422), answer.text
        document["study"]["name"] = "b"
        document["trials"][1]["message"] = odd
        answer = api.client.post("/api/v1/studies/restore", json=document)
        assert answer.status_code in (201, 422), answer.text
        headers = {"Authorization": "Bearer pho_a_b"}
        assert api.client.get("/api/v1/whoami", headers=headers).status_code == 200
