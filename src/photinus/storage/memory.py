"""Studies in this process's memory: the model of every other store, and the one without a file.

One lock makes each method a transaction: the new trial is made first, by the rules in `lifecycle.py`, and
put in its place last. A study's list of trials is the truth. `unfinished` only says where to look: it may
name too many trials, never too few. So a KeyboardInterrupt between two steps may waste an event, no more; in the
two methods that hand out several trials, it may come between one trial and the next.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from photinus.errors import LockLost, UnknownStudy, UnknownTrial
from photinus.problem import Problem
from photinus.record import StudyRecord, StudyState
from photinus.space import Value
from photinus.storage import lifecycle
from photinus.trial import Measurement, Suggestion, Trial


@dataclass(slots=True)
class _Study:
    """One study and its trials; `trials[number]` is the trial of that number."""

    record: StudyRecord
    trials: list[Trial] = field(default_factory=list)
    history: list[int] = field(default_factory=list)  # history[event - 1]: number of the trial it changed
    unfinished: set[int] = field(default_factory=set)  # numbers of trials without outcome
    lock: tuple[str, datetime] | None = None  # who may suggest, and until when

    @property
    def next_event(self) -> int:
        """The event that the next change will be."""
        return len(self.history) + 1

    @property
    def next_number(self) -> int:
        """The number that the next new trial will have."""
        return len(self.trials)

    def put(self, trial: Trial) -> Trial:
        """Add a trial or replace the one of its number, and spend the event."""
        self.history.append(trial.number)
        self.unfinished.add(trial.number)
        self.trials[trial.number : trial.number + 1] = [trial]
        if trial.state.is_finished:
            self.unfinished.discard(trial.number)
        return trial

    def open_trials(self) -> list[Trial]:
        """Trials without outcome, by number."""
        numbers = [number for number in sorted(self.unfinished) if number < len(self.trials)]
        return [self.trials[number] for number in numbers if not self.trials[number].state.is_finished]

    def find(self, number: int) -> Trial:
        """The trial of that number."""
        if not 0 <= number < len(self.trials):
            raise UnknownTrial(
                f"study {self.record.name!r} has {len(self.trials)} trials, numbered from 0, got {number=}"
            )
        return self.trials[number]


class MemoryStorage:
    """A `Storage` in memory. Safe for threads; other processes cannot see it."""

    def __init__(self, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._mutex = threading.RLock()
        self._studies: dict[int, _Study] = {}
        self._last_id = 0

    def __repr__(self) -> str:
        return f"MemoryStorage(studies={len(self._studies)})"

    def create_study(
        self,
        *,
        project: str,
        name: str,
        problem: Problem,
        algorithm: str,
        seed: int,
        metadata: Mapping[str, str] | None = None,
        load_if_exists: bool = False,
    ) -> StudyRecord:
        """See `Storage.create_study`."""
        with self._mutex:
            for record in self.list_studies(project):
                if record.name == name:
                    return lifecycle.reopened(record, problem, algorithm, load_if_exists)
            self._last_id += 1
            record = StudyRecord(
                id=self._last_id,
                project=project,
                name=name,
                problem=problem,
                algorithm=algorithm,
                seed=seed,
                state=StudyState.ACTIVE,
                created_at=self._clock(),
                metadata=dict(metadata or {}),
            )
            self._studies[record.id] = _Study(record)
            return record

    def get_study(self, study_id: int) -> StudyRecord:
        """See `Storage.get_study`."""
        with self._mutex:
            return self._study(study_id).record

    def find_study(self, project: str, name: str) -> StudyRecord:
        """See `Storage.find_study`."""
        for record in self.list_studies(project):
            if record.name == name:
                return record
        raise UnknownStudy(f"no study named {name!r} in project {project!r}: create it with create_study")

    def list_studies(self, project: str | None = None) -> list[StudyRecord]:
        """See `Storage.list_studies`."""
        with self._mutex:
            records = [study.record for study in self._studies.values()]
        return [record for record in records if project in (None, record.project)]

    def delete_study(self, study_id: int) -> None:
        """See `Storage.delete_study`."""
        with self._mutex:
            self._study(study_id)
            del self._studies[study_id]

    def set_study_state(self, study_id: int, state: StudyState) -> StudyRecord:
        """See `Storage.set_study_state`."""
        with self._mutex:
            study = self._study(study_id)
            study.record = replace(study.record, state=state)
            return study.record

    def get_trial(self, study_id: int, number: int) -> Trial:
        """See `Storage.get_trial`."""
        with self._mutex:
            return self._study(study_id).find(number)

    def get_trials(self, study_id: int, *, since_event: int = 0) -> list[Trial]:
        """See `Storage.get_trials`."""
        with self._mutex:
            study = self._study(study_id)
            if since_event == 0:
                return list(study.trials)
            numbers = sorted(set(study.history[since_event:]))
            return [study.trials[number] for number in numbers if number < len(study.trials)]

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """See `Storage.count_trials`."""
        with self._mutex:
            study = self._study(study_id)
            return len(study.trials), len(study.trials) - len(study.open_trials())

    def claim_trials(
        self, study_id: int, count: int, *, worker: str | None = None, lease_s: float | None = None
    ) -> list[Trial]:
        """See `Storage.claim_trials`."""
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            for trial in study.open_trials():
                if lifecycle.has_run_out(trial, now):
                    study.put(lifecycle.expired(trial, event=study.next_event))
            claimed = lifecycle.claim_order(study.open_trials(), worker)[:count]
            return [
                study.put(
                    lifecycle.handed_out(
                        trial, worker=worker, lease_s=lease_s, now=now, event=study.next_event
                    )
                )
                for trial in claimed
            ]

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
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            if study.lock is None or study.lock[0] != lock_owner:
                raise LockLost(
                    f"{lock_owner!r} must hold the suggest lock of study {study.record.name!r} to store "
                    "suggestions, but does not: take it and suggest again"
                )
            return [
                study.put(
                    lifecycle.suggested(
                        study.next_number,
                        suggestion,
                        algorithm=algorithm,
                        engine_version=engine_version,
                        worker=worker,
                        lease_s=lease_s,
                        now=now,
                        event=study.next_event,
                    )
                )
                for suggestion in suggestions
            ]

    def enqueue(
        self, study_id: int, params: Mapping[str, Value], *, metadata: Mapping[str, str] | None = None
    ) -> Trial:
        """See `Storage.enqueue`."""
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            return study.put(
                lifecycle.enqueued(study.next_number, params, metadata, now=now, event=study.next_event)
            )

    def add_trial(
        self,
        study_id: int,
        params: Mapping[str, Value],
        measurement: Measurement,
        *,
        metadata: Mapping[str, str] | None = None,
    ) -> Trial:
        """See `Storage.add_trial`."""
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            number, event = study.next_number, study.next_event
            return study.put(lifecycle.added(number, params, measurement, metadata, now=now, event=event))

    def tell(
        self, study_id: int, number: int, measurement: Measurement, *, worker: str | None = None
    ) -> Trial:
        """See `Storage.tell`."""
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            trial = study.find(number)
            if lifecycle.is_repeated(trial, measurement):
                return trial
            return study.put(
                lifecycle.told(trial, measurement, worker=worker, now=now, event=study.next_event)
            )

    def amend(self, study_id: int, number: int, values: Mapping[str, float]) -> Trial:
        """See `Storage.amend`."""
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            trial = study.find(number)
            if trial.values == values:
                return trial
            return study.put(lifecycle.amended(trial, values, now=now, event=study.next_event))

    def report(self, study_id: int, number: int, values: Mapping[str, float], step: int) -> Trial:
        """See `Storage.report`."""
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            trial = study.find(number)
            return study.put(lifecycle.reported(trial, values, step, now=now, event=study.next_event))

    def extend_lease(self, study_id: int, number: int, *, worker: str | None, lease_s: float) -> Trial:
        """See `Storage.extend_lease`."""
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            trial = study.find(number)
            return study.put(
                lifecycle.extended(trial, worker=worker, lease_s=lease_s, now=now, event=study.next_event)
            )

    def release(self, study_id: int, number: int, *, worker: str | None) -> Trial:
        """See `Storage.release`."""
        with self._mutex:
            study = self._study(study_id)
            return study.put(lifecycle.released(study.find(number), worker=worker, event=study.next_event))

    def request_stop(self, study_id: int, number: int) -> Trial:
        """See `Storage.request_stop`."""
        with self._mutex:
            study = self._study(study_id)
            return study.put(lifecycle.stopping(study.find(number), event=study.next_event))

    def acquire_suggest_lock(self, study_id: int, owner: str, ttl_s: float) -> bool:
        """See `Storage.acquire_suggest_lock`."""
        with self._mutex:
            study, now = self._study(study_id), self._clock()
            if study.lock is not None and study.lock[0] != owner and study.lock[1] > now:
                return False
            study.lock = (owner, now + timedelta(seconds=ttl_s))
            return True

    def release_suggest_lock(self, study_id: int, owner: str) -> None:
        """See `Storage.release_suggest_lock`."""
        with self._mutex:
            study = self._study(study_id)
            if study.lock is not None and study.lock[0] == owner:
                study.lock = None

    def _study(self, study_id: int) -> _Study:
        if study_id not in self._studies:
            raise UnknownStudy(f"no study with id {study_id!r}: it was deleted, or was never in this store")
        return self._studies[study_id]
