"""Studies that share calls of the engine: exercised on a CPU here, in use on a GPU."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import photinus as ph
from photinus.backend import AskRequest
from photinus.engine import designers, many
from photinus.engine.acquisition.trust_region import constrain
from photinus.engine.bandit import acquisition
from photinus.engine.cache import engine_context
from photinus.engine.designers import gp_bandit
from photinus.engine.designers.constants import PAPER
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.encoding import Encoder
from photinus.problem import Problem
from photinus.service.engine_together import Together
from photinus.service.suggesting import SuggestionService
from photinus.storage import MemoryStorage
from photinus.testing.designer import measured, record
from photinus.trial import Trial

PAIR = Problem.define({"x": ph.Float(0, 1), "y": ph.Float(-5, 10)}, "maximize")
LIMIT_S = 120


@pytest.fixture(autouse=True)
def nothing_compiled_ahead(monkeypatch):
    monkeypatch.setattr(gp_bandit, "PREPARE_AHEAD", 0)


def study(count: int, seed: int):
    points = Encoder(PAIR.space).spread(np.random.default_rng(seed).random((count, 2)))
    outcomes = [measured(PAIR, np.sin(5 * p["x"]) - (p["y"] / 10) ** 2) for p in points]
    return PAIR, record(zip(points, outcomes, strict=True)), 1, seed


@jax.jit
def score(key, observations, y, domain, hyper, explores, point) -> jax.Array:
    """Acquisition inside the trust region, from the arguments of the pick program."""
    key_weights = jax.random.split(jax.random.wrap_key_data(key))[1]
    found = acquisition(key_weights, observations, y, domain, hyper, explores, PAPER.settings)
    return constrain(found.region, point.continuous, found.score(point))


def value(case, params) -> float:
    """Acquisition of a point, by the model of its study alone."""
    problem, trials, _, seed = case
    snapshot, size = Snapshot(problem, trials, seed, PAPER), 16
    model = gp_bandit.fit(snapshot, size)
    arguments = gp_bandit.pick_arguments(snapshot, model, snapshot.explores(), size)
    with engine_context():
        return float(score(*arguments, snapshot.encoder.encode([params]))[0])


class Gate:
    """Keeps the first call of the engine back until others wait, and counts the studies in every call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.entered, self.opened = threading.Event(), threading.Event()
        suggest_many = many.suggest_many

        def held_back(studies, *args, **kwargs):
            self.sizes.append(len(studies))
            self.entered.set()
            assert self.opened.wait(LIMIT_S)
            return suggest_many(studies, *args, **kwargs)

        monkeypatch.setattr(many, "suggest_many", held_back)


def wait_for(condition) -> None:
    pause = threading.Event()
    for _ in range(LIMIT_S * 100):
        if condition():
            return
        pause.wait(0.01)
    pytest.fail("what was waited for never happened")


def suggest_at_once(monkeypatch, studies, algorithms=None):
    """What one thread per study gets, all but the first of them waiting while it is served."""
    together, gate = Together("cpu"), Gate(monkeypatch)
    algorithms = algorithms or ["paper"] * len(studies)
    with ThreadPoolExecutor(len(studies)) as threads:
        futures = [threads.submit(together.suggest, *studies[0], algorithm=algorithms[0])]
        assert gate.entered.wait(LIMIT_S)
        for case, algorithm in zip(studies[1:], algorithms[1:], strict=True):
            futures.append(threads.submit(together.suggest, *case, algorithm=algorithm))
        wait_for(lambda: together.num_waiting == len(studies) - 1)
        gate.opened.set()
        wait_for(lambda: all(future.done() for future in futures))
    return futures, gate.sizes, together


def test_studies_that_wait_at_the_same_moment_share_one_call(monkeypatch):
    studies = [(PAIR, [], 1, 0), study(9, 1), study(5, 2), study(7, 3)]
    futures, sizes, together = suggest_at_once(monkeypatch, studies)
    assert sizes == [1, 3]
    assert (together.num_calls, together.num_suggested) == (2, 4)
    for case, future in zip(studies[1:], futures[1:], strict=True):
        [found], [alone] = future.result(), designers.suggest(*case, algorithm="paper")
        PAIR.space.validate(found.params)
        assert found.reason["method"] == alone.reason["method"]
        assert value(case, found.params) == pytest.approx(value(case, alone.params), abs=1e-6)
        assert found.reason["evaluations"] == alone.reason["evaluations"]


def test_a_service_lets_studies_share_calls_where_it_is_told_to(monkeypatch):
    storage, gate = MemoryStorage(), Gate(monkeypatch)
    ids = []
    for seed in range(4):
        record_ = storage.create_study(
            project="p", name=str(seed), problem=PAIR, algorithm="default", seed=seed
        )
        ids.append(record_.id)

    async def ask_all() -> list[list[Trial]]:
        service = SuggestionService(storage, address=None, shares_calls=True)
        together = service._link._engine.together
        await service.start()
        try:
            asks = [asyncio.create_task(service.ask(ids[0], AskRequest(2)))]
            assert await asyncio.to_thread(gate.entered.wait, LIMIT_S)
            asks += [asyncio.create_task(service.ask(study_id, AskRequest(2))) for study_id in ids[1:]]
            await asyncio.to_thread(wait_for, lambda: together.num_waiting == 3)
            gate.opened.set()
            return [await ask for ask in asks]
        finally:
            gate.opened.set()
            await service.close()

    found = asyncio.run(ask_all())
    assert gate.sizes == [1, 3]
    for seed, trials in enumerate(found):
        expected = designers.suggest(PAIR, [], 2, seed, algorithm="default")
        assert [trial.params for trial in trials] == [suggestion.params for suggestion in expected]


def test_studies_share_calls_on_a_gpu_only_unless_told_to():
    storage = MemoryStorage()
    assert SuggestionService(storage, address=None)._link._engine.together is None
    assert SuggestionService(storage, address=None, device="gpu")._link._engine.together is not None


def test_seeds_are_those_of_a_single_study():
    together, case = Together("cpu"), (PAIR, [], 3, 5)
    assert together.suggest(*case, algorithm="paper") == designers.suggest(*case, algorithm="paper")


@pytest.mark.parametrize("algorithm", ["random", "quasi_random"])
def test_algorithms_without_a_model_need_no_device(algorithm):
    together, case = Together("cpu"), (PAIR, [], 3, 5)
    found = together.suggest(*case, algorithm=algorithm)
    assert found == designers.suggest(*case, algorithm=algorithm)
    assert together.num_calls == 0


def test_one_that_fails_does_not_hurt_the_others(monkeypatch):
    broken = record([({"x": 0.5}, measured(PAIR, 1.0))])  # a trial without its second parameter
    studies = [(PAIR, [], 1, 0), (PAIR, [], 1, 1), (PAIR, broken, 1, 2), (PAIR, [], 2, 3)]
    futures, sizes, _ = suggest_at_once(monkeypatch, studies)
    assert sizes == [1, 3, 1, 1, 1]
    assert isinstance(futures[2].exception(), KeyError)
    for index in (0, 1, 3):
        assert futures[index].result() == designers.suggest(*studies[index], algorithm="paper")


def test_an_unknown_algorithm_fails_alone(monkeypatch):
    studies = [(PAIR, [], 1, 0), (PAIR, [], 1, 1), (PAIR, [], 1, 2)]
    futures, _, _ = suggest_at_once(monkeypatch, studies, ["paper", "no such", "default"])
    with pytest.raises(ValueError, match="no such"):
        futures[1].result()
    assert all(len(futures[index].result()) == 1 for index in (0, 2))
