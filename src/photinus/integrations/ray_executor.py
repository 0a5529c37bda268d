"""Ray as a `concurrent.futures.Executor`: `study.optimize(f, 100, executor=RayExecutor(num_gpus=1))`.

Every call becomes a Ray task with the resources it was given. A task whose worker or node dies is not repeated: it
fails, and the others go on.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError
from typing import Any

from photinus.arguments import check_integer
from photinus.errors import ArgumentError
from photinus.integrations.packages import RAY
from photinus.pools import WorkerLost

with RAY:
    import ray
    from ray import exceptions

POLL_S = 0.5  # how often a wait in `shutdown` looks for Ctrl-C

# Of the task's worker, its node, or the answer with its node.
DEATHS = (
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
    exceptions.LocalRayletDiedError,
    exceptions.OutOfMemoryError,
    exceptions.ObjectLostError,
)


class RayExecutor(Executor):
    """Runs calls as Ray tasks.

    Ray is connected to by `ray.init()`, as everywhere in Ray, unless the program has done so.

    Args:
        max_workers: how many calls at a time; left out, as many as the cluster has resources for at the moment.
        num_cpus: for each call.
        num_gpus: for each call; Ray shows it these GPUs only. A half means that two calls share one.
        resources: for each call, of your own kinds, such as `{"licence": 1}`.
        options: any other option of a Ray task, such as `memory`, `runtime_env`, `scheduling_strategy`. Ray repeats a
            task whose worker died if `max_retries` says so; it is 0 here.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        num_cpus: float = 1,
        num_gpus: float = 0,
        resources: dict[str, float] | None = None,
        **options: Any,
    ) -> None:
        if not ray.is_initialized():
            ray.init()
        self._max_workers = None if max_workers is None else check_integer("max_workers", max_workers, 1)
        needs = {"CPU": num_cpus, "GPU": num_gpus, "memory": options.get("memory"), **(resources or {})}
        self._needs = {kind: amount for kind, amount in needs.items() if amount}
        if self._max_workers is None and not self._needs:
            raise ArgumentError(
                "calls that need no resources must be limited otherwise: give max_workers, or num_cpus > 0"
            )
        settings: dict[str, Any] = {
            "num_cpus": num_cpus,
            "num_gpus": num_gpus,
            "resources": resources or {},
            "max_retries": 0,
        }
        self._task: Any = ray.remote(**(settings | options))(_call)
        self._lock = threading.Lock()
        self._pending: set[_RayFuture] = set()
        self._is_shut_down = False

    @property
    def num_workers(self) -> int:
        """How many calls can run at a time now."""
        return self._capacity() if self._max_workers is None else self._max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Have the call run wherever its resources are free."""
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            future = _RayFuture(self._task.remote(fn, args, kwargs))
            self._pending.add(future)
        future.add_done_callback(self._forget)
        future.ref.future().add_done_callback(future.settle)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls. Ray itself stays as it is."""
        with self._lock:
            self._is_shut_down = True
            pending = list(self._pending)
        for future in pending if cancel_futures else ():
            future.cancel()
        while wait and any(not future.done() for future in pending):
            time.sleep(POLL_S)

    def _capacity(self) -> int:
        """A call has to fit on one node, so nodes are counted one by one."""
        free = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return sum(
            int(min(node.get(kind, 0) / amount for kind, amount in self._needs.items())) for node in free
        )

    def _forget(self, future: "Future[Any]") -> None:
        with self._lock:
            self._pending.discard(future)  # pyright: ignore[reportArgumentType]


class _RayFuture(Future[Any]):
    """Can be cancelled also while it runs: Ray ends the worker process."""

    def __init__(self, ref: Any) -> None:
        super().__init__()
        self.ref = ref

    def cancel(self) -> bool:
        was_done = self.done()
        is_cancelled = super().cancel()
        if is_cancelled and not was_done:
            self.set_running_or_notify_cancel()  # wakes those who wait
            ray.cancel(self.ref, force=True)
        return is_cancelled

    def settle(self, answer: "Future[Any]") -> None:
        """Take over what Ray says."""
        error = answer.exception()
        with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
            if isinstance(error, DEATHS):
                lost = WorkerLost(f"{type(error).__name__}: {' '.join(str(error).split())}")
                lost.__cause__ = error
                self.set_exception(lost)
            elif error is not None:
                self.set_exception(error)
            else:
                self.set_result(answer.result())


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The Ray task."""
    return fn(*args, **kwargs)
