"""A study that is killed and resumed, or kept in another store, goes on to the last bit as if nothing had been."""

import logging
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import steps
from forks import KILLED

import photinus as ph
from photinus import asking
from photinus.engine import ENGINE_VERSION

Told = tuple[dict[str, Any], Any, str, Any]


def told(study: ph.Study) -> list[Told]:
    """What must be the same, floats to the last bit."""
    return [(trial.params, trial.reason, trial.state, trial.values) for trial in study.trials]


@pytest.fixture(scope="module")
def uninterrupted() -> list[Told]:
    """The whole study in one go, in memory."""
    study = steps.create(None)
    for _ in range(steps.NUM_TRIALS):
        [trial] = study.ask(worker=steps.WORKER)
        steps.tell(study, trial)
    methods = {trial.reason["method"] for trial in study.trials if trial.reason}
    assert {"log_ei", "pure_exploration"} <= methods, "the model was asked"
    return told(study)


@pytest.mark.parametrize("address", ["sqlite", "postgresql"], indirect=True)
def test_every_store_gives_the_same_study(address: str, uninterrupted: list[Told]):
    """Also when each trial is the work of a process that knows nothing but the store."""
    study = steps.create(address)
    for _ in range(steps.NUM_TRIALS):
        study = ph.load_study(steps.STUDY, storage=address)
        [trial] = study.ask(worker=steps.WORKER)
        steps.tell(study, trial)
    assert told(study) == uninterrupted


class Process:
    """`steps.py` on a store, one step at a time."""

    def __init__(self, address: str, folder: Path) -> None:
        self._stderr = folder / "stderr"
        with self._stderr.open("w") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, steps.__file__, address],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def begin(self) -> None:
        """Let it take its next step."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def finish(self) -> str:
        """What it says of the step; nothing if it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def step(self) -> str:
        self.begin()
        return self.finish()

    def kill(self) -> None:
        self._process.kill()
        assert self.end() == (KILLED, "")

    def end(self) -> tuple[int, str]:
        """Its exit code and its complaints."""
        self._process.communicate(timeout=60)
        return self._process.returncode, self._stderr.read_text()


def test_a_killed_study_is_resumed_exactly(tmp_path: Path, uninterrupted: list[Told]):
    """Killed while it asks, between ask and tell, while it tells, and after the tell."""
    address = f"sqlite:///{tmp_path}/store.db"
    steps.create(address)
    rng = random.Random(5)
    # The step before which, or in the middle of which, the process is killed: asks are even, tells are odd.
    plan = [
        ("inside", 5, 0.01),
        ("before", 3, 0.0),
        ("inside", 4, 0.2),
        ("before", 2, 0.0),
        ("inside", 6, 0.2),
    ]
    for moment, num_steps, longest_s in plan:
        process = Process(address, tmp_path)
        for number in range(num_steps):
            expected = "told" if number % 2 else "asked"
            assert process.step().startswith(expected)
        if moment == "inside":
            process.begin()
            time.sleep(rng.uniform(0, longest_s))
        process.kill()
    process = Process(address, tmp_path)
    while process.step():
        pass
    assert process.end() == (0, "")
    study = ph.load_study(steps.STUDY, storage=address)
    assert told(study) == uninterrupted
    assert max(trial.attempts for trial in study.trials) > 1, "some trial was asked for again"


@pytest.mark.parametrize("algorithm", ["default", "random"])
def test_another_engine_version_is_said(
    address: str, algorithm: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    """Once, by the first ask of a process that goes on with what another version began."""
    ph.create_study(steps.SPACE, name="s", storage=address, seed=1, algorithm=algorithm).ask()
    monkeypatch.setattr(asking, "ENGINE_VERSION", "next")
    study = ph.load_study("s", storage=address)
    with caplog.at_level(logging.WARNING, logger="photinus"):
        study.ask()
        study.ask()
    [record] = caplog.records
    assert f"engine version {ENGINE_VERSION}, this is version next" in record.getMessage()
    assert [trial.engine_version for trial in study.trials] == [ENGINE_VERSION, "next", "next"]
