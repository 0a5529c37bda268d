"""Runs on all that one machine has, its GPU and its cores at once, without Ray.

A process of the GPU takes a whole group of studies at a time, from the front; a process of a core takes a few runs,
from the back, each as a user's own program would run it. So both are busy until nothing is left, wherever they meet.
Rivals run on cores, before everything else there: their runs are long, and one that begins last would be waited for.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from photinus_bench import running
from photinus_bench.progress import note
from photinus_bench.record import Record, RunKey
from photinus_bench.suite import is_ours

PIECE = 4  # runs that a core takes at a time
DEVICE = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}  # several share a GPU, whose memory the first would take
SPARE_S = 30.0  # after the deadline, for a step that was under way then


class Pieces:
    """What is still to be begun: groups of studies of one shape, and rivals' runs."""

    def __init__(self, groups: Sequence[Sequence[RunKey]], rivals: Sequence[RunKey]) -> None:
        self._groups = [list(group) for group in groups]
        self._rivals = list(reversed(rivals))

    def whole(self) -> list[RunKey]:
        """The first group, for a device that runs studies side by side; empty if there is none."""
        return self._groups.pop(0) if self._groups else []

    def few(self) -> list[RunKey]:
        """A rival's run, or else some of the last group, for a core."""
        if self._rivals:
            return [self._rivals.pop()]
        if not self._groups:
            return []
        last = self._groups[-1]
        piece, last[:] = last[-PIECE:], last[:-PIECE]
        if not last:
            self._groups.pop()
        return piece


class Worker(NamedTuple):
    """A process, and what it takes."""

    process: BaseProcess
    is_core: bool


class Tally(NamedTuple):
    """How many runs left a record, and how many failed; what is neither was not done by the deadline."""

    num_done: int
    num_failed: int


def run(
    keys: Sequence[RunKey],
    keep: Callable[[list[Record]], None],
    *,
    device: str,
    num_processes: int,
    num_cores: int,
    deadline: float | None = None,
) -> Tally:
    """Run everything by processes of a device and of cores until the deadline (`time.monotonic`).

    What fails is named and left out.
    """
    from photinus_bench import fleet  # JAX

    ours = fleet.groups([key for key in keys if is_ours(key.algorithm)])
    pieces = Pieces(ours, [key for key in keys if not is_ours(key.algorithm)])
    workers = dict(
        [_start(device, deadline) for _ in range(num_processes)]
        + [_start("cpu", deadline, is_core=True) for _ in range(num_cores)]
    )
    num_done = num_failed = 0
    try:
        for outcomes in _outcomes(workers, pieces, deadline):
            records = [Record.from_line(outcome.line) for outcome in outcomes if outcome.line]
            for outcome in outcomes:
                if outcome.failure:
                    note(f"{outcome.key}: failed, not recorded: {outcome.failure}")
            if records:
                keep(records)
            num_done += len(records)
            num_failed += len(outcomes) - len(records)
    finally:
        for process, _ in workers.values():
            process.kill()
            process.join()
    return Tally(num_done, num_failed)


def work(connection: Connection, device: str, deadline: float | None, num_threads: int | None = None) -> None:
    """What a process does: run what it is given until it is given nothing."""
    while piece := connection.recv():
        connection.send(run_piece(piece, device, deadline, num_threads))


def run_piece(
    keys: Sequence[RunKey], device: str, deadline: float | None, num_threads: int | None = None
) -> list[running.Outcome]:
    """Runs of one shape, or a rival's; none where the deadline came first."""
    from photinus_bench import fleet  # JAX

    if not is_ours(keys[0].algorithm):
        return [running.execute(key) for key in keys]
    try:
        records = fleet.run_group(keys, device, deadline=deadline, num_threads=num_threads) or []
    except Exception as error:
        return [running.Outcome(key, failure=f"{type(error).__name__}: {error}") for key in keys]
    return [running.Outcome(record.key, line=record.to_line()) for record in records]


def _outcomes(
    workers: dict[Connection, Worker], pieces: Pieces, deadline: float | None
) -> Iterator[list[running.Outcome]]:
    """What comes back, while everyone who is idle gets more."""
    busy: dict[Connection, list[RunKey]] = {}

    def give(connection: Connection) -> None:
        is_late = deadline is not None and time.monotonic() > deadline
        piece = [] if is_late else pieces.few() if workers[connection].is_core else pieces.whole()
        connection.send(piece)
        if piece:
            busy[connection] = piece

    for connection in workers:
        give(connection)
    while busy:
        patience = None if deadline is None else max(deadline + SPARE_S - time.monotonic(), 0.0)
        ready = [found for found in wait(list(busy), patience) if isinstance(found, Connection)]
        if not ready:
            return  # a rival is under way, or a program is being compiled
        for connection in ready:
            piece = busy.pop(connection)
            try:
                outcomes = connection.recv()
            except (EOFError, ConnectionResetError):
                # Its process is gone, killed for memory perhaps. The others go on.
                yield [running.Outcome(key, failure="the process ended") for key in piece]
                continue
            give(connection)
            yield outcomes


def _start(device: str, deadline: float | None, *, is_core: bool = False) -> tuple[Connection, Worker]:
    """A process, and the line to it."""
    ours, theirs = get_context("spawn").Pipe()
    with running.environment(running.ONE_CORE if is_core else DEVICE):
        arguments = theirs, device, deadline, 1 if is_core else None
        process = get_context("spawn").Process(target=work, args=arguments, daemon=True)
        process.start()
    theirs.close()
    return ours, Worker(process, is_core)
