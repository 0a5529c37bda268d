"""A study on a Ray cluster of two node processes, one of which dies."""

import contextlib
import threading
import time

import pytest
import ray_cluster

import photinus as ph

ray = pytest.importorskip("ray")

from photinus.integrations.ray_executor import RayExecutor  # noqa: E402

pytestmark = pytest.mark.long

WAIT_S = 120  # for anything: beyond it, whoever waits says what for, here and in the workers


def test_two_nodes_share_a_study_and_the_death_of_one_costs_what_it_ran(tmp_path):
    def wait_for(condition, what):  # in here, as the workers cannot import this file
        deadline = time.monotonic() + WAIT_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(what)
            time.sleep(0.05)

    def objective(trial):
        import ray

        node = ray.get_runtime_context().get_node_id()
        (tmp_path / f"{trial.number}-{node}").touch()
        if trial.number < 2:
            wait_for(lambda: len(set(nodes().values())) == 2, "only one node is at work")
            return 1.0
        if node == victim_id:
            wait_for(lambda: False, "the node of this trial was not killed, or its worker lives on")
        wait_for(is_stuck, "the first node does everything")
        return trial.params["x"]

    def nodes():
        """Where trials were begun, by number."""
        return {int(number): node for number, node in (file.name.split("-") for file in tmp_path.iterdir())}

    def is_stuck():
        return any(node == victim_id for number, node in nodes().items() if number >= 2)

    @contextlib.contextmanager
    def killer():
        """Ends the second node once it runs a trial. It waits as long as the study runs: that has limits enough."""
        is_over = threading.Event()

        def kill():
            while not is_over.wait(0.05):
                if is_stuck():
                    cluster.kill(1)
                    killed.append(victim_id)
                    return

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    killed = []
    study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=1)
    second = {"num_cpus": 1, "resources": {"licence": 1}}
    with ray_cluster.running({"num_cpus": 1}, second) as cluster:
        _, victim_id = cluster.ids
        with RayExecutor(scheduling_strategy="SPREAD") as executor:
            wait_for(lambda: executor.num_workers == 2, "the nodes are not there")
            assert RayExecutor(num_cpus=2).num_workers == 0  # no node has both
            assert RayExecutor(resources={"licence": 1}).num_workers == 1
            with killer():
                study.optimize(objective, 8, executor=executor)
            wait_for(lambda: executor.num_workers == 1, "the dead node is still counted")
    assert killed == [victim_id]
    assert nodes()[0] != nodes()[1]
    [failed] = [trial for trial in study.trials if trial.state.value != "completed"]
    assert failed.state.value == "failed"
    assert nodes()[failed.number] == victim_id
    assert failed.message.startswith("its worker died: ")
    assert len(study.trials) == 8
