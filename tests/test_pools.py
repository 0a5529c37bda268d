"""Objectives in executors of the user's. Ray and Dask have their own tests beside the other integrations."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import photinus as ph
from photinus.errors import ArgumentError, ExecutorBroken
from photinus.pools import WorkerLost, count_workers
from photinus.trial import TrialState

WAIT_S = 60


def make(objectives="minimize", **settings):
    return ph.create_study({"x": ph.Float(0, 1)}, objectives, algorithm="random", seed=1, **settings)


def states(study):
    return [trial.state.value for trial in study.trials]


def processes(num_workers=2):
    # Never forked: this process has threads.
    return ProcessPoolExecutor(num_workers, mp_context=multiprocessing.get_context("spawn"))


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@pytest.fixture(scope="module")
def pool():
    with processes() as executor:
        yield executor


@pytest.fixture(params=["threads", "processes"])
def executor(request):
    if request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        yield request.getfixturevalue("pool")


class Inline(Executor):
    """Says nothing about its workers, and does what its `fate` says instead of the work."""

    def __init__(self, fate=None):
        self.fate = fate
        self.num_calls = 0

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.num_calls += 1
        error = None if self.fate is None else self.fate(self.num_calls)
        if error is None:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(error)
        return future


# Results.


def test_lambdas_and_closures_run_and_reports_arrive(executor):
    offset = 3.0

    def objective(trial):
        trial.report(0.5, 7)
        return trial.params["x"] + offset

    study = make()
    study.optimize(objective, 5, executor=executor)
    study.optimize(lambda trial: 0.0, until=6, executor=executor)
    assert states(study) == ["completed"] * 6
    for trial in study.trials[:5]:
        assert trial.values == {"value": trial.params["x"] + 3.0}
        assert [(report.step, report.values) for report in trial.reports] == [(7, {"value": 0.5})]
        assert (trial.attempts, trial.lease_expires_at) == (1, None)


def test_infeasible_and_caught(executor):
    class Mine(Exception):
        pass

    def objective(trial):
        if trial.number == 0:
            raise Mine("oh")
        return {"a": float("nan") if trial.number == 1 else 1.0, "b": 2.0}

    study = make({"a": "minimize", "b": "maximize"})
    study.optimize(objective, 3, executor=executor, catch=Mine)
    assert states(study) == ["failed", "infeasible", "completed"]
    assert study.trials[0].message == "Mine: oh"


def test_other_exceptions_are_raised_and_what_runs_is_handed_back(executor):
    def objective(trial):
        if trial.number == 2:
            raise RuntimeError("broken")
        return 1.0

    study = make()
    with pytest.raises(RuntimeError, match="broken") as caught:
        study.optimize(objective, 10, executor=executor)
    assert study.trials[2].state == TrialState.FAILED
    assert not any(trial.state.is_running for trial in study.trials)
    if isinstance(executor, ProcessPoolExecutor):
        assert "In the worker process:" in caught.value.__notes__[0]
    study.optimize(lambda trial: 1.0, 2, executor=executor)  # it is still the user's, and in order


def test_threads_share_what_they_close_over_and_their_errors_are_the_objects_raised():
    seen, lock, error = [], threading.Lock(), RuntimeError("mine")

    def objective(trial):
        with lock:
            seen.append(trial.number)
        if trial.number == 3:
            raise error
        return 1.0

    with ThreadPoolExecutor(2) as threads, pytest.raises(RuntimeError) as caught:
        make().optimize(objective, 10, executor=threads)
    assert caught.value is error
    assert {0, 1, 2, 3} <= set(seen)


def test_loky():
    import loky

    executor = loky.ProcessPoolExecutor(2)
    try:
        study = make()
        study.optimize(lambda trial: float(os.getpid()), 4, executor=executor)
    finally:
        executor.shutdown(kill_workers=True)
    assert float(os.getpid()) not in {trial.values["value"] for trial in study.trials}


# How many at a time.


@pytest.mark.parametrize(("n_jobs", "most"), [(None, 3), (-1, 3), (2, 2), (5, 3)])
def test_as_many_trials_are_in_flight_as_there_are_workers(n_jobs, most):
    """A trial ends only when as many run as can: with fewer in flight, it would wait for ever."""
    arrived = threading.Barrier(most, timeout=WAIT_S)
    study = make()
    pending = []

    def objective(trial):
        arrived.wait()
        pending.append(sum(trial.state.is_running for trial in study.trials))
        return 1.0

    with ThreadPoolExecutor(3) as threads:
        study.optimize(objective, 2 * most, executor=threads, n_jobs=n_jobs)
    assert states(study) == ["completed"] * 2 * most
    assert max(pending) <= (n_jobs or 3 if n_jobs != -1 else 3)


def test_a_new_suggestion_is_made_as_soon_as_a_worker_is_free():
    """Trial 0 ends only when four later ones are finished."""
    go = threading.Event()
    finished = []

    def objective(trial):
        assert trial.number != 0 or go.wait(WAIT_S)
        return 1.0

    def callback(study, trial):
        finished.append(trial.number)
        if len(finished) == 4:
            go.set()

    with ThreadPoolExecutor(2) as threads:
        make().optimize(objective, 6, executor=threads, callbacks=[callback])
    assert finished[:4] == [1, 2, 3, 4]
    assert sorted(finished) == [0, 1, 2, 3, 4, 5]


def test_pending_trials_reach_the_algorithm():
    """Asked together, the model's points differ; each says how many others were pending."""
    together = threading.Barrier(3, timeout=WAIT_S)
    study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="default", seed=1)
    study.add_trials([{"params": {"x": x}, "values": (x - 0.3) ** 2} for x in (0.0, 0.5, 1.0)])

    def objective(trial):
        together.wait()
        return (trial.params["x"] - 0.3) ** 2

    with ThreadPoolExecutor(3) as threads:
        study.optimize(objective, 3, executor=threads)
    assert len({round(trial.params["x"], 3) for trial in study.trials[3:]}) == 3


def test_an_executor_that_does_not_say_its_size_needs_n_jobs():
    study = make()
    with pytest.raises(ArgumentError, match="Inline does not say it: give n_jobs"):
        study.optimize(lambda trial: 1.0, 2, executor=Inline())
    assert len(study) == 0
    lock = threading.Lock()  # what is not pickled need not be picklable
    study.optimize(lambda trial: float(lock.locked()), 2, executor=Inline(), n_jobs=1)
    assert states(study) == ["completed"] * 2


def test_an_executor_that_grows_gets_more_trials():
    class Growing(ThreadPoolExecutor):
        num_workers = 1

    pending = []
    study = make()

    with Growing(4) as executor:

        def objective(trial):
            if trial.number == 2:
                executor.num_workers = 3
            if trial.number > 2:
                wait_for(
                    lambda: max(pending, default=0) == 3 or running() == 3, "three trials never ran together"
                )
                pending.append(3)
            return 1.0

        def running():
            return sum(trial.state.is_running for trial in study.trials)

        study.optimize(objective, 6, executor=executor)
    assert states(study) == ["completed"] * 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"executor": "threads"}, "`executor` must be a concurrent.futures.Executor, got 'threads'"),
        ({"executor": Inline(), "n_jobs": 0}, "`n_jobs` must be an integer >= 1, got 0"),
    ],
)
def test_bad_arguments_are_refused_before_anything_happens(arguments, message):
    study = make()
    with pytest.raises(ArgumentError, match=message):
        study.optimize(lambda trial: 1.0, 1, **arguments)
    assert len(study) == 0


def test_an_executor_without_workers_is_refused():
    class Empty(Inline):
        num_workers = 0

    study = make()
    with pytest.raises(ArgumentError, match="an executor must have workers, but Empty has none"):
        study.optimize(lambda trial: 1.0, 1, executor=Empty())
    assert len(study) == 0


def test_sizes_are_known_of_what_is_common(pool):
    with ThreadPoolExecutor(3) as threads:
        assert count_workers(threads) == 3
    assert count_workers(pool) == 2


# Trouble.


def test_an_objective_that_cannot_travel(pool):
    lock = threading.Lock()
    study = make()
    with pytest.raises(ArgumentError, match="needs a picklable objective, but pickling it failed"):
        study.optimize(lambda trial: lock, 1, executor=pool)
    assert len(study) == 0


def test_an_objective_that_does_not_load_in_the_worker_is_an_error(pool):
    class Unloadable:
        def __call__(self, trial):
            return 1.0

        def __reduce__(self):
            return int, ("not a number",)

    study = make()
    with pytest.raises(ValueError, match="not a number"):
        study.optimize(Unloadable(), 1, executor=pool)
    assert states(study) == ["failed"]


@pytest.mark.parametrize("how", ["exit", "SIGKILL"])
def test_a_death_that_breaks_the_pool_fails_what_is_in_flight_and_says_so(how, tmp_path):
    def objective(trial):
        if trial.number == 3:
            while not (tmp_path / "4").exists():
                time.sleep(0.01)
            os._exit(3) if how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
        if trial.number == 4:
            (tmp_path / "4").touch()
            time.sleep(600)
        return 1.0

    study = make()
    study.add_trials([{"params": {"x": 0.5}, "values": 1.0} for _ in range(3)])
    with processes() as executor:
        # Python may overlook the death of a process that it has only just started, so both are up before.
        list(executor.map(time.sleep, [0.2, 0.2]))
        with pytest.raises(
            ExecutorBroken, match=r"in flight are failed \(3, 4\)\. Go on with a new exec"
        ) as caught:
            study.optimize(objective, 6, executor=executor)
        assert isinstance(caught.value.__cause__, BrokenExecutor)
        assert states(study)[3:] == ["failed"] * 2
        assert all("the executor broke while it was in flight" in t.message for t in study.trials[3:])

        with pytest.raises(ExecutorBroken, match=r"in flight are failed \(none\)"):
            study.optimize(objective, 1, executor=executor)
        assert states(study)[5:] == ["expired"]  # it never began

    with processes() as another:
        study.optimize(lambda trial: 1.0, until=8, executor=another)
    assert states(study)[5:] == ["completed"] * 3


def test_a_death_that_the_executor_survives_costs_one_trial():
    study = make()
    fate = Inline(lambda call: WorkerLost("node 7 is gone") if call == 2 else None)
    study.optimize(lambda trial: 1.0, 4, executor=fate, n_jobs=1)
    assert states(study) == ["completed", "failed", "completed", "completed"]
    assert study.trials[1].message == "its worker died: node 7 is gone"


def test_other_errors_of_the_executor_are_raised():
    study = make()
    fate = Inline(lambda call: ModuleNotFoundError("No module named 'photinus'"))
    with pytest.raises(ModuleNotFoundError):
        study.optimize(lambda trial: 1.0, 4, executor=fate, n_jobs=1)
    assert states(study) == ["failed"]
    assert study.trials[0].message.startswith("its worker gave no answer: ModuleNotFoundError")


def test_an_executor_that_returns_something_else_is_an_error():
    class Deaf(Inline):
        def submit(self, fn, /, *args, **kwargs):
            future = super().submit(fn, *args, **kwargs)
            future._result = None
            return future

    study = make()
    with pytest.raises(TypeError, match="an executor must return what the call returns, got None"):
        study.optimize(lambda trial: 1.0, 4, executor=Deaf(), n_jobs=1)
    assert states(study) == ["failed"]


def test_an_executor_that_is_shut_down_is_an_error_and_the_trial_is_handed_back():
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    study = make()
    with pytest.raises(RuntimeError, match="after shutdown"):
        study.optimize(lambda trial: 1.0, 4, executor=threads)
    assert states(study) == ["expired"]


def test_what_was_cancelled_is_handed_back():
    study = make()
    begun, go = threading.Event(), threading.Event()

    def objective(trial):
        begun.set()
        assert go.wait(WAIT_S)
        return 1.0

    with ThreadPoolExecutor(1) as threads:

        def cancel():
            begun.wait(WAIT_S)
            wait_for(lambda: len(study) == 2, "the second trial was not asked for")
            threads.shutdown(wait=False, cancel_futures=True)

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(Exception, match=r"the executor cancelled the trial|after shutdown"):
            study.optimize(objective, 4, executor=threads, n_jobs=2)
        go.set()
        canceller.join()
    assert states(study) == ["expired"] * 2


INTERRUPTED = """
import pathlib, signal, sys, time
from concurrent.futures import ThreadPoolExecutor
import photinus as ph

signal.signal(signal.SIGINT, signal.default_int_handler)
study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=1)
is_over = False

def objective(trial):
    if trial.number < 2:
        return 1.0
    pathlib.Path(sys.argv[1], str(trial.number)).touch()
    while not is_over:
        time.sleep(0.01)

with ThreadPoolExecutor(2) as executor:
    try:
        study.optimize(objective, 10, executor=executor)
    except KeyboardInterrupt:
        is_over = True
        print("interrupted", [trial.state.value for trial in study.trials])
    study.optimize(lambda trial: 2.0, until=6, executor=executor)
print([trial.state.value for trial in study.trials])
"""


def test_ctrl_c_leaves_a_consistent_study(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_for(lambda: process.poll() is not None or len(os.listdir(tmp_path)) == 2, "no trials ran")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=WAIT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    lost = ["expired"] * 2
    assert out.splitlines() == [f"interrupted {['completed'] * 2 + lost}", f"{['completed'] * 6}"], err
