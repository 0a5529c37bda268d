"""Asks of one study, one by one, at once and together."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from photinus import asking
from photinus.backend import AskRequest
from photinus.engine import designers
from photinus.errors import LockLost, PhotinusError, StorageError, SuggestionError, UnknownStudy
from photinus.local import LocalBackend
from photinus.storage import MemoryStorage, Storage
from photinus.storage.sql import SqlStorage
from photinus.testing.storage import DONE, create, run_threads
from photinus.trial import Suggestion, Trial, TrialState

LIMIT_S = 60.0


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "memory":
        return MemoryStorage()
    if request.param == "postgresql":
        return SqlStorage(request.getfixturevalue("postgresql"))
    return SqlStorage(str(tmp_path / "store.db"))


@pytest.fixture
def backend(storage: Storage) -> LocalBackend:
    return LocalBackend(storage)


@pytest.fixture
def study(storage: Storage) -> int:
    """Of an algorithm that looks at the trials, and needs no JAX."""
    return create(storage, algorithm="quasi_random").id


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Of the engine: how many trials it saw, and how many suggestions it was to make."""
    counted: list[tuple[int, int]] = []
    real = designers.suggest

    def suggest(problem, trials, count, seed, *, algorithm):
        counted.append((len(trials), count))
        return real(problem, trials, count, seed, algorithm=algorithm)

    monkeypatch.setattr(designers, "suggest", suggest)
    return counted


def numbers(result: list[Trial] | PhotinusError) -> list[int]:
    assert not isinstance(result, PhotinusError), result
    return [trial.number for trial in result]


def fail(*args: object, **settings: object) -> list[Suggestion]:
    raise FloatingPointError("no luck")


# Together.


def test_asks_are_served_with_one_call_of_the_engine(backend, storage, study, calls):
    requests = [AskRequest(1, "a", 60.0, "k"), AskRequest(2), AskRequest(3, "b")]
    results = backend.ask_together(study, requests)
    assert [numbers(result) for result in results] == [[0], [1, 2], [3, 4, 5]]
    assert calls == [(0, 6)]
    trials = storage.get_trials(study)
    assert [trial for result in results for trial in result] == trials
    assert [trial.worker for trial in trials] == ["a", None, None, "b", "b", "b"]
    assert [trial.lease_expires_at is None for trial in trials] == [False] + [True] * 5
    assert storage.acquire_suggest_lock(study, "next", 60)


def test_suggestions_are_those_of_one_ask(backend, storage, study):
    alone = backend.ask(create(storage, "alone", algorithm="quasi_random").id, 5)
    together = backend.ask_together(study, [AskRequest(2), AskRequest(1), AskRequest(2)])
    params = [trial.params for result in together for trial in result]
    assert params == [trial.params for trial in alone]


def test_what_is_there_is_handed_out_before_anything_is_suggested(backend, storage, study, calls):
    for _ in range(3):
        storage.enqueue(study, {"x": 0.5, "flag": True})
    results = backend.ask_together(study, [AskRequest(2), AskRequest(2), AskRequest(1)])
    assert [numbers(result) for result in results] == [[0, 1], [2, 3], [4]]
    assert calls == [(3, 2)]


def test_nothing_is_suggested_where_there_is_enough(backend, storage, study, calls):
    for _ in range(2):
        storage.enqueue(study, {"x": 0.5, "flag": True})
    assert [numbers(r) for r in backend.ask_together(study, [AskRequest(), AskRequest()])] == [[0], [1]]
    assert calls == []
    assert backend.ask_together(study, []) == []


def test_two_asks_of_one_worker_share_its_trials(backend, storage, study, calls):
    requests = [AskRequest(1, "w"), AskRequest(1), AskRequest(2, "w"), AskRequest(1, "w")]
    results = backend.ask_together(study, requests)
    assert [numbers(result) for result in results] == [[0], [1], [0, 2], [0]]
    assert calls == [(0, 2), (2, 1)]


def test_two_asks_with_one_key_are_one_request(backend, storage, study, calls):
    requests = [AskRequest(2, key="k"), AskRequest(1, key="l"), AskRequest(2, key="k")]
    results = backend.ask_together(study, requests)
    assert [numbers(result) for result in results] == [[0, 1], [2], [0, 1]]
    assert calls == [(0, 3)]


def test_a_repeated_ask_needs_no_engine(backend, storage, study, calls):
    first = backend.ask(study, 2, worker="w", key="k")
    assert backend.ask(study, 2, worker="w", key="k") == first
    told = storage.tell(study, 0, DONE)
    assert LocalBackend(storage).ask(study, 2, worker="w", key="k") == [told, first[1]]
    assert calls == [(0, 2)]


def test_an_ask_that_was_cut_short_is_topped_up(backend, storage, study, calls):
    """As if the process had died between claiming and suggesting."""
    storage.enqueue(study, {"x": 0.5, "flag": True})
    storage.claim_trials(study, 3, lease_s=60, key="k")
    assert numbers(backend.ask(study, 3, key="k")) == [0, 1, 2]
    assert calls == [(1, 2)]


def test_algorithms_that_only_count_are_served_by_the_store(backend, storage, calls):
    study_id = create(storage, "random", algorithm="random").id
    results = backend.ask_together(study_id, [AskRequest(2, key="k"), AskRequest(1), AskRequest(2, key="k")])
    assert [numbers(result) for result in results] == [[0, 1], [2], [0, 1]]
    assert numbers(backend.ask(study_id, 2, key="k")) == [0, 1]
    assert calls == []


def test_another_engine_can_be_given(storage, study, calls):
    made = Suggestion({"x": 0.25, "flag": False}, {"by": "another"})
    backend = LocalBackend(storage, suggest=lambda problem, trials, count, seed, *, algorithm: [made] * count)
    assert [trial.reason for trial in backend.ask(study, 2)] == [{"by": "another"}] * 2
    assert calls == []


# Refusals.


def test_a_failing_engine_refuses_only_those_who_need_it(backend, storage, study, monkeypatch):
    for _ in range(2):
        storage.enqueue(study, {"x": 0.5, "flag": True})
    with monkeypatch.context() as broken:
        broken.setattr(designers, "suggest", fail)
        served, short, named = backend.ask_together(
            study, [AskRequest(1), AskRequest(2, key="k"), AskRequest(1, "w")]
        )
    assert numbers(served) == [0]
    for refused in (short, named):
        assert isinstance(refused, SuggestionError)
        assert "no luck" in str(refused)
    assert storage.get_trial(study, 1).state == TrialState.EXPIRED  # handed back, for nobody got it
    assert storage.acquire_suggest_lock(study, "next", 60)
    storage.release_suggest_lock(study, "next")
    assert numbers(backend.ask(study, 2, key="k")) == [1, 2]


class Refusing(MemoryStorage):
    """Fails for one worker, in one method."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method

    def claim_trials(self, *args, worker=None, **settings):
        self.refuse("claim_trials", worker)
        return super().claim_trials(*args, worker=worker, **settings)

    def add_suggestions(self, *args, worker=None, **settings):
        self.refuse("add_suggestions", worker)
        return super().add_suggestions(*args, worker=worker, **settings)

    def claim_or_draw(self, *args, worker=None, **settings):
        self.refuse("claim_or_draw", worker)
        return super().claim_or_draw(*args, worker=worker, **settings)

    def refuse(self, method: str, worker: str | None) -> None:
        if (method, worker) == (self.method, "bad"):
            raise StorageError("the disk is full")


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("method", ["claim_trials", "add_suggestions", "claim_or_draw"])
def test_one_refusal_does_not_hurt_the_others(method, position):
    storage = Refusing(method)
    algorithm = "random" if method == "claim_or_draw" else "quasi_random"
    study = create(storage, algorithm=algorithm).id
    requests = [AskRequest(1), AskRequest(2, "good")]
    requests.insert(position, AskRequest(1, "bad"))
    results = LocalBackend(storage).ask_together(study, requests)
    refused = results.pop(position)
    assert isinstance(refused, StorageError)
    assert [numbers(result) for result in results] == [[0], [1, 2]]
    assert storage.acquire_suggest_lock(study, "next", 60)


def test_asks_of_an_unknown_study_are_all_refused(backend):
    results = backend.ask_together(999, [AskRequest(), AskRequest()])
    assert [type(result) for result in results] == [UnknownStudy] * 2
    with pytest.raises(UnknownStudy, match="999"):
        backend.ask(999, 1)


def test_a_study_may_be_deleted_meanwhile(backend, storage, study, monkeypatch):
    def delete(problem, trials, count, seed, *, algorithm):
        storage.delete_study(study)
        return [Suggestion({"x": 0.5, "flag": True})] * count

    monkeypatch.setattr(designers, "suggest", delete)
    results = backend.ask_together(study, [AskRequest(), AskRequest(key="k")])
    assert [type(result) for result in results] == [UnknownStudy] * 2


def test_an_interrupt_hands_everything_back(backend, storage, study, monkeypatch):
    for _ in range(2):
        storage.enqueue(study, {"x": 0.5, "flag": True})

    def interrupt(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(designers, "suggest", interrupt)
    with pytest.raises(KeyboardInterrupt):
        backend.ask_together(study, [AskRequest(1), AskRequest(2)])
    assert [trial.state for trial in storage.get_trials(study)] == [TrialState.EXPIRED] * 2
    assert storage.acquire_suggest_lock(study, "next", 60)


# The suggest lock.


def test_the_lock_has_the_name_it_was_given(backend, storage, study, monkeypatch):
    """So that somebody else can release it when its owner died."""
    seen = []

    def look(problem, trials, count, seed, *, algorithm):
        seen.append(storage.acquire_suggest_lock(study, "other", 60))
        storage.release_suggest_lock(study, "engine 7")
        seen.append(storage.acquire_suggest_lock(study, "other", 60))
        storage.release_suggest_lock(study, "other")
        storage.acquire_suggest_lock(study, "engine 7", 60)
        return [Suggestion({"x": 0.5, "flag": True})] * count

    monkeypatch.setattr(designers, "suggest", look)
    [result] = backend.ask_together(study, [AskRequest()], owner="engine 7")
    assert numbers(result) == [0]
    assert seen == [False, True]


class Robbed(MemoryStorage):
    """Loses the suggest lock after so many asks are served."""

    num_until_lost = 1

    def add_suggestions(self, study_id, *args, **settings):
        if self.num_until_lost == 0:
            self._studies[study_id].lock = None
        self.num_until_lost -= 1
        return super().add_suggestions(study_id, *args, **settings)


def test_a_lock_lost_half_way_means_suggesting_again_for_the_rest(calls):
    storage = Robbed()
    study = create(storage, algorithm="quasi_random").id
    results = LocalBackend(storage).ask_together(
        study, [AskRequest(2), AskRequest(1), AskRequest(1, key="k")]
    )
    assert [numbers(result) for result in results] == [[0, 1], [2], [3]]
    assert calls == [(0, 4), (2, 2)]


def test_a_lock_lost_again_and_again_is_an_error(monkeypatch, calls):
    storage = MemoryStorage()
    study = create(storage, algorithm="quasi_random").id
    storage.enqueue(study, {"x": 0.5, "flag": True})

    def lose(*args, **settings):
        raise LockLost("as always")

    monkeypatch.setattr(storage, "add_suggestions", lose)
    served, refused = LocalBackend(storage).ask_together(study, [AskRequest(1), AskRequest(1)])
    assert numbers(served) == [0]
    assert isinstance(refused, LockLost)
    assert len(calls) == asking.MAX_LOST_LOCKS


# At once.


def test_threads_that_ask_for_one_study_get_trials_of_their_own(backend, storage, study):
    got: list[int] = []

    def work() -> None:
        for _ in range(4):
            got.extend(numbers(backend.ask(study, 2)))

    run_threads(work, 5)
    assert sorted(got) == list(range(40))
    assert storage.count_trials(study) == (40, 0)


def test_threads_that_ask_together_get_trials_of_their_own(backend, storage, study):
    got: list[int] = []

    def work() -> None:
        for _ in range(3):
            for result in backend.ask_together(study, [AskRequest(1), AskRequest(2)]):
                got.extend(numbers(result))

    run_threads(work, 4)
    assert sorted(got) == list(range(36))


def in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_an_ask_repeated_while_the_first_is_under_way_takes_effect_once(storage, study, calls, monkeypatch):
    """The second one, in another process, waits for the lock, and then finds what the first one made."""
    is_suggesting, may_go_on, is_waiting = threading.Event(), threading.Event(), threading.Event()
    counting = designers.suggest

    def slow(*args, **settings):
        is_suggesting.set()
        assert may_go_on.wait(LIMIT_S)
        return counting(*args, **settings)

    monkeypatch.setattr(designers, "suggest", slow)
    sleep = asking.time.sleep

    def waiting(seconds: float) -> None:
        is_waiting.set()
        sleep(seconds)

    monkeypatch.setattr(asking.time, "sleep", waiting)
    results: dict[str, list[int]] = {}

    def ask(name: str) -> None:
        results[name] = numbers(LocalBackend(storage).ask(study, 2, key="k"))

    threads = [in_background(lambda: ask("first"))]
    assert is_suggesting.wait(LIMIT_S)
    threads.append(in_background(lambda: ask("second")))
    assert is_waiting.wait(LIMIT_S)
    may_go_on.set()
    for thread in threads:
        thread.join(LIMIT_S)
    assert results == {"first": [0, 1], "second": [0, 1]}
    assert calls == [(0, 2)]
    assert storage.acquire_suggest_lock(study, "next", 60)
