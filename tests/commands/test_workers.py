"""Commands run, fail, hang and are ended, with real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import photinus as ph
from photinus.commands import Command, CommandWorkers, workers
from photinus.errors import StorageError
from photinus.optimizing import release_abandoned, this_host
from photinus.trial import TrialState


def make(algorithm="random"):
    space = {"x": ph.Float(0, 1), "c": ph.Categorical([None, True, "a b"])}
    return ph.create_study(space, {"error": "minimize"}, algorithm=algorithm, seed=0, name="s", project="p")


def run(program: str, *words: str, n_trials: int = 1, jobs: int = 1, study=None, **settings):
    """The study after a Python program was its objective."""
    study = make() if study is None else study  # an empty study is false
    command = Command(
        words=(sys.executable, "-c", program.replace("{", "{{").replace("}", "}}"), *words), **settings
    )
    study.optimize_on(CommandWorkers(command, jobs), n_trials)
    return study


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not collected yet does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, tries: int = 600) -> bool:
    for _ in range(tries):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_arguments_and_environment_reach_the_command():
    program = """
import json, os, sys
params = json.loads(os.environ["PHOTINUS_PARAMS"])
assert float(sys.argv[1]) == params["x"]
assert sys.argv[2] == {None: "null", True: "true", "a b": "a b"}[params["c"]]
assert os.environ["PHOTINUS_TRIAL"] == sys.argv[3]
assert (os.environ["PHOTINUS_PROJECT"], os.environ["PHOTINUS_STUDY"]) == ("p", "s")
assert sys.stdin.read() == ""
print(params["x"])
"""
    study = run(program, "{x}", "{c}", "{trial}", n_trials=4, jobs=2)
    assert [trial.message for trial in study.trials] == [None] * 4
    assert [trial.values["error"] for trial in study.trials] == [trial.params["x"] for trial in study.trials]


def test_reports_come_while_the_command_runs(tmp_path):
    study = make()
    program = f"""
import pathlib, time
print('{{"step": 1, "error": 0.5}}')
while not pathlib.Path({str(tmp_path / "go")!r}).exists():
    time.sleep(0.01)
print(1)
"""
    worker = threading.Thread(target=run, args=(program,), kwargs={"study": study})
    worker.start()
    try:
        assert wait_until(lambda: study.trials and study.trials[0].reports)
        assert study.trials[0].state == TrialState.ACTIVE
    finally:
        (tmp_path / "go").touch()
        worker.join()
    assert study.trials[0].values == {"error": 1.0}


@pytest.mark.parametrize(
    ("program", "state", "message"),
    [
        ("import sys; sys.exit('out of memory')", "failed", "exit code 1\nout of memory"),
        ("import sys; sys.exit(3)", "infeasible", "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "failed", "ended by signal SIGSEGV"),
        ("print('nan')", "infeasible", "the command printed error=nan"),
        ("print(1 / 0)", "failed", "ZeroDivisionError: division by zero"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\n0.5')", "completed", None),
        ("print('\\r10%\\r20%\\r0.5', end='')", "completed", None),
        ("print('x' * 3_000_000); print(0.5)", "completed", None),
        ("import sys; sys.stderr.write('y' * 3_000_000); print(0.5)", "completed", None),
    ],
)
def test_how_commands_end(program, state, message):
    [trial] = run(program, infeasible_exit_code=3).trials
    assert trial.state == state
    assert trial.message == message if message is None else message in trial.message


def test_long_complaints_are_cut():
    [trial] = run(
        "import sys\nfor i in range(1000): print('line', i, 'z' * 500, file=sys.stderr)\nsys.exit(1)"
    ).trials
    assert len(trial.message) <= 2000
    assert "line 990" in trial.message and "line 980 " not in trial.message


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path):
    study = make()
    script = f"sleep 600 & echo $$ $! > '{tmp_path}/pids'; echo began >&2; wait"
    study.optimize_on(CommandWorkers(Command(words=("sh", "-c", script), timeout_s=3), 1), 1)
    [trial] = study.trials
    assert (trial.state, trial.message) == ("failed", "took longer than 3 s and was ended\nbegan")
    for pid in (tmp_path / "pids").read_text().split():
        assert wait_until(lambda pid=pid: not is_alive(int(pid)))


def test_a_command_that_will_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(workers, "GRACE_S", 0.1)
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1); time.sleep(600)"
    [trial] = run(program, timeout_s=2).trials
    assert trial.state == "failed"


def test_what_a_command_leaves_behind_does_not_hold_up_the_study(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "DRAIN_S", 0.2)
    program = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
print(0.5)
"""
    [trial] = run(program).trials
    assert trial.values == {"error": 0.5}
    assert wait_until(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_output_is_kept_where_wanted(tmp_path):
    run("import sys; print('to out'); print('to err', file=sys.stderr); print(1)", n_trials=2, logs=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"trial-{number}.{kind}" for number in (0, 1) for kind in ("err", "out")
    ]
    assert (tmp_path / "trial-1.out").read_text() == "to out\n1\n"
    assert (tmp_path / "trial-1.err").read_text() == "to err\n"


def test_a_program_that_is_not_there_fails_its_trials():
    study = make()
    study.optimize_on(CommandWorkers(Command(words=("no-such-program-{trial}",)), 1), 2)
    assert [trial.state for trial in study.trials] == ["failed"] * 2
    assert "'no-such-program-0' could not be started" in study.trials[0].message


def test_commands_run_at_the_same_time(tmp_path):
    """Each waits until the other one is there, too: one after the other they would wait for ever."""
    program = f"""
import os, pathlib, time
folder = pathlib.Path({str(tmp_path)!r})
(folder / os.environ["PHOTINUS_TRIAL"]).touch()
while len(list(folder.iterdir())) < 2:
    time.sleep(0.01)
print(1)
"""
    assert [trial.state for trial in run(program, n_trials=2, jobs=2, timeout_s=60).trials] == [
        "completed"
    ] * 2


def test_threads_are_shared_out_only_among_several(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "7")
    program = """
import json, os
print(json.dumps({"error": int(os.environ.get("OMP_NUM_THREADS", 0)) + 1000 * int(os.environ["MKL_NUM_THREADS"])}))
"""
    [alone] = run(program).trials
    assert alone.values == {"error": 7000}
    share = max(1, (os.cpu_count() or 1) // 2)
    assert {trial.values["error"] for trial in run(program, n_trials=2, jobs=2).trials} == {7000 + share}


def test_an_error_of_the_study_ends_the_command_and_is_raised(monkeypatch):
    study = make()

    def fail(*_):
        raise StorageError("the disk is full")

    monkeypatch.setattr(study._backend, "report", fail)
    with pytest.raises(StorageError, match="the disk is full"):
        run("""import time; print('{"step": 0, "error": 1}'); time.sleep(600)""", study=study)
    assert study.trials[0].state == TrialState.EXPIRED


def test_a_trial_that_another_worker_told_first_is_let_go(tmp_path):
    study = make()
    program = f"""
import json, pathlib, time
while not pathlib.Path({str(tmp_path / "go")!r}).exists():
    time.sleep(0.01)
print(json.dumps({{"step": 0, "error": 1}}))
time.sleep(600)
"""
    worker = threading.Thread(target=run, args=(program,), kwargs={"study": study})
    worker.start()
    assert wait_until(lambda: len(study) == 1)
    study.tell(0, 0.125)
    study.stop()
    (tmp_path / "go").touch()
    worker.join(60)
    assert not worker.is_alive()
    assert study.trials[0].values == {"error": 0.125}


def test_killed_processes_on_this_host_hold_nothing():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    study, host = make(), this_host()
    names = [
        f"{host}:{ended.pid}:abc/0",
        f"{host}:{os.getpid()}:abc/0",
        f"elsewhere:{ended.pid}:abc/0",
        f"{host.partition('.')[0]}.0123abcd:{ended.pid}:abc/0",  # a container of the same name
        "ada",
        "a:b:c",
    ]
    for name in names:
        study.ask(worker=name)
    study.ask()
    assert release_abandoned(study._backend, study.record.id) == 1
    assert [trial.state for trial in study.trials] == ["expired"] + ["active"] * 6


def test_the_keeper_ends_what_is_left_when_the_line_is_cut(tmp_path):
    """As when `photinus` is killed: a process with commands running ends without a word."""
    program = f"""
import photinus as ph
from photinus.commands import Command, CommandWorkers
study = ph.create_study({{"x": ph.Float(0, 1)}}, algorithm="random")
words = ("sh", "-c", "echo $$ > '{tmp_path}/pid'; exec sleep 600")
study.optimize_on(CommandWorkers(Command(words=words), 1), 1)
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    pid_file = tmp_path / "pid"
    assert wait_until(lambda: pid_file.exists() and pid_file.read_text())
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: not is_alive(int(pid_file.read_text())))


def test_a_command_does_not_begin_before_the_keeper_knows_of_it(tmp_path):
    """`photinus` is killed just after it has started a process: nobody would end a command that runs by then."""
    program = f"""
import os, pathlib, signal
import photinus as ph
from photinus.commands import Command, CommandWorkers, keeper

def killed(self, group):
    pathlib.Path({str(tmp_path / "group")!r}).write_text(str(group))
    os.kill(os.getpid(), signal.SIGKILL)

keeper.Keeper.add = killed
study = ph.create_study({{"x": ph.Float(0, 1)}}, algorithm="random")
study.optimize_on(CommandWorkers(Command(words=("touch", {str(tmp_path / "begun")!r})), 1), 1)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGKILL
    group = int((tmp_path / "group").read_text())
    assert wait_until(lambda: not is_alive(group))
    assert not (tmp_path / "begun").exists()


def test_parameters_travel_as_json():
    [trial] = run("import os; print(len(os.environ['PHOTINUS_PARAMS']))").trials
    assert trial.values == {"error": len(json.dumps(trial.params))}
