"""What answers mean: values of the library bit for bit, and errors of the same class with the same message."""

import inspect
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings

from photinus import errors
from photinus.client import calls
from photinus.client.answers import error_of, read_page, read_record, read_trial, reading
from photinus.client.messages import UNSETTLED, Response
from photinus.exchange import record_to_dict
from photinus.problem import Problem
from photinus.record import NewTrial, StudyRecord, StudyState
from photinus.space import Float
from photinus.testing import strategies
from photinus.trial import Amendment, Measurement, Report, Trial, TrialState

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
RECORD = StudyRecord(
    id=7,
    project="vision",
    name="resnet",
    problem=Problem.define({"x": Float(0, 1)}),
    algorithm="random",
    seed=3,
    state=StudyState.STOPPED,
    created_at=NOW,
    metadata={"owner": "ann"},
)
TRIAL = Trial(
    number=3,
    params={"x": 0.1 + 0.2},
    state=TrialState.COMPLETED,
    values={"value": 1 / 3},
    worker="w",
    attempts=2,
    created_at=NOW,
    updated_event=9,
    reports=(Report(1, {"value": float("-inf")}, NOW),),
    amendments=(Amendment({"value": 1.0}, {"value": 1 / 3}, NOW, 9),),
)


def answer(data, status=200, headers=None):
    return Response(status, headers or {}, json.dumps(data).encode())


def failure(status, kind, message="what is wrong"):
    return answer({"error": {"kind": kind, "message": message, "request_id": "r1"}}, status)


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_comes_back_as_itself(kind):
    error = error_of(failure(409, kind.__name__))
    assert type(error) is kind
    assert str(error) == "what is wrong"


def test_an_error_of_a_newer_server_is_a_server_error():
    error = error_of(failure(409, "Exhausted", "no more"))
    assert type(error) is errors.ServerError
    assert str(error) == "Exhausted: no more"


def test_a_kind_that_is_no_error_of_ours_is_not_made():
    for kind in ("KeyboardInterrupt", "inspect", "__builtins__"):
        assert type(error_of(failure(500, kind))) is errors.ServerError


def test_the_request_is_named_where_the_servers_log_has_more():
    assert error_of(failure(500, "ServerError")).__notes__ == [
        "The server's log has more under request id r1"
    ]
    assert not hasattr(error_of(failure(404, "UnknownStudy")), "__notes__")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, errors.ServerError),
        (400, errors.ServerError),
        (401, errors.AuthenticationError),
        (403, errors.PermissionDenied),
        (404, errors.ServerError),
        (413, errors.ArgumentError),
        (500, errors.ServerError),
    ],
)
def test_answers_of_something_in_between(status, kind):
    for content in (
        b"<html>no</html>",
        b'{"error": "no"}',
        b'{"error": {"kind": 1, "message": 2}}',
        b"[1]",
        b"\xff",
    ):
        error = error_of(Response(status, {}, content))
        assert type(error) is kind
        assert str(status) in str(error)
        assert "something else answered" in str(error)


def test_a_redirect_says_where_to():
    error = error_of(Response(301, {"location": "https://server/api"}, b""))
    assert "use the address it points to, https://server/api" in str(error)


@pytest.mark.parametrize("content", [b"<html>welcome</html>", b""])
def test_a_page_is_no_answer(content):
    with pytest.raises(errors.ServerError, match="must be JSON, got 200"):
        reading(dict)(Response(200, {}, content))


@pytest.mark.parametrize("data", [{}, [], {"studies": [{}]}, {"studies": 7}, 7])
def test_an_answer_of_another_kind_is_the_servers_mistake(data):
    with pytest.raises(errors.ServerError, match="use the same version on both sides"):
        reading(read_page)(answer(data))


def test_a_trial_is_read_as_it_was_written():
    assert read_trial(json.loads(json.dumps(TRIAL.to_dict()))) == TRIAL
    assert read_trial(TRIAL.to_dict() | {"a field of a newer server": 1}) == TRIAL


@settings(max_examples=50)
@given(strategies.problems())
def test_studies_are_read_as_they_were_written(problem):
    record = StudyRecord(**{name: getattr(RECORD, name) for name in RECORD.__slots__} | {"problem": problem})
    assert read_record(json.loads(json.dumps(record_to_dict(record) | {"id": 7}))) == record


# Requests.


def test_numbers_are_written_with_all_their_digits():
    values = {"a": 0.1 + 0.2, "b": 5e-324, "c": -1.7976931348623157e308, "d": 1 / 3}
    content = calls.tell(1, 2, Measurement.completed(values), worker=None).request.content
    assert content is not None
    assert json.loads(content)["values"] == values


def test_what_is_no_number_in_json_travels_as_text():
    content = calls.report(1, 2, {"a": float("nan"), "b": float("inf")}, 0).request.content
    assert content is not None
    assert json.loads(content) == {"values": {"a": "nan", "b": "inf"}, "step": 0}


def test_every_request_that_makes_something_has_a_key_of_its_own():
    def make():
        return [
            calls.ask(1, 1, worker=None, lease_s=None, key=None),
            calls.add_trials(1, [NewTrial({"x": 0.5})], key=None),
            calls.restore_study(RECORD, [], key=None),
            calls.create_study(
                project="p",
                name="n",
                problem=RECORD.problem,
                algorithm="random",
                seed=0,
                metadata=None,
                load_if_exists=False,
                key=None,
            ),
        ]

    keys = [call.request.headers["Idempotency-Key"] for call in make() + make()]
    assert len(set(keys)) == len(keys)
    given_key = calls.ask(1, 1, worker=None, lease_s=None, key="mine").request.headers
    assert given_key["Idempotency-Key"] == "mine"


def test_outcomes_are_said_in_one_way_each():
    added = [
        NewTrial({"x": 0.5}),
        NewTrial({"x": 0.5}, Measurement.completed({"value": 1.0}), {"by": "hand"}),
        NewTrial({"x": 0.5}, Measurement.infeasible("hot")),
        NewTrial({"x": 0.5}, Measurement.failed("cut")),
    ]
    body = calls.add_trials(1, added, key=None).request.body
    assert body["trials"] == [
        {"params": {"x": 0.5}, "metadata": {}},
        {"params": {"x": 0.5}, "metadata": {"by": "hand"}, "values": {"value": 1.0}},
        {"params": {"x": 0.5}, "metadata": {}, "infeasible": "hot"},
        {"params": {"x": 0.5}, "metadata": {}, "failed": "cut"},
    ]


def test_a_message_without_end_does_not_cost_the_result():
    body = calls.tell(1, 2, Measurement.failed("x" * 1_000_000), worker=None).request.body
    assert len(body["failed"]) == calls.MAX_MESSAGE
    assert body["failed"].endswith("x...")


def test_a_query_has_what_was_given():
    request = calls.find_trials(
        1, states=[TrialState.ACTIVE, TrialState.QUEUED], after=7, newest_first=True
    ).request
    assert request.query == (
        ("state", "active"),
        ("state", "queued"),
        ("after", "7"),
        ("limit", "1000"),
        ("newest_first", "true"),
    )


# What is looked for when an answer was lost.


@pytest.mark.parametrize(
    ("state", "worker", "attempts", "is_done"),
    [
        (TrialState.ACTIVE, "w", 2, False),
        (TrialState.STOPPING, "w", 2, False),
        (TrialState.ACTIVE, "w", 3, False),  # a name is who it is, whatever it was given since
        (TrialState.EXPIRED, "w", 2, True),
        (TrialState.ACTIVE, "other", 3, True),
        (TrialState.COMPLETED, "other", 3, True),
    ],
)
def test_a_trial_that_is_not_held_any_more_was_handed_back(state, worker, attempts, is_done):
    data = TRIAL.to_dict() | {"state": state.value, "worker": worker, "attempts": attempts}
    look = calls.release(1, 3, worker="w", attempt=2).look
    assert look is not None
    assert (look.read(answer(data)) is not UNSETTLED) == is_done


def test_nameless_workers_are_told_apart_by_their_attempt():
    data = TRIAL.to_dict() | {"state": "active", "worker": None, "attempts": 3}
    mine, anybodys = (calls.release(1, 3, worker=None, attempt=attempt).look for attempt in (2, None))
    assert mine is not None and anybodys is not None
    assert mine.read(answer(data)) is not UNSETTLED
    assert anybodys.read(answer(data)) is UNSETTLED


def test_a_study_that_is_gone_was_deleted():
    look = calls.delete_study(7).look
    assert look is not None
    assert look.read(failure(404, "UnknownStudy")) is None
    assert look.read(Response(404, {}, b"<html>no such host</html>")) is UNSETTLED  # of a proxy
    assert look.read(answer(record_to_dict(RECORD))) is UNSETTLED
