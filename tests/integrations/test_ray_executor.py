"""Objectives as Ray tasks, on a cluster of one node."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import ray_cluster

import photinus as ph
from photinus.errors import ArgumentError

ray = pytest.importorskip("ray")

from photinus.integrations.ray_executor import RayExecutor  # noqa: E402
from photinus.pools import WorkerLost  # noqa: E402

pytestmark = pytest.mark.long

WAIT_S = 90


def make(**settings):
    return ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=1, **settings)


def states(study):
    return [trial.state.value for trial in study.trials]


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster():
    # Ray takes our word for the GPU: it reserves it, and shows it to the task.
    with ray_cluster.running({"num_cpus": 2, "num_gpus": 1, "resources": {"licence": 3}}):
        yield


def test_a_study_on_ray(cluster):
    offset = 3.0

    def objective(trial):
        trial.report({"value": 0.5, "process": 0}, 1)
        return {"value": trial.params["x"] + offset, "process": os.getpid()}

    study = ph.create_study(
        {"x": ph.Float(0, 1)}, {"value": "minimize", "process": "minimize"}, algorithm="random", seed=1
    )
    with RayExecutor() as executor:
        assert executor.num_workers == 2
        study.optimize(objective, 6, executor=executor)
    assert states(study) == ["completed"] * 6
    for trial in study.trials:
        assert trial.values["value"] == trial.params["x"] + 3.0
        assert len(trial.reports) == 1
    assert os.getpid() not in {trial.values["process"] for trial in study.trials}


@pytest.mark.parametrize("how", ["exit", "SIGKILL"])
def test_the_death_of_a_worker_costs_one_trial(cluster, how):
    def objective(trial):
        if trial.number == 1:
            os._exit(3) if how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
        return 1.0

    study = make()
    study.optimize(objective, 6, executor=RayExecutor())
    assert states(study) == ["completed", "failed", *["completed"] * 4]
    assert study.trials[1].message.startswith("its worker died: WorkerCrashedError: The worker died unexpect")
    assert study.trials[1].attempts == 1


def test_each_call_has_its_resources(cluster):
    def objective(trial):
        import ray

        return float(len(ray.get_gpu_ids()))

    study = make()
    with RayExecutor(num_gpus=1) as executor:
        assert executor.num_workers == 1
        study.optimize(objective, 2, executor=executor)
    assert [trial.values["value"] for trial in study.trials] == [1.0, 1.0]
    assert RayExecutor(num_gpus=0.5).num_workers == 2
    assert RayExecutor(num_cpus=0, resources={"licence": 1}).num_workers == 3
    assert RayExecutor(num_cpus=0.5, max_workers=3).num_workers == 3
    assert RayExecutor(num_gpus=2).num_workers == 0


def test_resources_that_no_node_has_are_refused(cluster):
    study = make()
    with pytest.raises(ArgumentError, match="RayExecutor has none: check the resources that it asks for"):
        study.optimize(lambda trial: 1.0, 1, executor=RayExecutor(num_gpus=2))
    assert len(study) == 0
    with pytest.raises(ArgumentError, match="calls that need no resources must be limited otherwise"):
        RayExecutor(num_cpus=0)
    with pytest.raises(ArgumentError, match="`max_workers` must be an integer >= 1"):
        RayExecutor(0)


def test_an_error_ends_what_runs(cluster, tmp_path):
    def objective(trial):
        (tmp_path / f"{trial.number}-{os.getpid()}").touch()
        if trial.number == 0:
            time.sleep(600)
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.05)
        raise RuntimeError("broken")

    study = make()
    with pytest.raises(RuntimeError, match="broken"):
        study.optimize(objective, 10, executor=RayExecutor())
    assert states(study) == ["expired", "failed"]
    [slow] = tmp_path.glob("0-*")
    wait_for(lambda: not is_running(int(slow.name.split("-")[1])), "the trial that nobody waits for runs on")


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_objective_that_cannot_travel_hands_its_trial_back(cluster):
    lock = threading.Lock()
    study = make()
    with pytest.raises(ArgumentError, match="needs a picklable objective"):
        study.optimize(lambda trial: lock, 1, executor=RayExecutor())
    assert states(study) == ["expired"]


def test_it_is_an_executor_like_others(cluster):
    with RayExecutor() as executor:
        assert list(executor.map(pow, [1, 2, 3], [2, 2, 2])) == [1, 4, 9]
        assert executor.submit(int, "ff", base=16).result(WAIT_S) == 255
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result(WAIT_S)
        with pytest.raises(WorkerLost, match="WorkerCrashedError"):
            executor.submit(os._exit, 1).result(WAIT_S)
        slow = executor.submit(time.sleep, 600)
        assert slow.cancel()
        assert slow.cancelled()
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        executor.submit(pow, 1, 1)
    waiting = RayExecutor()
    futures = [waiting.submit(time.sleep, 600) for _ in range(3)]
    waiting.shutdown(cancel_futures=True)
    assert all(future.cancelled() for future in futures)


def test_clusters_of_tests_are_not_open_to_the_network(cluster):
    assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]
    assert ray.get_runtime_context().gcs_address.startswith("127.0.0.1:")


CONNECTING = """
from photinus.integrations.ray_executor import RayExecutor
with RayExecutor(max_workers=1) as executor:
    print(executor.submit(pow, 2, 3).result(90), executor.num_workers)
"""


def test_a_program_that_did_not_connect_is_connected(cluster):
    environment = os.environ | {"RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    command = [sys.executable, "-c", CONNECTING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * WAIT_S)
    assert done.stdout.split() == ["8", "1"], done.stderr
