"""tune with real commands: results, failures, interrupts, resuming."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import photinus as ph
from photinus.cli.space_file import EXAMPLE

TRAIN = """
import argparse, json, math
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--layers", type=int)
parser.add_argument("--opt", choices=["adam", "sgd"])
args = parser.parse_args()
for step in range(2):
    print(json.dumps({"step": step, "error": 1 / (1 + step)}))
print("training is done")
print(json.dumps({"error": (math.log10(args.lr) + 3) ** 2 + 0.1 * args.layers, "epochs": 2}))
"""
COMMAND = [sys.executable, "train.py", "--lr", "{lr}", "--layers={layers}", "--opt", "{opt}"]
WAIT_TRIES = 1200


@pytest.fixture(autouse=True)
def train(folder: Path) -> None:
    (folder / "train.py").write_text(TRAIN)


def stored(folder: Path, name: str = "resnet") -> ph.Study:
    return ph.load_study(name, storage=folder / "photinus.db")


def states(folder: Path) -> list[str]:
    return [trial.state.value for trial in stored(folder).trials]


def test_a_real_script_is_tuned(photinus, folder):
    result = photinus("tune", "space.toml", "--trials", 4, "--jobs", 2, "--", *COMMAND)
    study = stored(folder)
    assert states(folder) == ["completed"] * 4
    assert [len(trial.reports) for trial in study.trials] == [2] * 4
    best = study.best_trial
    assert (
        f"study resnet: 4 trials finished\nbest: error={best.values['error']:.6g} in trial {best.number}"
        in (result.stdout)
    )
    assert result.stderr == "store: photinus.db (--storage or PHOTINUS_STORAGE names another)\n"  # quiet


def test_running_it_again_goes_on_to_the_total(photinus, folder, as_json):
    photinus("tune", "space.toml", "-n", 2, "--", *COMMAND)
    photinus("tune", "space.toml", "-n", 3, "--", *COMMAND)
    photinus("tune", "space.toml", "-n", 3, "--", "false")  # nothing is left to run
    assert states(folder) == ["completed"] * 3


def test_json_and_log_lines(photinus, as_json):
    words = ["tune", "space.toml", "-n", 2, "--verbose", "--json", "--", *COMMAND]
    result = photinus(*words)
    assert result.stdout.startswith("{\n")
    assert [line.split(" ", 2)[1] for line in result.stderr.splitlines()] == ["trial"] * 2
    assert "trial 0 completed: error=" in result.stderr
    assert "; best error=" in result.stderr


def test_the_file_may_say_it_all(photinus, folder):
    command = ", ".join(f'"{word}"' for word in COMMAND)
    text = (
        folder / "space.toml"
    ).read_text() + f'\n[tune]\ncommand = [{command}]\ntrials = 2\nlogs = "deep/logs"\n'
    (folder / "all.toml").write_text(text)
    photinus("tune", "all.toml", "--study", "other")
    assert len(stored(folder, "other")) == 2
    assert (folder / "deep" / "logs" / "trial-1.out").read_text().count("\n") == 4
    photinus("tune", "all.toml", "--study", "other", "--trials", 3)  # the option counts more
    assert len(stored(folder, "other")) == 3


def test_the_example_is_printed_and_can_be_used(photinus, folder):
    assert photinus("tune", "--example").stdout == EXAMPLE
    (folder / "example.toml").write_text(EXAMPLE)
    photinus("create", "example", "example.toml")


def test_without_a_name_the_study_is_called_like_the_file(photinus, folder):
    text = (folder / "space.toml").read_text().replace('name = "resnet"', "")
    (folder / "my space.toml").write_text(text)
    photinus("tune", "my space.toml", "-n", 1, "--", *COMMAND)
    assert len(stored(folder, "my space")) == 1


def test_unused_parameters_are_mentioned(photinus):
    result = photinus("tune", "space.toml", "-n", 1, "--", "echo", "{lr}")
    assert "not on the command line, but in PHOTINUS_PARAMS: layers, opt\n" in result.stderr


def test_a_broken_command_stops_it_soon(photinus, folder):
    result = photinus(
        "tune", "space.toml", "-n", 50, "--", sys.executable, "-c", "raise SystemExit('no GPU')", code=6
    )
    assert states(folder) == ["failed"] * 5
    assert "5 trials in a row failed, the last one, trial 4, because exit code 1\nno GPU" in result.stderr
    assert "--max-failures" in result.stderr
    photinus("tune", "space.toml", "-n", 7, "--max-failures", 0, "--", "false", code=6)
    assert states(folder) == ["failed"] * 7


def test_a_success_between_failures_keeps_it_going(photinus, folder):
    program = "import os; print('x' if int(os.environ['PHOTINUS_TRIAL']) % 2 else 1)"
    photinus("tune", "space.toml", "-n", 6, "--max-failures", 2, "--", sys.executable, "-c", program)
    assert states(folder) == ["completed", "failed"] * 3


def test_other_outcomes(photinus, folder):
    photinus("tune", "space.toml", "-n", 1, "--infeasible-exit-code", 1, "--", "false", code=6)
    photinus("tune", "space.toml", "-n", 2, "--trial-timeout", 1, "--", "sleep", 600, code=6)
    photinus("tune", "space.toml", "-n", 3, "--value-pattern", "it is (.*)!", "--", "echo", "it is 0.5!")
    photinus("tune", "space.toml", "-n", 4, "--", "echo", "inf")
    assert states(folder) == ["infeasible", "failed", "completed", "infeasible"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "tune needs an end: say --trials N"),
        (["-n", 0, "--", "true"], "`trials` must be an integer >= 1, got 0"),
        (["-n", 1, "--jobs", 0, "--", "true"], "`jobs` must be an integer >= 1, got 0"),
        (["-n", 1, "--trial-timeout", -1, "--", "true"], "`trial_timeout` must be a number of seconds > 0"),
        (["-n", 1, "--timeout", "nan", "--", "true"], "`timeout` must be a number of seconds > 0"),
        (["-n", 1], "tune needs a command: put it after --"),
        (["-n", 1, "--", "echo", "{rate}"], "{rate} in '{rate}' of the command is no parameter"),
        (["-n", 1, "--", "no-such-program"], "the command 'no-such-program' must be a program"),
        (["-n", 1, "--value-pattern", "(", "--", "true"], "must be a regular expression"),
        (["-n", 1, "--logs", "space.toml/x", "--", "true"], "the folder 'space.toml/x' cannot be made"),
    ],
)
def test_mistakes_are_found_before_anything_happens(photinus, folder, words, message):
    assert message in photinus("tune", "space.toml", *words, code=2).stderr
    assert not (folder / "photinus.db").exists()


def test_another_space_under_the_same_name_is_refused(photinus, folder):
    photinus("tune", "space.toml", "-n", 1, "--", *COMMAND)
    (folder / "space.toml").write_text((folder / "space.toml").read_text().replace("high = 8", "high = 9"))
    assert "'layers'" in photinus("tune", "space.toml", "-n", 2, "--", *COMMAND, code=4).stderr


class Running:
    """`photinus tune` as a process of its own, with two commands that take for ever."""

    def __init__(self, folder: Path) -> None:
        words = [
            Path(sys.executable).with_name("photinus"),
            "tune",
            "space.toml",
            "-n",
            "50",
            "--jobs",
            "2",
            "--",
        ]
        script = f"echo $$ >> '{folder}/pids'; exec sleep 600"
        self.process = subprocess.Popen(
            [*map(str, words), "sh", "-c", script], cwd=folder, stderr=subprocess.PIPE, text=True
        )
        pids = folder / "pids"
        for _ in range(WAIT_TRIES):
            if pids.exists() and len(pids.read_text().split()) == 2:
                break
            time.sleep(0.05)
        self.pids = [int(pid) for pid in pids.read_text().split()]

    def end(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        try:
            _, stderr = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode, stderr

    def commands_are_gone(self) -> bool:
        for _ in range(WAIT_TRIES):
            if not any(is_running(pid) for pid in self.pids):
                return True
            time.sleep(0.05)
        return False


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_commands_and_hands_trials_back(photinus, folder, number):
    running = Running(folder)
    code, stderr = running.end(number)
    assert code == 130
    assert stderr.endswith("interrupted: running trials were handed back; the same command goes on\n")
    assert not any(is_running(pid) for pid in running.pids)
    assert states(folder) == ["expired"] * 2
    photinus("tune", "space.toml", "-n", 2, "--", *COMMAND)
    assert states(folder) == ["completed"] * 2


def test_a_killed_tune_goes_on_at_once(photinus, folder):
    running = Running(folder)
    code, _ = running.end(signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert running.commands_are_gone()
    assert states(folder) == ["active"] * 2
    result = photinus("tune", "space.toml", "-n", 2, "--", *COMMAND)
    assert "2 trials of a run that was killed are handed out again" in result.stderr
    assert states(folder) == ["completed"] * 2
    assert [trial.attempts for trial in stored(folder).trials] == [2, 2]
