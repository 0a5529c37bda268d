import logging
import os
import pty
import subprocess
import sys

import photinus as ph
from photinus.progress import Pace, log_trial, one_line


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_rate_and_time_left():
    clock = Clock()
    pace = Pace(10, clock)
    assert (pace.rate_text(), pace.left_text()) == ("", "")
    for clock.now in (60.0, 120.0):
        pace.advance()
    assert (pace.rate_text(), pace.left_text()) == ("60.0 s/trial", "8:00 left")
    clock.now = 150.0  # also while a trial runs that takes longer than any window of seconds
    assert (pace.rate_text(), pace.left_text()) == ("60.0 s/trial", "7:30 left")
    clock.now = 5000.0
    assert pace.left_text() == "0:00 left"


def test_fast_trials_and_long_runs():
    clock = Clock()
    pace = Pace(1_000_000, clock)
    clock.now = 0.25
    pace.advance()
    assert (pace.rate_text(), pace.left_text()) == ("4.0 trials/s", "69:26:40 left")


def test_without_a_total_there_is_no_time_left():
    clock = Clock()
    pace = Pace(None, clock)
    clock.now = 2.0
    pace.advance()
    assert (pace.rate_text(), pace.left_text()) == ("2.0 s/trial", "")


def test_messages_become_one_line():
    assert one_line("") == ""
    assert one_line("it broke") == "it broke"
    assert one_line("exit code 1\nTraceback\n  ...\nValueError: x\n\n") == "exit code 1 ... ValueError: x"


def test_a_trial_is_one_log_line(caplog):
    trial = ph.Trial(number=3, params={"x": 0.5}, state=ph.TrialState.FAILED, message="exit code 1\nno GPU")
    with caplog.at_level(logging.INFO, logger="photinus"):
        log_trial(trial, None)
    assert [record.message for record in caplog.records] == [
        "trial 3 failed: exit code 1 ... no GPU at x=0.5"
    ]


def test_the_bar_on_a_terminal_shows_best_value_rate_and_time_left():
    program = """
import photinus as ph
study = ph.create_study({"x": ph.Float(0, 1)}, {"[error]": "minimize"}, algorithm="random", seed=0)
study.optimize(lambda trial: 0.25, 3)
"""
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}
    done = subprocess.Popen([sys.executable, "-c", program], stdin=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    try:
        while piece := os.read(leader, 65536):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    assert done.wait() == 0
    last = shown.decode().replace("\r", "\n").split("\n")
    [line, *_] = [line for line in reversed(last) if "3/3" in line]
    assert "best [error]=0.25" in line
    assert "trial" in line.split("0.25")[1]
    assert line.rstrip().endswith("0:00 left")
    assert "━" in line
