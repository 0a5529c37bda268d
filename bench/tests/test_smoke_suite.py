"""The smallest suite from end to end: started, killed, given again, and read."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from photinus_bench import suite
from photinus_bench.records import Records
from photinus_bench.report.results import Cell, Results

PATIENCE_S = 240.0
ALGORITHMS = ("random", "quasi-random", "photinus-paper")


@pytest.fixture
def store(tmp_path: Path) -> Records:
    return Records(tmp_path / "records")


@pytest.fixture
def runner(store: Records, tmp_path: Path) -> Iterator:
    started: list[subprocess.Popen] = []

    def start(*words: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "photinus_bench.runner", "smoke", "--workers", "2", *words]
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(
                [*command, "--records", str(store.folder)],
                stderr=log,
                env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.terminate()
        process.wait(PATIENCE_S)


def wait_for_records(store: Records, count: int, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(store.load()) < count:
        assert process.poll() is None, f"the runner ended: {log.read_text()}"
        assert time.monotonic() < deadline, f"no {count} records in time: {log.read_text()}"
        time.sleep(0.1)


def test_killed_and_given_again_it_runs_everything_once(store: Records, runner, tmp_path: Path):
    log = tmp_path / "log"
    first = runner()
    wait_for_records(store, 2, first, log)
    first.send_signal(signal.SIGKILL)
    first.wait(PATIENCE_S)
    before = store.load()
    assert 2 <= len(before) < 12

    assert runner().wait(PATIENCE_S) == 0, log.read_text()
    after = store.load()
    assert set(after) == set(suite.load("smoke"))
    assert all(after[key].to_line() == before[key].to_line() for key in before)
    assert f"12 runs, {len(before)} of them there, {12 - len(before)} to run" in log.read_text()
    assert "all done" in log.read_text()

    store.compact()
    assert runner().wait(PATIENCE_S) == 0
    assert "12 runs, 12 of them there, 0 to run" in log.read_text()
    check_records(store)


def check_records(store: Records) -> None:
    """Complete runs that begin where they should, and of which the measures can be taken."""
    records = store.load()
    assert all(len(record.truth) == 8 and record.stopped is None for record in records.values())
    assert {record.machine["threads"] for record in records.values()} == {1}
    results = Results(records)
    tasks = ["bbob/f01/3d", "bbob/f15/3d"]
    assert results.algorithms(tasks, num_trials=8) == sorted(ALGORITHMS)
    for task in tasks:
        curves = {name: results.curves(Cell(task, name, 1, 8)) for name in ALGORITHMS}
        for repeat in (0, 1):
            starts = [curves[name][repeat][0] for name in ALGORITHMS]
            assert starts[1] == starts[2] != starts[0]  # the centre, but for random
    comparison = results.compare(tasks, "random", "photinus-paper", num_trials=8)
    assert comparison is not None and comparison.num_repeats == (2, 2)


def test_nothing_is_begun_after_the_time_given(store: Records, runner, tmp_path: Path):
    assert runner("--max-seconds", "0", "--algorithms", "random").wait(PATIENCE_S) == 0
    assert "4 runs, 0 of them there, 4 to run" in (tmp_path / "log").read_text()
    assert not store.load()


def test_a_suite_that_is_none_ends_with_a_word(store: Records, tmp_path: Path):
    command = [sys.executable, "-m", "photinus_bench.runner", "nothing", "--records", str(store.folder)]
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr.startswith("there is no suite 'nothing': there are ax-ucb")
