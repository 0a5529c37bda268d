"""Studies for coroutines: the same answers, errors and patience."""

import anyio
import pytest
from dropping import FirstAnswers, dropping_proxy
from serving import free_port

import photinus as ph
from photinus.client import AsyncServer
from photinus.errors import (
    AlreadyTold,
    ArgumentError,
    ConnectionLost,
    DuplicateStudy,
    NoCompletedTrial,
    ParameterError,
    ProblemError,
    UnknownStudy,
    ValuesError,
)

X = {"x": ph.Float(0, 1)}


def test_ask_tell_and_look(server, url):
    async def work():
        async with AsyncServer(url) as connected:
            assert (await connected.whoami())["role"] == "admin"
            study = await connected.create_study(X, name="async", algorithm="random", seed=1)
            assert (study.name, repr(study)) == ("async", "AsyncStudy(name='async', algorithm='random')")
            with pytest.raises(NoCompletedTrial, match="no completed trial"):
                await study.best_trial()
            await study.enqueue({"x": 0.5}, metadata={"by": "hand"})
            first, second = await study.ask(2, worker="w", lease=60)
            assert first.params == {"x": 0.5}
            await study.report(first, float("nan"), 0)
            await study.extend_lease(second, 100)
            await study.tell(first, 2.0)
            await study.tell(second.number, {"value": 1.0}, worker="other")
            await study.tell((await study.ask())[0], infeasible="hot")
            await study.tell((await study.ask())[0], failed="cut")
            assert (await study.best_trial()).number == 1
            assert [trial.number for trial in await study.best_trials()] == [1]
            loaded = await connected.load_study("async")
            return await loaded.trials()

    trials = anyio.run(work)
    assert [t.to_dict() for t in trials] == [t.to_dict() for t in server.load_study("async").trials]
    assert [trial.worker for trial in trials] == ["w", "other", None, None]
    assert [trial.state.value for trial in trials] == ["completed", "completed", "infeasible", "failed"]


def test_many_at_a_time(server, url):
    async def work():
        async with AsyncServer(url) as connected, anyio.create_task_group() as tasks:
            study = await connected.create_study(X, name="busy", algorithm="random")

            async def measure():
                for _ in range(5):
                    [trial] = await study.ask()
                    await study.tell(trial, trial.params["x"])

            for _ in range(8):
                tasks.start_soon(measure)

    anyio.run(work)
    trials = server.load_study("busy").trials
    assert [trial.values for trial in trials] == [{"value": trial.params["x"]} for trial in trials]
    assert (len(trials), {trial.attempts for trial in trials}) == (40, {1})


def test_errors_are_the_same(server, url):
    async def work():
        async with AsyncServer(url) as connected:
            study = await connected.create_study(X, name="wrong", algorithm="random")
            with pytest.raises(DuplicateStudy):
                await connected.create_study(X, name="wrong", algorithm="random")
            with pytest.raises(UnknownStudy, match="no study named 'other'"):
                await connected.load_study("other")
            with pytest.raises(ArgumentError):
                await connected.create_study(X, algorithm="magic")
            [trial] = await study.ask()
            with pytest.raises(ValuesError, match="must be finite"):
                await study.tell(trial, float("nan"))
            with pytest.raises(ArgumentError, match="exactly one of values"):
                await study.tell(trial, 1.0, failed="x")
            with pytest.raises(ArgumentError, match="`n` must be an integer"):
                await study.ask(0)
            with pytest.raises(ParameterError, match="'x' must be a number"):
                await study.enqueue({"x": 2})
            await study.tell(trial, 1.0)
            with pytest.raises(AlreadyTold):
                await study.tell(trial, 2.0)
            both = await connected.create_study(X, {"a": "minimize", "b": "maximize"}, algorithm="random")
            assert both.name.startswith("study-")
            with pytest.raises(ProblemError, match="use best_trials"):
                await both.best_trial()

    anyio.run(work)


def test_lost_answers_cost_nothing(server, url):
    losses = FirstAnswers()

    async def work(address):
        async with AsyncServer(address) as connected:
            study = await connected.create_study(X, name="lossy", algorithm="random")
            for trial in await study.ask(3):
                await study.tell(trial, 1.0)

    with dropping_proxy(url, losses) as address:
        anyio.run(work, address)
    assert losses.num_lost == 5
    assert [trial.attempts for trial in server.load_study("lossy").trials] == [1, 1, 1]


def test_a_server_that_stays_away_is_an_error():
    async def work():
        connected = AsyncServer(f"http://127.0.0.1:{free_port()}", retry_s=0.2)
        with pytest.raises(ConnectionLost, match=r"gave no answer for 0\.2 s"):
            await connected.whoami()
        await connected.close()

    anyio.run(work)
