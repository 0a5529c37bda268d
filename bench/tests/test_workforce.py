"""All that a machine has at once: who takes what, what a process leaves that ends, and that results stay the same."""

import os
import subprocess
import sys
import threading
import time
from argparse import Namespace
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path

import pytest

from photinus_bench import fleet, lockstep_suite, workforce
from photinus_bench.record import Record, RunKey
from photinus_bench.running import ONE_CORE, Outcome
from photinus_bench.workforce import PIECE, Pieces, Tally, Worker

KEY = RunKey("bbob/f01/2d", "photinus-paper", 0, 2, 1)
GROUPS = [[replace(KEY, task=f"bbob/f01/{d}d", repeat=r) for r in range(PIECE + 2)] for d in (2, 3)]
RIVALS = [replace(KEY, algorithm="random", repeat=repeat) for repeat in (0, 1)]


def test_a_device_begins_at_the_front_and_cores_with_rivals_and_at_the_back():
    pieces = Pieces(GROUPS, RIVALS)
    assert [pieces.few(), pieces.few()] == [[RIVALS[0]], [RIVALS[1]]]
    assert pieces.few() == GROUPS[1][-PIECE:]
    assert pieces.whole() == GROUPS[0]
    assert pieces.few() == GROUPS[1][:-PIECE]
    assert pieces.few() == pieces.whole() == []


def test_what_a_core_has_begun_is_not_in_the_group_of_the_device():
    pieces = Pieces(GROUPS[:1], [])
    assert pieces.few() + pieces.whole() == GROUPS[0][-PIECE:] + GROUPS[0][:-PIECE]
    assert len(GROUPS[0]) == PIECE + 2  # the caller's own lists are left alone


def outcomes(pieces: Pieces, deadline: float | None = None) -> list[Outcome]:
    """What two cores bring back, of which one ends with its first piece."""
    workers, threads = {}, []

    def answer(connection, is_mortal: bool) -> None:
        while piece := connection.recv():
            if is_mortal:
                connection.close()
                return
            connection.send([Outcome(key, line="done") for key in piece])

    for is_mortal in (True, False):
        ours, theirs = Pipe()
        threads.append(threading.Thread(target=answer, args=(theirs, is_mortal)))
        threads[-1].start()
        workers[ours] = Worker(None, is_core=True)
    found = [outcome for some in workforce._outcomes(workers, pieces, deadline) for outcome in some]
    for thread in threads:
        thread.join()
    return found


def test_what_a_process_had_when_it_ended_is_named_and_the_others_go_on():
    found = outcomes(Pieces(GROUPS, []))
    lost = [outcome for outcome in found if outcome.failure]
    assert {outcome.key for outcome in lost} == set(GROUPS[1][-PIECE:])
    assert {outcome.failure for outcome in lost} == {"the process ended"}
    assert sorted(outcome.key for outcome in found) == sorted(GROUPS[0] + GROUPS[1])


def test_nothing_is_begun_after_the_deadline():
    assert outcomes(Pieces(GROUPS, RIVALS), deadline=time.monotonic() - 1.0) == []


def test_a_run_that_fails_does_not_end_the_others():
    [outcome] = workforce.run_piece(
        [replace(KEY, task="bbob/f01/2d", num_trials=3, batch_size=-1)], "cpu", None
    )
    assert outcome.line is None and outcome.failure


class InThread(threading.Thread):
    """What `run` takes for a process; it ends when it is given nothing."""

    def kill(self) -> None:
        pass


def start_in_thread(device: str, deadline: float | None, *, is_core: bool = False):
    ours, theirs = Pipe()
    thread = InThread(target=workforce.work, args=(theirs, device, deadline))
    thread.start()
    return ours, Worker(thread, is_core)


def test_runs_that_failed_do_not_count_as_done_and_the_command_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
):
    monkeypatch.setattr(workforce, "_start", start_in_thread)
    keys = [*RIVALS, replace(RIVALS[0], task="bbob/f01/2d/nonsense")]
    arguments = Namespace(device="cpu", processes=0, cores=1, max_seconds=None, out=tmp_path / "runs.jsonl")
    with pytest.raises(SystemExit, match="1 runs failed and 2 of 3 are done"):
        lockstep_suite.run_missing(keys, arguments)
    assert lockstep_suite.read_keys(arguments.out) == set(RIVALS)
    told = capsys.readouterr().err
    assert f"{keys[2]}: failed, not recorded" in told and not told.endswith("done\n")
    lockstep_suite.run_missing(RIVALS, arguments)
    assert capsys.readouterr().err.endswith("done\n")


def test_a_run_records_the_threads_of_its_process():
    for num_threads, recorded in ((1, 1), (None, len(os.sched_getaffinity(0)))):
        [outcome] = workforce.run_piece([KEY], "cpu", None, num_threads)
        assert Record.from_line(outcome.line).machine["threads"] == recorded


@pytest.mark.long  # a process imports JAX
def test_cores_record_one_thread():
    kept: list[Record] = []
    tally = workforce.run([KEY, RIVALS[0]], kept.extend, device="cpu", num_processes=0, num_cores=1)
    assert tally == Tally(num_done=2, num_failed=0)
    assert [record.machine["threads"] for record in kept] == [1, 1]


MULTIPLY = """
from pathlib import Path
import jax, jax.numpy as jnp

def ticks():
    stats = {path: path.read_text().rpartition(")")[2].split() for path in Path("/proc/self/task").glob("*/stat")}
    return {path: int(fields[11]) for path, fields in stats.items()}  # proc(5): utime

x = jnp.ones((3000, 3000))
square = jax.jit(lambda x: jnp.sin(x @ x).sum())
square(x).block_until_ready()
before = ticks()
square(x).block_until_ready()
after = ticks()
print(*sorted(after[path] - before.get(path, 0) for path in after))
"""


@pytest.mark.long  # a process imports JAX
@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="there is nothing to share out")
def test_a_process_of_a_core_computes_in_one_thread():
    # Ticks, not seconds: they are the same on a busy machine.
    command = [sys.executable, "-c", MULTIPLY]
    done = subprocess.run(command, env=os.environ | ONE_CORE, check=True, capture_output=True, text=True)
    *others, most = map(int, done.stdout.split())
    assert most >= 10 and sum(others) <= most / 10


@pytest.mark.long  # two processes import JAX
def test_device_and_cores_together_give_the_records_that_one_process_gives(capsys):
    keys = [replace(KEY, repeat=repeat) for repeat in range(PIECE + 1)] + RIVALS[:1]
    kept: list[Record] = []
    tally = workforce.run(keys, kept.extend, device="cpu", num_processes=1, num_cores=1)
    assert tally == Tally(len(keys), 0)
    assert sorted(record.key for record in kept) == sorted(keys)
    alone = [Record.from_line(record.to_line()) for record in fleet.run_group(keys[:-1], "cpu") or []]
    expected = {record.key: record.truth.tolist() for record in alone}
    assert {record.key: record.truth.tolist() for record in kept if record.key in expected} == expected
    [rival] = [record for record in kept if record.key.algorithm == "random"]
    assert len(rival.truth) == KEY.num_trials
    assert capsys.readouterr().err == ""
