"""Several processes on one store."""

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

import photinus as ph
from photinus.storage.sql import SqlStorage
from photinus.testing.storage import create, draw
from photinus.trial import TrialState

NUM_WORKERS = 4
TIMEOUT_S = 120


def run_workers(code: str, *arguments: str, count: int = NUM_WORKERS) -> list[str]:
    """What several processes print that run the same code, all begun when the last of them is ready."""
    program = f"""
import sys
import photinus as ph
X = {{"x": ph.Float(0, 1)}}
address, index = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
{textwrap.dedent(code)}
"""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", program, *arguments, str(index)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(count)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n", worker.communicate()
    with ThreadPoolExecutor(count) as pool:  # `communicate` sends the line that starts a worker
        results = list(pool.map(lambda worker: worker.communicate("go\n", timeout=TIMEOUT_S), workers))
    assert [worker.returncode for worker in workers] == [0] * count, results
    return [output for output, _ in results]


def test_one_of_several_creates_a_study(address):
    SqlStorage(address).close()
    outputs = run_workers(
        """
        try:
            study = ph.create_study(X, name="same", storage=address, seed=index, algorithm="random")
            print("created", study.seed)
        except ph.errors.DuplicateStudy as error:
            print("refused")
        """,
        address,
    )
    created = [output.split() for output in outputs if output.startswith("created")]
    assert len(created) == 1
    assert outputs.count("refused\n") == NUM_WORKERS - 1
    assert ph.load_study("same", storage=address).seed == int(created[0][1])


def test_all_of_several_load_the_study_that_one_created(address):
    outputs = run_workers(
        """
        study = ph.create_study(X, name="same", storage=address, load_if_exists=True, algorithm="random")
        print(study.seed)
        """,
        address,
    )
    assert len(set(outputs)) == 1
    assert len(ph.local.open_backend(address).list_studies()) == 1


@pytest.mark.parametrize("algorithm", ["random", "quasi_random"])
def test_workers_share_a_study(address, algorithm):
    """Numbers have no gaps, no trial goes to two, every result is there once, and no suggestion twice."""
    study = ph.create_study({"x": ph.Float(0, 1)}, name="s", storage=address, algorithm=algorithm, seed=1)
    outputs = run_workers(
        """
        study = ph.load_study("s", storage=address)
        for _ in range(10):
            [trial] = study.ask()
            study.tell(trial, float(trial.number))
            print(trial.number)
        """,
        address,
    )
    numbers = sorted(int(line) for output in outputs for line in output.split())
    assert numbers == list(range(10 * NUM_WORKERS))
    trials = study.trials
    assert [trial.number for trial in trials] == numbers
    assert all(trial.values == {"value": float(trial.number)} for trial in trials)
    assert {trial.attempts for trial in trials} == {1}
    assert len({trial.params["x"] for trial in trials}) == len(trials)
    # Whoever asked, the points are those of one process that asks alone.
    alone = ph.create_study({"x": ph.Float(0, 1)}, algorithm=algorithm, seed=1).ask(len(trials))
    assert [trial.params for trial in trials] == [trial.params for trial in alone]


def test_a_queue_is_worked_off_once(address):
    study = ph.create_study({"x": ph.Float(0, 1)}, name="s", storage=address, algorithm="random", seed=1)
    for number in range(20):
        study.enqueue({"x": number / 20})
    outputs = run_workers(
        """
        for trial in ph.load_study("s", storage=address).ask(5):
            print(trial.number)
        """,
        address,
    )
    assert sorted(int(line) for output in outputs for line in output.split()) == list(range(20))


def test_a_deleted_study_is_noticed_elsewhere(address):
    here, there = SqlStorage(address), SqlStorage(address)
    study = ph.create_study({"x": ph.Float(0, 1)}, name="s", storage=here, algorithm="random", seed=1)
    study.ask()
    there.delete_study(there.find_study("default", "s").id)
    with pytest.raises(ph.errors.UnknownStudy, match="deleted"):
        study.ask()
    again = create(there)
    assert len(draw(there, again.id, 1)) == 1


def test_a_stop_is_noticed_elsewhere(address):
    study = ph.create_study({"x": ph.Float(0, 1)}, name="s", storage=address, algorithm="random", seed=1)
    ph.load_study("s", storage=address).stop()
    assert study.state == ph.StudyState.STOPPED


def test_a_forked_process_may_use_the_store(address):
    """It opens connections of its own, and leaves its parent's alone."""
    code = """
    import os
    study = ph.create_study(X, name="s", storage=address, algorithm="random", seed=1)
    study.ask()
    child = os.fork()
    for _ in range(5):
        study.tell(study.ask()[0], 1.0)
    if child == 0:
        os._exit(0 if len(study) >= 6 else 1)
    assert os.waitpid(child, 0)[1] == 0
    study.tell(study.ask()[0], 1.0)
    """
    run_workers(code, address, count=1)
    trials = ph.load_study("s", storage=address).trials
    assert [trial.number for trial in trials] == list(range(12))
    assert [trial.state for trial in trials].count(TrialState.COMPLETED) == 11


def test_a_store_travels_to_another_process_by_its_address(address):
    import pickle

    storage = SqlStorage(address)
    study = create(storage)
    assert pickle.loads(pickle.dumps(storage)).get_study(study.id) == study
