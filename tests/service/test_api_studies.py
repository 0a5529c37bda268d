import json

import pytest
from api_calls import MIXED, ONE, TWO, Api, bearer, serving

from photinus.problem import Problem
from photinus.wire import StudyBody, StudyPage


def test_a_new_study_is_answered_as_it_is_stored(api: Api):
    body = {"name": "a", "project": "p", "problem": MIXED, "algorithm": "quasi_random", "seed": 7}
    study = api.post("/studies", body | {"metadata": {"owner": "ann"}}, status=201)
    assert StudyBody.model_validate(study).problem.to_problem() == Problem.from_dict(MIXED)
    record = api.server.storage.get_study(study["id"])
    assert (record.project, record.name, record.algorithm, record.seed) == ("p", "a", "quasi_random", 7)
    assert (study["metadata"], study["state"], study["best"]) == ({"owner": "ann"}, "active", None)
    assert study["last_event"] == 0 and set(study["counts"].values()) == {0}
    assert api.get(f"/studies/{study['id']}") == study


def test_what_is_left_out_is_made_up(api: Api):
    first, second = (api.post("/studies", {"problem": ONE}, status=201) for _ in range(2))
    assert first["name"] != second["name"] and first["seed"] != second["seed"]
    assert (first["project"], first["algorithm"]) == ("default", "default")


def test_a_study_of_the_same_name_is_loaded_only_if_asked_for(api: Api):
    study_id = api.create(name="a")
    again = {"name": "a", "problem": ONE, "algorithm": "random"}
    assert "load_if_exists" in api.refused("POST", "/studies", 409, "DuplicateStudy", json=again)
    assert api.post("/studies", again | {"load_if_exists": True})["id"] == study_id
    other = again | {"problem": TWO, "load_if_exists": True}
    assert "objective" in api.refused("POST", "/studies", 409, "StudyMismatch", json=other)
    nameless = {"problem": ONE, "load_if_exists": True}
    assert "name" in api.refused("POST", "/studies", 422, "ArgumentError", json=nameless)


@pytest.mark.parametrize("name", ["a", None])
def test_a_repeated_creation_gives_the_first_study(api: Api, name: str | None):
    body = {"name": name, "problem": ONE, "algorithm": "random"}
    first = api.post("/studies", body, status=201, headers={"Idempotency-Key": "k-1"})
    again = api.post("/studies", body, status=200, headers={"Idempotency-Key": "k-1"})
    assert again == first and len(api.get("/studies")["studies"]) == 1
    if name is None:
        assert api.post("/studies", body, status=201, headers={"Idempotency-Key": "k-2"})["id"] != first["id"]
    else:
        api.refused("POST", "/studies", 409, "DuplicateStudy", json=body, headers={"Idempotency-Key": "k-2"})


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"metrics": []}, "ProblemError"),
        ({"metrics": [{"name": "", "goal": "minimize"}]}, "ProblemError"),
        ({"metrics": [{"name": "a", "goal": "minimize"}] * 2}, "ProblemError"),
        ({"space": {"parameters": []}}, "SpaceError"),
        ({"space": {"parameters": [{"type": "float", "name": "x", "low": 2, "high": 1}]}}, "SpaceError"),
        ({"space": {"parameters": [{"type": "int", "name": "x", "low": 0.5, "high": 1}]}}, "SpaceError"),
        ({"space": {"parameters": [{"type": "int", "name": "x", "low": 0, "high": 10**300}]}}, "SpaceError"),
        ({"space": {"parameters": [{"type": "float", "name": "x", "low": 0, "high": 1}] * 2}}, "SpaceError"),
        ({"space": {"parameters": [{"type": "categorical", "name": "x", "values": []}]}}, "SpaceError"),
    ],
)
def test_a_bad_problem_is_refused_in_the_words_of_the_library(api: Api, change: dict, kind: str):
    assert api.refused("POST", "/studies", 422, kind, json={"problem": ONE | change})
    assert api.get("/studies")["studies"] == []


def test_what_is_not_supported_yet_says_so(api: Api):
    space = ONE["space"] | {"constraints": [{"weights": {"x": 1}, "upper": 1}]}
    assert "constraints" in api.refused(
        "POST", "/studies", 501, "UnsupportedError", json={"problem": ONE | {"space": space}}
    )


def test_studies_are_listed_by_page_in_either_order(api: Api):
    ids = [api.create(name=f"s{i}") for i in range(7)]
    for newest_first, expected in ((False, ids), (True, ids[::-1])):
        seen, after = [], {}
        while True:
            query = {"limit": 3, "newest_first": newest_first, **after}
            page = api.get("/studies", params=query)
            StudyPage.model_validate(page)
            seen += [study["id"] for study in page["studies"]]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        assert seen == expected


def test_studies_are_found_by_project_name_text_and_state(api: Api):
    a, b = api.create(name="Resnet 50", project="vision"), api.create(name="resnet", project="speech")
    c = api.create(name="bert", project="speech")
    api.post(f"/studies/{c}/stop")

    def found(**query: str) -> list[int]:
        return [study["id"] for study in api.get("/studies", params=query)["studies"]]

    assert found(project="speech") == [b, c]
    assert found(name="resnet") == [b] and found(name="resnet", project="vision") == []
    assert found(name="bert", project="speech") == [c]
    assert found(search="RESNET") == [a, b] and found(search="vis") == [a]
    assert found(state="stopped") == [c] and found(state="active", project="speech") == [b]
    assert found(name="bert", project="speech", state="active") == []


def test_progress_and_the_best_are_shown(api: Api):
    study_id = api.create()
    api.told(study_id, 3.0, 1.0, 2.0)
    api.ask(study_id, 2, body={"worker": "w"})
    study = api.get(f"/studies/{study_id}")
    assert study["counts"] | {"completed": 3, "active": 2} == study["counts"]
    assert study["best"] == {"number": 1, "values": {"value": 1.0}} and study["pareto_size"] is None
    assert study["num_workers"] == 1 and study["last_change_at"] is not None
    assert api.get("/studies")["studies"] == [study]
    assert api.get(f"/studies/{study_id}/count") == {"total": 5, "finished": 3}


def test_several_objectives_have_a_pareto_set_in_place_of_a_best(api: Api):
    study_id = api.create(TWO)
    assert api.get(f"/studies/{study_id}/best") == {"trials": []}
    points = [(1, 1), (2, 2), (3, 1), (0, 0)]
    api.told(study_id, *({"cost": cost, "gain": gain} for cost, gain in points))
    study = api.get(f"/studies/{study_id}")
    assert (study["best"], study["pareto_size"]) == (None, 3)
    assert [trial["number"] for trial in api.get(f"/studies/{study_id}/best")["trials"]] == [0, 1, 3]


def test_a_study_is_stopped_and_resumed(api: Api):
    study_id = api.create()
    assert api.post(f"/studies/{study_id}/stop")["state"] == "stopped"
    assert api.get(f"/studies/{study_id}")["state"] == "stopped"
    assert api.post(f"/studies/{study_id}/resume")["state"] == "active"


def test_notes_are_set_and_removed(api: Api):
    study_id = api.create(metadata={"a": "1", "b": "2"})
    changed = api.patch(f"/studies/{study_id}/metadata", {"b": None, "c": "3"})
    assert changed["metadata"] == api.get(f"/studies/{study_id}")["metadata"] == {"a": "1", "c": "3"}
    api.refused("PATCH", f"/studies/{study_id}/metadata", 422, "ArgumentError", json={"a": 1})


@pytest.mark.parametrize("notes", ['{"a": "\\ud800"}', '{"\\ud800": "a"}'])
def test_notes_that_no_page_can_show_are_refused(api: Api, notes: str):
    study_id = api.create()
    api.ask(study_id)
    as_json = {"Content-Type": "application/json"}
    for path in (f"/studies/{study_id}/metadata", f"/studies/{study_id}/trials/0/metadata"):
        api.refused("PATCH", path, 422, "ArgumentError", content=notes, headers=as_json)
    added = f'{{"trials": [{{"params": {{"x": 0.5}}, "metadata": {notes}}}]}}'
    api.refused("POST", f"/studies/{study_id}/trials", 422, "ArgumentError", content=added, headers=as_json)
    assert api.get(f"/studies/{study_id}/count")["total"] == 1


def test_a_deleted_study_is_gone_at_once_though_it_was_just_looked_at(api: Api):
    study_id = api.create()
    api.told(study_id, 1.0)
    api.get(f"/studies/{study_id}")
    api.call("DELETE", f"/studies/{study_id}", status=204)
    api.refused("DELETE", f"/studies/{study_id}", 404, "UnknownStudy")
    for path in ("", "/count", "/best", "/trials", "/trials/0", "/trials?since_event=0", "/export", "/model"):
        api.refused("GET", f"/studies/{study_id}{path}", 404, "UnknownStudy")
    for path in ("/ask", "/trials/0/tell", "/stop", "/trials/0/stop"):
        body = {"/trials/0/tell": {"values": 1}}.get(path, {})
        api.refused("POST", f"/studies/{study_id}{path}", 404, "UnknownStudy", json=body)


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "../../etc/passwd", "\u202etxt.exe", "a/b?c#d%", "''; DROP", "ü\n\t☃"],
)
def test_hostile_names_are_kept_as_they_are(api: Api, name: str):
    study_id = api.create(name=name, project=name, metadata={name: name})
    study = api.get(f"/studies/{study_id}")
    assert (study["name"], study["project"], study["metadata"]) == (name, name, {name: name})
    assert api.get("/studies", params={"name": name})["studies"] == [study]
    assert api.get("/studies", params={"name": name, "project": name})["studies"] == [study]


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "n" * 251])
def test_names_that_no_store_can_keep_are_refused(api: Api, name: str):
    content = json.dumps({"name": name, "problem": ONE})
    headers = {"Content-Type": "application/json"}
    api.refused("POST", "/studies", 422, "ArgumentError", content=content, headers=headers)


def test_a_token_makes_so_many_studies_and_no_more():
    with serving(tokens_required=True, max_studies_per_token=2) as api:
        api.client.headers = bearer(api.token("write"))
        for name in ("a", "b"):
            api.create(name=name)
        body = {"problem": ONE, "algorithm": "random", "name": "c"}
        assert "at most 2" in api.refused("POST", "/studies", 403, "PermissionDenied", json=body)
        assert api.post("/studies", body | {"name": "a", "load_if_exists": True})["name"] == "a"
        document = api.get(f"/studies/{api.get('/studies')['studies'][0]['id']}/export")
        document["study"]["name"] = "d"
        api.refused("POST", "/studies/restore", 403, "PermissionDenied", json=document)
        api.client.headers = bearer(api.token("write"))
        api.create(name="c")
        once = {"Idempotency-Key": "once"}
        restored = [api.post("/studies/restore", document, status=201, headers=once)["id"] for _ in range(2)]
        assert restored[0] == restored[1]  # the last one that is allowed, and its answer may be lost
        api.refused("POST", "/studies/restore", 403, "PermissionDenied", json=document)
