"""Ray clusters for tests: small, on the loopback address, apart from all others on the machine, gone afterwards.

A cluster is started by a program of its own, this file: Ray forks, which a process that has used JAX must not do.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

OBJECT_STORE = 80 * 2**20
WAIT_S = 60
ATTEMPTS = 3


class Nodes:
    """A running cluster's."""

    def __init__(self, program: "subprocess.Popen[str]", log: Path) -> None:
        self._program = program
        self._log = log
        self.address, self.ids = json.loads(self._hear())

    def kill(self, index: int) -> None:
        """End a node as if its machine had lost power."""
        assert self._program.stdin is not None
        self._program.stdin.write(f"{index}\n")
        self._program.stdin.flush()
        self._hear()

    def _hear(self) -> str:
        assert self._program.stdout is not None
        line = self._program.stdout.readline()
        assert line, f"the cluster's program ended:\n{self._log.read_text()}"
        return line


@contextlib.contextmanager
def running(*nodes: dict[str, Any]) -> Iterator[Nodes]:
    """A cluster with these nodes, which this process is connected to."""
    import ray

    with own_directory() as environment:
        log = Path(environment["RAY_TMPDIR"], "log")
        with (
            log.open("w") as errors,
            subprocess.Popen(
                [sys.executable, __file__, json.dumps(nodes)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            ) as program,
        ):
            try:
                cluster = Nodes(program, log)
                ray.init(cluster.address, log_to_driver=False, logging_level="error")
                yield cluster
            finally:
                ray.shutdown()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    program.communicate(timeout=WAIT_S)  # closes its input, which ends it
                program.kill()


@contextlib.contextmanager
def own_directory() -> Iterator[dict[str, str]]:
    """An environment in which Ray keeps its sockets, its logs and the address to be found by to itself.

    Every process that has it is gone when this ends, Ray's daemons and workers too.
    """
    # A short path: sockets are in it, and those have a limit of some hundred characters.
    directory = tempfile.mkdtemp(prefix="ray-", dir="/tmp" if os.path.isdir("/tmp") else None)
    try:
        yield os.environ | {"RAY_TMPDIR": directory}
    finally:
        _end_all(f"RAY_TMPDIR={directory}".encode())
        shutil.rmtree(directory, ignore_errors=True)


def _end_all(mark: bytes) -> None:
    """Wait for processes that have the mark in their environment; what does not end by itself is ended."""
    deadline = time.monotonic() + WAIT_S
    while (left := list(_marked(mark))) and time.monotonic() < deadline + WAIT_S:
        if time.monotonic() > deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _marked(mark: bytes) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or somebody else's
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


# The program.


def serve(nodes: Sequence[dict[str, Any]]) -> None:
    """Start the nodes, say where they are, and kill those whose numbers come in, until nothing more can come."""
    from ray.cluster_utils import Cluster

    head, *others = [settings | {"object_store_memory": OBJECT_STORE} for settings in nodes]
    head["include_dashboard"] = False
    cluster: Any = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    started = [cluster.head_node, *(_patiently(lambda s=s: cluster.add_node(**s)) for s in others)]
    cluster.wait_for_nodes(WAIT_S)
    print(json.dumps([cluster.address, [node.node_id for node in started]]), flush=True)
    for line in sys.stdin:
        cluster.remove_node(started[int(line)], allow_graceful=False)
        print("killed", flush=True)
    cluster.shutdown()


def _patiently(start: Callable[[], Any]) -> Any:
    """Ray gives its processes 30 seconds to start, which a busy machine may not have for them."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return start()
        except Exception as error:
            if attempt == ATTEMPTS or "timed out" not in str(error).lower():
                raise


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(json.loads(sys.argv[1]))
