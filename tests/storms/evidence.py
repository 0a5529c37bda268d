"""What must be true after a storm, judged from three witnesses.

The diaries say what workers were promised, the history what the database did, the trials what it shows now. Each law
returns what breaks it, in words; an empty list is a storm survived.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from history import Change

from photinus.trial import Trial, TrialState

# SQLite's own clock, by which the history is dated, knows milliseconds.
ROUNDING = timedelta(milliseconds=1)

Line = dict[str, Any]


@dataclass(frozen=True)
class Evidence:
    """All that is known about a storm."""

    diary: Sequence[Line]  # of all workers; the lines of one worker in order
    history: Sequence[Change]
    trials: Sequence[Trial]

    def lines(self, *kinds: str) -> list[Line]:
        """What workers wrote of some kinds."""
        return [line for line in self.diary if line["did"] in kinds]

    def lives(self) -> list[list[Change]]:
        """The history of each trial."""
        by_number: dict[int, list[Change]] = {}
        for change in self.history:
            by_number.setdefault(change.number, []).append(change)
        return list(by_number.values())


def violations(evidence: Evidence) -> list[str]:
    """What breaks any of the laws."""
    laws = (
        lost_tells,
        changed_outcomes,
        lost_asks,
        robbed_workers,
        overlapping_leases,
        lost_enqueued,
        broken_numbers,
        repeated_events,
    )
    return [broken for law in laws for broken in law(evidence)]


def lost_tells(evidence: Evidence) -> list[str]:
    """Every acknowledged tell is there once, with its value."""
    broken = []
    trials = {trial.number: trial for trial in evidence.trials}
    tells = evidence.lines("tell")
    for line in tells:
        trial = trials.get(line["number"])
        if trial is None:
            broken.append(f"told trial {line['number']} is not there")
            continue
        found = (trial.state, trial.values, trial.worker, trial.completed_event)
        if found != (TrialState.COMPLETED, {"value": line["value"]}, line["worker"], line["event"]):
            broken.append(f"trial {trial.number} was told {line}, but is {found}")
    twice = [number for number, count in Counter(line["number"] for line in tells).items() if count > 1]
    return broken + [f"tells of trial {number} were acknowledged twice" for number in twice]


def changed_outcomes(evidence: Evidence) -> list[str]:
    """The history ends with what the store shows, and nothing follows an outcome."""
    broken = []
    now = {trial.number: trial for trial in evidence.trials}
    for life in evidence.lives():
        number, last = life[0].number, life[-1]
        broken += [
            f"trial {number} was finished at event {change.event} and changed at {after.event}"
            for change, after in pairwise(life)
            if TrialState(change.state).is_finished
        ]
        trial = now.get(number)
        if trial is None:
            broken.append(f"trial {number} was committed, but is not there")
        elif (trial.state, trial.updated_event, trial.values) != (
            last.state,
            last.event,
            None if last.values is None else json.loads(last.values),
        ):
            broken.append(f"trial {number} is not as it was last committed")
    return broken


def lost_asks(evidence: Evidence) -> list[str]:
    """What an ask or an extension gave out was committed before, word for word."""
    committed = {change.event: change for change in evidence.history}
    broken = []
    for line in evidence.lines("ask", "extend"):
        change = committed.get(line["event"])
        expected = (line["number"], line["worker"], datetime.fromisoformat(line["lease_expires_at"]))
        if change is None or (change.number, change.worker, change.lease_expires_at) != expected:
            broken.append(f"{line} was given out, but committed was {change}")
    held = {(change.number, change.worker) for change in evidence.history}
    for line in evidence.lines("late"):
        change = committed.get(line["event"])
        is_told = change is not None and TrialState(change.state).is_finished
        if not is_told or change.number != line["number"] or (line["number"], line["worker"]) not in held:
            broken.append(f"{line} was given out as told, but committed was {change}")
    return broken


def robbed_workers(evidence: Evidence) -> list[str]:
    """In the history, no trial leaves a worker before its lease is over, but by a result or handed back."""
    announced = {(line["number"], line["worker"]) for line in evidence.lines("release")}
    broken = []
    for life in evidence.lives():
        for change, after in pairwise(life):
            if not TrialState(change.state).is_running or change.lease_expires_at is None:
                continue
            if after.state == TrialState.EXPIRED:
                is_kept = after.at + ROUNDING >= change.lease_expires_at
                is_kept = is_kept or (change.number, change.worker) in announced
            elif TrialState(after.state).is_running and after.worker != change.worker:
                is_kept = after.started_at is not None and after.started_at >= change.lease_expires_at
            else:
                is_kept = True
            if not is_kept:
                broken.append(
                    f"{change.worker} held trial {change.number} until {change.lease_expires_at}: {after}"
                )
    return broken


def overlapping_leases(evidence: Evidence) -> list[str]:
    """By the diaries alone, no two workers hold one trial at one time."""
    released = {line["number"] for line in evidence.lines("release")}
    held: dict[int, list[Line]] = {}
    for line in sorted(evidence.lines("ask", "extend"), key=lambda line: line["event"]):
        held.setdefault(line["number"], []).append(line)
    broken = []
    for number, lines in held.items():
        for before, after in pairwise(lines):
            if before["worker"] == after["worker"] or number in released:
                continue
            if datetime.fromisoformat(after["started_at"]) < datetime.fromisoformat(
                before["lease_expires_at"]
            ):
                broken.append(f"trial {number} was held by two: {before}, {after}")
    return broken


def lost_enqueued(evidence: Evidence) -> list[str]:
    """Every acknowledged point is there under its number."""
    points = {trial.number: trial.params["x"] for trial in evidence.trials}
    return [
        f"enqueued point {line} is not there"
        for line in evidence.lines("enqueue")
        if points.get(line["number"]) != line["x"]
    ]


def broken_numbers(evidence: Evidence) -> list[str]:
    """Trials are numbered from 0 without gaps, and each was created once."""
    numbers = [trial.number for trial in evidence.trials]
    broken = [] if numbers == list(range(len(numbers))) else [f"the numbers have gaps: {numbers}"]
    if sorted({change.number for change in evidence.history}) != numbers:
        broken.append("the history is of other trials")
    return broken


def repeated_events(evidence: Evidence) -> list[str]:
    """No two changes have the same event, and a trial's later changes have later events."""
    counts = Counter(change.event for change in evidence.history)
    broken = [f"event {event} happened {count} times" for event, count in counts.items() if count > 1]
    for life in evidence.lives():
        broken += [
            f"trial {change.number}: event {after.event} came after {change.event}"
            for change, after in pairwise(life)
            if after.event <= change.event
        ]
    return broken
