"""Processes killed at any moment, hundreds of times: what was acknowledged is there, and the study goes on."""

import json
import os
import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from evidence import Evidence, violations
from forks import KILLED
from history import begin_history, read_history
from worker import LEASE_S, SPACE, STUDY, read_diary

import photinus as ph
from photinus.optimizing import LEASE_S as LOOP_LEASE_S
from photinus.storage.sql import SqlStorage
from photinus.trial import TrialState

HERE = Path(__file__).parent
NUM_WORKERS = 4
NUM_KILLS = 300
NUM_LOOPS = 8


def run_storm(storm: str, folder: Path, seed: int, **settings: Any) -> dict[str, list[dict[str, Any]]]:
    """How the processes of a storm ended: exit code and what they wrote to standard error."""
    print(f"{storm} storm, {seed=}")
    done = subprocess.run(
        [sys.executable, str(HERE / "storm.py")],
        input=json.dumps({"storm": storm, "folder": str(folder), "seed": seed, **settings}),
        # One thread, or what is forked would not be the whole process.
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def new_study(address: str) -> ph.Study:
    study = ph.create_study(SPACE, name=STUDY, storage=address, algorithm="random", seed=1)
    begin_history(address)
    return study


def collect(study: ph.Study, address: str, folder: Path) -> Evidence:
    diary = [line for path in sorted(folder.glob("*.diary")) for line in read_diary(path)]
    return Evidence(diary, read_history(address), study.trials)


def check_file(address: str) -> None:
    """A SQLite file is sound."""
    if address.startswith("sqlite"):
        engine = sa.create_engine(address, poolclass=sa.NullPool)
        with engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"


@pytest.mark.long
def test_nothing_is_lost_when_workers_are_killed(address: str, tmp_path: Path):
    study = new_study(address)
    endings = run_storm(
        "kill", tmp_path, seed=1, address=address, num_workers=NUM_WORKERS, num_kills=NUM_KILLS
    )["killed"]
    assert len(endings) == NUM_KILLS + NUM_WORKERS
    assert [ending for ending in endings if ending != {"code": KILLED, "complaint": ""}] == []

    evidence = collect(study, address, tmp_path)
    assert violations(evidence) == []
    check_file(address)

    # It was a storm: workers worked, died between a commit and its answer, and took over from each other.
    heard = {line["event"] for line in evidence.lines("ask", "extend", "tell")}
    answered = {TrialState.ACTIVE, TrialState.COMPLETED}
    unheard = [
        trial for trial in evidence.trials if trial.state in answered and trial.updated_event not in heard
    ]
    num_shared = sum(len({change.worker for change in life} - {None}) > 1 for life in evidence.lives())
    print(f"{len(heard)} answers, {len(unheard)} that nobody heard, {num_shared} trials changed hands")
    assert len(heard) > NUM_KILLS
    assert unheard
    assert num_shared > 0

    goes_on(study)


def goes_on(study: ph.Study) -> None:
    """What the dead held is given out again, then new trials, and all can be told."""
    study.ask(worker="one more who is never heard of again", lease=LEASE_S)
    left = [trial.number for trial in study.trials if not trial.state.is_finished]
    time.sleep(1.5 * LEASE_S)
    trials = study.ask(len(left) + 3, worker="survivor")
    assert sorted(trial.number for trial in trials[:-3]) == left
    for trial in trials:
        study.tell(trial, 0.0)
    assert all(trial.state.is_finished for trial in study.trials)


def test_many_workers_at_once_get_in_nobodys_way(address: str, tmp_path: Path):
    """Eight of them: none sees a locked database, no number is left out."""
    num_workers, num_rounds = 8, 25
    study = new_study(address)
    endings = run_storm(
        "load", tmp_path, seed=2, address=address, num_workers=num_workers, num_rounds=num_rounds
    )["finished"]
    assert endings == [{"code": 0, "complaint": ""}] * num_workers
    evidence = collect(study, address, tmp_path)
    assert len(evidence.lines("ask")) == num_workers * num_rounds
    assert violations(evidence) == []
    check_file(address)


@pytest.fixture
def addresses(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Many addresses of databases in which nothing is yet."""
    if request.param == "sqlite":
        return [f"sqlite:///{tmp_path}/{number}.db" for number in range(40)]
    server = request.getfixturevalue("postgresql_server")
    engine = sa.create_engine(server.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)
    names = [f"creation_{number}" for number in range(40)]
    with engine.begin() as connection:
        for name in names:
            connection.exec_driver_sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    separator = "&" if "?" in server else "?"
    return [f"{server}{separator}options=-csearch_path%3D{name}" for name in names]


@pytest.mark.long
@pytest.mark.parametrize("addresses", ["sqlite", "postgresql"], indirect=True)
def test_a_kill_while_a_store_is_created_leaves_nothing_half_made(addresses: list[str], tmp_path: Path):
    endings = run_storm("create", tmp_path, seed=3, addresses=addresses)
    assert endings["finished"] == [{"code": 0, "complaint": ""}] * len(addresses)
    assert {ending["code"] for ending in endings["killed"]} <= {KILLED, 0}
    assert {ending["complaint"] for ending in endings["killed"]} == {""}
    num_killed = sum(ending["code"] == KILLED for ending in endings["killed"])
    assert num_killed > len(addresses) / 4
    for address in addresses:
        trials = ph.load_study(STUDY, storage=address).trials
        assert 1 <= len(trials) <= 2
        assert {trial.state for trial in trials} == {TrialState.COMPLETED}


OPTIMIZE = """
import json, os, sys, time
import photinus as ph

def objective(trial):
    time.sleep(0.01)
    trial.report(trial.params["x"], 0)
    return trial.params["x"]

def note(study, trial):
    os.write(diary, json.dumps([trial.number, trial.values["value"]]).encode() + b"\\n")
    os.fsync(diary)

diary = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
study = ph.load_study("storm", storage=sys.argv[1])
print("begins", flush=True)
study.optimize(objective, n_trials=10**6, n_jobs=2, callbacks=[note], progress=False)
"""


@pytest.mark.long
def test_nothing_is_lost_when_whole_loops_are_killed(address: str, tmp_path: Path):
    """`optimize` with worker processes, killed with them; what it had told its callbacks is in the store."""
    ph.create_study(SPACE, name=STUDY, storage=address, algorithm="random", seed=1)
    rng = random.Random(4)
    diary = tmp_path / "diary"
    for _ in range(NUM_LOOPS):
        with (tmp_path / "stderr").open("w") as stderr:
            loop = subprocess.Popen(
                [sys.executable, "-c", OPTIMIZE, address, str(diary)], stdout=subprocess.PIPE, stderr=stderr
            )
            assert loop.stdout is not None
            assert loop.stdout.readline() == b"begins\n", (tmp_path / "stderr").read_text()
            time.sleep(rng.uniform(0, 4))
            loop.kill()
            assert loop.wait() == KILLED
            loop.stdout.close()
        assert "Traceback" not in (tmp_path / "stderr").read_text()

    noted = [json.loads(line) for line in diary.read_text().splitlines(keepends=True) if line.endswith("\n")]
    assert len(noted) > NUM_LOOPS
    # A minute later, when the leases of the dead are over.
    later = SqlStorage(address, clock=lambda: datetime.now(UTC) + timedelta(seconds=2 * LOOP_LEASE_S))
    study = ph.load_study(STUDY, storage=later)
    trials = study.trials
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert len({number for number, _ in noted}) == len(noted)
    assert [number for number, value in noted if trials[number].values != {"value": value}] == []
    left = [trial.number for trial in trials if not trial.state.is_finished]
    assert left
    num_before = len(trials)
    study.optimize(lambda trial: trial.params["x"], n_trials=len(left) + 3, progress=False)
    trials = study.trials
    assert all(trial.state == TrialState.COMPLETED for trial in trials)
    assert len(trials) == num_before + 3
