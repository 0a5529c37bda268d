import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import photinus as ph
from photinus import optimizing
from photinus.errors import ArgumentError, ObjectiveError
from photinus.heartbeat import Heartbeat
from photinus.local import LocalBackend
from photinus.problem import Problem
from photinus.storage import MemoryStorage
from photinus.study import Study
from photinus.trial import TrialState

BOTH = pytest.mark.parametrize("n_jobs", [1, 2])


def make(objectives="minimize", **settings):
    return ph.create_study({"x": ph.Float(0, 1)}, objectives, algorithm="random", seed=1, **settings)


def states(study):
    return [trial.state.value for trial in study.trials]


class Hopeless(Exception):
    """Cannot be unpickled: it needs two arguments and passes on one."""

    def __init__(self, what, why):
        super().__init__(what)
        self.why = why


# Results.


@BOTH
def test_lambdas_and_closures_run(n_jobs):
    offset = 3.0
    study = make()
    study.optimize(lambda trial: trial.params["x"] + offset, 4, n_jobs=n_jobs)
    assert states(study) == ["completed"] * 4
    for trial in study.trials:
        assert trial.values == {"value": trial.params["x"] + 3.0}
        assert trial.lease_expires_at is None
        assert trial.attempts == 1


@BOTH
def test_several_objectives(n_jobs):
    study = make({"a": "minimize", "b": "maximize"})
    study.optimize(lambda trial: {"b": 1, "a": trial.params["x"]}, 2, n_jobs=n_jobs)
    assert [trial.values for trial in study.trials] == [{"a": t.params["x"], "b": 1.0} for t in study.trials]


@BOTH
def test_reports_arrive(n_jobs):
    def objective(trial):
        for step in range(3):
            trial.report(step / 10, step)
        return 1.0

    study = make()
    study.optimize(objective, 2, n_jobs=n_jobs)
    for trial in study.trials:
        assert [(report.step, report.values["value"]) for report in trial.reports] == [
            (0, 0.0),
            (1, 0.1),
            (2, 0.2),
        ]


@BOTH
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_diverged_objective_is_infeasible_and_the_study_goes_on(n_jobs, value, caplog):
    study = make()
    study.optimize(lambda trial: float(value) if trial.number == 0 else 1.0, 3, n_jobs=n_jobs)
    assert states(study) == ["infeasible", "completed", "completed"]
    assert study.trials[0].message == f"the objective returned value={value}"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "trial 0 infeasible" in caplog.text


# Budgets.


@BOTH
def test_n_trials_and_until_count_exactly(n_jobs):
    study = make()
    study.optimize(lambda trial: 1.0, 3, n_jobs=n_jobs)
    study.optimize(lambda trial: 1.0, until=5, n_jobs=n_jobs)
    study.optimize(lambda trial: 1.0, 0, n_jobs=n_jobs)
    assert states(study) == ["completed"] * 5


def test_the_timeout_ends_asking_and_waits_for_what_runs():
    def objective(trial):
        time.sleep(0.4)
        return 1.0

    study = make()
    study.optimize(objective, timeout=0.3)
    assert states(study) == ["completed"]
    study.optimize(objective, 1, timeout=100)
    assert states(study) == ["completed"] * 2


def test_stop_from_another_thread():
    study = make()
    timer = threading.Timer(0.2, study.stop)
    timer.start()
    study.optimize(lambda trial: time.sleep(0.01) or 1.0, timeout=60)
    timer.join()
    assert 0 < len(study) < 100
    assert set(states(study)) == {"completed"}


def test_enqueued_and_handed_back_trials_are_run():
    study = make()
    study.enqueue({"x": 0.25})
    [trial] = study.ask()
    study.release(trial)
    study.optimize(lambda trial: trial.params["x"], 2)
    assert states(study) == ["completed"] * 2
    assert study.trials[0].values == {"value": 0.25}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "one of n_trials, until and timeout must be given"),
        ({"n_trials": 1, "until": 1}, "only one of n_trials and until may be given, got n_trials=1, until=1"),
        ({"n_trials": -1}, "`n_trials` must be an integer >= 0, got -1"),
        ({"until": 1.5}, "`until` must be an integer >= 0"),
        ({"timeout": 0}, "`timeout` must be a number of seconds > 0"),
        ({"n_trials": 1, "n_jobs": 0}, "`n_jobs` must be an integer >= 1, got 0"),
        ({"n_trials": 1, "n_jobs": -2}, "`n_jobs` must be an integer >= 1, got -2"),
        ({"n_trials": 1, "catch": KeyboardInterrupt}, "`catch` must be an exception class"),
        ({"n_trials": 1, "catch": "all"}, "`catch` must be an exception class"),
    ],
)
def test_bad_arguments_are_refused_before_anything_happens(arguments, message):
    study = make()
    with pytest.raises(ArgumentError, match=message):
        study.optimize(lambda trial: 1.0, **arguments)
    with pytest.raises(ArgumentError, match="must be callable with a trial, got 3"):
        study.optimize(3, 1)
    assert len(study) == 0


def test_an_objective_that_cannot_travel_is_refused():
    study = make()
    lock = threading.Lock()
    with pytest.raises(ArgumentError, match=r"must be picklable.*or use n_jobs=1"):
        study.optimize(lambda trial: lock, 1, n_jobs=2)
    assert len(study) == 0


# Errors.


@BOTH
def test_caught_exceptions_fail_the_trial_and_the_study_goes_on(n_jobs):
    def objective(trial):
        if trial.number % 2 == 0:
            raise ZeroDivisionError("by zero")
        return 1.0

    study = make()
    study.optimize(objective, 4, n_jobs=n_jobs, catch=(ZeroDivisionError,))
    assert states(study) == ["failed", "completed"] * 2
    assert study.trials[0].message == "ZeroDivisionError: by zero"
    study.optimize(objective, 1, n_jobs=n_jobs, catch=ArithmeticError)
    assert states(study)[4:] == ["failed"]


def test_classes_of_a_notebook_are_caught_in_workers():
    class Mine(Exception):
        pass

    def objective(trial):
        raise Mine("oh")

    study = make()
    study.optimize(objective, 2, n_jobs=2, catch=Mine)
    assert states(study) == ["failed"] * 2


@BOTH
def test_other_exceptions_fail_the_trial_and_are_raised(n_jobs):
    def objective(trial):
        if trial.number == 2:
            raise RuntimeError("broken")
        return 1.0

    study = make()
    with pytest.raises(RuntimeError, match="broken") as caught:
        study.optimize(objective, 10, n_jobs=n_jobs, catch=ZeroDivisionError)
    assert study.trials[2].state == TrialState.FAILED
    assert study.trials[2].message == "RuntimeError: broken"
    assert not any(trial.state.is_running for trial in study.trials)
    if n_jobs > 1:
        assert "In the worker process:" in caught.value.__notes__[0]
        assert "in objective" in caught.value.__notes__[0]


def test_running_trials_are_handed_back_when_another_one_fails():
    def objective(trial):
        if trial.number == 0:
            time.sleep(600)  # nobody waits for it
        raise RuntimeError("broken")

    study = make()
    with pytest.raises(RuntimeError, match="broken"):
        study.optimize(objective, 10, n_jobs=2)
    assert states(study) == ["expired", "failed"]
    assert study.ask()[0].number == 0


def test_errors_that_cannot_travel_are_described():
    def objective(trial):
        raise Hopeless("what", "why")

    with pytest.raises(ObjectiveError, match="failed in a worker process") as caught:
        make().optimize(objective, 1, n_jobs=2)
    assert "Hopeless: what" in caught.value.__notes__[0]


def test_an_objective_that_does_not_load_in_the_worker_is_an_error():
    class Unloadable:
        def __call__(self, trial):
            return 1.0

        def __reduce__(self):
            return int, ("not a number",)

    study = make()
    with pytest.raises(ValueError, match="not a number"):
        study.optimize(Unloadable(), 1, n_jobs=2)
    assert states(study)[0] == "failed"


@BOTH
@pytest.mark.parametrize("result", ["1.0", None, {"loss": 1.0}])
def test_results_that_are_no_values_are_errors(n_jobs, result):
    study = make()
    with pytest.raises(ph.errors.ValuesError, match="value"):
        study.optimize(lambda trial: result, 1, n_jobs=n_jobs)
    assert states(study)[0] == "failed"


@BOTH
def test_sys_exit_hands_the_trial_back(n_jobs):
    study = make()
    with pytest.raises(SystemExit):
        study.optimize(lambda trial: sys.exit(3), 1, n_jobs=n_jobs)
    assert states(study) == ["expired"]


@pytest.mark.parametrize("how", ["exit", "SIGKILL"])
def test_the_death_of_a_worker_costs_one_trial(how):
    def objective(trial):
        if trial.number == 1:
            os._exit(3) if how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
        return 1.0

    study = make()
    study.optimize(objective, 6, n_jobs=2)
    assert states(study) == ["completed", "failed", *["completed"] * 4]
    assert study.trials[1].message.startswith("its worker process died with ")
    assert ("3" if how == "exit" else "SIGKILL") in study.trials[1].message


def test_errors_of_callbacks_end_the_loop():
    def callback(study, trial):
        raise RuntimeError("callback")

    study = make()
    with pytest.raises(RuntimeError, match="callback"):
        study.optimize(lambda trial: 1.0, 5, callbacks=[callback])
    assert states(study) == ["completed"]


# Company.


def test_workers_are_processes_of_their_own_without_jax_and_with_few_threads():
    def objective(trial):
        import sys

        assert "jax" not in sys.modules
        trial.report(int(os.environ["OMP_NUM_THREADS"]), 0)
        return float(os.getpid())

    study = make()
    study.optimize(objective, 6, n_jobs=2)
    processes = {trial.values["value"] for trial in study.trials}
    assert 1 <= len(processes) <= 2
    assert float(os.getpid()) not in processes
    assert study.trials[0].reports[0].values["value"] <= max(1, os.cpu_count() // 2)


def test_work_is_asynchronous(tmp_path):
    """A slow trial holds up no others: trial 0 ends only when four later ones are finished."""
    signal_file = tmp_path / "go"

    def objective(trial):
        while trial.number == 0 and not signal_file.exists():
            time.sleep(0.01)
        return 1.0

    finished = []

    def callback(study, trial):
        finished.append(trial.number)
        if len(finished) == 4:
            signal_file.touch()

    make().optimize(objective, 6, n_jobs=2, callbacks=[callback])
    assert finished[:4] == [1, 2, 3, 4]
    assert sorted(finished) == [0, 1, 2, 3, 4, 5]


def test_minus_one_means_every_core(monkeypatch):
    import loky

    monkeypatch.setattr(loky, "cpu_count", lambda: 1)
    study = make()
    here = os.getpid()
    study.optimize(lambda trial: float(os.getpid() == here), 1, n_jobs=-1)
    assert study.best_trial.values == {"value": 1.0}


def test_two_loops_share_a_study():
    storage = MemoryStorage()
    study = Study.create(LocalBackend(storage), Problem.define({"x": ph.Float(0, 1)}), algorithm="random")
    seen = []

    def objective(trial):
        seen.append(trial.number)
        time.sleep(0.002)
        return 1.0

    threads = [threading.Thread(target=study.optimize, args=(objective, 15)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(30))
    assert states(study) == ["completed"] * 30


def test_a_trial_that_another_worker_finished_is_skipped(caplog):
    study = make()
    caplog.set_level(logging.INFO, "photinus")

    def objective(trial):
        if trial.number == 0:
            study.tell(0, 7.0)
        if trial.number == 1:
            study.tell(1, 8.0)
            trial.report(1.0, 0)  # finds out, and ends the objective
        return 1.0

    study.optimize(objective, 2)
    assert [trial.values["value"] for trial in study.trials] == [7.0, 8.0, 1.0, 1.0]
    assert caplog.text.count("finished by another worker first") == 2


def test_a_mistaken_tell_inside_an_objective_is_an_error_like_any_other():
    study = make()
    study.add_trial({"x": 0.5}, 1.0)
    with pytest.raises(ph.AlreadyTold, match="trial 0 is completed already"):
        study.optimize(lambda trial: study.tell(0, 2.0), 2)
    assert states(study) == ["completed", "failed"]


def test_leases_are_held_and_renewed_while_objectives_run(monkeypatch):
    monkeypatch.setattr(optimizing, "LEASE_S", 1.5)
    study = make()
    leases = []

    def objective(trial):
        leases.append(study.trials[0].lease_expires_at)
        time.sleep(1.6)
        leases.append(study.trials[0].lease_expires_at)
        assert study.ask(worker="thief")[0].number != 0
        return 1.0

    study.optimize(objective, 1)
    assert leases[0] < leases[1]
    assert study.trials[0].state == TrialState.COMPLETED


def test_leases_run_a_minute():
    study = make()
    seen = []

    def objective(trial):
        seen.append((trial.lease_expires_at - trial.started_at).total_seconds())
        return 1.0

    study.optimize(objective, 1)
    assert seen == [60.0]


def test_a_heartbeat_survives_a_missed_beat(caplog):
    beats = []

    def beat():
        beats.append(1)
        if len(beats) == 1:
            raise OSError("store away")

    with Heartbeat(beat, 0.01):
        while len(beats) < 3:
            time.sleep(0.005)
    count = len(beats)
    time.sleep(0.05)
    assert len(beats) == count
    assert "will be tried again" in caplog.text


# Ctrl-C.

INTERRUPTED = """
import pathlib, signal, sys, time
import photinus as ph

# As at a terminal, also where these tests run in the background, which ignores Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=1)

def objective(trial):
    if trial.number < 2:
        return 1.0
    pathlib.Path(folder, str(trial.number)).touch()
    time.sleep(60)

folder = sys.argv[2]
try:
    study.optimize(objective, 10, n_jobs=int(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", sorted(trial.state.value for trial in study.trials))
study.optimize(lambda trial: 2.0, until=6)
print([trial.state.value for trial in study.trials], study.trials[2].attempts)
"""


@BOTH
def test_ctrl_c_leaves_a_consistent_study(n_jobs, tmp_path):
    running = [tmp_path / str(number) for number in range(2, 2 + n_jobs)]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(n_jobs), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own: Ctrl-C on a terminal reaches the workers as well
    ) as process:
        try:
            while not all(file.exists() for file in running):
                assert process.poll() is None
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    lost = ["expired"] * n_jobs
    assert out.splitlines() == [f"interrupted {['completed'] * 2 + lost}", f"{['completed'] * 6} 2"]
    assert "Traceback" not in err


MISSED = """
import signal, threading, time
from concurrent.futures import Future
import photinus as ph

signal.signal(signal.SIGINT, signal.default_int_handler)

class Never:
    size = 1

    def submit(self, trial):
        threading.Thread(target=self.interrupt, daemon=True).start()
        return Future()

    def interrupt(self):
        time.sleep(0.2)  # until the loop waits
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    def close(self):
        pass

    kill = close

try:
    ph.create_study({"x": ph.Float(0, 1)}, algorithm="random").optimize_on(Never(), 1)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_is_heard_when_the_system_gives_it_to_another_thread():
    result = subprocess.run([sys.executable, "-c", MISSED], capture_output=True, text=True, timeout=60)
    assert result.stdout == "interrupted\n", result.stderr


ORPHANS = """
import os, sys, time
import photinus as ph

def objective(trial):
    with open(os.path.join(sys.argv[1], str(os.getpid())), "w"):
        time.sleep(600)

ph.create_study({"x": ph.Float(0, 1)}, algorithm="random").optimize(objective, 2, n_jobs=2)
"""


def test_workers_end_when_the_studys_process_is_killed(tmp_path):
    def wait_until(happened, what: str):
        deadline = time.monotonic() + 60
        while not happened():
            assert time.monotonic() < deadline, what
            time.sleep(0.05)

    with subprocess.Popen(
        [sys.executable, "-c", ORPHANS.replace("sys.argv[1]", repr(str(tmp_path)))]
    ) as process:
        try:
            wait_until(lambda: len(os.listdir(tmp_path)) == 2, "the workers did not start")
        finally:
            process.kill()
    for pid in map(int, os.listdir(tmp_path)):
        wait_until(lambda pid=pid: not is_running(pid), f"worker {pid} is still there")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# What is seen.


def test_one_log_line_per_trial(caplog):
    caplog.set_level(logging.INFO, "photinus")
    study = ph.create_study(
        {f"p{index}": ph.Float(0, 1) for index in range(8)}, {"loss": "minimize"}, algorithm="random", seed=1
    )
    study.optimize(lambda trial: [0.5, 0.25, 0.75][trial.number], 3)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3
    assert lines[0].startswith("trial 0 completed: loss=0.5 at p0=0.")
    assert lines[0].endswith(", ...; best loss=0.5 (trial 0)")
    assert lines[2].endswith("best loss=0.25 (trial 1)")


def test_log_lines_of_several_objectives_have_no_best(caplog):
    caplog.set_level(logging.INFO, "photinus")
    make({"a": "minimize", "b": "maximize"}).optimize(lambda trial: {"a": 1, "b": 2}, 1)
    assert "a=1, b=2" in caplog.text
    assert "best" not in caplog.text


def test_the_best_so_far_follows_amendments(caplog):
    caplog.set_level(logging.INFO, "photinus")
    study = make()
    study.optimize(lambda trial: float(trial.number), 3, callbacks=[lambda study, trial: study.amend(0, 9.0)])
    assert [line.getMessage().split("; ")[1] for line in caplog.records] == [
        "best value=0 (trial 0)",
        "best value=1 (trial 1)",
        "best value=1 (trial 1)",
    ]


def test_the_progress_bar_shows_on_request_only(capsys):
    study = make()
    study.optimize(lambda trial: 0.125, 2)
    assert capsys.readouterr().err == ""
    study.optimize(lambda trial: 0.125, until=4, progress=True)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "best value=0.125" in shown
    study.optimize(lambda trial: time.sleep(1.01) or 1.0, timeout=0.5, progress=True)
    assert "s/trial" in capsys.readouterr().err


def test_callbacks_get_study_and_trial():
    seen = []
    study = make()
    study.optimize(lambda trial: 1.0, 2, callbacks=[lambda *args: seen.append(args)])
    assert [(args[0] is study, args[1].number, args[1].state.value) for args in seen] == [
        (True, 0, "completed"),
        (True, 1, "completed"),
    ]
