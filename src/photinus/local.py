"""Studies in this process: a store and the engine behind the `Backend` protocol.

The engine is imported when the first suggestion is needed, and JAX with it if the algorithm needs JAX.
"""

import contextlib
import functools
import logging
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence

from photinus.engine import ENGINE_VERSION
from photinus.errors import ArgumentError, LockLost, SuggestionError, UnknownStudy, UnsupportedError
from photinus.heartbeat import Heartbeat
from photinus.problem import Problem
from photinus.record import DEFAULT_PROJECT, StudyRecord, StudyState
from photinus.space import Parameter, SearchSpace, Value
from photinus.storage import MemoryStorage, Storage
from photinus.study import Study
from photinus.trial import Measurement, Suggestion, Trial

LOCK_TTL_S = 60.0  # how long a process that died while suggesting keeps the others waiting
LOCK_RENEWALS = 3
FIRST_WAIT_S, LONGEST_WAIT_S = 0.001, 0.1  # between looks at a lock that someone else holds

logger = logging.getLogger("photinus")


def create_study(
    space: SearchSpace | Mapping[str, Parameter],
    objectives: str | Mapping[str, str] = "minimize",
    *,
    name: str | None = None,
    storage: Storage | None = None,
    seed: int | None = None,
    load_if_exists: bool = False,
    algorithm: str = "default",
    project: str = DEFAULT_PROJECT,
    metadata: Mapping[str, str] | None = None,
) -> Study:
    """A new study, or with `load_if_exists` the stored one of that name.

    Args:
        space: parameters by name.
        objectives: "minimize" or "maximize" for a single objective named "value", or directions by name.
        name: made up if left out; unique within the project.
        storage: where the study is kept; a new `MemoryStorage` if left out.
        seed: of all randomness, 0 <= seed < 2**32; drawn and stored if left out. A loaded study keeps its
            own.
        load_if_exists: go on with a stored study, if its space, objectives and algorithm are the same.
        algorithm: "default", "paper" (its text to the letter), "quasi_random" or "random".
        project: a group of studies.
        metadata: your own notes.
    """
    return Study.create(
        LocalBackend(_open_storage(storage)),
        Problem.define(space, objectives),
        name=name,
        seed=seed,
        load_if_exists=load_if_exists,
        algorithm=algorithm,
        project=project,
        metadata=metadata,
    )


def _open_storage(storage: object) -> Storage:
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, str):
        raise UnsupportedError(
            f"storage by address is not supported yet, got {storage!r}: studies live in memory so far; "
            "leave `storage` out, or share one MemoryStorage()"
        )
    if not isinstance(storage, Storage):
        raise ArgumentError(f"`storage` must be None or a Storage such as MemoryStorage(), got {storage!r}")
    return storage


class LocalBackend:
    """A `Backend` of a store and the engine. Safe for threads, and for processes if the store is."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._cache = _TrialCache(storage)

    def __repr__(self) -> str:
        return f"LocalBackend({self._storage!r})"

    def ask(
        self, study_id: int, count: int, *, worker: str | None = None, lease_s: float | None = None
    ) -> list[Trial]:
        """See `Backend.ask`."""
        claimed = self._storage.claim_trials(study_id, count, worker=worker, lease_s=lease_s)
        if len(claimed) == count:
            return claimed
        try:
            return claimed + self._suggest(study_id, count - len(claimed), worker, lease_s)
        except BaseException:
            # A named worker is given again what it claimed; nobody would find what an anonymous one did.
            if worker is None:
                for trial in claimed:
                    self._storage.release(study_id, trial.number, worker=None)
            raise

    def predict(
        self, study_id: int, points: Sequence[Mapping[str, Value]]
    ) -> list[dict[str, dict[str, float | None]]]:
        """See `Backend.predict`."""
        from photinus.engine import designers

        record = self._storage.get_study(study_id)
        trials = self._cache.read(study_id)
        return designers.predict(record.problem, trials, points, record.seed, algorithm=record.algorithm)

    def _suggest(self, study_id: int, count: int, worker: str | None, lease_s: float | None) -> list[Trial]:
        record = self._storage.get_study(study_id)
        while True:
            with self._suggest_lock(study_id) as owner:
                suggestions = _run_engine(record, self._cache.read(study_id), count)
                try:
                    return self._storage.add_suggestions(
                        study_id,
                        suggestions,
                        lock_owner=owner,
                        algorithm=record.algorithm,
                        engine_version=ENGINE_VERSION,
                        worker=worker,
                        lease_s=lease_s,
                    )
                except LockLost:
                    logger.warning("study %r: the suggest lock ran out, suggesting again", record.name)

    @contextlib.contextmanager
    def _suggest_lock(self, study_id: int) -> Iterator[str]:
        """The right to suggest, waited for politely, renewed while it is needed, and always given back."""
        owner = uuid.uuid4().hex
        take = functools.partial(self._storage.acquire_suggest_lock, study_id, owner, LOCK_TTL_S)
        wait_s = FIRST_WAIT_S
        try:
            while not take():
                time.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
            with Heartbeat(take, LOCK_TTL_S / LOCK_RENEWALS):
                yield owner
        finally:
            with contextlib.suppress(UnknownStudy):  # deleted meanwhile, and the lock with it
                self._storage.release_suggest_lock(study_id, owner)

    # What follows is the store's own.

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
        return self._storage.create_study(
            project=project,
            name=name,
            problem=problem,
            algorithm=algorithm,
            seed=seed,
            metadata=metadata,
            load_if_exists=load_if_exists,
        )

    def get_study(self, study_id: int) -> StudyRecord:
        """See `Storage.get_study`."""
        return self._storage.get_study(study_id)

    def set_study_state(self, study_id: int, state: StudyState) -> StudyRecord:
        """See `Storage.set_study_state`."""
        return self._storage.set_study_state(study_id, state)

    def get_trial(self, study_id: int, number: int) -> Trial:
        """See `Storage.get_trial`."""
        return self._storage.get_trial(study_id, number)

    def get_trials(self, study_id: int, *, since_event: int = 0) -> list[Trial]:
        """See `Storage.get_trials`."""
        return self._storage.get_trials(study_id, since_event=since_event)

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """See `Storage.count_trials`."""
        return self._storage.count_trials(study_id)

    def enqueue(
        self, study_id: int, params: Mapping[str, Value], *, metadata: Mapping[str, str] | None = None
    ) -> Trial:
        """See `Storage.enqueue`."""
        return self._storage.enqueue(study_id, params, metadata=metadata)

    def add_trial(
        self,
        study_id: int,
        params: Mapping[str, Value],
        measurement: Measurement,
        *,
        metadata: Mapping[str, str] | None = None,
    ) -> Trial:
        """See `Storage.add_trial`."""
        return self._storage.add_trial(study_id, params, measurement, metadata=metadata)

    def tell(
        self, study_id: int, number: int, measurement: Measurement, *, worker: str | None = None
    ) -> Trial:
        """See `Storage.tell`."""
        return self._storage.tell(study_id, number, measurement, worker=worker)

    def amend(self, study_id: int, number: int, values: Mapping[str, float]) -> Trial:
        """See `Storage.amend`."""
        return self._storage.amend(study_id, number, values)

    def report(self, study_id: int, number: int, values: Mapping[str, float], step: int) -> Trial:
        """See `Storage.report`."""
        return self._storage.report(study_id, number, values, step)

    def extend_lease(self, study_id: int, number: int, *, worker: str | None, lease_s: float) -> Trial:
        """See `Storage.extend_lease`."""
        return self._storage.extend_lease(study_id, number, worker=worker, lease_s=lease_s)

    def release(self, study_id: int, number: int, *, worker: str | None) -> Trial:
        """See `Storage.release`."""
        return self._storage.release(study_id, number, worker=worker)


def _run_engine(record: StudyRecord, trials: list[Trial], count: int) -> list[Suggestion]:
    """The algorithm's suggestions, checked."""
    from photinus.engine import designers

    try:
        suggestions = designers.suggest(
            record.problem, trials, count, record.seed, algorithm=record.algorithm
        )
        if len(suggestions) != count:
            raise ValueError(f"{count} suggestions were due, got {len(suggestions)}")
        return [Suggestion(record.problem.space.validate(s.params), s.reason) for s in suggestions]
    except Exception as error:
        raise SuggestionError(
            f"algorithm {record.algorithm!r} could not suggest for study {record.name!r} with {len(trials)} "
            f"trials ({type(error).__name__}: {error}); nothing new was added to the study"
        ) from error


class _TrialCache:
    """Trials of studies as last read, so that an ask reads only what changed."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._mutex = threading.Lock()
        self._trials: dict[int, list[Trial]] = {}
        self._seen_event: dict[int, int] = {}

    def read(self, study_id: int) -> list[Trial]:
        """All trials of the study now, by number."""
        with self._mutex:
            seen_event = self._seen_event.get(study_id, 0)
            changed = self._storage.get_trials(study_id, since_event=seen_event)
            trials = self._trials.setdefault(study_id, [])
            for trial in changed:
                trials[trial.number : trial.number + 1] = [trial]
            self._seen_event[study_id] = max([seen_event, *(trial.updated_event for trial in changed)])
            return list(trials)
