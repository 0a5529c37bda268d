"""Studies in this process's memory: the model of every other store, and the one without a file.

One lock makes each change a transaction: new trials are made first and put in their places last, all of them
by one assignment. A study's list of trials is the truth. `history` and `unfinished` only say where to look:
they may name too many trials, never too few. So a KeyboardInterrupt between two steps may waste events, no more.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from photinus.problem import Problem
from photinus.record import StudyRecord, StudyState
from photinus.storage import lifecycle
from photinus.storage.changing import NO_CHANGE, ChangingStorage, Footprint, Result, StudyChange
from photinus.trial import Trial

NO_TRIAL = -1  # in a history: what this event changed was changed again later


@dataclass(slots=True)
class _Study:
    """One study and its trials; `trials[number]` is the trial of that number."""

    record: StudyRecord
    trials: list[Trial] = field(default_factory=list)
    history: list[int] = field(default_factory=list)  # history[event - 1]: number of the trial it changed
    unfinished: set[int] = field(default_factory=set)  # numbers of trials without outcome
    lock: tuple[str, datetime] | None = None  # who may suggest, and until when

    def open_trials(self) -> list[Trial]:
        """Trials without outcome, by number."""
        numbers = [number for number in sorted(self.unfinished) if number < len(self.trials)]
        return [self.trials[number] for number in numbers if not self.trials[number].state.is_finished]

    def find(self, number: int) -> Trial:
        """The trial of that number."""
        if not 0 <= number < len(self.trials):
            raise lifecycle.unknown_trial(self.record.name, len(self.trials), number)
        return self.trials[number]


class _Change:
    """A `StudyChange`; nothing is in its place until `save`."""

    def __init__(self, study: _Study, now: datetime) -> None:
        self._study = study
        self._changed: dict[int, Trial] = {}  # by number
        self._events: list[int] = []  # number of the trial that each new event changes
        self.name = study.record.name
        self.now = now
        self.next_number = len(study.trials)
        self.next_event = len(study.history) + 1
        self.lock = study.lock

    def find(self, number: int, *, with_reports: bool = True) -> Trial:
        """See `StudyChange.find`."""
        return self._study.find(number)

    def claimable(self, count: int, worker: str | None) -> list[Trial]:
        """See `StudyChange.claimable`."""
        return self._study.open_trials()

    def put(self, trial: Trial) -> Trial:
        """See `StudyChange.put`."""
        self._changed[trial.number] = trial
        self._events.append(trial.number)
        self.next_number = max(self.next_number, trial.number + 1)
        self.next_event += 1
        return trial

    def save(self) -> None:
        """Put everything in its place."""
        study = self._study
        if self._changed:
            numbers = sorted(self._changed)
            study.history.extend(self._events)
            study.unfinished.update(numbers)
            # From the first changed trial to the last, because one assignment cannot be interrupted.
            first, end = numbers[0], numbers[-1] + 1
            section = dict(enumerate(study.trials[first:end], first)) | self._changed
            study.trials[first:end] = [section[number] for number in range(first, end)]
            study.unfinished -= {number for number in numbers if self._changed[number].state.is_finished}
        study.lock = self.lock


class MemoryStorage(ChangingStorage):
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
            if (stored := self._named(project, name)) is not None:
                return lifecycle.reopened(stored, problem, algorithm, load_if_exists)
            record = StudyRecord(
                id=self._next_id(),
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

    def restore_study(self, record: StudyRecord, trials: Sequence[Trial]) -> StudyRecord:
        """See `Storage.restore_study`."""
        lifecycle.check_history(trials)
        with self._mutex:
            if self._named(record.project, record.name) is not None:
                raise lifecycle.duplicate_study(record)
            study = _Study(replace(record, id=self._next_id()), list(trials))
            last = {trial.updated_event: trial.number for trial in trials}
            study.history = [last.get(event, NO_TRIAL) for event in range(1, max(last, default=0) + 1)]
            study.unfinished = {trial.number for trial in trials if not trial.state.is_finished}
            self._studies[study.record.id] = study
            return study.record

    def get_study(self, study_id: int) -> StudyRecord:
        """See `Storage.get_study`."""
        with self._mutex:
            return self._study(study_id).record

    def find_study(self, project: str, name: str) -> StudyRecord:
        """See `Storage.find_study`."""
        with self._mutex:
            if (stored := self._named(project, name)) is not None:
                return stored
        raise lifecycle.unknown_name(project, name)

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
            numbers = sorted(set(study.history[since_event:]) - {NO_TRIAL})
            return [study.trials[number] for number in numbers if number < len(study.trials)]

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """See `Storage.count_trials`."""
        with self._mutex:
            study = self._study(study_id)
            return len(study.trials), len(study.trials) - len(study.open_trials())

    def engine_versions(self, study_id: int) -> set[str]:
        """See `Storage.engine_versions`."""
        with self._mutex:
            trials = self._study(study_id).trials
            return {trial.engine_version for trial in trials if trial.engine_version is not None}

    def _change(
        self, study_id: int, work: Callable[[StudyChange], Result], expected: Footprint = NO_CHANGE
    ) -> Result:
        with self._mutex:
            change = _Change(self._study(study_id), self._clock())
            result = work(change)
            change.save()
            return result

    def _study(self, study_id: int) -> _Study:
        if study_id not in self._studies:
            raise lifecycle.unknown_study(study_id)
        return self._studies[study_id]

    def _named(self, project: str, name: str) -> StudyRecord | None:
        matching = (record for record in self.list_studies(project) if record.name == name)
        return next(matching, None)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id
