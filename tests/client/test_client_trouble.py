"""Lost answers, restarts and kills: nothing is lost, nothing is done twice, and nobody notices."""

import threading
from collections.abc import Iterator

import pytest
from dropping import FirstAnswers, dropping_proxy
from serving import ServerProcess, free_port, served, wait_until

import photinus as ph
from photinus.client import Server
from photinus.errors import ConnectionLost, DuplicateStudy, InvalidState, UnknownStudy
from photinus.record import NewTrial
from photinus.service import Settings
from photinus.trial import Measurement, TrialState

X = {"x": ph.Float(0, 1)}


@pytest.fixture
def losses() -> FirstAnswers:
    return FirstAnswers()


@pytest.fixture
def lossy(server: Server, url: str, losses: FirstAnswers) -> Iterator[Server]:
    """The server, seen through a proxy that loses the first answer to everything."""
    with dropping_proxy(url, losses) as address, ph.connect(address) as connected:
        yield connected


def test_every_call_is_done_once_though_its_answer_was_lost(lossy, losses):
    study = lossy.create_study(X, name="lossy", algorithm="random", seed=0)
    backend, study_id = lossy.backend, study.record.id
    first, second, third = study.ask(3)
    named, *_ = study.ask(1, worker="w", lease=60)
    study.enqueue({"x": 0.5})
    study.add_trial({"x": 0.25}, 1.0)
    backend.add_trials(study_id, [NewTrial({"x": 0.125}), NewTrial({"x": 0.75}, Measurement.failed("lost"))])
    first.report(1.0, 0)
    first.report(2.0, 1)
    study.tell(first, 3.0)
    study.amend(first, 4.0)
    study.extend_lease(named, 100)
    study.release(named)
    study.release(second)
    backend.tell_all(study_id, [(third.number, Measurement.infeasible("hot"))])
    backend.update_study_metadata(study_id, {"k": "v"})
    backend.update_trial_metadata(study_id, 0, {"k": "v"})
    study.stop()

    assert losses.num_lost >= 17
    trials = study.trials
    assert [trial.state.value for trial in trials] == [
        *("completed", "expired", "infeasible", "expired"),
        *("queued", "completed", "queued", "failed"),
    ]
    assert [(report.step, report.values) for report in trials[0].reports] == [
        (0, {"value": 1.0}),
        (1, {"value": 2.0}),
    ]
    assert [(a.old_values, a.new_values) for a in trials[0].amendments] == [({"value": 3.0}, {"value": 4.0})]
    assert [trial.attempts for trial in trials] == [1, 1, 1, 1, 0, 0, 0, 0]
    assert trials[0].metadata == {"k": "v"}
    assert study.record.metadata == {"k": "v"}


def test_refusals_are_refusals_though_their_answer_was_lost(lossy):
    study = lossy.create_study(X, name="once", algorithm="random")
    with pytest.raises(DuplicateStudy):
        lossy.create_study(X, name="once", algorithm="random")
    study.enqueue({"x": 0.5})
    with pytest.raises(InvalidState, match="queued"):
        study.tell(0, 1.0)
    with pytest.raises(InvalidState, match="only completed trials can be amended"):
        study.amend(0, 1.0)
    assert [trial.state for trial in study.trials] == [TrialState.QUEUED]


def test_studies_are_deleted_and_restored_once(lossy, server):
    study = lossy.create_study(X, name="moved", algorithm="random")
    study.tell(study.ask()[0], 1.0)
    record, trials = study.record, server.load_study("moved").trials
    lossy.delete_study("moved")
    with pytest.raises(UnknownStudy):
        lossy.load_study("moved")
    restored = lossy.backend.restore_study(record, trials)
    assert restored.id != record.id
    assert [trial.values for trial in server.load_study("moved").trials] == [{"value": 1.0}]
    with pytest.raises(DuplicateStudy):
        lossy.backend.restore_study(record, trials)


def test_a_study_is_optimised_though_every_answer_is_lost_at_first(lossy, losses):
    study = lossy.create_study(X, algorithm="random", seed=0)
    study.optimize(lambda trial: trial.params["x"], 10, progress=False)
    trials = study.trials
    assert [trial.values for trial in trials] == [{"value": trial.params["x"]} for trial in trials]
    assert (len(trials), {trial.attempts for trial in trials}) == (10, {1})
    assert losses.num_lost >= 20


def test_a_restart_goes_unnoticed(tmp_path):
    port = free_port()
    settings = Settings(storage=str(tmp_path / "studies.db"), tokens_required=False)
    connected = ph.connect(f"http://127.0.0.1:{port}")
    may_restart, has_ended, may_end = threading.Event(), threading.Event(), threading.Event()

    def serve_twice() -> None:
        with served(settings, port):
            may_restart.wait(60)
        has_ended.set()
        with served(settings, port):
            may_end.wait(60)

    thread = threading.Thread(target=serve_twice)
    thread.start()
    try:
        study = connected.create_study(X, name="restarted", algorithm="random", seed=1)
        [trial] = study.ask()
        may_restart.set()
        assert has_ended.wait(60)
        assert study.tell(trial, 1.0).values == {"value": 1.0}
        assert [trial.number for trial in study.ask(2)] == [1, 2]
    finally:
        may_restart.set()
        may_end.set()
        thread.join()
        connected.close()


def test_a_server_that_stays_away_is_an_error_that_says_so():
    connected = ph.connect(f"http://127.0.0.1:{free_port()}", retry_s=0.3)
    with pytest.raises(ConnectionLost, match=r"http://127.0.0.1:\d+ gave no answer for 0.3 s \(ConnectError"):
        connected.load_study("x")
    assert issubclass(ConnectionLost, ConnectionError)


def test_a_loop_whose_server_stays_away_ends(tmp_path, caplog):
    """Patience is lost once: tidying up and heartbeats do not begin anew."""
    settings = Settings(storage=str(tmp_path / "studies.db"), tokens_required=False)
    with served(settings) as address:
        study = ph.connect(address, retry_s=1.0).create_study(X, algorithm="random")
        study.optimize(lambda trial: 1.0, 1, progress=False)
    caplog.clear()
    with pytest.raises(ConnectionLost):
        study.optimize(lambda trial: 1.0, 1, progress=False)
    assert len([record for record in caplog.records if "trying again" in record.getMessage()]) == 1


def slow_objective(trial):
    import time

    time.sleep(0.05)
    return trial.params["x"]


@pytest.mark.long
def test_kills_of_the_server_cost_nothing(tmp_path):
    """Two worker processes optimise while the server is killed twice, without any time to say goodbye."""
    process = ServerProcess(tmp_path)
    num_trials, kill_at = 60, [10, 30]
    killed_at = []

    def kill_now_and_then() -> None:
        watcher = ph.connect(process.url)
        try:
            for limit in kill_at:
                wait_until(lambda limit=limit: len(watcher.load_study("killed")) >= limit, f"{limit} trials")
                process.kill()
                killed_at.append(limit)
                process.start()
                process.wait()
        finally:
            watcher.close()

    try:
        process.start()
        process.wait()
        with ph.connect(process.url) as connected:
            study = connected.create_study(X, name="killed", algorithm="random", seed=0)
            killer = threading.Thread(target=kill_now_and_then)
            killer.start()
            study.optimize(slow_objective, num_trials, n_jobs=2, progress=False)
            killer.join()
            trials = study.trials
            assert [trial.number for trial in trials] == list(range(num_trials))
            assert [trial.values for trial in trials] == [{"value": trial.params["x"]} for trial in trials]
            assert {trial.attempts for trial in trials} == {1}
        assert killed_at == kill_at
    finally:
        process.kill()
