"""Every change of a trial, once for all stores, on top of one method that opens a transaction.

A store says how a study is locked, read and written (`StudyChange`); which change is allowed and what comes of
it is in `lifecycle.py`; this puts the two together.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from photinus.space import Value
from photinus.storage import lifecycle
from photinus.storage.base import Claim, Draw
from photinus.trial import Measurement, Suggestion, Trial

Result = TypeVar("Result")


class StudyChange(Protocol):
    """One study inside a transaction, with nobody else changing it meanwhile."""

    name: str
    now: datetime
    next_number: int  # of the next new trial
    next_event: int  # that the next change will be
    lock: tuple[str, datetime] | None  # who may suggest, and until when; set it to change it

    def find(self, number: int, *, with_reports: bool = True) -> Trial:
        """The trial of that number, or `UnknownTrial`; its reports may be left out where nobody looks."""
        ...

    def claimable(self, count: int, worker: str | None) -> list[Trial]:
        """Open trials by number; ones that a claim of `count` trials would not touch may be left out."""
        ...

    def put(self, trial: Trial) -> Trial:
        """Write a new trial, or a changed one over the old, and spend the event."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What a change is expected to spend, so that a store can write its counters ahead."""

    num_events: int = 0
    num_trials: int = 0


NO_CHANGE = Footprint()
ONE_CHANGE = Footprint(num_events=1)
ONE_TRIAL = Footprint(num_events=1, num_trials=1)


class ChangingStorage(ABC):
    """The half of `Storage` that changes trials; a store adds the half that keeps them."""

    @abstractmethod
    def _change(
        self, study_id: int, work: Callable[[StudyChange], Result], expected: Footprint = NO_CHANGE
    ) -> Result:
        """Do the work in one transaction: all that it puts is written, or nothing if it raises.

        `work` may be called again if the transaction has to be repeated.
        """

    def claim_trials(
        self,
        study_id: int,
        count: int,
        *,
        worker: str | None = None,
        lease_s: float | None = None,
        lock_owner: str | None = None,
        lock_s: float = 0.0,
    ) -> Claim:
        """See `Storage.claim_trials`."""

        def work(change: StudyChange) -> Claim:
            trials = _claim(change, count, worker, lease_s)
            if lock_owner is None or len(trials) == count:
                return Claim(trials)
            return Claim(trials, has_lock=_take_lock(change, lock_owner, lock_s))

        return self._change(study_id, work)

    def add_suggestions(
        self,
        study_id: int,
        suggestions: Sequence[Suggestion],
        *,
        lock_owner: str,
        algorithm: str,
        engine_version: str,
        worker: str | None = None,
        lease_s: float | None = None,
    ) -> list[Trial]:
        """See `Storage.add_suggestions`."""

        def work(change: StudyChange) -> list[Trial]:
            lifecycle.check_lock(change.lock[0] if change.lock else None, lock_owner, change.name)
            change.lock = None
            return _add(change, suggestions, algorithm, engine_version, worker, lease_s)

        count = len(suggestions)
        return self._change(study_id, work, Footprint(num_events=count, num_trials=count))

    def claim_or_draw(
        self,
        study_id: int,
        count: int,
        draw: Draw,
        *,
        algorithm: str,
        engine_version: str,
        worker: str | None = None,
        lease_s: float | None = None,
    ) -> list[Trial]:
        """See `Storage.claim_or_draw`."""

        def work(change: StudyChange) -> list[Trial]:
            trials = _claim(change, count, worker, lease_s)
            num_missing = count - len(trials)
            drawn = draw(change.next_number, num_missing) if num_missing else []
            return trials + _add(change, drawn, algorithm, engine_version, worker, lease_s)

        return self._change(study_id, work, Footprint(num_events=count, num_trials=count))

    def enqueue(
        self, study_id: int, params: Mapping[str, Value], *, metadata: Mapping[str, str] | None = None
    ) -> Trial:
        """See `Storage.enqueue`."""

        def work(change: StudyChange) -> Trial:
            number, event = change.next_number, change.next_event
            return change.put(lifecycle.enqueued(number, params, metadata, now=change.now, event=event))

        return self._change(study_id, work, ONE_TRIAL)

    def add_trial(
        self,
        study_id: int,
        params: Mapping[str, Value],
        measurement: Measurement,
        *,
        metadata: Mapping[str, str] | None = None,
    ) -> Trial:
        """See `Storage.add_trial`."""

        def work(change: StudyChange) -> Trial:
            number, event = change.next_number, change.next_event
            return change.put(
                lifecycle.added(number, params, measurement, metadata, now=change.now, event=event)
            )

        return self._change(study_id, work, ONE_TRIAL)

    def tell(
        self, study_id: int, number: int, measurement: Measurement, *, worker: str | None = None
    ) -> Trial:
        """See `Storage.tell`."""

        def work(change: StudyChange) -> Trial:
            trial = change.find(number)
            if lifecycle.is_repeated(trial, measurement):
                return trial
            return change.put(
                lifecycle.told(trial, measurement, worker=worker, now=change.now, event=change.next_event)
            )

        return self._change(study_id, work, ONE_CHANGE)

    def amend(self, study_id: int, number: int, values: Mapping[str, float]) -> Trial:
        """See `Storage.amend`."""

        def work(change: StudyChange) -> Trial:
            trial = change.find(number)
            if trial.values == values:
                return trial
            return change.put(lifecycle.amended(trial, values, now=change.now, event=change.next_event))

        return self._change(study_id, work, ONE_CHANGE)

    def report(self, study_id: int, number: int, values: Mapping[str, float], step: int) -> None:
        """See `Storage.report`."""

        def work(change: StudyChange) -> None:
            trial = change.find(number, with_reports=False)
            change.put(lifecycle.reported(trial, values, step, now=change.now, event=change.next_event))

        self._change(study_id, work, ONE_CHANGE)

    def extend_lease(
        self, study_id: int, number: int, *, worker: str | None, lease_s: float, attempt: int | None = None
    ) -> Trial:
        """See `Storage.extend_lease`."""

        def work(change: StudyChange) -> Trial:
            trial, event = change.find(number), change.next_event
            return change.put(
                lifecycle.extended(
                    trial, worker=worker, attempt=attempt, lease_s=lease_s, now=change.now, event=event
                )
            )

        return self._change(study_id, work, ONE_CHANGE)

    def release(self, study_id: int, number: int, *, worker: str | None, attempt: int | None = None) -> Trial:
        """See `Storage.release`."""

        def work(change: StudyChange) -> Trial:
            trial, event = change.find(number), change.next_event
            return change.put(lifecycle.released(trial, worker=worker, attempt=attempt, event=event))

        return self._change(study_id, work, ONE_CHANGE)

    def request_stop(self, study_id: int, number: int) -> Trial:
        """See `Storage.request_stop`."""

        def work(change: StudyChange) -> Trial:
            return change.put(lifecycle.stopping(change.find(number), event=change.next_event))

        return self._change(study_id, work, ONE_CHANGE)

    def acquire_suggest_lock(self, study_id: int, owner: str, ttl_s: float) -> bool:
        """See `Storage.acquire_suggest_lock`."""
        return self._change(study_id, lambda change: _take_lock(change, owner, ttl_s))

    def renew_suggest_lock(self, study_id: int, owner: str, ttl_s: float) -> bool:
        """See `Storage.renew_suggest_lock`."""

        def work(change: StudyChange) -> bool:
            is_held = change.lock is not None and change.lock[0] == owner
            return is_held and _take_lock(change, owner, ttl_s)

        return self._change(study_id, work)

    def release_suggest_lock(self, study_id: int, owner: str) -> None:
        """See `Storage.release_suggest_lock`."""

        def work(change: StudyChange) -> None:
            if change.lock is not None and change.lock[0] == owner:
                change.lock = None

        self._change(study_id, work)


def _claim(change: StudyChange, count: int, worker: str | None, lease_s: float | None) -> list[Trial]:
    trials = [
        change.put(lifecycle.expired(trial, event=change.next_event))
        if lifecycle.has_run_out(trial, change.now)
        else trial
        for trial in change.claimable(count, worker)
    ]
    return [
        change.put(
            lifecycle.handed_out(
                trial, worker=worker, lease_s=lease_s, now=change.now, event=change.next_event
            )
        )
        for trial in lifecycle.claim_order(trials, worker)[:count]
    ]


def _add(
    change: StudyChange,
    suggestions: Sequence[Suggestion],
    algorithm: str,
    engine_version: str,
    worker: str | None,
    lease_s: float | None,
) -> list[Trial]:
    return [
        change.put(
            lifecycle.suggested(
                change.next_number,
                suggestion,
                algorithm=algorithm,
                engine_version=engine_version,
                worker=worker,
                lease_s=lease_s,
                now=change.now,
                event=change.next_event,
            )
        )
        for suggestion in suggestions
    ]


def _take_lock(change: StudyChange, owner: str, ttl_s: float) -> bool:
    if change.lock is not None and lifecycle.is_taken(change.lock, owner, change.now):
        return False
    change.lock = (owner, change.now + timedelta(seconds=ttl_s))
    return True
