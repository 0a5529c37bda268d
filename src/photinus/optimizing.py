"""The loop of `optimize`: ask, run, tell, until the budget is spent.

It holds a lease on every trial it runs and renews it in the background, so that a killed process gives its
trials back within a minute. Whatever ends the loop early (Ctrl-C, an error of the objective), running trials
are handed back at once.
"""

import contextlib
import functools
import hashlib
import itertools
import logging
import os
import queue
import socket
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from photinus.backend import Backend
from photinus.errors import AlreadyTold, InvalidState
from photinus.executors import Evaluation, Workers
from photinus.heartbeat import Heartbeat
from photinus.record import StudyState
from photinus.reporting import BoundTrial
from photinus.trial import Trial

LEASE_S = 60.0
RENEWALS_PER_LEASE = 3  # two may be missed before a trial is lost
# A signal that another thread received does not wake this one: without a look now and then, Ctrl-C could be lost.
SIGNAL_CHECK_S = 0.5

logger = logging.getLogger("photinus")


def release_abandoned(backend: Backend, study_id: int) -> int:
    """Hand back what loops of killed processes on this host hold, rather than wait for their leases; how many."""
    num_released = 0
    for trial in backend.get_trials(study_id):
        if trial.state.is_running and trial.worker is not None and _is_gone(trial.worker):
            with contextlib.suppress(InvalidState):
                backend.release(study_id, trial.number, worker=trial.worker)
                num_released += 1
    return num_released


@functools.cache
def this_host() -> str:
    """Where process numbers mean the same: this machine since it was started, and this container on it.

    Its name alone would not do: containers and virtual machines are often named alike.
    """
    marks = [str(uuid.getnode())]
    with contextlib.suppress(OSError):  # there on Linux
        marks += [Path("/proc/sys/kernel/random/boot_id").read_text(), os.readlink("/proc/self/ns/pid")]
    return f"{socket.gethostname()}.{hashlib.sha256('#'.join(marks).encode()).hexdigest()[:8]}"


def _is_gone(worker: str) -> bool:
    """Whether the worker is a loop's, as `Loop` names them, and the loop's process has ended."""
    host, *rest = worker.rsplit(":", 2)
    if host != this_host() or len(rest) != 2 or not rest[0].isdecimal():
        return False
    try:
        os.kill(int(rest[0]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When to stop asking for more: whatever comes first."""

    num_new: int | None = None  # trials finished by this loop
    num_total: int | None = None  # finished trials of the study
    deadline: float | None = None  # by time.monotonic()


class Loop:
    """One run of `optimize`."""

    def __init__(
        self,
        backend: Backend,
        study_id: int,
        workers: Workers,
        budget: Budget,
        *,
        bind: Callable[[Trial], BoundTrial],
        on_finished: Callable[[Trial], None],
    ) -> None:
        self._backend = backend
        self._study_id = study_id
        self._workers = workers
        self._budget = budget
        self._bind = bind
        self._on_finished = on_finished
        self._holder = f"{this_host()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._held: dict[int, Trial] = {}  # by number
        self._num_finished = 0
        self._done: queue.SimpleQueue[Future[Evaluation]] = queue.SimpleQueue()

    def run(self) -> None:
        """Until the budget is spent, the study is stopped, or an error ends it."""
        running: dict[Future[Evaluation], Trial] = {}
        with Heartbeat(self._renew_leases, LEASE_S / RENEWALS_PER_LEASE):
            try:
                while True:
                    while len(running) < self._workers.size and self._may_ask():
                        trial = self._ask()
                        future = self._workers.submit(self._bind(trial))
                        running[future] = trial
                        future.add_done_callback(self._done.put)
                    if not running:
                        break
                    done = self._wait()
                    self._finish([(running.pop(future), future.result()) for future in done])
                self._workers.close()
            except BaseException:
                self._workers.kill()
                self._hand_back()
                raise

    def _wait(self) -> list[Future[Evaluation]]:
        """What is done, at least one of what runs.

        Not by `concurrent.futures.wait`, which holds the locks of all futures for a moment: interrupted there, it
        would leave some of them locked, and their workers waiting for ever.
        """
        done: list[Future[Evaluation]] = []
        while not done:
            with contextlib.suppress(queue.Empty):
                done.append(self._done.get(timeout=SIGNAL_CHECK_S))
        with contextlib.suppress(queue.Empty):
            while True:
                done.append(self._done.get_nowait())
        return done

    def _may_ask(self) -> bool:
        budget = self._budget
        if self._backend.get_study(self._study_id).state == StudyState.STOPPED:
            return False
        if budget.deadline is not None and time.monotonic() >= budget.deadline:
            return False
        if budget.num_new is not None and self._num_finished + len(self._held) >= budget.num_new:
            return False
        if budget.num_total is None:
            return True
        _, num_finished = self._backend.count_trials(self._study_id)
        return num_finished + len(self._held) < budget.num_total

    def _ask(self) -> Trial:
        # Every slot is a worker of its own name: one name would be given the trials it is running already.
        taken = {trial.worker for trial in self._held.values()}
        names = (f"{self._holder}/{slot}" for slot in itertools.count())
        worker = next(name for name in names if name not in taken)
        [trial] = self._backend.ask(self._study_id, 1, worker=worker, lease_s=LEASE_S)
        self._held[trial.number] = trial
        return trial

    def _finish(self, results: list[tuple[Trial, Evaluation]]) -> None:
        """Tell what came out, all of it, before any error ends the loop."""
        finished: list[Trial] = []
        errors: list[BaseException] = []
        for trial, evaluation in sorted(results, key=lambda result: result[0].number):
            told = self._tell(trial, evaluation)
            if told is not None:
                finished.append(told)
            # `trial.report` raises AlreadyTold when another worker was first: no reason to end the loop.
            is_lost = told is None and isinstance(evaluation.error, AlreadyTold)
            if evaluation.error is not None and not is_lost:
                errors.append(evaluation.error)
        self._num_finished += len(finished)
        for trial in finished:
            self._on_finished(trial)
        if errors:
            raise errors[0]

    def _tell(self, trial: Trial, evaluation: Evaluation) -> Trial | None:
        try:
            for values, step in evaluation.reports:
                self._backend.report(self._study_id, trial.number, values, step)
            if evaluation.measurement is None:
                return None
            return self._backend.tell(
                self._study_id, trial.number, evaluation.measurement, worker=trial.worker
            )
        except AlreadyTold:
            logger.info("trial %d was finished by another worker first", trial.number)
            return None
        finally:
            del self._held[trial.number]

    def _renew_leases(self) -> None:
        for trial in list(self._held.values()):
            # Lost to another worker: the first result of the two will count.
            with contextlib.suppress(InvalidState):
                self._backend.extend_lease(self._study_id, trial.number, worker=trial.worker, lease_s=LEASE_S)

    def _hand_back(self) -> None:
        # By what the store says, not by `_held`: Ctrl-C may have come between an ask and its record here.
        for trial in self._backend.get_trials(self._study_id):
            if trial.state.is_running and trial.worker is not None and trial.worker.startswith(self._holder):
                with contextlib.suppress(InvalidState):
                    self._backend.release(self._study_id, trial.number, worker=trial.worker)
