"""Every change of a trial, once for all stores, on top of one method that opens a transaction.

A store says how a study is locked, read and written (`StudyChange`); which change is allowed and what comes of
it is in `lifecycle.py`; this puts the two together.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from photinus.record import NewTrial
from photinus.space import Value
from photinus.storage import claiming, lifecycle
from photinus.storage.base import Claim, Draw
from photinus.storage.claiming import Taker
from photinus.storage.study_change import NO_CHANGE, ONE_CHANGE, Footprint, StudyChange
from photinus.trial import Measurement, Suggestion, Trial

Result = TypeVar("Result")


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
        key: str | None = None,
    ) -> Claim:
        """See `Storage.claim_trials`."""

        def work(change: StudyChange) -> Claim:
            trials = claiming.claim(change, count, Taker(worker, lease_s, key))
            if lock_owner is None or len(trials) == count:
                return Claim(trials)
            return Claim(trials, has_lock=claiming.take_lock(change, lock_owner, lock_s))

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
        key: str | None = None,
        keep_lock: bool = False,
    ) -> list[Trial]:
        """See `Storage.add_suggestions`."""
        taker = Taker(worker, lease_s, key)

        def work(change: StudyChange) -> list[Trial]:
            lifecycle.check_lock(change.lock[0] if change.lock else None, lock_owner, change.name)
            if not keep_lock:
                change.lock = None
            return claiming.add_suggestions(change, suggestions, algorithm, engine_version, taker)

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
        key: str | None = None,
    ) -> list[Trial]:
        """See `Storage.claim_or_draw`."""
        taker = Taker(worker, lease_s, key)

        def work(change: StudyChange) -> list[Trial]:
            trials = claiming.claim(change, count, taker)
            num_missing = count - len(trials)
            drawn = draw(change.next_number, num_missing) if num_missing else []
            return trials + claiming.add_suggestions(change, drawn, algorithm, engine_version, taker)

        return self._change(study_id, work, Footprint(num_events=count, num_trials=count))

    def enqueue(
        self,
        study_id: int,
        params: Mapping[str, Value],
        *,
        metadata: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Trial:
        """See `Storage.enqueue`."""
        return self.add_trials(study_id, [NewTrial(params, None, metadata or {})], key=key)[0]

    def add_trial(
        self,
        study_id: int,
        params: Mapping[str, Value],
        measurement: Measurement,
        *,
        metadata: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Trial:
        """See `Storage.add_trial`."""
        return self.add_trials(study_id, [NewTrial(params, measurement, metadata or {})], key=key)[0]

    def add_trials(
        self, study_id: int, entries: Sequence[NewTrial], *, key: str | None = None
    ) -> list[Trial]:
        """See `Storage.add_trials`."""

        def work(change: StudyChange) -> list[Trial]:
            return claiming.add_trials(change, entries, key)

        return self._change(study_id, work, Footprint(num_events=len(entries), num_trials=len(entries)))

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

    def tell_all(
        self, study_id: int, results: Sequence[tuple[int, Measurement]], *, worker: str | None = None
    ) -> list[Trial]:
        """See `Storage.tell_all`."""

        def work(change: StudyChange) -> list[Trial]:
            trials = change.find_all([number for number, _ in results])
            for number, measurement in results:
                trial = trials[number]
                if not lifecycle.is_repeated(trial, measurement):
                    told = lifecycle.told(
                        trial, measurement, worker=worker, now=change.now, event=change.next_event
                    )
                    trials[number] = change.put(told)
            return [trials[number] for number, _ in results]

        return self._change(study_id, work, Footprint(num_events=len(results)))

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

    def release_request(self, study_id: int, key: str) -> list[Trial]:
        """See `Storage.release_request`."""

        def work(change: StudyChange) -> list[Trial]:
            held = [trial for trial in change.handed_out_by(key) if trial.state.is_running]
            return [
                change.put(lifecycle.expired(trial, event=change.next_event))
                for trial in held
                if trial.worker is None
            ]

        return self._change(study_id, work)

    def request_stop(self, study_id: int, number: int) -> Trial:
        """See `Storage.request_stop`."""

        def work(change: StudyChange) -> Trial:
            return change.put(lifecycle.stopping(change.find(number), event=change.next_event))

        return self._change(study_id, work, ONE_CHANGE)

    def update_trial_metadata(self, study_id: int, number: int, changes: Mapping[str, str | None]) -> Trial:
        """See `Storage.update_trial_metadata`."""

        def work(change: StudyChange) -> Trial:
            trial = change.find(number)
            metadata = lifecycle.noted(trial.metadata, changes)
            if metadata == trial.metadata:
                return trial
            return change.put(replace(trial, metadata=metadata, updated_event=change.next_event))

        return self._change(study_id, work, ONE_CHANGE)

    def acquire_suggest_lock(self, study_id: int, owner: str, ttl_s: float) -> bool:
        """See `Storage.acquire_suggest_lock`."""
        return self._change(study_id, lambda change: claiming.take_lock(change, owner, ttl_s))

    def renew_suggest_lock(self, study_id: int, owner: str, ttl_s: float) -> bool:
        """See `Storage.renew_suggest_lock`."""

        def work(change: StudyChange) -> bool:
            is_held = change.lock is not None and change.lock[0] == owner
            return is_held and claiming.take_lock(change, owner, ttl_s)

        return self._change(study_id, work)

    def release_suggest_lock(self, study_id: int, owner: str) -> None:
        """See `Storage.release_suggest_lock`."""

        def work(change: StudyChange) -> None:
            if change.lock is not None and change.lock[0] == owner:
                change.lock = None

        self._change(study_id, work)
