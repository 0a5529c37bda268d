"""The process that works out suggestions for a server: `python -m photinus.service.engine_process`.

Its standard input and output are the pipe to the server; the first message says what it is to do. JAX is imported
here and not in the server, so that a fit never holds the server's interpreter. It ends when its input does:
whatever happens to the server, no engine outlives it.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from photinus.errors import ArgumentError
from photinus.service.engine_frames import Message, error_to_dict, pack, read_message
from photinus.service.engine_jobs import Engine
from photinus.service.engine_together import Together
from photinus.storage import open_storage

NICENESS = 10  # ours: answering requests comes before suggesting,
MORE_NICENESS = 5  # ours: and suggesting before drawing pictures
LAST_WORDS_S = 5.0  # ours: for giving locks back when the server is gone

logger = logging.getLogger("photinus.service")


def main() -> None:
    """Answer jobs until the pipe ends."""
    # Ctrl-C, and whoever stops a service, reach all its processes; this one is needed until the server is done.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):  # Windows has no such thing
        os.setpgid(0, 0)
    incoming, outgoing = _take_over_standard_streams()
    logging.basicConfig(format="%(levelname)s %(name)s (engine): %(message)s")
    settings = read_message(incoming)
    if settings is None:
        return
    with contextlib.suppress(AttributeError, OSError):
        os.nice(NICENESS)
    line = _Line(outgoing)
    try:
        together = Together(settings["device"]) if settings["shares_calls"] else None
        engine = Engine(lambda: open_storage(settings["address"]), together)
        _warm_up(settings["device"])
    except Exception as error:
        line.send({"error": error_to_dict(error)})
        return
    line.send({"ready": True})
    _Desk(engine, line, settings["ask_threads"], settings["question_threads"]).serve(incoming)


class _Desk:
    """Takes jobs in, gives them to threads, and knows which are under way."""

    def __init__(
        self, engine: Engine, line: "_Line", num_ask_threads: int, num_question_threads: int
    ) -> None:
        self._engine = engine
        self._line = line
        self._asking = ThreadPoolExecutor(num_ask_threads, "photinus-ask")
        self._questioning = ThreadPoolExecutor(num_question_threads, "photinus-question", _be_nicer)
        self._running: dict[int, Message] = {}

    def serve(self, incoming: BinaryIO) -> None:
        """Never returns: a thread in the middle of a fit would hold up the interpreter's end."""
        while (job := read_message(incoming)) is not None:
            self._running[job["id"]] = job
            pool = self._asking if job["kind"] == "ask" else self._questioning
            pool.submit(self._do, job)
        goodbye = threading.Thread(target=self._give_back, daemon=True)
        goodbye.start()
        goodbye.join(LAST_WORDS_S)
        os._exit(0)

    def _do(self, job: Message) -> None:
        answer = self._engine.answer(job)
        del self._running[job["id"]]
        try:
            self._line.send({"id": job["id"], **answer})
        except OSError:
            pass  # the server is gone, and this process is about to follow
        except Exception as error:  # or the caller would wait in vain
            logger.exception("an answer about study %s cannot be sent", job["study"])
            self._line.send({"id": job["id"], "error": error_to_dict(error)})

    def _give_back(self) -> None:
        """Let other servers go on with the studies at once."""
        for job in list(self._running.values()):
            if job["kind"] == "ask":
                with contextlib.suppress(Exception):
                    self._engine.release_lock(job)


class _Line:
    """The way back to the server, for any thread."""

    def __init__(self, outgoing: BinaryIO) -> None:
        self._outgoing = outgoing
        self._mutex = threading.Lock()

    def send(self, message: Message) -> None:
        content = pack(message)
        with self._mutex:
            self._outgoing.write(content)
            self._outgoing.flush()


def _take_over_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipe under numbers of its own: what any library prints goes to standard error instead."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def _warm_up(device: str) -> None:
    """Import what the first suggestion needs, on a GPU after a look whether there is one."""
    if device == "gpu":
        from photinus.engine.cache import engine_context

        try:
            with engine_context(device):
                return
        except RuntimeError as error:
            raise ArgumentError(
                f"device 'gpu' needs a GPU that JAX can use ({error}): install JAX for it, or use 'cpu'"
            ) from error

    def import_bandit() -> None:
        import photinus.engine.designers.gp_bandit  # noqa: F401

    threading.Thread(target=import_bandit, daemon=True).start()


def _be_nicer() -> None:
    """Lower the priority of this thread, and of those it starts; Linux alone knows that of threads."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS + MORE_NICENESS)


if __name__ == "__main__":
    main()
