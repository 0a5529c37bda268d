"""Objectives in an executor of the user's: any `concurrent.futures.Executor`, on this machine or on a cluster.

The executor stays the user's: it is neither shut down nor started again. As many trials are in flight as it has
workers, so that every suggestion is made when somebody is free to try it.
"""

import pickle
import threading
import uuid
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from photinus.errors import ArgumentError, ExecutorBroken
from photinus.executors import Answer, Evaluation, Objective, describe, evaluate
from photinus.reporting import BoundTrial
from photinus.trial import Measurement


class WorkerLost(RuntimeError):
    """Set by an executor on the future of a task whose worker died, while the executor itself goes on."""


# The same from executors that do not know us, by module and name, so that their packages need not be there.
WORKER_LOST = {("distributed", "KilledWorker")}


class Luggage:
    """An objective that may have to travel: threads are given it as it is, other processes by cloudpickle."""

    def __init__(self, objective: Objective, catch: tuple[type[Exception], ...]) -> None:
        self.content = (objective, catch)
        self._packed: bytes | None = None  # the same for all trials

    def packed(self) -> bytes:
        """What is sent; `ArgumentError` if that cannot be."""
        import cloudpickle

        if self._packed is None:
            try:
                self._packed = cloudpickle.dumps(self.content)
            except Exception as error:
                raise ArgumentError(
                    "an executor of other processes needs a picklable objective, but pickling it failed "
                    f"({describe(error)}): let it make what it needs inside"
                ) from error
        return self._packed


class Run:
    """One call of the objective, as it is given to an executor."""

    def __init__(self, luggage: Luggage, trial: BoundTrial) -> None:
        self._luggage = luggage
        self._trial = trial
        self.__name__ = "photinus-trial"  # what dashboards show

    def __call__(self) -> Answer:
        """In a thread of the study's own process."""
        objective, catch = self._luggage.content
        return Answer(evaluate(objective, self._trial, catch))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Arrived, (self._luggage.packed(), self._trial)

    def __dask_tokenize__(self) -> str:
        """Dask remembers the results of calls that look alike; no two of ours do."""
        return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A run in another process. The objective is unpickled there and then: an error of that is told like its own."""

    packed: bytes
    trial: BoundTrial

    def __call__(self) -> Answer:
        try:
            objective, catch = pickle.loads(self.packed)
        except Exception as error:
            return Answer(Evaluation(Measurement.failed(describe(error)), [], error))
        return Answer(evaluate(objective, self.trial, catch))


class ExecutorWorkers:
    """The workers of somebody's executor, as the loop wants them."""

    def __init__(
        self,
        objective: Objective,
        catch: tuple[type[Exception], ...],
        executor: Executor,
        num_workers: int | None = None,
    ) -> None:
        self._luggage = Luggage(objective, catch)
        self._executor = executor
        self._num_workers = num_workers
        self._lock = threading.Lock()
        self._in_flight: dict[Future[Evaluation], _Flight] = {}
        self._broken: ExecutorBroken | None = None
        if isinstance(executor, ProcessPoolExecutor):
            self._luggage.packed()  # refused before anything happens
        if num_workers is None and count_workers(executor) < 1:
            raise ArgumentError(
                f"an executor must have workers, but {type(executor).__name__} has none: check the resources that "
                "it asks for, or give n_jobs if workers are still to come"
            )

    @property
    def size(self) -> int:
        """How many trials to have in flight now: clusters grow and shrink. Once the executor is broken, none."""
        if self._broken is not None:
            return 0
        return self._num_workers or max(1, count_workers(self._executor))

    def submit(self, trial: BoundTrial) -> "Future[Evaluation]":
        """Give the trial to the executor."""
        future: Future[Evaluation] = Future()
        try:
            work = self._executor.submit(Run(self._luggage, trial))
        except BrokenExecutor as error:
            future.set_result(Evaluation(None, [], self._break(error)))  # it never began: handed back
            return future
        with self._lock:
            self._in_flight[future] = _Flight(trial.number, work)
        work.add_done_callback(lambda work: self._collect(future, work))
        return future

    def close(self) -> None:
        """Nothing is in flight, and the executor is the user's."""

    def kill(self) -> None:
        """Cancel what is in flight. What cannot be cancelled runs to its end, and nobody waits for it."""
        with self._lock:
            flights = list(self._in_flight.values())
            self._in_flight.clear()
        for flight in flights:
            flight.work.cancel()

    def _collect(self, future: "Future[Evaluation]", work: "Future[Answer]") -> None:
        """Called in a thread of the executor's."""
        error = CancelledError("the executor cancelled the trial") if work.cancelled() else work.exception()
        if isinstance(error, BrokenExecutor):
            self._break(error)
            return
        with self._lock:
            is_awaited = self._in_flight.pop(future, None) is not None
        if is_awaited:  # nobody settled it meanwhile
            future.set_result(_judge(error) if error is not None else _read(work.result()))

    def _break(self, error: BrokenExecutor) -> ExecutorBroken:
        """Fail everything in flight; the last one brings the error, when the loop has heard of all others."""
        with self._lock:
            lost, self._in_flight = self._in_flight, {}
            if self._broken is None:
                numbers = ", ".join(str(flight.number) for flight in lost.values())
                self._broken = ExecutorBroken(
                    "the executor is broken, as by the death of a worker; trials that were in flight are failed "
                    f"({numbers or 'none'}). Go on with a new executor, or with one that loses a single trial when a "
                    "worker dies: n_jobs, Ray, Dask"
                )
                self._broken.__cause__ = error
            broken = self._broken
        measurement = Measurement.failed(f"the executor broke while it was in flight: {describe(error)}")
        for num_left, future in zip(reversed(range(len(lost))), lost, strict=True):
            future.set_result(Evaluation(measurement, [], None if num_left else broken))
        return broken


@dataclass(frozen=True, slots=True)
class _Flight:
    number: int
    work: "Future[Answer]"


def _read(answer: Any) -> Evaluation:
    if isinstance(answer, Answer):
        return answer.evaluation
    # Not an error in the thread that calls back: nobody would hear of it, and the loop would wait for ever.
    return _judge(TypeError(f"an executor must return what the call returns, got {answer!r}"))


def _judge(error: BaseException) -> Evaluation:
    """What it means that the executor has no answer; errors of the objective are part of an answer."""
    if isinstance(error, ArgumentError | CancelledError):  # it never began: handed back
        return Evaluation(None, [], error)
    kinds = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(error).__mro__}
    if isinstance(error, WorkerLost) or kinds & WORKER_LOST:
        return Evaluation(Measurement.failed(f"its worker died: {error}"), [])
    # A worker without Photinus, an answer that does not unpickle: the next trial would fare no better.
    return Evaluation(Measurement.failed(f"its worker gave no answer: {describe(error)}"), [], error)


def count_workers(executor: Executor) -> int:
    """How many tasks the executor runs at a time; `ArgumentError` if it does not say."""
    told = getattr(executor, "num_workers", None)  # Ray's here, mpi4py's
    if told is None:
        told = getattr(executor, "_max_workers", None)  # threads, processes, loky
    client: Any = getattr(executor, "_client", None)
    if told is None and hasattr(client, "nthreads"):  # Dask
        told = sum(client.nthreads().values())
    if not isinstance(told, int):
        raise ArgumentError(
            f"the number of workers must be known, but {type(executor).__name__} does not say it: "
            "give n_jobs, how many trials to run at a time"
        )
    return told
