"""A grid of independent runs over Ray: this machine's cores by default, or a cluster by its address.

The driver hands out as many runs as there are cores in the cluster, takes records back and hands out the next, so a
cluster may grow or shrink on the way. Workers keep nothing: what a lost machine or an interrupt costs is the runs
that were under way.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from photinus_bench.record import RunKey
from photinus_bench.running import ONE_CORE, Outcome, execute

OBJECT_STORE = 100 * 2**20  # bytes; records are small
POLL_S = 1.0


@contextmanager
def connected(address: str | None, num_workers: int | None) -> Iterator[Any]:
    """Ray, started here for so many workers (all cores if None) or found at an address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # its future default, or it warns
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: suggestions are timed in workers
    if address is None:
        # Ray asks nobody who they are, so its ports must not be open to the network. It takes a loopback address for
        # a mistake and puts another in its place, unless it may not be a cluster; it reads this when imported.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray

    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        ray.init(
            num_cpus=num_workers or len(os.sched_getaffinity(0)),
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            **quiet,
        )
    else:
        ray.init(address=address, **quiet)
    try:
        yield ray
    finally:
        ray.shutdown()


def run(
    ray: Any,
    keys: Sequence[RunKey],
    *,
    take: Callable[[RunKey], bool],
    limit_s: float,
    max_workers: int | None = None,
) -> Iterator[Outcome]:
    """Run everything that `take` agrees to, in order, as workers get free; outcomes as they come."""
    one_core = {"env_vars": ONE_CORE}
    remote = ray.remote(num_cpus=1, max_retries=0, runtime_env=one_core)(execute)
    waiting, running = list(reversed(keys)), {}
    while waiting or running:
        slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        while waiting and len(running) < min(slots, max_workers or slots):
            key = waiting.pop()
            if take(key):
                running[remote.remote(key, limit_s)] = key
        if not running:
            continue
        done, _ = ray.wait(list(running), num_returns=1, timeout=POLL_S)
        for reference in done:
            key = running.pop(reference)
            try:
                yield ray.get(reference)
            except ray.exceptions.RayError as error:
                # The worker is gone, not the rival: out of memory, or its machine was lost.
                yield Outcome(key, failure=f"{type(error).__name__}: {str(error).splitlines()[0]}")
