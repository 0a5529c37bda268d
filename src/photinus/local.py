"""Studies in this process: a store and the engine behind the `Backend` protocol.

The engine is imported when the first suggestion is needed, and JAX with it if the algorithm needs JAX.
"""

import contextlib
import functools
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from photinus.arguments import check_name
from photinus.engine import ENGINE_VERSION
from photinus.errors import LockLost, PhotinusError, SuggestionError, UnknownStudy
from photinus.heartbeat import Heartbeat
from photinus.problem import Problem
from photinus.record import DEFAULT_PROJECT, StudyRecord, StudyState
from photinus.space import Parameter, SearchSpace, Value
from photinus.storage import Draw, Storage, StorageLike, open_storage
from photinus.study import Study
from photinus.trial import Measurement, Suggestion, Trial

LOCK_TTL_S = 20.0  # how long a process that died while suggesting keeps the others waiting
LOCK_RENEWALS = 4
MAX_LOST_LOCKS = 5  # in one ask; a lock that is lost so often is not renewed, for whatever reason
FIRST_WAIT_S, LONGEST_WAIT_S = 0.001, 0.1  # between looks at a lock that someone else holds

logger = logging.getLogger("photinus")


def create_study(
    space: SearchSpace | Mapping[str, Parameter],
    objectives: str | Mapping[str, str] = "minimize",
    *,
    name: str | None = None,
    storage: StorageLike = None,
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
        storage: where the study is kept: a `Storage`, or its address, such as "studies.db" or
            "postgresql://user@host/name"; in memory if left out.
        seed: of all randomness, 0 <= seed < 2**32; drawn and stored if left out. A loaded study keeps its
            own.
        load_if_exists: go on with a stored study, if its space, objectives and algorithm are the same.
        algorithm: "default", "paper" (its text to the letter), "quasi_random" or "random".
        project: a group of studies.
        metadata: your own notes.
    """
    return Study.create(
        open_backend(storage),
        Problem.define(space, objectives),
        name=name,
        seed=seed,
        load_if_exists=load_if_exists,
        algorithm=algorithm,
        project=project,
        metadata=metadata,
    )


def load_study(name: str, *, storage: StorageLike, project: str = DEFAULT_PROJECT) -> Study:
    """The stored study of that name, with the space, objectives and algorithm it was created with."""
    backend = open_backend(storage)
    return Study(backend, backend.find_study(check_name("project", project), check_name("name", name)))


def open_backend(storage: StorageLike) -> "LocalBackend":
    """The engine over a store, which may be given by its address."""
    return LocalBackend(open_storage(storage))


class LocalBackend:
    """A `Backend` of a store and the engine. Safe for threads, and for processes if the store is."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._cache = _TrialCache(storage)
        self._suggesters: dict[int, _Suggester] = {}  # by study; an id is never used again

    def __repr__(self) -> str:
        return f"LocalBackend({self._storage!r})"

    def ask(
        self, study_id: int, count: int, *, worker: str | None = None, lease_s: float | None = None
    ) -> list[Trial]:
        """See `Backend.ask`."""
        suggester = self._suggester(study_id)
        if suggester.draw is None:
            return self._claim_or_suggest(suggester, count, worker, lease_s)
        return self._storage.claim_or_draw(
            study_id,
            count,
            suggester.draw,
            algorithm=suggester.record.algorithm,
            engine_version=ENGINE_VERSION,
            worker=worker,
            lease_s=lease_s,
        )

    def predict(
        self, study_id: int, points: Sequence[Mapping[str, Value]], *, max_trials: int | None = None
    ) -> list[dict[str, dict[str, float | None]]]:
        """See `Backend.predict`."""
        from photinus.engine import designers

        record = self._storage.get_study(study_id)
        trials = self._modelled(record, max_trials)
        return designers.predict(record.problem, trials, points, record.seed, algorithm=record.algorithm)

    def describe_model(self, study_id: int, *, max_trials: int | None = None) -> dict[str, Any]:
        """See `Backend.describe_model`."""
        from photinus.engine import designers

        record = self._storage.get_study(study_id)
        trials = self._modelled(record, max_trials)
        return designers.describe(record.problem, trials, record.seed, algorithm=record.algorithm)

    def _modelled(self, record: StudyRecord, max_trials: int | None) -> list[Trial]:
        """The trials that a model is fitted to."""
        from photinus.engine import designers

        trials = self._cache.read(record.id)
        return trials if max_trials is None else designers.thin(record.problem, trials, max_trials)

    def _claim_or_suggest(
        self, suggester: "_Suggester", count: int, worker: str | None, lease_s: float | None
    ) -> list[Trial]:
        """Exactly `count` trials, with the suggest lock held while the algorithm works out new ones."""
        study_id, owner = suggester.record.id, uuid.uuid4().hex
        claimed: list[Trial] = []
        try:
            claim = self._storage.claim_trials(
                study_id, count, worker=worker, lease_s=lease_s, lock_owner=owner, lock_s=LOCK_TTL_S
            )
            claimed, has_lock = claim.trials, claim.has_lock
            num_lost = 0
            while len(claimed) < count:
                if not has_lock:
                    self._wait_for_lock(study_id, owner)
                suggestions = self._suggest(suggester, count - len(claimed), owner)
                try:
                    return claimed + self._storage.add_suggestions(
                        study_id,
                        suggestions,
                        lock_owner=owner,
                        algorithm=suggester.record.algorithm,
                        engine_version=ENGINE_VERSION,
                        worker=worker,
                        lease_s=lease_s,
                    )
                except LockLost:
                    num_lost += 1
                    if num_lost == MAX_LOST_LOCKS:
                        raise
                    logger.warning(
                        "study %r: the suggest lock ran out, suggesting again", suggester.record.name
                    )
                    has_lock = False
            return claimed
        except BaseException:
            # A named worker is given again what it claimed; nobody would find what an anonymous one did.
            for trial in claimed if worker is None else ():
                with contextlib.suppress(PhotinusError):
                    self._storage.release(study_id, trial.number, worker=None, attempt=trial.attempts)
            # Whatever stands in the way of tidying up, a study deleted meanwhile or a full disk, the first
            # error says more.
            with contextlib.suppress(PhotinusError):
                self._storage.release_suggest_lock(study_id, owner)
            raise

    def _suggest(self, suggester: "_Suggester", count: int, owner: str) -> list[Suggestion]:
        """What the algorithm proposes, the lock renewed while it works."""
        study_id = suggester.record.id
        renew = functools.partial(self._storage.renew_suggest_lock, study_id, owner, LOCK_TTL_S)
        with Heartbeat(renew, LOCK_TTL_S / LOCK_RENEWALS):
            return _run_engine(suggester.record, self._cache.read(study_id), count)

    def _wait_for_lock(self, study_id: int, owner: str) -> None:
        wait_s = FIRST_WAIT_S
        while not self._storage.acquire_suggest_lock(study_id, owner, LOCK_TTL_S):
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    def _suggester(self, study_id: int) -> "_Suggester":
        """Made with the first ask for a study in this process, which also looks who suggested for it before."""
        suggester = self._suggesters.get(study_id)
        if suggester is None:
            record = self._storage.get_study(study_id)
            others = self._storage.engine_versions(study_id) - {ENGINE_VERSION}
            if others:
                logger.warning(
                    "study %r has trials suggested by engine version %s, this is version %s: it goes on well, "
                    "but not exactly as the other version would have",
                    record.name,
                    ", ".join(sorted(others)),
                    ENGINE_VERSION,
                )
            suggester = self._suggesters.setdefault(study_id, _Suggester(record, _drawing(record)))
        return suggester

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

    def restore_study(self, record: StudyRecord, trials: Sequence[Trial]) -> StudyRecord:
        """See `Storage.restore_study`."""
        return self._storage.restore_study(record, trials)

    def get_study(self, study_id: int) -> StudyRecord:
        """See `Storage.get_study`."""
        return self._storage.get_study(study_id)

    def find_study(self, project: str, name: str) -> StudyRecord:
        """See `Storage.find_study`."""
        return self._storage.find_study(project, name)

    def list_studies(self, project: str | None = None) -> list[StudyRecord]:
        """See `Storage.list_studies`."""
        return self._storage.list_studies(project)

    def delete_study(self, study_id: int) -> None:
        """See `Storage.delete_study`."""
        self._storage.delete_study(study_id)

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

    def report(self, study_id: int, number: int, values: Mapping[str, float], step: int) -> None:
        """See `Storage.report`."""
        self._storage.report(study_id, number, values, step)

    def extend_lease(
        self, study_id: int, number: int, *, worker: str | None, lease_s: float, attempt: int | None = None
    ) -> Trial:
        """See `Storage.extend_lease`."""
        return self._storage.extend_lease(study_id, number, worker=worker, lease_s=lease_s, attempt=attempt)

    def release(self, study_id: int, number: int, *, worker: str | None, attempt: int | None = None) -> Trial:
        """See `Storage.release`."""
        return self._storage.release(study_id, number, worker=worker, attempt=attempt)


@dataclass(frozen=True, slots=True)
class _Suggester:
    """What never changes about suggesting for a study."""

    record: StudyRecord  # its state is that of the first ask
    draw: Draw | None  # None: the algorithm looks at the trials


def _run_engine(record: StudyRecord, trials: list[Trial], count: int) -> list[Suggestion]:
    """The algorithm's suggestions, checked."""
    from photinus.engine import designers

    suggest = functools.partial(designers.suggest, algorithm=record.algorithm)
    return _checked(record, len(trials), count, lambda: suggest(record.problem, trials, count, record.seed))


def _drawing(record: StudyRecord) -> Draw | None:
    """The same for an algorithm that need not look at the trials."""
    from photinus.engine import designers

    draw = designers.drawing(record.problem, record.seed, algorithm=record.algorithm)
    if draw is None:
        return None
    return lambda first, count: _checked(record, first, count, lambda: draw(first, count))


def _checked(
    record: StudyRecord, num_trials: int, count: int, suggest: Callable[[], list[Suggestion]]
) -> list[Suggestion]:
    try:
        suggestions = suggest()
        if len(suggestions) != count:
            raise ValueError(f"{count} suggestions were due, got {len(suggestions)}")
        return [Suggestion(record.problem.space.validate(s.params), s.reason) for s in suggestions]
    except Exception as error:
        raise SuggestionError(
            f"algorithm {record.algorithm!r} could not suggest for study {record.name!r} with {num_trials} "
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
            try:
                changed = self._storage.get_trials(study_id, since_event=seen_event)
            except UnknownStudy:
                self._trials.pop(study_id, None)
                self._seen_event.pop(study_id, None)
                raise
            trials = self._trials.setdefault(study_id, [])
            for trial in changed:
                trials[trial.number : trial.number + 1] = [trial]
            self._seen_event[study_id] = max([seen_event, *(trial.updated_event for trial in changed)])
            return list(trials)
