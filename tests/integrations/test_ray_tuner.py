"""`PhotinusSearch` in `tune.Tuner`, on a cluster of one node."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import ray_cluster

ray = pytest.importorskip("ray")
tune = pytest.importorskip("ray.tune")

from ray.tune.schedulers import ASHAScheduler  # noqa: E402
from ray.tune.search import ConcurrencyLimiter  # noqa: E402

from photinus.integrations.ray_search import PhotinusSearch  # noqa: E402

pytestmark = pytest.mark.long

WAIT_S = 120
SPACE = {
    "x": tune.uniform(0, 1),
    "opt": {"lr": tune.loguniform(1e-4, 1), "kind": tune.grid_search(["a", "b"])},
    "batch": tune.qrandint(8, 32, 8),
    "layers": [tune.randint(1, 5), tune.lograndint(1, 100)],
    "dropout": tune.quniform(0, 0.5, 0.25),
    "model": tune.choice([{"name": "small"}, {"name": "large"}]),
    "constant": 3,
}
POINT = {
    "x": 0.3,
    "opt": {"lr": 1e-3, "kind": "b"},
    "batch": 16,
    "layers": [2, 10],
    "dropout": 0.25,
    "model": {"name": "large"},
}


@pytest.fixture(scope="module")
def cluster():
    with ray_cluster.running({"num_cpus": 2}):
        yield


def make_tuner(search, directory, trainable, num_samples, **settings):
    return tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(search_alg=search, num_samples=num_samples, **settings),
        run_config=tune.RunConfig(name="run", storage_path=str(directory), verbose=0),
    )


def states(search):
    return [trial.state.value for trial in search.study.trials]


def pending(trials):
    """How many other trials were running when each was suggested."""
    return [
        sum(other.asked_event < trial.asked_event < other.completed_event for other in trials)
        for trial in trials
    ]


# Trainables are made inside functions, so that they travel to the workers, which cannot import this file.


def test_every_kind_of_domain_points_and_a_limit(cluster, tmp_path):
    limit = WAIT_S

    def train(config):
        """The first two trials end when both have begun."""
        (begun / str(config["x"])).touch()
        deadline = time.monotonic() + limit
        while len(list(begun.iterdir())) < 2:
            assert time.monotonic() < deadline, "there is only one trial at a time"
            time.sleep(0.05)
        tune.report({"loss": (config["x"] - 0.3) ** 2})

    begun = tmp_path / "begun"
    begun.mkdir()
    search = PhotinusSearch(seed=1, points_to_evaluate=[POINT], algorithm="quasi_random")
    goal = {"metric": "loss", "mode": "min"}
    results = make_tuner(search, tmp_path, train, 5, max_concurrent_trials=2, **goal).fit()
    trials = search.study.trials
    assert states(search) == ["completed"] * 5
    assert trials[0].params == {
        "x": 0.3,
        "opt/lr": 1e-3,
        "opt/kind": "b",
        "batch": 16,
        "layers/0": 2,
        "layers/1": 10,
        "dropout": 0.25,
        "model": "1: {'name': 'large'}",
    }
    assert pending(trials)[:2] == [0, 1]
    assert max(pending(trials)) == 1
    by_point = {result.config["x"]: result for result in results}
    assert len(by_point) == 5
    for trial in trials:
        config = by_point[trial.params["x"]].config
        assert config["constant"] == 3
        assert config["opt"] == {"lr": trial.params["opt/lr"], "kind": trial.params["opt/kind"]}
        assert config["layers"] == [trial.params["layers/0"], trial.params["layers/1"]]
        assert config["batch"] in (8, 16, 24, 32)
        assert config["dropout"] in (0, 0.25, 0.5)
        assert repr(config["model"]) == trial.params["model"].split(": ", 1)[1]
        assert trial.values["loss"] == by_point[trial.params["x"]].metrics["loss"]
    assert results.get_best_result().metrics["loss"] == search.study.best_trial.values["loss"] == 0


def test_what_asha_stops_counts_with_its_last_result(cluster, tmp_path):
    def train(config):
        for step in range(1, 4):
            tune.report({"loss": config["x"] + 1 / step})

    points = [POINT | {"x": x} for x in (0.3, 0.9, 0.1)]
    search = PhotinusSearch(seed=1, points_to_evaluate=points)
    asha = ASHAScheduler(max_t=3, grace_period=1, reduction_factor=2)
    limiter = ConcurrencyLimiter(search, max_concurrent=1)
    make_tuner(limiter, tmp_path, train, 3, scheduler=asha, metric="loss", mode="min").fit()
    assert pending(search.study.trials) == [0, 0, 0]
    assert [[report.step for report in trial.reports] for trial in search.study.trials] == [
        [1, 2, 3],
        [1],
        [1, 2, 3],
    ]
    assert [trial.values["loss"] for trial in search.study.trials] == [0.3 + 1 / 3, 0.9 + 1, 0.1 + 1 / 3]


def test_several_objectives_errors_and_deaths_and_what_was_lost_is_run_again(cluster, tmp_path):
    def train(config):
        if config["batch"] == 8 and not repaired.exists():
            raise RuntimeError("broken")
        if config["batch"] == 24 and not repaired.exists():
            os.kill(os.getpid(), signal.SIGKILL)
        tune.report({"loss": config["x"], "size": config["batch"]})

    repaired = tmp_path / "repaired"
    search = PhotinusSearch(
        metric=["loss", "size"],
        mode=["min", "max"],
        points_to_evaluate=[POINT | {"batch": batch} for batch in (8, 16, 24)],
        seed=1,
        algorithm="random",
    )
    results = make_tuner(search, tmp_path, train, 3).fit()
    assert len(results.errors) == 2
    assert states(search) == ["failed", "completed", "failed"]
    assert search.study.trials[1].values == {"loss": 0.3, "size": 16}

    repaired.touch()
    path = str(tmp_path / "run")
    results = tune.Tuner.restore(path, trainable=train, restart_errored=True).fit()
    assert not results.errors
    after = PhotinusSearch()
    after.restore_from_dir(path)
    assert states(after) == ["failed", "completed", "failed", "completed", "completed"]
    assert sorted(trial.params["batch"] for trial in after.study.trials[3:]) == [8, 24]


KILLED = """
import os, sys, time
import ray
from ray import tune
from photinus.integrations.ray_search import PhotinusSearch

def train(config):
    while len(os.listdir(folder)) >= 3 and not os.path.exists(folder + "/go"):
        time.sleep(0.05)
    tune.report({"loss": (config["x"] - 0.3) ** 2})
    with open(os.path.join(folder, str(config["x"])), "w"):
        pass

folder = sys.argv[3]
ray.init(address=sys.argv[1], log_to_driver=False)
tune.Tuner(
    train,
    param_space={"x": tune.uniform(0, 1)},
    tune_config=tune.TuneConfig(
        search_alg=PhotinusSearch(seed=1, algorithm="quasi_random"), num_samples=8, metric="loss", mode="min",
        max_concurrent_trials=2,
    ),
    run_config=tune.RunConfig(name="run", storage_path=sys.argv[2], verbose=0),
).fit()
"""


def test_an_interrupted_run_is_restored(cluster, tmp_path):
    done = tmp_path / "done"
    done.mkdir()
    experiment = tmp_path / "results" / "run"
    address = ray.get_runtime_context().gcs_address
    command = [sys.executable, "-c", KILLED, address, str(tmp_path / "results"), str(done)]
    with subprocess.Popen(
        command,
        env=os.environ | {"TUNE_GLOBAL_CHECKPOINT_S": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + WAIT_S
            while not _is_half_way(experiment):
                process.send_signal(signal.SIGCONT)
                assert process.poll() is None, process.communicate()[0]
                assert time.monotonic() < deadline, "three trials did not finish"
                time.sleep(0.5)
                process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGKILL)
            process.wait(WAIT_S)
        finally:
            process.kill()

    before = PhotinusSearch()
    before.restore_from_dir(str(experiment))
    (done / "go").touch()

    def train(config):
        tune.report({"loss": (config["x"] - 0.3) ** 2})

    results = tune.Tuner.restore(str(experiment), trainable=train).fit()
    after = PhotinusSearch()
    after.restore_from_dir(str(experiment))
    assert len(results) == 8
    assert [trial.state.value for trial in after.study.trials] == ["completed"] * 8
    known = [trial.params for trial in before.study.trials]
    assert len(known) >= 3
    assert [trial.params for trial in after.study.trials[: len(known)]] == known
    assert {result.config["x"] for result in results} == {trial.params["x"] for trial in after.study.trials}


def _is_half_way(experiment):
    """Whether three trials are finished and two are running, by what is saved.

    The driver must not run meanwhile: Ray's own files are half written now and then, and useless if it is killed there.
    """
    search = PhotinusSearch()
    try:
        search.restore_from_dir(str(experiment))
        [state] = experiment.glob("experiment_state*.json")
        json.loads(state.read_text())
    except (RuntimeError, OSError, EOFError, ValueError):
        return False
    trials = search.study.trials if search._study else []
    num_running = sum(trial.state.is_running for trial in trials)
    return sum(trial.state.is_finished for trial in trials) >= 3 and num_running == 2
