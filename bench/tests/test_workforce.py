"""All that a machine has at once: who takes what, what a process leaves that ends, and that results stay the same."""

import threading
import time
from dataclasses import replace
from multiprocessing import Pipe

import pytest

from photinus_bench import fleet, workforce
from photinus_bench.record import Record, RunKey
from photinus_bench.running import Outcome
from photinus_bench.workforce import PIECE, Pieces, Worker

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


@pytest.mark.long  # two processes import JAX
def test_device_and_cores_together_give_the_records_that_one_process_gives(capsys):
    keys = [replace(KEY, repeat=repeat) for repeat in range(PIECE + 1)] + RIVALS[:1]
    kept: list[Record] = []
    assert workforce.run(keys, kept.extend, device="cpu", num_processes=1, num_cores=1)
    assert sorted(record.key for record in kept) == sorted(keys)
    alone = [Record.from_line(record.to_line()) for record in fleet.run_group(keys[:-1], "cpu") or []]
    expected = {record.key: record.truth.tolist() for record in alone}
    assert {record.key: record.truth.tolist() for record in kept if record.key in expected} == expected
    [rival] = [record for record in kept if record.key.algorithm == "random"]
    assert len(rival.truth) == KEY.num_trials
    assert capsys.readouterr().err == ""
