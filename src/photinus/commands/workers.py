"""Where commands run: one thread follows each of them.

Parameters reach a command by its arguments, and all of them as JSON in its environment. A command leads a process
group of its own: ending it ends what it started, and Ctrl-C in the terminal reaches this process alone, which then
decides what becomes of the commands. Should this process be killed, a keeper ends them; a command begins only once the
keeper knows of it, so that no moment is a bad one to be killed at.
"""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from photinus.commands.keeper import GRACE_S, Keeper
from photinus.commands.results import ResultReader
from photinus.commands.words import substitute
from photinus.executors import THREAD_VARIABLES, Evaluation
from photinus.reporting import BoundTrial
from photinus.trial import Measurement

# A shell that becomes the command at a word from here; should no word come, since nobody is left here, it ends.
GATE = ("/bin/sh", "-c", 'read -r word && exec "$@" < /dev/null', "sh")
DRAIN_S = 1.0  # for output to arrive after the command's end, where something it started still holds the pipe
MAX_LINE = 1 << 20  # bytes; a longer line is read in pieces
KEPT_LINES = 10  # of stderr, for the message of a failed trial
MAX_MESSAGE = 2000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, and how to judge it."""

    words: tuple[str, ...]  # with {name} where a parameter's value goes
    timeout_s: float | None = None
    infeasible_exit_code: int | None = None
    value_pattern: str | None = None
    logs: Path | None = None  # a folder for what commands print


class CommandWorkers:
    """Runs up to `size` commands at a time; the `Workers` of a loop."""

    def __init__(self, command: Command, size: int) -> None:
        self.size = size
        self._command = command
        self._mutex = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._threads: list[threading.Thread] = []
        self._is_killed = False
        self._keeper: Keeper | None = None

    def submit(self, trial: BoundTrial) -> "Future[Evaluation]":
        """Start the trial's command."""
        future: Future[Evaluation] = Future()

        def work() -> None:
            try:
                future.set_result(self._run(trial))
            except BaseException as error:  # or nobody would ever hear of it
                future.set_result(Evaluation(None, [], error))

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(_start_thread(work))
        return future

    def close(self) -> None:
        """Wait for what runs."""
        for thread in self._threads:
            thread.join()
        if self._keeper is not None:
            self._keeper.close()

    def kill(self) -> None:
        """End every command, and all that it started."""
        with self._mutex:
            self._is_killed = True
            running = list(self._running)
        for process in running:
            _signal_group(process, signal.SIGTERM)
        for process in running:
            _end(process)
        self.close()

    def _run(self, trial: BoundTrial) -> Evaluation:
        words = substitute(self._command.words, trial.number, trial.params)
        with self._open_log(trial, "out") as out_log, self._open_log(trial, "err") as err_log:
            try:
                process = self._start(words, trial)
            except (
                OSError,
                ValueError,
            ) as error:  # gone since it was looked for, or a NUL byte in an argument
                return Evaluation(Measurement.failed(f"{words[0]!r} could not be started: {error}"), [])
            if process is None:
                return Evaluation(None, [])
            try:
                return self._follow(process, trial, out_log, err_log)
            finally:
                with self._mutex:
                    self._running.discard(process)
                    if self._keeper is not None:
                        self._keeper.remove(process.pid)

    def _start(self, words: list[str], trial: BoundTrial) -> "subprocess.Popen[bytes] | None":
        with self._mutex:  # or `kill` could miss a command that is just being started
            if self._is_killed:
                return None
            if shutil.which(words[0]) is None:  # the shell could say so only on behalf of the command
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
            self._keeper = self._keeper or Keeper()  # there before the first command is
            process = subprocess.Popen(
                [*GATE, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment(trial),
                start_new_session=True,
            )
            self._running.add(process)
            self._keeper.add(process.pid)
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError), process.stdin:  # it was killed by somebody else
                process.stdin.write(b"begin\n")
            return process

    def _environment(self, trial: BoundTrial) -> dict[str, str]:
        project, study = trial.reporter.study_key
        defaults = {"PYTHONUNBUFFERED": "1"}  # or a Python program's reports would all come at its end
        if self.size > 1:
            threads = str(max(1, (os.cpu_count() or 1) // self.size))
            defaults |= dict.fromkeys(THREAD_VARIABLES, threads)
        return {
            **defaults,
            **os.environ,
            "PHOTINUS_TRIAL": str(trial.number),
            "PHOTINUS_PARAMS": json.dumps(trial.params),
            "PHOTINUS_STUDY": study,
            "PHOTINUS_PROJECT": project,
        }

    def _follow(
        self, process: "subprocess.Popen[bytes]", trial: BoundTrial, out_log: IO[bytes], err_log: IO[bytes]
    ) -> Evaluation:
        """Read what the command prints until it ends, and judge it."""
        assert process.stdout is not None and process.stderr is not None
        result = ResultReader(trial, self._command.value_pattern)
        complaints: deque[str] = deque(maxlen=KEPT_LINES)
        output = _Pump(process, process.stdout, out_log, result.read_line)
        errors = _Pump(process, process.stderr, err_log, complaints.append)
        try:
            exit_code = process.wait(self._command.timeout_s)
        except subprocess.TimeoutExpired:
            exit_code = None
            _signal_group(process, signal.SIGTERM)
            _end(process)
        if not (output.join() and errors.join()):  # something it started is still there, and holds the pipe
            _signal_group(process, signal.SIGKILL)
            output.join()
            errors.join()
        if self._is_killed:
            return Evaluation(None, [])
        if output.error is not None or errors.error is not None:
            return Evaluation(None, [], output.error or errors.error)
        return Evaluation(self._judge(exit_code, result, complaints), [])

    def _judge(self, exit_code: int | None, result: ResultReader, complaints: "deque[str]") -> Measurement:
        if exit_code == 0:
            return result.measurement()
        if exit_code is None:
            what = f"took longer than {self._command.timeout_s:g} s and was ended"
        elif exit_code < 0:
            what = f"ended by signal {_signal_name(-exit_code)}"
        else:
            what = f"exit code {exit_code}"
        message = "\n".join([what, *complaints])[:MAX_MESSAGE]
        if exit_code is not None and exit_code == self._command.infeasible_exit_code:
            return Measurement.infeasible(message)
        return Measurement.failed(message)

    def _open_log(self, trial: BoundTrial, kind: str) -> IO[bytes]:
        if self._command.logs is None:
            return open(os.devnull, "wb")
        return (self._command.logs / f"trial-{trial.number}.{kind}").open("wb")


class _Pump:
    """Reads a pipe in a thread of its own, into a log and line by line to whoever understands it."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        pipe: IO[bytes],
        log: IO[bytes],
        take_line: Callable[[str], None],
    ) -> None:
        self.error: Exception | None = None
        self._process = process
        self._pipe = pipe
        self._log = log
        self._take_line = take_line
        self._thread = _start_thread(self._run)

    def join(self) -> bool:
        """Wait a while for the end of the pipe; whether it came."""
        self._thread.join(DRAIN_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        with self._pipe:
            while piece := self._pipe.readline(MAX_LINE):
                if self.error is not None:
                    continue  # reading on, or the command would wait for a reader for ever
                try:
                    self._log.write(piece)
                    self._log.flush()
                    # Of a line that a progress bar wrote over, the last version counts.
                    self._take_line(piece.decode("utf-8", "replace").rstrip().rpartition("\r")[2])
                except Exception as error:  # the store failed, the disk is full, someone else was first
                    self.error = error
                    _signal_group(self._process, signal.SIGKILL)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """See to it that a command which was asked to end does, and all that it started."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left; zombies only, on macOS
        os.killpg(process.pid, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _start_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
