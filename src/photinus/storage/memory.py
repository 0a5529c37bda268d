"""Studies in this process's memory: the model of every other store, and the one without a file.

One lock makes each change a transaction; `memory_study.py` says how a change comes to be as a whole.
"""

import itertools
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from photinus.problem import Problem
from photinus.record import StudyProgress, StudyRecord, StudyState, TokenRecord
from photinus.storage import lifecycle
from photinus.storage.changing import ChangingStorage, Result
from photinus.storage.memory_study import MemoryChange, MemoryStudy
from photinus.storage.restoring import check_history
from photinus.storage.study_change import NO_CHANGE, Footprint, StudyChange
from photinus.trial import Trial, TrialState


class MemoryStorage(ChangingStorage):
    """A `Storage` in memory. Safe for threads; other processes cannot see it."""

    def __init__(self, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._mutex = threading.RLock()
        self._studies: dict[int, MemoryStudy] = {}
        self._tokens: dict[str, TokenRecord] = {}
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
        key: str | None = None,
        creator: str | None = None,
    ) -> StudyRecord:
        """See `Storage.create_study`."""
        with self._mutex:
            if (stored := self._named(project, name)) is not None:
                may_exist = load_if_exists or stored.is_made_by(key)
                return lifecycle.reopened(stored.record, problem, algorithm, may_exist)
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
            self._studies[record.id] = MemoryStudy(record, key=key, creator=creator)
            return record

    def restore_study(
        self,
        record: StudyRecord,
        trials: Sequence[Trial],
        *,
        key: str | None = None,
        creator: str | None = None,
    ) -> StudyRecord:
        """See `Storage.restore_study`."""
        check_history(record, trials)
        with self._mutex:
            if (stored := self._named(record.project, record.name)) is not None:
                if stored.is_made_by(key):
                    return stored.record
                raise lifecycle.duplicate_study(record)
            study = MemoryStudy(replace(record, id=self._next_id()), list(trials), key=key, creator=creator)
            study.num_forgotten = max((trial.updated_event for trial in trials), default=0)
            study.unfinished = {trial.number for trial in trials if not trial.state.is_finished}
            if trials:
                newest = max(trials, key=lambda trial: trial.updated_event)
                study.changed_at = lifecycle.last_known_time(newest)
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
                return stored.record
        raise lifecycle.unknown_name(project, name)

    def list_studies(self, project: str | None = None) -> list[StudyRecord]:
        """See `Storage.list_studies`."""
        with self._mutex:
            records = [study.record for study in self._studies.values()]
        return [record for record in records if project in (None, record.project)]

    def count_studies(self, creator: str) -> int:
        """See `Storage.count_studies`."""
        with self._mutex:
            return sum(study.creator == creator for study in self._studies.values())

    def progress(
        self, project: str | None = None, *, study_ids: Collection[int] | None = None
    ) -> list[StudyProgress]:
        """See `Storage.progress`."""
        with self._mutex:
            now, wanted = self._clock(), None if study_ids is None else set(study_ids)
            return [
                study.progress(now)
                for study_id, study in self._studies.items()
                if project in (None, study.record.project) and (wanted is None or study_id in wanted)
            ]

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

    def update_study_metadata(self, study_id: int, changes: Mapping[str, str | None]) -> StudyRecord:
        """See `Storage.update_study_metadata`."""
        with self._mutex:
            study = self._study(study_id)
            metadata = lifecycle.noted(study.record.metadata, changes)
            study.record = replace(study.record, metadata=metadata)
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
            if since_event < study.num_forgotten:
                return [trial for trial in study.trials if trial.updated_event > since_event]
            numbers = sorted(set(study.history[since_event - study.num_forgotten :]))
            return [study.trials[number] for number in numbers if number < len(study.trials)]

    def find_trials(
        self,
        study_id: int,
        *,
        states: Collection[TrialState] | None = None,
        worker: str | None = None,
        after: int = -1,
        limit: int,
        newest_first: bool = False,
    ) -> list[Trial]:
        """See `Storage.find_trials`."""
        with self._mutex:
            trials = list(self._study(study_id).trials)
        if newest_first:
            trials = trials[::-1] if after < 0 else trials[:after][::-1]
        elif after >= 0:
            trials = trials[after + 1 :]
        found = (
            trial
            for trial in trials
            if (states is None or trial.state in states) and worker in (None, trial.worker)
        )
        return list(itertools.islice(found, limit))

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

    def add_token(self, token: TokenRecord) -> TokenRecord:
        """See `Storage.add_token`."""
        with self._mutex:
            if token.id in self._tokens:
                raise lifecycle.duplicate_token(token)
            self._tokens[token.id] = token
            return token

    def get_token(self, token_id: str) -> TokenRecord:
        """See `Storage.get_token`."""
        with self._mutex:
            if token_id not in self._tokens:
                raise lifecycle.unknown_token(token_id)
            return self._tokens[token_id]

    def list_tokens(self) -> list[TokenRecord]:
        """See `Storage.list_tokens`."""
        with self._mutex:
            return sorted(self._tokens.values(), key=lambda token: (token.created_at, token.id))

    def revoke_token(self, token_id: str) -> TokenRecord:
        """See `Storage.revoke_token`."""
        with self._mutex:
            token = self.get_token(token_id)
            if token.revoked_at is None:
                token = self._tokens[token_id] = replace(token, revoked_at=self._clock())
            return token

    def _change(
        self, study_id: int, work: Callable[[StudyChange], Result], expected: Footprint = NO_CHANGE
    ) -> Result:
        with self._mutex:
            change = MemoryChange(self._study(study_id), self._clock())
            result = work(change)
            change.save()
            return result

    def _study(self, study_id: int) -> MemoryStudy:
        if study_id not in self._studies:
            raise lifecycle.unknown_study(study_id)
        return self._studies[study_id]

    def _named(self, project: str, name: str) -> MemoryStudy | None:
        matching = (
            study
            for study in self._studies.values()
            if (study.record.project, study.record.name) == (project, name)
        )
        return next(matching, None)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id
