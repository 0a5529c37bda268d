"""Studies in this process: a store and the engine behind the `Backend` protocol.

The engine is imported when the first suggestion is needed, and JAX with it if the algorithm needs JAX.
"""

import uuid
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from photinus.arguments import check_algorithm, check_integer, check_name, check_seed
from photinus.asking import Asking, Suggest, Suggester
from photinus.backend import AskRequest
from photinus.errors import ArgumentError, PhotinusError
from photinus.problem import Problem
from photinus.record import DEFAULT_PROJECT, NewTrial, StudyProgress, StudyRecord, StudyState
from photinus.space import Parameter, SearchSpace, Value
from photinus.storage import Storage, StorageLike, open_storage
from photinus.study import Study
from photinus.trial import Measurement, Suggestion, Trial, TrialState
from photinus.trial_cache import TrialCache

MAX_SUGGESTERS = 10_000  # ours: studies that a process remembers the settings of


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


def suggest(
    problem: Problem,
    trials: Sequence[Trial] = (),
    count: int = 1,
    *,
    seed: int = 0,
    algorithm: str = "default",
) -> list[Suggestion]:
    """Points to try next, without a study: for tools that keep trials of their own.

    Nothing is stored and nothing is remembered. The same arguments give the same points.

    Args:
        problem: space and objectives, as by `Problem.define`.
        trials: everything so far, by number; those that are still running count as pending. Numbers, parameters,
            states and values are enough: without events, trials count as suggested by an algorithm and told one by one.
        count: how many points, to be measured at the same time.
        seed: of all randomness, 0 <= seed < 2**32.
        algorithm: "default", "paper", "quasi_random" or "random".
    """
    from photinus.engine import designers

    numbers = [trial.number for trial in trials]
    if numbers != sorted(set(numbers)):
        raise ArgumentError(f"`trials` must be in the order of their numbers, each once, got {numbers[:20]}")
    return designers.suggest(
        problem,
        trials,
        check_integer("count", count, 1),
        check_seed(seed),
        algorithm=check_algorithm(algorithm),
    )


def open_backend(storage: StorageLike) -> "LocalBackend":
    """The engine over a store, which may be given by its address."""
    return LocalBackend(open_storage(storage))


class LocalBackend:
    """A `Backend` of a store and the engine. Safe for threads, and for processes if the store is."""

    def __init__(self, storage: Storage, *, suggest: Suggest | None = None) -> None:
        """Over a store; `suggest` takes the place of `photinus.engine.designers.suggest`."""
        self._storage = storage
        self._suggest = suggest
        self._cache = TrialCache.of_storage(storage)
        self._suggesters: OrderedDict[int, Suggester] = OrderedDict()  # by study; an id is never used again

    def __repr__(self) -> str:
        return f"LocalBackend({self._storage!r})"

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
        request, suggester = AskRequest(count, worker, lease_s, key), self._suggester(study_id)
        if suggester.draw is not None:
            return suggester.claim_or_draw(self._storage, request)
        [result] = self.ask_together(study_id, [request])
        if isinstance(result, PhotinusError):
            raise result
        return result

    def ask_together(
        self, study_id: int, requests: Sequence[AskRequest], *, owner: str | None = None
    ) -> list[list[Trial] | PhotinusError]:
        """Serve several asks of a study with one call of the engine: for each its trials, or why it has none.

        Each is handed what there is for it, as by `ask`; then new suggestions are made for all that is missing.

        Args:
            study_id: the study.
            requests: in the order in which suggestions are handed out.
            owner: a name for whoever holds the suggest lock meanwhile, used by no other call at the same time. Somebody
                who knows it can release the lock of a process that died.
        """
        try:
            suggester = self._suggester(study_id)
        except PhotinusError as error:
            return [error for _ in requests]
        asking = Asking(self._storage, suggester, self._cache.read, owner or uuid.uuid4().hex)
        return asking.serve(requests)

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

    def _suggester(self, study_id: int) -> Suggester:
        """Made with the first ask for a study in this process."""
        suggester = self._suggesters.get(study_id)
        if suggester is None:
            made = Suggester.of(self._storage, study_id, self._suggest)
            suggester = self._suggesters.setdefault(study_id, made)
            if len(self._suggesters) > MAX_SUGGESTERS:
                self._suggesters.popitem(last=False)
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
        key: str | None = None,
        creator: str | None = None,
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
            key=key,
            creator=creator,
        )

    def restore_study(
        self,
        record: StudyRecord,
        trials: Sequence[Trial],
        *,
        key: str | None = None,
        creator: str | None = None,
    ) -> StudyRecord:
        """See `Storage.restore_study`."""
        return self._storage.restore_study(record, trials, key=key, creator=creator)

    def get_study(self, study_id: int) -> StudyRecord:
        """See `Storage.get_study`."""
        return self._storage.get_study(study_id)

    def find_study(self, project: str, name: str) -> StudyRecord:
        """See `Storage.find_study`."""
        return self._storage.find_study(project, name)

    def list_studies(self, project: str | None = None) -> list[StudyRecord]:
        """See `Storage.list_studies`."""
        return self._storage.list_studies(project)

    def progress(
        self, project: str | None = None, *, study_ids: Collection[int] | None = None
    ) -> list[StudyProgress]:
        """See `Storage.progress`."""
        return self._storage.progress(project, study_ids=study_ids)

    def delete_study(self, study_id: int) -> None:
        """See `Storage.delete_study`."""
        self._storage.delete_study(study_id)

    def set_study_state(self, study_id: int, state: StudyState) -> StudyRecord:
        """See `Storage.set_study_state`."""
        return self._storage.set_study_state(study_id, state)

    def update_study_metadata(self, study_id: int, changes: Mapping[str, str | None]) -> StudyRecord:
        """See `Storage.update_study_metadata`."""
        return self._storage.update_study_metadata(study_id, changes)

    def get_trial(self, study_id: int, number: int) -> Trial:
        """See `Storage.get_trial`."""
        return self._storage.get_trial(study_id, number)

    def get_trials(self, study_id: int, *, since_event: int = 0) -> list[Trial]:
        """See `Storage.get_trials`."""
        return self._storage.get_trials(study_id, since_event=since_event)

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
        return self._storage.find_trials(
            study_id, states=states, worker=worker, after=after, limit=limit, newest_first=newest_first
        )

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """See `Storage.count_trials`."""
        return self._storage.count_trials(study_id)

    def enqueue(
        self,
        study_id: int,
        params: Mapping[str, Value],
        *,
        metadata: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Trial:
        """See `Storage.enqueue`."""
        return self._storage.enqueue(study_id, params, metadata=metadata, key=key)

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
        return self._storage.add_trial(study_id, params, measurement, metadata=metadata, key=key)

    def add_trials(
        self, study_id: int, entries: Sequence[NewTrial], *, key: str | None = None
    ) -> list[Trial]:
        """See `Storage.add_trials`."""
        return self._storage.add_trials(study_id, entries, key=key)

    def tell(
        self, study_id: int, number: int, measurement: Measurement, *, worker: str | None = None
    ) -> Trial:
        """See `Storage.tell`."""
        return self._storage.tell(study_id, number, measurement, worker=worker)

    def tell_all(
        self, study_id: int, results: Sequence[tuple[int, Measurement]], *, worker: str | None = None
    ) -> list[Trial]:
        """See `Storage.tell_all`."""
        return self._storage.tell_all(study_id, results, worker=worker)

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

    def request_stop(self, study_id: int, number: int) -> Trial:
        """See `Storage.request_stop`."""
        return self._storage.request_stop(study_id, number)

    def update_trial_metadata(self, study_id: int, number: int, changes: Mapping[str, str | None]) -> Trial:
        """See `Storage.update_trial_metadata`."""
        return self._storage.update_trial_metadata(study_id, number, changes)
