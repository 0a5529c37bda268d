"""Where objectives run: in this process, or in worker processes of their own.

Worker processes are spawned, never forked, by loky; cloudpickle carries the objective, so lambdas, closures
and notebook functions work. Each worker process has an executor to itself: loky gives up a whole executor
when one of its processes dies, and here a death may cost one trial only. Workers never import JAX.
"""

import contextlib
import os
import pickle
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any, Protocol

from photinus.errors import ArgumentError, ObjectiveError, ValuesError
from photinus.reporting import BoundTrial, Reports
from photinus.trial import Measurement

Objective = Callable[[BoundTrial], Any]

# Libraries that start one thread per core in every process unless told otherwise.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
PARENT_CHECK_S = 1.0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of calling an objective."""

    measurement: Measurement | None  # None: nothing is known about the trial
    reports: Reports
    error: BaseException | None = None  # to be raised where the study is


def evaluate(objective: Objective, trial: BoundTrial, catch: tuple[type[Exception], ...]) -> Evaluation:
    """Call the objective and judge what it returned or raised."""
    kept = trial.reporter.kept
    try:
        values = trial.reporter.problem.parse_values(objective(trial))
    except BaseException as error:
        if isinstance(error, catch):
            return Evaluation(Measurement.failed(describe(error)), kept)
        if isinstance(error, Exception):
            return Evaluation(Measurement.failed(describe(error)), kept, error)
        return Evaluation(None, kept, error)  # interrupted, from the keyboard or by sys.exit
    try:
        return Evaluation(Measurement.completed(trial.reporter.problem.validate_values(values)), kept)
    except ValuesError:
        # A diverged run says something about the point, and must not end a study that runs over night.
        shown = ", ".join(f"{name}={value}" for name, value in values.items())
        return Evaluation(Measurement.infeasible(f"the objective returned {shown}"), kept)


class Workers(Protocol):
    """A number of places where objectives run."""

    @property
    def size(self) -> int:
        """How many trials to run at a time; it may change."""
        ...

    def submit(self, trial: BoundTrial) -> "Future[Evaluation]":
        """Start on a trial; at most `size` at a time."""
        ...

    def close(self) -> None:
        """End workers that have nothing to do."""
        ...

    def kill(self) -> None:
        """End workers at once, whatever they do."""
        ...


class ThisProcess:
    """Runs objectives here, one after the other: debuggers, open files and GPUs work as usual."""

    def __init__(self, objective: Objective, catch: tuple[type[Exception], ...]) -> None:
        self.size = 1
        self._objective = objective
        self._catch = catch

    def submit(self, trial: BoundTrial) -> "Future[Evaluation]":
        """Run the objective now."""
        future: Future[Evaluation] = Future()
        future.set_result(evaluate(self._objective, trial, self._catch))
        return future

    def close(self) -> None:
        """Nothing is left running."""

    def kill(self) -> None:
        """Nothing is left running."""


class WorkerProcesses:
    """Runs objectives in spawned processes."""

    def __init__(self, objective: Objective, catch: tuple[type[Exception], ...], num_workers: int) -> None:
        import cloudpickle

        self.size = num_workers
        try:
            self._payload = cloudpickle.dumps((objective, catch))
        except Exception as error:
            raise ArgumentError(
                "with n_jobs > 1 the objective must be picklable, but pickling it failed "
                f"({describe(error)}): let it make what it needs inside, or use n_jobs=1"
            ) from error
        self._idle: list[Any] = []
        self._busy: set[Any] = set()

    def submit(self, trial: BoundTrial) -> "Future[Evaluation]":
        """Give the trial to an idle process, or to a new one."""
        executor = self._idle.pop() if self._idle else self._spawn()
        self._busy.add(executor)
        future: Future[Evaluation] = Future()

        def finish(work: "Future[Answer]") -> None:
            try:
                future.set_result(self._collect(executor, work))
            except (
                BaseException
            ) as error:  # or nobody would ever hear of it, and the loop would wait for ever
                future.set_exception(error)

        executor.submit(_work, trial).add_done_callback(finish)
        return future

    def close(self) -> None:
        """Let every process end."""
        self._shut_down(kill=False)

    def kill(self) -> None:
        """End every process."""
        self._shut_down(kill=True)

    def _collect(self, executor: Any, work: "Future[Answer]") -> Evaluation:
        error = work.exception()
        if error is None:
            self._busy.discard(executor)
            self._idle.append(executor)
            return work.result().evaluation
        # The executor is of no use any more and stays among the busy ones, for its remains to be collected.
        if not isinstance(error, BrokenProcessPool):
            return Evaluation(Measurement.failed(f"its worker process gave no answer: {describe(error)}"), [])
        exit_code = re.search(r"\{(.*)\}", str(error))  # loky's words: "... exit codes ... are {SIGKILL(-9)}"
        detail = f" with {exit_code[1]}" if exit_code else ""
        return Evaluation(Measurement.failed(f"its worker process died{detail}"), [])

    def _spawn(self) -> Any:
        import loky

        threads = str(max(1, loky.cpu_count() // self.size))
        environment = {name: threads for name in THREAD_VARIABLES if name not in os.environ}
        return loky.ProcessPoolExecutor(
            max_workers=1, initializer=_start_worker, initargs=(self._payload, os.getpid()), env=environment
        )

    def _shut_down(self, *, kill: bool) -> None:
        for executor in [*self._idle, *self._busy]:
            executor.shutdown(wait=True, kill_workers=kill)
        self._idle.clear()
        self._busy.clear()


@dataclass(frozen=True, slots=True)
class Answer:
    """An evaluation that may travel between processes; its error does so as bytes, since it may not unpickle."""

    evaluation: Evaluation

    def __reduce__(self) -> tuple[Callable[..., "Answer"], tuple[Any, ...]]:
        error = self.evaluation.error
        if error is None:
            return Answer, (self.evaluation,)
        text = "".join(traceback.format_exception(error))
        return _arrived, (replace(self.evaluation, error=None), _pickled(error), text)


def _arrived(evaluation: Evaluation, pickled_error: bytes | None, text: str) -> Answer:
    error: BaseException | None = None
    with contextlib.suppress(Exception):
        error = pickle.loads(pickled_error) if pickled_error is not None else None
    if not isinstance(error, BaseException):
        error = ObjectiveError("the objective failed in a worker process")
    error.add_note(f"In the worker process:\n{text}")
    return Answer(replace(evaluation, error=error))


_payload: bytes = b""
_loaded: tuple[Objective, tuple[type[Exception], ...]] | None = None


def _start_worker(payload: bytes, parent: int) -> None:
    """Runs first in every worker process."""
    global _payload
    _payload = payload
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    # Ctrl-C reaches the whole group of processes; the study's own process decides what becomes of this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with(parent: int) -> None:
    """End this process soon after the study's own is gone: nobody waits for the answer, the machine is needed."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(1)


def _work(trial: BoundTrial) -> Answer:
    """Runs in a worker process, once for every trial."""
    global _loaded
    try:
        objective, catch = _loaded = _loaded or pickle.loads(_payload)
    except Exception as error:  # the objective does not load here
        return Answer(Evaluation(Measurement.failed(describe(error)), [], error))
    return Answer(evaluate(objective, trial, catch))


def _pickled(error: BaseException) -> bytes | None:
    import cloudpickle

    try:
        return cloudpickle.dumps(error)
    except Exception:
        return None


def describe(error: BaseException) -> str:
    """An error in one line, for a trial's message."""
    return f"{type(error).__name__}: {error}"
