"""The suggestion service with a real engine process on a real store: what callers are promised."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from suggesting_world import LINE, Hall, World, freeze, pid, resume, run, states, until

import photinus as ph
from photinus.backend import AskRequest
from photinus.errors import (
    ArgumentError,
    ParameterError,
    SuggestionError,
    TooManyRequests,
    UnknownStudy,
)
from photinus.local import LocalBackend
from photinus.service import suggesting
from photinus.service.suggesting import SuggestionService
from photinus.storage import MemoryStorage
from photinus.storage.sql import SqlStorage
from photinus.study import Study
from photinus.trial import Measurement

ONE = AskRequest(1)


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path)


@pytest.fixture(scope="module")
def hall(tmp_path_factory) -> Iterator[Hall]:
    """A service that several tests share: each has studies of its own."""
    with Hall(tmp_path_factory.mktemp("hall")) as hall:
        yield hall


def test_suggestions_are_those_of_the_library(world, tmp_path):
    """Bit for bit: batches and processes change nothing on a CPU."""
    study = world.study()
    twin = ph.create_study(LINE.space, storage=str(tmp_path / "twin.db"), seed=1)

    async def search() -> None:
        async with world.serving() as service:
            for _ in range(4):
                [trial] = await service.ask(study.id, ONE)
                [expected] = twin.ask()
                assert trial.params == expected.params
                assert trial.reason == expected.reason
                value = (trial.params["x"] - 0.2) ** 2
                world.storage.tell(study.id, trial.number, Measurement.completed({"value": value}))
                twin.tell(expected, value)

    run(search())


def test_asks_that_wait_for_one_study_share_a_call_and_keep_their_order(hall):
    study = hall.study()

    async def search() -> None:
        service = hall.service
        before = service.stats()
        freeze(service)
        asks = []
        for count in (1, 2, 1, 3, 1):
            asks.append(asyncio.create_task(service.ask(study.id, AskRequest(count))))
            await asyncio.sleep(0)
        await until(lambda: service.stats()["asks_waiting"] == 4, "four asks wait for the first")
        resume(service)
        numbers = [[trial.number for trial in await ask] for ask in asks]
        assert numbers == [[0], [1, 2], [3], [4, 5, 6], [7]]
        after = service.stats()
        counted = [after[name] - before[name] for name in ("calls_total", "asks_total", "trials_total")]
        assert counted == [2, 5, 8]

    hall.run(search())


def test_a_slow_study_does_not_hold_up_quick_ones(world):
    slow, quick = world.slow_study(), [world.study() for _ in range(3)]

    async def search() -> None:
        async with world.serving(threads=2) as service:
            first = asyncio.create_task(service.ask(slow.id, AskRequest(8)))
            await until(lambda: world.lock_owner(slow.id), "the slow suggestion has begun")
            for _ in range(3):
                await asyncio.gather(*(service.ask(study.id, ONE) for study in quick))
            assert not first.done()
            first.cancel()

    run(search())
    assert all(states(world.storage, study.id) == ["active"] * 3 for study in quick)


def test_nothing_else_waits_for_a_suggestion(hall):
    """With the engine held up for good, tells, reads and draws of other algorithms go on."""
    study, drawn = hall.study(), hall.study(algorithm="random")

    async def search() -> None:
        service = hall.service
        [trial] = await service.ask(study.id, ONE)
        freeze(service)
        stuck = asyncio.create_task(service.ask(study.id, ONE))
        await until(lambda: service.stats()["studies_running"] == 1, "the ask is under way")
        await asyncio.to_thread(
            hall.storage.tell, study.id, trial.number, Measurement.completed({"value": 1.0})
        )
        found = [await service.ask(drawn.id, AskRequest(2)) for _ in range(20)]
        assert [trial.number for trials in found for trial in trials] == list(range(40))
        assert not stuck.done()
        resume(service)
        assert [trial.number for trial in await stuck] == [1]

    hall.run(search())
    assert states(hall.storage, study.id) == ["completed", "active"]


def test_workers_and_leases_are_respected(hall):
    study = hall.study()

    async def search() -> None:
        service = hall.service
        named = AskRequest(2, worker="w", lease_s=60.0)
        first = await service.ask(study.id, named)
        again = await service.ask(study.id, AskRequest(3, worker="w", lease_s=60.0))
        assert [trial.number for trial in again] == [0, 1, 2]
        assert all(trial.lease_expires_at is not None and trial.worker == "w" for trial in first)

    hall.run(search())


def test_a_failing_suggestion_reaches_its_caller_and_leaves_the_study_usable(hall):
    study = hall.study(algorithm="one that nobody has written")

    async def search() -> None:
        service = hall.service
        for _ in range(2):
            with pytest.raises(SuggestionError, match="'one that nobody has written' could not suggest"):
                await service.ask(study.id, ONE)
            assert hall.lock_owner(study.id) is None
        hall.storage.enqueue(study.id, {"x": 0.25})
        [trial] = await service.ask(study.id, ONE)
        assert trial.params == {"x": 0.25}
        hall.storage.tell(study.id, trial.number, Measurement.completed({"value": 1.0}))

    hall.run(search())
    assert states(hall.storage, study.id) == ["completed"]


def test_an_unknown_study_is_an_error_of_its_caller(hall):
    async def search() -> None:
        service = hall.service
        with pytest.raises(UnknownStudy):
            await service.ask(77, ONE)
        with pytest.raises(UnknownStudy):
            await service.describe_model(77)
        with pytest.raises(UnknownStudy):
            await service.plot(77, "history")

    hall.run(search())


def test_a_full_queue_refuses_and_the_others_are_served(world):
    studies = [world.study() for _ in range(3)]

    async def search() -> None:
        async with world.serving(threads=1, max_waiting=3, max_waiting_per_study=2) as service:
            freeze(service)
            asks = [asyncio.create_task(service.ask(studies[0].id, ONE)) for _ in range(3)]
            await until(lambda: service.stats()["asks_waiting"] == 2, "two of three asks wait")
            with pytest.raises(TooManyRequests, match="2 of them for this study"):
                await service.ask(studies[0].id, ONE)
            asks.append(asyncio.create_task(service.ask(studies[1].id, ONE)))
            await until(lambda: service.stats()["asks_waiting"] == 3, "another study's ask waits too")
            with pytest.raises(TooManyRequests, match="3 asks wait"):
                await service.ask(studies[2].id, ONE)
            resume(service)
            numbers = [trial.number for ask in asks for trial in await ask]
            assert numbers == [0, 1, 2, 0]
            assert service.stats()["refused_total"] == 2
            assert len(await service.ask(studies[2].id, ONE)) == 1

    run(search())


def test_models_and_pictures_are_those_of_the_library(hall):
    study = hall.measured_study(3.0, 1.0, 2.0, 4.0)
    library = Study(LocalBackend(hall.storage), study)
    points = [{"x": 0.1}, {"x": 0.9}]

    async def look() -> None:
        service = hall.service
        assert await service.predict(study.id, points) == library.predict(points)
        limited = await service.predict(study.id, points, max_trials=3)
        assert limited == library.predict(points, max_trials=3) != library.predict(points)
        assert await service.describe_model(study.id) == library.describe_model()
        picture = json.loads(await service.plot(study.id, "history"))
        assert picture["data"] == json.loads(library.plot.history().to_json())["data"]
        dark = json.loads(await service.plot(study.id, "history", {"dark": True}))
        assert dark["data"] == picture["data"]
        ink = [p["layout"]["template"]["layout"]["font"]["color"] for p in (picture, dark)]
        assert ink[0] != ink[1]
        sliced = await service.plot(study.id, "slice", {"objective": "value", "params": ["x"]})
        assert json.loads(sliced)["data"]

    hall.run(look())


def test_wrong_questions_are_refused(hall):
    study = hall.measured_study(3.0, 1.0)

    async def look() -> None:
        service = hall.service
        with pytest.raises(ParameterError):
            await service.predict(study.id, [{"y": 0.1}])
        with pytest.raises(ArgumentError, match="max_trials"):
            await service.describe_model(study.id, max_trials=1)
        with pytest.raises(ArgumentError, match="must be one of history"):
            await service.plot(study.id, "_study")
        with pytest.raises(ArgumentError, match="options of the picture 'history' are dark, objective"):
            await service.plot(study.id, "history", {"colour": "red"})
        with pytest.raises(ArgumentError, match="`objective` must be one of 'value'"):
            await service.plot(study.id, "history", {"objective": "loss"})

    hall.run(look())


def test_a_picture_is_drawn_again_when_the_study_has_changed(hall):
    study = hall.measured_study(3.0, 1.0)

    async def look() -> None:
        service = hall.service
        before = await service.plot(study.id, "history")
        assert await service.plot(study.id, "history") == before
        hall.storage.add_trial(study.id, {"x": 0.5}, Measurement.completed({"value": 0.5}))
        assert await service.plot(study.id, "history") != before

    hall.run(look())


def test_questions_are_bounded_and_the_same_question_is_put_once(world, monkeypatch):
    monkeypatch.setattr(suggesting, "MAX_QUESTIONS", 2)
    study = world.measured_study(3.0, 1.0)

    async def look() -> None:
        async with world.serving() as service:
            freeze(service)

            def plot(kind: str) -> asyncio.Task[str]:
                return asyncio.create_task(service.plot(study.id, kind))

            running = [plot("history"), plot("slice")]
            await until(lambda: service.stats()["questions_running"] == 2, "two questions are put")
            waiting = [plot("timeline"), plot("parallel"), plot("timeline"), plot("parallel")]
            await until(lambda: service.stats()["questions_waiting"] == 2, "two others wait")
            with pytest.raises(TooManyRequests, match="2 questions about models wait"):
                await service.plot(study.id, "history")
            waiting.append(plot("timeline"))  # one more who asks the same is no burden
            resume(service)
            answers = await asyncio.gather(*running, *waiting)
            assert answers[2] == answers[4] == answers[6]
            assert service.stats()["questions_total"] == 4

    run(look())


def test_one_who_leaves_does_not_take_the_answer_from_others(hall):
    study = hall.measured_study(3.0, 1.0)

    async def look() -> None:
        service = hall.service
        freeze(service)
        busy = [asyncio.create_task(service.plot(study.id, kind)) for kind in ("slice", "parallel")]
        await until(lambda: service.stats()["questions_running"] == 2, "two questions are put")
        first, second = (asyncio.create_task(service.plot(study.id, "timeline")) for _ in range(2))
        await until(lambda: service.stats()["questions_waiting"] == 1, "both wait for one answer")
        first.cancel()
        resume(service)
        assert json.loads(await second)["layout"]
        assert first.cancelled()
        await asyncio.gather(*busy)

    hall.run(look())


def test_an_engine_shares_a_postgresql_store_with_its_server(postgresql):
    storage = SqlStorage(postgresql)
    study = storage.create_study(project="p", name="n", problem=LINE, algorithm="default", seed=1)

    async def search() -> None:
        service = SuggestionService(storage, address=postgresql)
        await service.start()
        try:
            first = await service.ask(study.id, AskRequest(2, key="a"))
            assert await service.ask(study.id, AskRequest(2, key="a")) == first
            assert first == storage.get_trials(study.id)
        finally:
            await service.close(grace_s=0.0)

    run(search())
    storage.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")
def test_the_address_of_a_store_is_not_for_all_to_see(hall):
    """It may hold a password, and everyone on a machine can read the arguments of a process."""
    process = Path(f"/proc/{pid(hall.service)}")
    assert b"photinus.service.engine_process" in (process / "cmdline").read_bytes()
    assert b"store.db" not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()


def test_a_store_in_memory_has_its_engine_in_threads():
    storage = MemoryStorage()
    study = storage.create_study(project="p", name="n", problem=LINE, algorithm="default", seed=1)

    async def search() -> None:
        service = SuggestionService(storage, address=None)
        await service.start()
        assert service.stats()["alive"]
        found = await asyncio.gather(*(service.ask(study.id, AskRequest(2, key=str(i))) for i in range(3)))
        assert sorted(trial.number for trials in found for trial in trials) == list(range(6))
        assert await service.ask(study.id, AskRequest(2, key="1")) == found[1]
        world_picture = json.loads(await service.plot(study.id, "timeline"))
        assert world_picture["layout"]
        await service.close()
        assert not service.stats()["alive"]
        with pytest.raises(TooManyRequests, match="stopping"):
            await service.ask(study.id, ONE)

    run(search())
