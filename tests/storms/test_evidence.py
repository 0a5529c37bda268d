"""The laws that judge a storm see what they are there to see: each is broken once, on purpose."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import evidence
import pytest
from evidence import Evidence, violations
from history import Change

from photinus.trial import Trial, TrialState

START = datetime(2030, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def asked(worker: str, event: int, begin: float) -> dict[str, Any]:
    times = {"started_at": str(at(begin)), "lease_expires_at": str(at(begin + 1))}
    return {"did": "ask", "worker": worker, "number": 0, "event": event, **times}


def held(worker: str, event: int, begin: float) -> Change:
    return Change(
        at=at(begin),
        number=0,
        event=event,
        state="active",
        worker=worker,
        started_at=at(begin),
        lease_expires_at=at(begin + 1),
    )


FINISHED = Change(
    at=at(2.5),
    number=0,
    event=3,
    state="completed",
    worker="b",
    started_at=at(2),
    values=json.dumps({"value": 7.0}),
)
TOLD = {"did": "tell", "worker": "b", "number": 0, "event": 3, "value": 7.0}
TRIAL = Trial(
    number=0,
    params={"x": 0.5},
    state=TrialState.COMPLETED,
    values={"value": 7.0},
    worker="b",
    updated_event=3,
    completed_event=3,
)
LATE = {"did": "late", "worker": "a", "number": 0, "event": 3}
# Asked for by `a`, who died; a second after the lease was over by `b`, who told it. Another was enqueued.
QUEUED = Trial(number=1, params={"x": 0.25}, state=TrialState.QUEUED, updated_event=4)
GOOD = Evidence(
    diary=[
        asked("a", 1, 0),
        asked("b", 2, 2),
        TOLD,
        {"did": "enqueue", "worker": "b", "number": 1, "x": 0.25},
    ],
    history=[held("a", 1, 0), held("b", 2, 2), FINISHED, Change(at=at(3), number=1, event=4, state="queued")],
    trials=[TRIAL, QUEUED],
)
ROBBED = replace(GOOD, history=[held("a", 1, 0), held("b", 2, 0.5), *GOOD.history[2:]])
TAKEN = Change(at=at(0.5), number=0, event=2, state="expired", worker="a", started_at=at(0))

BROKEN: dict[str, tuple[Callable[[Evidence], list[str]], Evidence]] = {
    "a told value is another": (
        evidence.lost_tells,
        replace(GOOD, trials=[replace(TRIAL, values={"value": 8.0}), QUEUED]),
    ),
    "a told trial runs": (
        evidence.lost_tells,
        replace(GOOD, trials=[replace(TRIAL, state=TrialState.ACTIVE), QUEUED]),
    ),
    "a told trial is gone": (evidence.lost_tells, replace(GOOD, trials=[])),
    "two tells were heard": (evidence.lost_tells, replace(GOOD, diary=[*GOOD.diary, TOLD])),
    "an outcome was replaced": (
        evidence.changed_outcomes,
        replace(GOOD, history=[*GOOD.history[:3], replace(FINISHED, event=5), GOOD.history[3]]),
    ),
    "a commit was undone": (
        evidence.changed_outcomes,
        replace(GOOD, trials=[replace(TRIAL, updated_event=2), QUEUED]),
    ),
    "an ask was not stored": (
        evidence.lost_asks,
        replace(GOOD, history=[held("a", 1, 0), *GOOD.history[2:]]),
    ),
    "a trial came late that was never told": (
        evidence.lost_asks,
        replace(GOOD, diary=[*GOOD.diary, LATE | {"event": 2}]),
    ),
    "a trial came late to somebody who never had it": (
        evidence.lost_asks,
        replace(GOOD, diary=[*GOOD.diary, LATE | {"worker": "c"}]),
    ),
    "a worker was robbed": (evidence.robbed_workers, ROBBED),
    "a lease was cut short": (
        evidence.robbed_workers,
        replace(GOOD, history=[held("a", 1, 0), TAKEN]),
    ),
    "two leases overlap": (
        evidence.overlapping_leases,
        replace(GOOD, diary=[asked("a", 1, 0), asked("b", 2, 0.5), TOLD]),
    ),
    "a point was lost": (
        evidence.lost_enqueued,
        replace(GOOD, trials=[TRIAL, replace(QUEUED, params={"x": 0.75})]),
    ),
    "a number was left out": (
        evidence.broken_numbers,
        replace(GOOD, trials=[TRIAL, replace(QUEUED, number=2)]),
    ),
    "an event came twice": (
        evidence.repeated_events,
        replace(GOOD, history=[*GOOD.history[:3], replace(GOOD.history[3], event=3)]),
    ),
}


def test_a_clean_storm_breaks_no_law():
    assert violations(GOOD) == []


@pytest.mark.parametrize(("law", "broken"), BROKEN.values(), ids=BROKEN)
def test_every_law_can_be_broken(law: Callable[[Evidence], list[str]], broken: Evidence):
    assert law(GOOD) == []
    assert law(broken)
    assert set(law(broken)) <= set(violations(broken))


def test_a_repeated_ask_may_bring_what_was_told_meanwhile():
    assert violations(replace(GOOD, diary=[*GOOD.diary, LATE])) == []


def test_a_lease_that_was_handed_back_may_end_early():
    broken = replace(GOOD, history=[held("a", 1, 0), TAKEN])
    announced = {"did": "release", "worker": "a", "number": 0}
    assert evidence.robbed_workers(replace(broken, diary=[announced])) == []
