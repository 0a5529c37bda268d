"""Handing out and adding trials, and the right to suggest, inside the transaction of a `StudyChange`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from photinus.record import NewTrial
from photinus.storage import lifecycle
from photinus.storage.study_change import StudyChange
from photinus.trial import Suggestion, Trial


@dataclass(frozen=True, slots=True)
class Taker:
    """Who is handed trials, for how long, and by which request."""

    worker: str | None
    lease_s: float | None
    key: str | None


def claim(change: StudyChange, count: int, taker: Taker) -> list[Trial]:
    """Up to `count` trials: those of the same request, then others in the order of `lifecycle.claim_order`."""
    repeated = [] if taker.key is None else _taken_before(change, taker.key)[:count]
    num_missing = count - len(repeated)
    if repeated and num_missing == 0:
        return repeated
    taken = {trial.number for trial in repeated}
    trials = [
        change.put(lifecycle.expired(trial, event=change.next_event))
        if lifecycle.has_run_out(trial, change.now)
        else trial
        for trial in change.claimable(num_missing, taker.worker)
    ]
    free = [trial for trial in lifecycle.claim_order(trials, taker.worker) if trial.number not in taken]
    return repeated + [
        change.hand_out(
            lifecycle.handed_out(
                trial, worker=taker.worker, lease_s=taker.lease_s, now=change.now, event=change.next_event
            ),
            taker.key,
        )
        for trial in free[:num_missing]
    ]


def add_suggestions(
    change: StudyChange, suggestions: Sequence[Suggestion], algorithm: str, engine_version: str, taker: Taker
) -> list[Trial]:
    """New trials by an algorithm, handed out from the start."""
    return [
        change.hand_out(
            lifecycle.suggested(
                change.next_number,
                suggestion,
                algorithm=algorithm,
                engine_version=engine_version,
                worker=taker.worker,
                lease_s=taker.lease_s,
                now=change.now,
                event=change.next_event,
            ),
            taker.key,
        )
        for suggestion in suggestions
    ]


def add_trials(change: StudyChange, entries: Sequence[NewTrial], key: str | None) -> list[Trial]:
    """New trials by the user, or those that the same request added before."""
    repeated = [] if key is None else change.added_by(key)
    return repeated or [
        change.add(lifecycle.new(change.next_number, entry, now=change.now, event=change.next_event), key)
        for entry in entries
    ]


def take_lock(change: StudyChange, owner: str, ttl_s: float) -> bool:
    """Take the suggest lock or hold it longer; False if it is someone else's."""
    if change.lock is not None and lifecycle.is_taken(change.lock, owner, change.now):
        return False
    change.lock = (owner, change.now + timedelta(seconds=ttl_s))
    return True


def _taken_before(change: StudyChange, key: str) -> list[Trial]:
    return [
        trial
        for trial in change.handed_out_by(key)
        if trial.state.is_finished
        or (trial.state.is_running and not lifecycle.has_run_out(trial, change.now))
    ]
