"""How an answer is got in spite of trouble, without any network: what is sent, and how long is waited between."""

import json
import logging

import pytest

from photinus.client.answers import reading
from photinus.client.delivery import FIRST_WAIT_S, LONGEST_WAIT_S, Patience, Pause, deliver
from photinus.client.messages import UNSETTLED, Call, NoResponse, Request, Response
from photinus.errors import (
    ConnectionLost,
    InvalidState,
    ServerError,
    StorageError,
    SuggestionError,
    TooManyRequests,
)

URL = "http://server:8000"
QUESTION = Call(Request(method="GET", path="/question"), reading(lambda data: data["answer"]))
REFUSED = NoResponse("ConnectError: refused", may_have_acted=False)
DROPPED = NoResponse("ReadError", may_have_acted=True)


def answer(data, status=200, **headers):
    return Response(status, headers, json.dumps(data).encode())


def failure(status, kind, message="what is wrong", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return answer({"error": {"kind": kind, "message": message, "request_id": "r1"}}, status, **headers)


class Clock:
    """Time that passes by waiting only."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Conversation:
    """Drives a delivery with outcomes from a script; after its end, the last one comes again and again."""

    def __init__(self, *script, retry_s=60.0, seed=0, patience=None):
        self.clock = Clock() if patience is None else patience.clock
        self.patience = patience or Patience(URL, retry_s, clock=self.clock, seed=seed)
        self.script = list(script)
        self.sent: list[Request] = []
        self.waits: list[float] = []

    def run(self, call=QUESTION):
        steps = deliver(call, self.patience)
        outcome = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            if isinstance(step, Pause):
                self.waits.append(step.seconds)
                self.clock.now += step.seconds
                outcome = None
            else:
                self.sent.append(step)
                outcome = self.script.pop(0) if len(self.script) > 1 else self.script[0]


def test_a_good_answer_is_read_at_once():
    talk = Conversation(answer({"answer": 7}))
    assert talk.run() == 7
    assert (len(talk.sent), talk.waits) == (1, [])


@pytest.mark.parametrize(
    "trouble",
    [
        REFUSED,
        DROPPED,
        Response(502, {}, b"<html>bad gateway</html>"),
        Response(503, {}, b""),
        Response(504, {}, b"gateway timeout"),
        Response(408, {}, b""),
        failure(429, "TooManyRequests", retry_after="1"),
        failure(503, "StorageError", retry_after="1"),
        failure(504, "SuggestionTimeout"),
    ],
)
def test_passing_trouble_goes_unnoticed(trouble):
    talk = Conversation(trouble, trouble, answer({"answer": 7}))
    assert talk.run() == 7
    assert len(talk.sent) == 3
    assert len(set(map(id, talk.sent))) == 1  # the same request, its key included


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (failure(409, "InvalidState"), InvalidState),
        (failure(503, "SuggestionError"), SuggestionError),
        (failure(503, "StorageError"), StorageError),
        (failure(429, "TooManyRequests"), TooManyRequests),
        (failure(500, "ServerError"), ServerError),
        (failure(404, "UnknownStudy"), LookupError),
    ],
)
def test_what_waiting_does_not_help_is_raised_at_once(response, kind):
    talk = Conversation(response)
    with pytest.raises(kind) as raised:
        talk.run()
    assert str(raised.value) == "what is wrong"
    assert len(talk.sent) == 1


def test_waits_grow_differ_and_end():
    talk, other = Conversation(REFUSED, seed=1), Conversation(REFUSED, seed=2)
    for each in (talk, other):
        with pytest.raises(ConnectionLost):
            each.run()
    assert talk.waits != other.waits
    assert sum(talk.waits) == pytest.approx(60.0)
    assert all(FIRST_WAIT_S / 2 <= wait <= LONGEST_WAIT_S for wait in talk.waits[:-1])
    assert max(talk.waits[:3]) < 1
    assert min(talk.waits[6:-1]) >= LONGEST_WAIT_S / 2


def test_the_error_names_the_address_and_what_to_do():
    with pytest.raises(ConnectionLost) as lost:
        Conversation(REFUSED).run()
    assert str(lost.value) == (
        "http://server:8000 gave no answer for 60 s (ConnectError: refused): see that the server runs and can be "
        "reached from here, then try again; what it acknowledged before is kept"
    )
    with pytest.raises(ConnectionLost, match="a proxy in front of it answers 502"):
        Conversation(Response(502, {}, b"")).run()


def test_the_servers_own_error_is_raised_in_the_end():
    talk = Conversation(failure(503, "StorageError", "the disk is full", retry_after="1"))
    with pytest.raises(StorageError, match="the disk is full"):
        talk.run()
    assert sum(talk.waits) == pytest.approx(60.0)


def test_the_server_says_how_long_to_wait():
    talk = Conversation(failure(429, "TooManyRequests", retry_after="7"), answer({"answer": 1}))
    talk.run()
    assert talk.waits == [7.0]
    date = failure(429, "TooManyRequests", retry_after="Fri, 31 Dec 2100 23:59:59 GMT")
    talk = Conversation(date, answer({"answer": 1}))
    talk.run()
    assert talk.waits[0] <= FIRST_WAIT_S


def test_a_wait_that_is_too_long_is_not_begun():
    talk = Conversation(failure(429, "TooManyRequests", retry_after="3600"))
    with pytest.raises(TooManyRequests):
        talk.run()
    assert talk.waits == []


def test_without_patience_everything_is_tried_once():
    talk = Conversation(REFUSED, retry_s=0.0)
    with pytest.raises(ConnectionLost, match="gave no answer for 0 s"):
        talk.run()
    assert (len(talk.sent), talk.waits) == (1, [])


def test_what_will_not_change_is_not_tried_again():
    distrust = NoResponse("its certificate is not trusted", may_have_acted=False, is_final=True)
    talk = Conversation(distrust)
    with pytest.raises(ConnectionLost, match="cannot be talked to: its certificate is not trusted"):
        talk.run()
    assert len(talk.sent) == 1


def test_those_who_share_a_connection_give_up_together():
    first = Conversation(REFUSED)
    with pytest.raises(ConnectionLost):
        first.run()
    late = Conversation(REFUSED, patience=first.patience)
    with pytest.raises(ConnectionLost):
        late.run()
    assert late.waits == []
    again = Conversation(REFUSED, answer({"answer": 1}), patience=first.patience)
    first.clock.now += 61.0  # another outage, then
    assert again.run() == 1
    assert len(again.waits) == 1


def test_a_server_that_was_heard_of_gets_all_the_time_again():
    talk = Conversation(REFUSED, answer({"answer": 1}))
    talk.run()
    talk.clock.now += 59.5
    talk.script = [REFUSED]
    talk.waits = []
    with pytest.raises(ConnectionLost):
        talk.run()
    assert sum(talk.waits) == pytest.approx(60.0)


def test_a_request_that_is_never_answered_ends_though_others_are():
    """Else one that some proxy always drops would be sent for ever."""
    talk = Conversation(DROPPED)
    run_others = Conversation(answer({"answer": 1}), patience=talk.patience)
    steps = deliver(QUESTION, talk.patience)
    step, num_sent = steps.send(None), 0
    with pytest.raises(ConnectionLost):
        while True:
            if isinstance(step, Pause):
                talk.clock.now += step.seconds
                run_others.run()
                step = steps.send(None)
            else:
                num_sent += 1
                step = steps.send(DROPPED)
    assert 5 < num_sent < 100


def test_an_outage_is_logged_once_and_its_end_too(caplog):
    with caplog.at_level(logging.INFO, "photinus"):
        Conversation(REFUSED, REFUSED, REFUSED, answer({"answer": 1})).run()
    assert [record.getMessage() for record in caplog.records] == [
        "http://server:8000: ConnectError: refused; trying again for up to 60 s",
        "http://server:8000 answers again",
    ]


# Requests that are not the same when done twice.

LOOK = Request(method="GET", path="/look")


def with_look(found):
    return Call(QUESTION.request, QUESTION.read, Call(LOOK, lambda response: found))


def test_nobody_looks_where_nothing_can_have_happened():
    talk = Conversation(REFUSED, failure(429, "TooManyRequests", retry_after="1"), answer({"answer": 7}))
    assert talk.run(with_look("done before")) == 7
    assert LOOK not in talk.sent


@pytest.mark.parametrize("trouble", [DROPPED, Response(502, {}, b""), failure(504, "SuggestionTimeout")])
def test_after_a_lost_answer_the_effect_is_looked_for(trouble):
    talk = Conversation(trouble, answer({}))
    assert talk.run(with_look("done before")) == "done before"
    assert talk.sent == [QUESTION.request, LOOK]


def test_what_had_no_effect_is_sent_again():
    talk = Conversation(DROPPED, DROPPED, answer({}), REFUSED, answer({}), answer({"answer": 7}))
    assert talk.run(with_look(UNSETTLED)) == 7
    assert talk.sent == [QUESTION.request, LOOK, LOOK, QUESTION.request, LOOK, QUESTION.request]
