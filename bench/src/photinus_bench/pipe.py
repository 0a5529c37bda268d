"""JSON lines over a pipe: how a contestant in an environment of its own is asked to time what it does.

Of suggestions, one request is `{"X": [[...]], "y": [...], "repeats": k, "budget_s": b, "seed": s}`, one answer
`{"seconds": [...], "peak_mb": m, ...}` or `{"error": "..."}`. The first suggestion after a request is warm-up
and not reported; then come `repeats` timed ones, fewer (but one at least) once the budget is spent.
Standard library only: rivals' environments import this.
"""

import json
import os
import resource
import select
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Timing = dict[str, Any]
TimeOne = Callable[[list[list[float]], list[float], int], Timing]


class TimeLimitError(Exception):
    """The contestant did not answer in time and was stopped."""


class ContestantError(Exception):
    """The contestant failed; its own words."""


def serve(time_one: TimeOne, packages: tuple[str, ...] = ()) -> None:
    """Answer requests for timings until standard input closes.

    `time_one(X, y, seed)` makes one suggestion on a fresh study and returns `{"seconds": ...}`, with other
    numbers beside it where there are any.
    """
    answer_requests(lambda request: repeat(time_one, request), packages)


def answer_requests(answer_one: Callable[[dict], dict], packages: tuple[str, ...] = ()) -> None:
    """Answer requests from standard input until it closes; answers say which versions of `packages` worked."""
    versions = {name: version(name) for name in packages}
    # Libraries print; whatever they write to standard output must not end up in the protocol.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer = answer_one(json.loads(line)) | {"packages": versions}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
        answer["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(answer), file=answers, flush=True)


def repeat(time_one: TimeOne, request: dict) -> dict:
    """Time repeated suggestions, each with a seed of its own; lists of what `time_one` returned."""
    X, y, seed = request["X"], request["y"], request["seed"]
    time_one(X, y, seed)
    started = time.perf_counter()
    rows: list[Timing] = []
    while len(rows) < request["repeats"]:
        rows.append(time_one(X, y, seed + 1 + len(rows)))
        if time.perf_counter() - started > request["budget_s"]:
            break
    return {name: [row[name] for row in rows] for name in rows[0]}


class Contestant:
    """A process that serves timings; started at the first request, and again after it had to be stopped."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: dict, limit_s: float) -> dict:
        """Send one request and wait for its answer."""
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            raise ContestantError(f"the process ended; see {self._log.name}") from None
        if not select.select([process.stdout], [], [], limit_s)[0]:
            self.stop()
            raise TimeLimitError(f"no answer within {limit_s:.0f} s")
        line = process.stdout.readline()
        if not line:
            self.stop()
            raise ContestantError(f"the process ended; see {self._log.name}")
        answer = json.loads(line)
        if "error" in answer:
            raise ContestantError(answer["error"])
        return answer

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()  # closes the pipes, also broken ones
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        # Rivals' environments do not have this package installed; they find its source by path.
        source = Path(__file__).parents[1]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | {"PYTHONPATH": str(source)},
            )
        return self._process
