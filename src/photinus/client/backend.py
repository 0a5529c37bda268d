"""Studies on a server: the `Backend` protocol over HTTP."""

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from photinus.client import calls
from photinus.client.address import Address
from photinus.client.connection import Connection
from photinus.client.trial_reading import TrialReading
from photinus.errors import UnknownStudy
from photinus.problem import Problem
from photinus.record import NewTrial, StudyProgress, StudyRecord, StudyState
from photinus.space import Value
from photinus.storage import lifecycle
from photinus.trial import Measurement, Trial, TrialState
from photinus.trial_cache import TrialCache

FEW_STUDIES = 10  # to ask for one by one rather than to read the whole list


class HttpBackend:
    """A `Backend` on a server. Safe for threads; pickles as its address, token included."""

    def __init__(self, address: Address) -> None:
        self._connection = Connection(address)
        self._cache = TrialCache(TrialReading(self._connection.run))

    def __repr__(self) -> str:
        return f"HttpBackend({self.url!r})"

    def __reduce__(self) -> tuple[type["HttpBackend"], tuple[Address]]:
        return HttpBackend, (self._connection.address,)

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._connection.address.url

    def close(self) -> None:
        """Close what is open; the next call opens it again."""
        self._connection.close()

    def whoami(self) -> dict[str, Any]:
        """What the token is and may do."""
        return self._connection.run(calls.whoami())

    # Studies.

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
    ) -> StudyRecord:
        """See `Backend.create_study`."""
        return self._connection.run(
            calls.create_study(
                project=project,
                name=name,
                problem=problem,
                algorithm=algorithm,
                seed=seed,
                metadata=metadata,
                load_if_exists=load_if_exists,
                key=key,
            )
        )

    def restore_study(
        self, record: StudyRecord, trials: Sequence[Trial], *, key: str | None = None
    ) -> StudyRecord:
        """See `Backend.restore_study`."""
        return self._connection.run(calls.restore_study(record, trials, key=key))

    def get_study(self, study_id: int) -> StudyRecord:
        """See `Backend.get_study`."""
        return self._connection.run(calls.get_study(study_id))

    def find_study(self, project: str, name: str) -> StudyRecord:
        """See `Backend.find_study`."""
        for entry in self._connection.run(calls.find_studies(project=project, name=name)).entries:
            return entry.record
        raise lifecycle.unknown_name(project, name)

    def list_studies(self, project: str | None = None) -> list[StudyRecord]:
        """See `Backend.list_studies`."""
        return [entry.record for entry in self._all_studies(project)]

    def progress(
        self, project: str | None = None, *, study_ids: Collection[int] | None = None
    ) -> list[StudyProgress]:
        """See `Backend.progress`."""
        wanted = None if study_ids is None else set(study_ids)
        if wanted is not None and len(wanted) <= FEW_STUDIES:
            entries: list[StudyProgress] = []
            for study_id in sorted(wanted):
                with contextlib.suppress(UnknownStudy):
                    entries.append(self._connection.run(calls.get_progress(study_id)))
            return [entry for entry in entries if project in (None, entry.record.project)]
        return [entry for entry in self._all_studies(project) if wanted is None or entry.record.id in wanted]

    def delete_study(self, study_id: int) -> None:
        """See `Backend.delete_study`."""
        self._connection.run(calls.delete_study(study_id))

    def set_study_state(self, study_id: int, state: StudyState) -> StudyRecord:
        """See `Backend.set_study_state`."""
        return self._connection.run(calls.set_study_state(study_id, state))

    def update_study_metadata(self, study_id: int, changes: Mapping[str, str | None]) -> StudyRecord:
        """See `Backend.update_study_metadata`."""
        return self._connection.run(calls.update_study_metadata(study_id, changes))

    def _all_studies(self, project: str | None) -> Iterator[StudyProgress]:
        page = self._connection.run(calls.find_studies(project=project))
        yield from page.entries
        while page.next_id is not None:
            page = self._connection.run(calls.find_studies(project=project, after=page.next_id))
            yield from page.entries

    # Trials.

    def get_trial(self, study_id: int, number: int) -> Trial:
        """See `Backend.get_trial`."""
        return self._connection.run(calls.get_trial(study_id, number))

    def get_trials(self, study_id: int, *, since_event: int = 0) -> list[Trial]:
        """See `Backend.get_trials`."""
        if since_event <= 0:
            return self._cache.read(study_id)
        return self._connection.run(calls.get_changes(study_id, since_event)).trials

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
        """See `Backend.find_trials`."""
        found: list[Trial] = []
        position = None if after < 0 else after
        while len(found) < limit:
            page = self._connection.run(
                calls.find_trials(
                    study_id,
                    states=states,
                    worker=worker,
                    after=position,
                    limit=min(limit - len(found), calls.PAGE_SIZE),
                    newest_first=newest_first,
                )
            )
            found += page.trials
            if page.next_number is None:
                break
            position = page.next_number
        return found

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """See `Backend.count_trials`."""
        return self._connection.run(calls.count_trials(study_id))

    def ask(
        self,
        study_id: int,
        count: int,
        *,
        worker: str | None = None,
        lease_s: float | None = None,
        key: str | None = None,
    ) -> list[Trial]:
        """See `Backend.ask`."""
        return self._connection.run(calls.ask(study_id, count, worker=worker, lease_s=lease_s, key=key))

    def enqueue(
        self,
        study_id: int,
        params: Mapping[str, Value],
        *,
        metadata: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Trial:
        """See `Backend.enqueue`."""
        [trial] = self.add_trials(study_id, [NewTrial(params, None, metadata or {})], key=key)
        return trial

    def add_trial(
        self,
        study_id: int,
        params: Mapping[str, Value],
        measurement: Measurement,
        *,
        metadata: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Trial:
        """See `Backend.add_trial`."""
        [trial] = self.add_trials(study_id, [NewTrial(params, measurement, metadata or {})], key=key)
        return trial

    def add_trials(
        self, study_id: int, entries: Sequence[NewTrial], *, key: str | None = None
    ) -> list[Trial]:
        """See `Backend.add_trials`."""
        return self._connection.run(calls.add_trials(study_id, entries, key=key))

    def tell(
        self, study_id: int, number: int, measurement: Measurement, *, worker: str | None = None
    ) -> Trial:
        """See `Backend.tell`."""
        return self._connection.run(calls.tell(study_id, number, measurement, worker=worker))

    def tell_all(
        self, study_id: int, results: Sequence[tuple[int, Measurement]], *, worker: str | None = None
    ) -> list[Trial]:
        """See `Backend.tell_all`."""
        return self._connection.run(calls.tell_all(study_id, results, worker=worker))

    def amend(self, study_id: int, number: int, values: Mapping[str, float]) -> Trial:
        """See `Backend.amend`."""
        return self._connection.run(calls.amend(study_id, number, values))

    def report(self, study_id: int, number: int, values: Mapping[str, float], step: int) -> None:
        """See `Backend.report`."""
        self._connection.run(calls.report(study_id, number, values, step))

    def extend_lease(
        self, study_id: int, number: int, *, worker: str | None, lease_s: float, attempt: int | None = None
    ) -> Trial:
        """See `Backend.extend_lease`."""
        return self._connection.run(
            calls.extend_lease(study_id, number, worker=worker, lease_s=lease_s, attempt=attempt)
        )

    def release(self, study_id: int, number: int, *, worker: str | None, attempt: int | None = None) -> Trial:
        """See `Backend.release`."""
        return self._connection.run(calls.release(study_id, number, worker=worker, attempt=attempt))

    def request_stop(self, study_id: int, number: int) -> Trial:
        """See `Backend.request_stop`."""
        return self._connection.run(calls.request_stop(study_id, number))

    def update_trial_metadata(self, study_id: int, number: int, changes: Mapping[str, str | None]) -> Trial:
        """See `Backend.update_trial_metadata`."""
        return self._connection.run(calls.update_trial_metadata(study_id, number, changes))

    # The model.

    def predict(
        self, study_id: int, points: Sequence[Mapping[str, Value]], *, max_trials: int | None = None
    ) -> list[dict[str, dict[str, float | None]]]:
        """See `Backend.predict`."""
        return self._connection.run(calls.predict(study_id, points, max_trials=max_trials))

    def describe_model(self, study_id: int, *, max_trials: int | None = None) -> dict[str, Any]:
        """See `Backend.describe_model`."""
        return self._connection.run(calls.describe_model(study_id, max_trials=max_trials))
