"""Single runs, groups in lock-step, claims and time left: what the runner is made of (the whole is the smoke test)."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import numpy as np
import pytest

from photinus_bench import envs, fleet
from photinus_bench.claims import Claims
from photinus_bench.progress import Timings, in_words, outcome_of
from photinus_bench.record import Record, RunKey
from photinus_bench.records import Records, take_in
from photinus_bench.rivals import Rival, Search
from photinus_bench.runner import Runner, pick_device, without_environment
from photinus_bench.running import ONE_THREAD, NotBegunError, Outcome, execute, new_lane, run_rival

SCRIPT = """
import os, sys, time
from photinus_bench.searching import Unsupported, serve

class Walking:
    '''Goes through the box in steps and stumbles as it is told to, by the mode.'''

    def __init__(self, start):
        if MODE == "refuses":
            raise Unsupported("not on Sundays")
        if MODE == "breaks":
            raise ImportError("no module named torch in /home/me/envs/torch.py")
        self.names = [p["name"] for p in start.problem["space"]["parameters"]]
        self.count = 0

    def attach(self, params):
        return None

    def ask(self, count):
        self.count += 1
        if MODE == "ends" and self.count == 2:
            sys.exit("killed in /home/me/secret/place.py")
        if MODE == "fails" and self.count == 1:
            time.sleep(0.5)
        if MODE == "fails" and self.count == 3:
            raise ValueError("cholesky in /home/me/lib/gp.py failed")
        if MODE == "sleeps" and self.count == 2:
            time.sleep(60)
        if MODE == "threads":
            assert os.environ["OMP_NUM_THREADS"] == "1"
        steps = range(min(count, 2))
        return [(None, {n: -5 + (self.count + 0.1 * i) % 10 for n in self.names}) for i in steps]

    def tell(self, results):
        if MODE == "falls at the end":
            raise ValueError("told")

serve(Walking, packages=("pip",))
"""
KEY = RunKey("bbob/f01/2d", "ax", 0, num_trials=6, batch_size=1)


@dataclass(frozen=True)
class Scripted(Rival):
    """A rival whose program is a text."""

    script: Path = Path()

    def search(self, log: Path, limit_s: float = 600.0) -> Search:
        return Search([sys.executable, str(self.script)], log, limit_s)


@pytest.fixture
def walking(tmp_path: Path) -> Callable[..., Record]:
    def run(mode: str, key: RunKey = KEY, limit_s: float = 30.0) -> Record:
        script = tmp_path / "script.py"
        script.write_text(f"MODE = {mode!r}\n{SCRIPT}")
        return run_rival(key, Scripted("ax", "none", script=script), limit_s)

    return run


def test_a_run_is_recorded_with_all_that_belongs_to_it(walking):
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    record = walking("threads")
    assert {name: os.environ.get(name) for name in ONE_THREAD} == before
    assert record.truth.shape == record.told.shape == (6, 1)
    assert record.goals == {"value": "minimize"} and record.stopped is None
    assert {"python", "engine", "pip", "ioh"} == set(record.versions)
    assert record.machine["threads"] == 1
    assert set(record.extra) == {"peak_mb"}
    assert len(record.seconds) == 6 and record.wall_s > sum(record.seconds)
    lane = new_lane(KEY)
    centre = dict.fromkeys(lane.experimenter.problem.space, 0.0)
    assert record.truth[0, 0] == lane.measure(centre).truth["value"]


def test_batches_may_come_short_and_are_told_together(walking):
    record = walking("", replace(KEY, batch_size=4))
    assert len(record.truth) == 6
    # The first point and two of the rival's; two where four were asked for; one that was left.
    assert [len(set(part)) for part in np.split(record.seconds, [3, 5])] == [1, 1, 1]


@pytest.mark.parametrize(
    ("mode", "num_trials", "reason"),
    [
        ("fails", 3, "ValueError: cholesky in gp.py failed"),
        ("ends", 2, "the process ended: killed in place.py"),
        ("sleeps", 2, "no answer within 3 s"),
    ],
)
def test_a_rival_that_stops_early_is_recorded_as_stopped(walking, mode, num_trials, reason):
    record = walking(mode, limit_s=3.0 if mode == "sleeps" else 30.0)
    assert (len(record.truth), record.stopped) == (num_trials, reason)
    assert record.extra["limit_s"] == (3.0 if mode == "sleeps" else 30.0)
    assert (record.extra["last_ask_s"] >= 3.0) == (mode == "sleeps")
    assert record.extra["last_ask_s"] + sum(record.seconds) < record.wall_s  # answers before it are not in it
    assert Record.from_line(record.to_line()).extra == record.extra
    assert f"stopped after {num_trials} trials: {reason}" in outcome_of(record)


def test_noise_is_told_and_the_truth_is_kept(walking):
    record = walking("", replace(KEY, task="bbob/f01/2d/gaussian-noise"))
    quiet = walking("", replace(KEY, task="bbob/f01/2d"))
    np.testing.assert_array_equal(record.truth, quiet.truth)
    assert np.all(record.told != record.truth)
    assert np.all(quiet.told == quiet.truth)


def test_infeasible_trials_are_marked(walking):
    record = walking("", replace(KEY, task="bbob/f01/2d/infeasible50", num_trials=12))
    assert 0 < len(record.infeasible) < 12
    assert np.flatnonzero(np.isnan(record.truth[:, 0])).tolist() == list(record.infeasible)
    assert Record.from_line(record.to_line()).infeasible == record.infeasible


def test_a_problem_that_is_refused_is_recorded_as_such(walking):
    record = walking("refuses")
    assert (len(record.truth), record.unsupported) == (0, "not on Sundays")
    assert set(record.extra) == {"peak_mb"}
    assert Record.from_line(record.to_line()).truth.shape == (0, 1)
    assert "unsupported (not on Sundays)" in outcome_of(record)


def test_a_rival_that_cannot_begin_leaves_no_record(walking):
    with pytest.raises(NotBegunError, match=r"no module named torch in torch\.py"):
        walking("breaks")


def test_whoever_fails_after_the_last_trial_has_done_them_all(walking):
    record = walking("falls at the end", replace(KEY, num_trials=1))
    assert (len(record.truth), record.stopped) == (1, None)
    assert set(record.extra) == {"peak_mb"}


def test_a_worker_returns_failures_as_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(envs, "ENVS", tmp_path)
    outcome = execute(KEY)
    assert outcome.line is None
    assert (
        outcome.failure == "NoEnvironmentError: ax has no environment: make one with `make bench-env NAME=ax`"
    )


def test_rivals_without_environment_are_named_and_left_out(monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setattr(envs, "ENVS", tmp_path)
    keys = [replace(KEY, algorithm=name) for name in ("random", "ax-ucb", "photinus-paper")]
    assert without_environment(keys) == [keys[0], keys[2]]
    assert (
        "ax-ucb is left out: no environment; make one with `make bench-env NAME=ax`"
        in capsys.readouterr().err
    )


@pytest.fixture
def store(tmp_path: Path) -> Records:
    return Records(tmp_path / "records")


def some_record(algorithm: str = "random", repeat: int = 0, wall_s: float = 10.0) -> Record:
    key = replace(KEY, algorithm=algorithm, repeat=repeat)
    outcome = execute(replace(key, algorithm="random"))
    return replace(Record.from_line(outcome.line), key=key, wall_s=wall_s)


def test_what_is_there_is_not_run_again_and_the_rest_in_order(store: Records, capsys):
    keys = [replace(KEY, algorithm=name, repeat=r) for name in ("quasi-random", "random") for r in (0, 1)]
    store.add(some_record("quasi-random", 0))
    runner = Runner(store, keys)
    assert [(key.repeat, key.algorithm) for key in runner.missing] == [
        (0, "random"),
        (1, "random"),
        (1, "quasi-random"),
    ]
    assert "4 runs, 1 of them there, 3 to run" in capsys.readouterr().err


def test_a_run_is_begun_if_it_can_be_done_in_time_and_by_nobody_else(store: Records):
    first, second = (replace(KEY, algorithm="random", repeat=repeat) for repeat in (0, 1))
    store.add(some_record(wall_s=50.0))
    with Claims(store.spool) as claims:
        assert not Runner(store, [first, second], max_seconds=40.0)._take(claims, second)
        runner = Runner(store, [first, second], max_seconds=3600.0)
        assert not runner._take(claims, first)  # somebody has recorded it since
        assert runner._take(claims, second)
        runner._keep(Outcome(second, failure="NotBegunError: no torch"))
        assert not runner._take(claims, second)
    assert runner.num_failed == 1
    assert set(store.load()) == {first}


@pytest.mark.parametrize("num_known", [0, 1])  # whether the archive is there when the runner begins
def test_what_another_runner_finished_and_compacted_is_not_run_again(store: Records, num_known: int):
    known, done, left = (replace(KEY, algorithm="random", repeat=repeat) for repeat in range(3))
    for repeat in range(num_known):
        store.add(some_record(repeat=repeat))
    store.compact()
    runner = Runner(store, [known, done, left])
    other = Records(store.folder)
    other.add(some_record(repeat=1))
    other.compact()
    with Claims(store.spool) as claims:
        assert not runner._take(claims, done)
        assert runner._take(claims, left)


def test_what_there_is_no_time_for_is_told(store: Records, capsys):
    first, second = (replace(KEY, algorithm="random", repeat=repeat) for repeat in (0, 1))
    store.add(some_record(wall_s=50.0))
    with Claims(store.spool) as claims:
        Runner(store, [first, second], max_seconds=40.0).run_grid(claims, None, 1, limit_s=60.0)
    assert capsys.readouterr().err.endswith(
        "1 runs were not begun for want of time; give the same command again to go on\n"
    )
    assert set(store.load()) == {first}


HOLD = """
import sys
from pathlib import Path
from photinus_bench.claims import Claims
from photinus_bench.record import RunKey
claims = Claims(Path(sys.argv[1]))
print(claims.take(RunKey("bbob/f01/2d", "ax", 0, 6, 1)), flush=True)
sys.stdin.read()
"""


def test_a_claim_holds_until_its_process_ends(tmp_path: Path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    holder = subprocess.Popen(command, env={"PYTHONPATH": ":".join(sys.path)}, **pipes)
    try:
        assert holder.stdout.readline() == "True\n"
        with Claims(tmp_path) as claims:
            assert not claims.take(KEY)
            assert claims.take(replace(KEY, repeat=1))
            holder.kill()
            holder.wait()
            assert claims.take(KEY)
    finally:
        holder.kill()
        holder.communicate()


def test_time_left_comes_from_runs_like_these():
    timings = Timings(
        [some_record(wall_s=10.0), some_record(repeat=1, wall_s=30.0), some_record(repeat=2, wall_s=20.0)]
    )
    alike, longer = replace(KEY, algorithm="random"), replace(KEY, algorithm="random", num_trials=60)
    assert timings.expect(alike) == 20.0
    assert timings.expect(longer) == pytest.approx(200.0)
    assert timings.expect(replace(KEY, algorithm="ax")) is None
    assert timings.time_left([alike] * 10, 2) == "about 2 min left"
    assert timings.time_left([alike], 8) == "about 20 s left"
    assert timings.time_left([alike, KEY], 1) == "about 20 s left (not counting ax: never timed)"
    assert timings.time_left([KEY], 1) == "time left unknown"
    assert timings.time_left([], 1) == "all done"


def test_shares_of_a_gpu_and_halves_of_runs_tell_nothing_about_time():
    shared = replace(some_record(), side_by_side=480)
    refused = replace(
        some_record(), truth=np.empty((0, 1)), told=np.empty((0, 1)), seconds=np.empty(0), unsupported="no"
    )
    assert Timings([shared, refused]).expect(replace(KEY, algorithm="random")) is None


def test_times_in_words():
    assert [in_words(s) for s in (3.2, 100, 5400, 7190, 180000)] == [
        "3 s",
        "2 min",
        "1 h 30 min",
        "2 h 0 min",
        "2.1 days",
    ]


OURS = [RunKey(f"bbob/{name}/2d", "photinus-paper", 0, 6, 2) for name in ("f01", "f15")]


def lines(records: list[Record] | None) -> list[list[float]]:
    assert records is not None
    return [record.truth[:, 0].tolist() for record in records]


def test_runs_of_one_shape_go_together():
    keys = [
        *OURS,
        replace(OURS[0], algorithm="photinus-paper/no-log"),
        replace(OURS[0], task="bbob/f01/3d"),
        replace(OURS[0], repeat=1),
    ]
    assert fleet.groups(keys) == [[*OURS, keys[4]], [keys[2]], [keys[3]]]


def test_an_interrupted_group_goes_on_as_if_it_had_not_been(tmp_path: Path):
    path = tmp_path / "checkpoint"
    whole = fleet.run_group(OURS, "cpu")
    assert fleet.run_group(OURS, "cpu", path, deadline=time.monotonic()) is None
    assert len(path.read_text().splitlines()) == 2  # the heading and one batch
    path.write_text(path.read_text() + '{"seconds": 1.0, "poi')  # killed while it wrote
    assert fleet.Checkpoint(path).keys() == OURS
    again = fleet.run_group(OURS, "cpu", path)
    assert lines(again) == lines(whole)
    assert len(path.read_text().splitlines()) == 4
    assert [record.key for record in again] == OURS
    assert again[0].side_by_side == 1 and {"jax", "photinus", "engine"} < set(again[0].versions)


def test_the_group_under_way_is_finished_first(tmp_path: Path):
    path, kept = tmp_path / "checkpoint", []
    others = [replace(key, num_trials=2, repeat=1) for key in OURS]
    short = [replace(key, num_trials=4) for key in OURS]
    fleet.run_group(short, "cpu", path, deadline=time.monotonic())
    assert fleet.run_all([*others, *short], "cpu", path, kept.append)
    assert [[record.key for record in records] for records in kept] == [short, others]
    assert not path.exists()


def test_our_own_runs_are_taken_out_of_the_grid_and_kept(store: Records):
    """What `--device gpu` does, on this CPU."""
    short = [replace(key, num_trials=2) for key in OURS]
    store.add(fleet.run_group(short[:1], "cpu")[0])
    runner = Runner(store, [*short, replace(KEY, algorithm="random")])
    with Claims(store.spool) as claims:
        runner.run_side_by_side(claims, "cpu")
    assert set(store.load()) == set(short)
    assert [key.algorithm for key in runner.missing] == ["random"]


def test_a_checkpoint_of_other_runs_is_replaced(tmp_path: Path):
    path = tmp_path / "checkpoint"
    short = [replace(key, num_trials=4) for key in OURS]
    fleet.run_group(short, "cpu", path, deadline=time.monotonic())
    fleet.run_group(short[:1], "cpu", path)
    head = json.loads(path.read_text().splitlines()[0])
    assert [run["task"] for run in head["runs"]] == ["bbob/f01/2d"]


def test_rivals_and_we_begin_at_the_same_point_with_the_same_noise(walking):
    task = "bbob/f01/4d/categorical50/gaussian-noise"
    rival = walking("", replace(KEY, task=task, num_trials=1))
    [ours] = fleet.run_group([replace(OURS[0], task=task, num_trials=1)], "cpu") or []
    np.testing.assert_array_equal(ours.truth, rival.truth)
    np.testing.assert_array_equal(ours.told, rival.told)


def test_the_file_of_a_gpu_machine_grows_and_is_taken_in(tmp_path: Path, store: Records):
    """The command as given there, but on this CPU: cut off, given again, taken in."""
    text = 'trials = 3\n[[runs]]\nproblems = ["bbob/f01"]\ndimensions = [2]\nrepeats = 2\n'
    (tmp_path / "mine.toml").write_text(text + 'algorithms = ["random", "photinus-paper"]\n')
    out = tmp_path / "runs.jsonl"

    def command(*words: str) -> str:
        module = ["-m", "photinus_bench.lockstep_suite", str(tmp_path / "mine.toml"), "--out", str(out)]
        options = ["--device", "cpu", "--records", str(store.folder), *words]
        environment = os.environ | {"PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(
            [sys.executable, *module, *options], check=True, capture_output=True, text=True, env=environment
        )
        return done.stderr

    assert "2 runs of Photinus, 2 to run" in command()
    assert len(out.read_text().splitlines()) == 2
    out.write_text(out.read_text()[:-30])
    assert "2 runs of Photinus, 1 to run" in command()
    assert len({Record.from_line(line).key for line in out.read_text().splitlines()}) == 2
    assert take_in(store, out) == (2, 0)
    out.unlink()
    assert "2 runs of Photinus, 0 to run" in command()


def test_a_gpu_is_looked_for_only_where_photinus_is_to_run(monkeypatch: pytest.MonkeyPatch):
    assert pick_device("cpu", [KEY]) == "cpu"
    assert pick_device("gpu", []) == "gpu"
    assert pick_device("auto", [KEY]) == "cpu"  # a rival's
    ours = [KEY, replace(KEY, algorithm="photinus-paper")]
    monkeypatch.setattr(jax, "devices", lambda platform: [platform])
    assert pick_device("auto", ours) == "gpu"

    def none_of_it(platform: str):
        raise RuntimeError(f"Unknown backend {platform}")

    monkeypatch.setattr(jax, "devices", none_of_it)
    assert pick_device("auto", ours) == "cpu"
