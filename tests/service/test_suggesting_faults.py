"""What goes wrong around suggestions: engines that die or hang, callers that leave, servers that end, stores away."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace

import pytest
from suggesting_world import LIMIT_S, Hall, World, freeze, is_running, kill, pid, resume, run, states, until

from photinus.backend import AskRequest
from photinus.errors import (
    ArgumentError,
    StorageError,
    SuggestionError,
    SuggestionTimeout,
    TooManyRequests,
    UnknownStudy,
)
from photinus.service import engine_link
from photinus.service.suggesting import SuggestionService
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


def test_an_engine_killed_in_the_middle_fails_its_asks_and_leaves_nothing_locked(world):
    slow, other = world.slow_study(), world.measured_study(3.0, 1.0)
    world.storage.enqueue(slow.id, {name: 0.5 for name in slow.problem.space})

    async def search() -> None:
        async with world.serving() as service:
            first = pid(service)
            ask = asyncio.create_task(service.ask(slow.id, AskRequest(3)))
            await until(lambda: world.lock_owner(slow.id), "the suggestion has begun")
            waiting = asyncio.create_task(service.ask(slow.id, AskRequest(1, worker="patient", key="k")))
            await until(lambda: service.stats()["asks_waiting"] == 1, "another ask waits for it")
            freeze(service)
            question = asyncio.create_task(service.plot(other.id, "history"))
            await until(lambda: service.stats()["questions_running"] == 1, "a question is put")
            kill(service)
            for lost in (ask, question):
                with pytest.raises(SuggestionError, match=r"ended before it had an answer \(signal 9\)"):
                    await lost
            # What waited is served by the next engine, with the enqueued trial that the first one had claimed.
            [trial] = await waiting
            assert trial.number == 400
            assert world.lock_owner(slow.id) is None
            assert (await service.plot(other.id, "history"))[0] == "{"
            assert pid(service) != first
            assert not is_running(first)
            assert (service.stats()["restarts"], service.stats()["alive"]) == (1, True)

    run(search())
    assert states(world.storage, slow.id)[400:] == ["active"]


def test_an_engine_that_hangs_is_ended(world):
    study = world.study()

    async def search() -> None:
        async with world.serving(hang_s=0.5) as service:
            hanging = pid(service)
            freeze(service)
            with pytest.raises(SuggestionError, match=r"no answer for 0\.5 s"):
                await service.ask(study.id, ONE)
            await until(lambda: service.stats()["restarts"] == 1, "the engine is started again")
            assert not is_running(hanging)

    run(search())


def test_an_engine_that_is_being_started_when_the_server_ends_ends_by_itself(world, monkeypatch):
    start = asyncio.create_subprocess_exec

    async def search() -> int | None:
        async with world.serving() as service:

            async def start_while_closing(*command: str, **pipes: int) -> asyncio.subprocess.Process:
                closing = asyncio.create_task(service.close(grace_s=0.0))
                process = await start(*command, **pipes)
                await until(service._link._closing.is_set, "the server ends")
                begun.set_result((process, closing))
                return process

            begun = asyncio.get_running_loop().create_future()
            monkeypatch.setattr(asyncio, "create_subprocess_exec", start_while_closing)
            kill(service)
            process, closing = await begun
            await closing
        return process.returncode

    assert run(search()) == 0  # not killed after a while


def test_what_comes_too_late_is_found_by_its_key(world):
    study = world.study()

    async def search() -> None:
        async with world.serving(timeout_s=0.3) as service:
            freeze(service)
            for _ in range(2):  # the second one never reaches the engine
                with pytest.raises(SuggestionTimeout, match=r"no answer within 0\.3 s"):
                    await service.ask(study.id, AskRequest(2, key="mine"))
            assert service.stats()["asks_waiting"] == 0
            assert service.stats()["timed_out_total"] == 2
            resume(service)
            await until(lambda: states(world.storage, study.id) == ["active"] * 2, "the trials are made")

            async def repeat() -> list[int]:
                while True:  # as a client does
                    with contextlib.suppress(SuggestionTimeout):
                        return [
                            trial.number for trial in await service.ask(study.id, AskRequest(2, key="mine"))
                        ]

            assert await repeat() == await repeat() == [0, 1]

    run(search())
    assert states(world.storage, study.id) == ["active"] * 2


@pytest.mark.parametrize(("request_", "state"), [(AskRequest(2), "expired"), (AskRequest(2, "w"), "active")])
def test_what_comes_when_the_caller_has_left_is_not_lost(hall, request_, state):
    """Handed back; unless a worker of that name will find it."""
    study = hall.study()

    async def search() -> None:
        freeze(hall.service)
        ask = asyncio.create_task(hall.service.ask(study.id, request_))
        await until(lambda: hall.service.stats()["studies_running"] == 1, "the ask is under way")
        ask.cancel()
        resume(hall.service)
        await until(lambda: states(hall.storage, study.id) == [state] * 2, f"both are {state}")
        again = await hall.service.ask(study.id, replace(request_, count=3))
        assert [trial.number for trial in again] == [0, 1, 2]

    hall.run(search())


def test_a_caller_who_leaves_while_waiting_is_forgotten(hall):
    study = hall.study()

    async def search() -> None:
        service = hall.service
        freeze(service)
        asks = [asyncio.create_task(service.ask(study.id, AskRequest(1, key=str(i)))) for i in range(3)]
        await until(lambda: service.stats()["asks_waiting"] == 2, "two asks wait for the first")
        asks[1].cancel()
        await until(lambda: service.stats()["asks_waiting"] == 1, "one of them is forgotten")
        resume(service)
        assert [trial.number for ask in (asks[0], asks[2]) for trial in await ask] == [0, 1]

    hall.run(search())
    assert len(states(hall.storage, study.id)) == 2


def test_a_study_deleted_in_the_middle_is_unknown_to_its_caller(hall):
    slow, other = hall.slow_study(), hall.study()

    async def search() -> None:
        service = hall.service
        freeze(service)
        ask = asyncio.create_task(service.ask(other.id, ONE))
        await until(lambda: service.stats()["studies_running"] == 1, "the ask is under way")
        hall.storage.delete_study(other.id)
        resume(service)
        with pytest.raises(UnknownStudy):
            await ask
        for _ in range(2):
            with pytest.raises(UnknownStudy):
                await service.ask(other.id, ONE)
        hall.storage.delete_study(slow.id)
        with pytest.raises(UnknownStudy):
            await service.ask(slow.id, ONE)
        assert service.stats()["restarts"] == 0

    hall.run(search())


def test_signals_for_the_whole_service_are_left_to_the_server(hall):
    study = hall.study()

    async def search() -> None:
        engine = pid(hall.service)
        for name in (signal.SIGINT, signal.SIGTERM):
            os.kill(engine, name)
        assert len(await hall.service.ask(study.id, ONE)) == 1
        assert os.getpgid(engine) != os.getpgid(0)
        assert hall.service.stats()["restarts"] == 0

    hall.run(search())


def test_a_store_that_is_away_is_an_error_until_it_is_back(world, tmp_path):
    study = world.study()
    away = tmp_path / "mounted"

    async def search() -> None:
        service = SuggestionService(world.storage, address=str(away / "store.db"))
        await service.start()
        try:
            for _ in range(2):
                with pytest.raises(StorageError, match="mounted"):
                    await service.ask(study.id, ONE)
            away.symlink_to(tmp_path)
            assert len(await service.ask(study.id, ONE)) == 1
            assert service.stats()["restarts"] == 0
        finally:
            await service.close(grace_s=0.0)

    run(search())


def test_closing_finishes_what_is_under_way_and_refuses_what_waits(world):
    study = world.study()

    async def search() -> None:
        async with world.serving() as service:
            engine = pid(service)
            freeze(service)
            asks = [asyncio.create_task(service.ask(study.id, AskRequest(1, key=str(i)))) for i in range(3)]
            await until(lambda: service.stats()["asks_waiting"] == 2, "two asks wait for the first")
            closing = asyncio.create_task(service.close(grace_s=LIMIT_S))
            for ask in asks[1:]:
                with pytest.raises(TooManyRequests, match="the server is stopping"):
                    await ask
            resume(service)
            assert [trial.number for trial in await asks[0]] == [0]
            await closing
            assert not is_running(engine)
            for late in (service.ask(study.id, ONE), service.plot(study.id, "history")):
                with pytest.raises(TooManyRequests, match="the server is stopping"):
                    await late

    run(search())
    assert states(world.storage, study.id) == ["active"]


def test_closing_hands_back_what_takes_too_long(world):
    slow = world.slow_study()
    world.storage.enqueue(slow.id, {name: 0.5 for name in slow.problem.space})

    async def search() -> None:
        async with world.serving() as service:
            engine = pid(service)
            ask = asyncio.create_task(service.ask(slow.id, AskRequest(2)))
            await until(lambda: world.lock_owner(slow.id), "the suggestion has begun")
            await service.close(grace_s=0.01)
            with pytest.raises(TooManyRequests, match="the server is stopping"):
                await ask
            assert not is_running(engine)

    run(search())
    assert world.lock_owner(slow.id) is None
    assert states(world.storage, slow.id)[400:] == ["expired"]


SERVER = textwrap.dedent("""
    import asyncio, os, sys
    from photinus.backend import AskRequest
    from photinus.service.suggesting import SuggestionService
    from photinus.storage import open_storage

    async def serve(address, *study_ids):
        storage = open_storage(address)
        service = SuggestionService(storage, address=address)
        await service.start()
        print(service._link.pid, flush=True)
        for study_id in map(int, study_ids):
            print([trial.number for trial in await service.ask(study_id, AskRequest(2))], flush=True)
            await service.describe_model(study_id)
            await service.plot(study_id, "history")
        await service.close()
        print("jax" in sys.modules, "plotly" in sys.modules, flush=True)
        try:
            print("left behind:", os.waitpid(-1, os.WNOHANG))
        except ChildProcessError:
            print("no children", flush=True)

    asyncio.run(serve(*sys.argv[1:]))
""")


def test_the_server_imports_no_jax_and_leaves_no_process_behind(world):
    studies = [world.measured_study(3.0, 1.0), world.study("quasi_random"), world.study("random")]
    arguments = [str(world.path), *(str(study.id) for study in studies)]
    server = subprocess.run(
        [sys.executable, "-W", "error", "-c", SERVER, *arguments],
        capture_output=True,
        text=True,
        timeout=2 * LIMIT_S,
    )
    assert server.returncode == 0, server.stderr
    engine, *lines = server.stdout.splitlines()
    assert lines == ["[2, 3]", "[0, 1]", "[0, 1]", "False False", "no children"]
    assert not is_running(int(engine))
    assert server.stderr == ""


def test_an_engine_does_not_outlive_a_server_that_is_killed(world):
    slow = world.slow_study()
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(world.path), str(slow.id)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        engine = int(server.stdout.readline())
        run(until(lambda: world.lock_owner(slow.id), "the suggestion has begun"))
        server.kill()
        server.wait(LIMIT_S)
        run(until(lambda: not is_running(engine), "the engine has ended"))
    finally:
        server.kill()
        server.communicate()
    assert world.lock_owner(slow.id) is None  # another server can go on at once


def test_a_gpu_that_is_not_there_is_said_at_the_start(world):
    async def start() -> None:
        service = SuggestionService(world.storage, address=str(world.path), device="gpu")
        with pytest.raises(ArgumentError, match="device 'gpu' needs a GPU that JAX can use"):
            await service.start()
        await service.close()

    run(start())


def test_an_engine_that_cannot_start_is_said_at_the_start(world, monkeypatch):
    monkeypatch.setattr(engine_link, "COMMAND", ("/bin/false",))

    async def start() -> None:
        service = SuggestionService(world.storage, address=str(world.path))
        with pytest.raises(SuggestionError, match=r"ended before it was ready \(exit code 1\)"):
            await service.start()
        await service.close()

    run(start())


@pytest.mark.long
def test_a_study_deleted_while_the_engine_works_for_it(world):
    slow = world.slow_study()

    async def search() -> None:
        async with world.serving() as service:
            ask = asyncio.create_task(service.ask(slow.id, ONE))
            await until(lambda: world.lock_owner(slow.id), "the suggestion has begun")
            world.storage.delete_study(slow.id)
            with pytest.raises(UnknownStudy):
                await ask
            assert len(await service.ask(world.study().id, ONE)) == 1
            assert service.stats()["restarts"] == 0

    run(search())


@pytest.mark.long
def test_an_engine_that_dies_again_and_again_is_started_again_and_again(world):
    study = world.study()

    async def search() -> None:
        async with world.serving() as service:
            for count in range(1, 5):
                kill(service)
                await until(
                    lambda n=count: service.stats()["restarts"] == n, f"it was restarted {count} times"
                )
                [trial] = await service.ask(study.id, AskRequest(1, worker="w"))
                assert trial.number == 0
                await until(lambda: service.stats()["alive"], "the engine is there")
            kill(service)
            await until(lambda: service.stats()["restarts"] == 5, "it is about to be restarted")
            await service.close(grace_s=0.0)  # in the pause before that

    run(search())


@pytest.mark.long
def test_many_callers_under_fire_lose_and_double_nothing(world):
    """Eight callers repeat their requests until they are served, while the engine is killed again and again."""
    studies = [world.study() for _ in range(3)]
    served: list[tuple[int, int]] = []

    async def call(service: SuggestionService, index: int) -> None:
        study = studies[index % 3]
        for turn in range(6):
            request = AskRequest(2, key=f"{index}-{turn}")
            while True:
                with contextlib.suppress(SuggestionError):
                    trials = await service.ask(study.id, request)
                    break
            for trial in trials:
                world.storage.tell(study.id, trial.number, Measurement.completed({"value": 1.0}))
            served.extend((study.id, trial.number) for trial in trials)

    async def search() -> None:
        async with world.serving() as service:
            calls = asyncio.gather(*(call(service, index) for index in range(8)))
            for _ in range(3):
                await asyncio.sleep(3.0)
                kill(service)
            await calls

    run(search())
    assert len(served) == len(set(served)) == 8 * 6 * 2
    for study in studies:
        assert world.lock_owner(study.id) is None
        assert set(states(world.storage, study.id)) <= {"completed", "expired"}
