"""Objectives on a Dask cluster of two worker processes."""

import logging
import os
import signal
import time

import pytest

import photinus as ph
from photinus.pools import count_workers

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.long

WAIT_S = 90


def make(objectives="minimize"):
    return ph.create_study({"x": ph.Float(0, 1)}, objectives, algorithm="random", seed=1)


def states(study):
    return [trial.state.value for trial in study.trials]


@pytest.fixture(params=[0, 3], ids=lambda n: f"allowed-failures-{n}", scope="module")
def client(request):
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": request.param}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def executor(client):
    client.wait_for_workers(2, timeout=WAIT_S)
    with client.get_executor() as executor:
        yield executor


def test_a_study_on_dask(executor):
    offset = 3.0

    def objective(trial):
        trial.report({"value": 0.5, "process": 0}, 1)
        return {"value": trial.params["x"] + offset, "process": os.getpid()}

    study = make({"value": "minimize", "process": "minimize"})
    assert count_workers(executor) == 2
    study.optimize(objective, 6, executor=executor)
    assert states(study) == ["completed"] * 6
    for trial in study.trials:
        assert trial.values["value"] == trial.params["x"] + 3.0
        assert len(trial.reports) == 1
    assert os.getpid() not in {trial.values["process"] for trial in study.trials}


def test_the_same_point_again_is_measured_again(executor, tmp_path):
    def objective(trial):
        with open(tmp_path / "calls", "a") as file:
            file.write(".")
        return 1.0

    for _ in range(2):  # trials that look alike, of two studies with the same name
        study = ph.create_study({"x": ph.Float(0, 1)}, name="twin", algorithm="random", seed=1)
        study.optimize(objective, 3, executor=executor)
    assert (tmp_path / "calls").read_text() == "......"


def test_a_deadly_trial_costs_one_trial(client, executor):
    """Dask may try it on other workers before it gives up; the others never notice."""

    def objective(trial):
        if trial.number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return 1.0

    study = make()
    study.optimize(objective, 6, executor=executor)
    assert_lost(client, study, 1)
    assert study.trials[1].message.startswith("its worker died: Attempted to run task")


def test_a_worker_that_is_killed_from_outside(client, executor, tmp_path):
    """The trial it ran is failed where Dask allows no failures, and repeated elsewhere where it does."""
    limit = WAIT_S

    def objective(trial):
        (tmp_path / f"{trial.number}-{os.getpid()}").touch()
        deadline = time.monotonic() + limit
        while trial.number == 0 and len(list(tmp_path.glob("0-*"))) == 1:
            assert time.monotonic() < deadline, "nobody killed this worker"
            time.sleep(0.02)
        return 1.0

    def callback(study, trial):
        if trial.number == 2:
            deadline = time.monotonic() + limit
            while not list(tmp_path.glob("0-*")):
                assert time.monotonic() < deadline, "the first trial does not begin"
                time.sleep(0.02)
            [slow] = tmp_path.glob("0-*")
            os.kill(int(slow.name.split("-")[1]), signal.SIGKILL)

    study = make()
    study.optimize(objective, 8, executor=executor, callbacks=[callback])
    assert_lost(client, study, 0 if allowed_failures(client) == 0 else None)


def allowed_failures(client):
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)


def assert_lost(client, study, number):
    """All trials but this one are completed.

    Without any failures allowed, Dask also gives up what it sent to the worker before it knew of its death.
    """
    lost = [trial.number for trial in study.trials if trial.state.value == "failed"]
    assert set(states(study)) <= {"completed", "failed"}
    if allowed_failures(client) == 0:
        assert number in lost
        assert len(lost) <= 2
    else:
        assert lost == ([] if number is None else [number])


def test_an_error_is_raised_and_the_executor_stays_in_order(executor):
    def objective(trial):
        if trial.number == 2:
            raise RuntimeError("broken")
        return 1.0

    study = make()
    with pytest.raises(RuntimeError, match="broken"):
        study.optimize(objective, 10, executor=executor)
    assert states(study)[2] == "failed"
    assert not any(trial.state.is_running for trial in study.trials)
    study.optimize(lambda trial: 1.0, 2, executor=executor)
