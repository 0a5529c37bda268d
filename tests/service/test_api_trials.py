import math
from typing import Any

import pytest
from api_calls import MIXED, TWO, Api

from photinus.trial import Trial
from photinus.wire import TrialBody, TrialList, TrialPage

POINT = {"lr": 0.01, "layers": 3, "batch": 32, "opt": True}


@pytest.fixture
def study(api: Api) -> str:
    """The path of a study with a parameter of every type."""
    return f"/studies/{api.create(MIXED)}"


def numbers(answer: dict[str, Any]) -> list[int]:
    return [trial["number"] for trial in answer["trials"]]


def test_trials_measured_elsewhere_and_points_to_try_are_added_together(api: Api, study: str):
    entries = [
        {"params": POINT, "values": {"error": 0.5}, "metadata": {"from": "lab"}},
        {"params": POINT, "values": 0.25},
        {"params": POINT, "infeasible": "too hot"},
        {"params": POINT, "failed": "power cut"},
        {"params": POINT},
    ]
    answer = api.post(f"{study}/trials", {"trials": entries}, status=201)
    TrialList.model_validate(answer)
    states = ["completed", "completed", "infeasible", "failed", "queued"]
    assert [trial["state"] for trial in answer["trials"]] == states
    assert [trial["message"] for trial in answer["trials"]] == [None, None, "too hot", "power cut", None]
    assert answer["trials"][0]["metadata"] == {"from": "lab"}
    assert answer["trials"][1]["values"] == {"error": 0.25}
    assert [Trial.from_dict(trial).params for trial in answer["trials"]] == [POINT] * 5
    assert answer["trials"][0]["params"]["opt"] is True
    assert api.ask(int(study.rpartition("/")[2]))[0]["number"] == 4


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"params": POINT | {"layers": 9}}, "ParameterError"),
        ({"params": POINT | {"opt": 1}}, "ParameterError"),
        ({"params": {"lr": 0.01}}, "ParameterError"),
        ({"params": POINT | {"lr": 10**400}}, "ParameterError"),
        ({"params": POINT, "values": {"loss": 1}}, "ValuesError"),
        ({"params": POINT, "values": 1, "failed": "no"}, "ArgumentError"),
        ({"params": POINT, "values": "1"}, "ArgumentError"),
        ({"params": POINT, "value": 1}, "ArgumentError"),
        ({"params": POINT, "metadata": {"a": 1}}, "ArgumentError"),
        ({"params": POINT, "infeasible": ""}, "ArgumentError"),
    ],
)
def test_one_bad_entry_keeps_all_of_them_out_and_is_named(api: Api, study: str, entry: dict, kind: str):
    body = {"trials": [{"params": POINT}, entry]}
    message = api.refused("POST", f"{study}/trials", 422, kind, json=body)
    assert "entry 1" in message or "trials.1" in message
    assert api.get(f"{study}/count")["total"] == 0


def test_adding_again_with_the_same_key_adds_nothing(api: Api, study: str):
    body = {"trials": [{"params": POINT}, {"params": POINT, "values": 1}]}
    first = api.post(f"{study}/trials", body, status=201, headers={"Idempotency-Key": "k"})
    again = api.post(f"{study}/trials", body, status=201, headers={"Idempotency-Key": "k"})
    assert first == again and api.get(f"{study}/count")["total"] == 2
    api.post(f"{study}/trials", body, status=201, headers={"Idempotency-Key": "other"})
    assert api.get(f"{study}/count")["total"] == 4


def test_the_first_outcome_counts(api: Api, study: str):
    api.ask(1, 3)
    told = api.post(f"{study}/trials/0/tell", {"values": {"error": 0.1}, "worker": "w"})
    assert (told["state"], told["values"], told["worker"]) == ("completed", {"error": 0.1}, "w")
    TrialBody.model_validate(told)
    assert api.post(f"{study}/trials/0/tell", {"values": 0.1}) == told == api.get(f"{study}/trials/0")
    api.refused("POST", f"{study}/trials/0/tell", 409, "AlreadyTold", json={"values": 0.2})
    assert api.post(f"{study}/trials/1/tell", {"infeasible": "hot"})["state"] == "infeasible"
    assert api.post(f"{study}/trials/2/tell", {"failed": "cut"})["state"] == "failed"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, "ArgumentError"),
        ({"values": 1, "infeasible": "x"}, "ArgumentError"),
        ({"values": {}}, "ValuesError"),
        ({"values": {"error": 1, "more": 2}}, "ValuesError"),
        ({"values": True}, "ArgumentError"),
        ({"values": 10**400}, "ArgumentError"),
        ({"values": 1, "worker": ""}, "ArgumentError"),
        ({"values": 1, "worker": "a\0"}, "ArgumentError"),
    ],
)
def test_a_bad_outcome_is_refused_and_the_trial_stays(api: Api, study: str, body: dict, kind: str):
    [trial] = api.ask(1)
    api.refused("POST", f"{study}/trials/0/tell", 422, kind, json=body)
    assert api.get(f"{study}/trials/0") == trial


def test_several_outcomes_count_all_together_or_not_at_all(api: Api, study: str):
    api.ask(1, 3)
    results = [{"number": 0, "values": 1}, {"number": 1, "failed": "x"}, {"number": 2, "infeasible": "y"}]
    bad = [*results[:2], {"number": 7, "values": 1}]
    api.refused("POST", f"{study}/tell", 404, "UnknownTrial", json={"results": bad})
    bad[2] = {"number": 2, "values": {"loss": 1}}
    assert "entry 2" in api.refused("POST", f"{study}/tell", 422, "ValuesError", json={"results": bad})
    assert api.get(f"{study}/count")["finished"] == 0
    answer = api.post(f"{study}/tell", {"results": results, "worker": "w"})
    assert [trial["state"] for trial in answer["trials"]] == ["completed", "failed", "infeasible"]
    assert {trial["worker"] for trial in answer["trials"]} == {"w"}
    assert api.post(f"{study}/tell", {"results": results}) == answer


def test_a_correction_is_on_record(api: Api, study: str):
    api.ask(1, 2)
    api.post(f"{study}/trials/0/tell", {"values": 1})
    amended = api.post(f"{study}/trials/0/amend", {"values": {"error": 2}})
    assert amended["values"] == {"error": 2.0}
    assert amended["amendments"][0]["old_values"] == {"error": 1.0}
    api.refused("POST", f"{study}/trials/1/amend", 409, "InvalidState", json={"values": 1})
    api.refused("POST", f"{study}/trials/0/amend", 422, "ValuesError", json={"values": {"a": 1}})


def test_reports_keep_what_is_not_finite(api: Api, study: str):
    api.ask(1)
    for step, value in enumerate([0.5, "nan", "inf", "-inf"]):
        api.post(f"{study}/trials/0/report", {"values": {"error": value}, "step": step}, status=204)
    trial = api.get(f"{study}/trials/0")
    TrialBody.model_validate(trial)
    kept = [report.values["error"] for report in Trial.from_dict(trial).reports]
    assert kept[0] == 0.5 and math.isnan(kept[1]) and kept[2:] == [math.inf, -math.inf]
    for body in ({"values": {"error": "high"}, "step": 1}, {"values": {"error": 1}, "step": -1}):
        api.refused("POST", f"{study}/trials/0/report", 422, "ArgumentError", json=body)
    api.refused("POST", f"{study}/trials/0/report", 422, "ValuesError", json={"values": {"a": 1}, "step": 1})
    api.post(f"{study}/trials/0/tell", {"values": 1})
    late = {"values": {"error": 1}, "step": 9}
    api.refused("POST", f"{study}/trials/0/report", 409, "AlreadyTold", json=late)


def test_a_lease_is_extended_and_a_trial_handed_back_by_its_holder(api: Api, study: str):
    [trial] = api.ask(1, body={"worker": "w", "lease_s": 50})
    held = {"worker": "w", "attempt": trial["attempts"]}
    extended = api.post(f"{study}/trials/0/lease", held | {"lease_s": 500})
    assert extended["lease_expires_at"] > trial["lease_expires_at"]
    other = {"worker": "v", "lease_s": 500}
    api.refused("POST", f"{study}/trials/0/lease", 409, "InvalidState", json=other)
    api.refused("POST", f"{study}/trials/0/lease", 422, "ArgumentError", json=held | {"lease_s": 0})
    api.refused("POST", f"{study}/trials/0/release", 409, "InvalidState", json={"worker": "v"})
    assert api.post(f"{study}/trials/0/release", held)["state"] == "expired"
    assert numbers({"trials": api.ask(1)}) == [0]


def test_a_running_trial_is_asked_to_stop_and_takes_notes(api: Api, study: str):
    api.ask(1)
    assert api.post(f"{study}/trials/0/stop")["state"] == "stopping"
    noted = api.patch(f"{study}/trials/0/metadata", {"a": "1", "b": None})
    assert noted["metadata"] == api.get(f"{study}/trials/0")["metadata"] == {"a": "1"}
    api.post(f"{study}/trials/0/tell", {"values": 1})
    api.refused("POST", f"{study}/trials/0/stop", 409, "InvalidState")


def test_trials_are_paged_filtered_and_ordered(api: Api, study: str):
    api.ask(1, 4, body={"worker": "w"})
    api.ask(1, 6)
    for number in (1, 2, 5):
        api.post(f"{study}/trials/{number}/tell", {"values": 1})

    def pages(**query: Any) -> list[list[int]]:
        found, after = [], {}
        while True:
            answer = api.get(f"{study}/trials", params={**query, **after})
            TrialPage.model_validate(answer)
            found.append(numbers(answer))
            if answer["next"] is None:
                return found
            after = {"after": answer["next"]}

    assert pages(limit=4) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert pages(limit=4, newest_first=True) == [[9, 8, 7, 6], [5, 4, 3, 2], [1, 0]]
    assert pages(limit=9, newest_first=True) == [[9, 8, 7, 6, 5, 4, 3, 2, 1], [0]]
    assert pages(state="completed") == [[1, 2, 5]]
    assert pages(state=["completed", "active"], limit=10) == [list(range(10))]
    assert pages(worker="w", state="active") == [[0, 3]]
    assert pages(state="failed") == [[]]
    api.refused("GET", f"{study}/trials", 422, "ArgumentError", params={"state": "done"})
    api.refused("GET", f"{study}/trials", 422, "ArgumentError", params={"limit": 0})


def test_polling_gives_what_changed_and_nothing_else(api: Api, study: str):
    api.ask(1, 5)
    page = api.get(f"{study}/trials", params={"limit": 2})
    assert page["last_event"] == 5
    everything = api.get(f"{study}/trials", params={"since_event": 0})
    assert numbers(everything) == [0, 1, 2, 3, 4] and everything["last_event"] == 5
    nothing = api.get(f"{study}/trials", params={"since_event": 5})
    assert nothing == {"trials": [], "next": None, "last_event": 5}
    # Who knows of later events learns that the store was put back to an older copy.
    assert api.get(f"{study}/trials", params={"since_event": 99})["last_event"] == 5
    api.post(f"{study}/trials/3/tell", {"values": 1})
    api.post(f"{study}/trials/1/report", {"values": {"error": 1}, "step": 1}, status=204)
    changed = api.get(f"{study}/trials", params={"since_event": 5})
    assert numbers(changed) == [1, 3] and changed["last_event"] == 7
    mixed = {"since_event": 5, "limit": 2}
    assert "since_event" in api.refused("GET", f"{study}/trials", 422, "ArgumentError", params=mixed)


def test_floats_come_back_bit_for_bit(api: Api):
    study_id = api.create(TWO)
    values = {"cost": 0.1 + 0.2, "gain": 5e-324}
    api.told(study_id, values)
    assert api.get(f"/studies/{study_id}/trials/0")["values"] == values
    [trial] = api.server.storage.get_trials(study_id)
    assert api.get(f"/studies/{study_id}/trials/0")["params"] == trial.params


@pytest.mark.parametrize("number", [5, 2**63 - 1])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", None),
        ("/tell", {"values": 1}),
        ("/amend", {"values": 1}),
        ("/report", {"values": {"error": 1}, "step": 1}),
        ("/lease", {"lease_s": 1}),
        ("/release", {}),
        ("/stop", {}),
    ],
)
def test_a_trial_that_is_not_there_is_unknown(api: Api, study: str, number: int, path: str, body: Any):
    method = "GET" if body is None else "POST"
    api.refused(method, f"{study}/trials/{number}{path}", 404, "UnknownTrial", json=body)
