"""A server's side of its engine: jobs go out, answers come back, whether it is a process or a pool of threads."""

import asyncio
import contextlib
import itertools
import logging
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from photinus.errors import SuggestionError
from photinus.service.engine_frames import Message, error_from_dict, pack, receive_message
from photinus.service.engine_jobs import Engine
from photinus.service.engine_together import Together
from photinus.storage import Storage

# -P: modules that happen to lie where the server was started are not to be found.
COMMAND = (sys.executable, "-P", "-m", "photinus.service.engine_process")
SHORT_LIFE_S = 10.0  # ours: an engine that dies sooner may do so again,
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0  # ours: so the next one is started after a while
ENDING_S = 8.0  # ours: for an engine whose pipe is closed; it has last words

logger = logging.getLogger("photinus.service")


class EngineDied(Exception):
    """The engine ended before it answered; says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What an engine process is told first."""

    address: str
    device: str
    shares_calls: bool
    ask_threads: int
    question_threads: int


class EngineLink(Protocol):
    """An engine, wherever it runs."""

    num_restarts: int

    @property
    def is_alive(self) -> bool:
        """Whether jobs are being answered."""
        ...

    async def start(self) -> None:
        """Have the engine ready; raises what keeps it from that."""
        ...

    async def call(self, job: Mapping[str, Any]) -> Message:
        """The answer to a job; `EngineDied` if there will be none."""
        ...

    def kill(self) -> None:
        """End an engine that does not answer; it is started again."""
        ...

    async def close(self) -> None:
        """End the engine with all that it is doing."""
        ...


class EngineThreads:
    """The engine in threads of this process, for a store that no other process can see."""

    def __init__(self, storage: Storage, device: str, shares_calls: bool, num_threads: int) -> None:
        self._engine = Engine(lambda: storage, Together(device) if shares_calls else None)
        self._threads = ThreadPoolExecutor(num_threads, "photinus-engine")
        self.is_alive = False
        self.num_restarts = 0

    async def start(self) -> None:
        """See `EngineLink.start`."""
        self.is_alive = True

    async def call(self, job: Mapping[str, Any]) -> Message:
        """See `EngineLink.call`."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._engine.answer, dict(job))

    def kill(self) -> None:
        """Threads cannot be ended."""

    async def close(self) -> None:
        """Threads are left to finish what they do; the store ends with them."""
        self.is_alive = False
        self._threads.shutdown(wait=False, cancel_futures=True)


class EngineProcess:
    """An engine process, started again whenever it ends."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._is_up = asyncio.Event()
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None  # of the first life
        self._is_ready = False  # of this one
        self._closing = asyncio.Event()
        self.num_restarts = 0

    @property
    def is_alive(self) -> bool:
        """Whether the process is there and has said that it is ready."""
        return self._is_up.is_set() and self._is_ready

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """See `EngineLink.start`."""
        self._ready = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep())
        try:
            await self._ready
        except BaseException:
            await self.close()
            raise

    async def call(self, job: Mapping[str, Any]) -> Message:
        """See `EngineLink.call`."""
        await _first_of(self._is_up, self._closing)
        if self._closing.is_set():
            raise EngineDied("it is being closed")
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            assert self._process is not None and self._process.stdin is not None
            self._process.stdin.write(pack({"id": number, **job}))
            with contextlib.suppress(ConnectionError):  # its end is seen where answers are read
                await self._process.stdin.drain()
            return await answer
        finally:
            self._answers.pop(number, None)

    def kill(self) -> None:
        """See `EngineLink.kill`."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def close(self) -> None:
        """See `EngineLink.close`. The engine gives locks back first, and does not take long."""
        self._closing.set()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._keeper is None:
            return
        done, _ = await asyncio.wait([self._keeper], timeout=ENDING_S)
        if not done:
            self.kill()
            await asyncio.wait([self._keeper])

    async def _keep(self) -> None:
        """Run one process after another."""
        num_short_lives = 0
        loop = asyncio.get_running_loop()
        while not self._closing.is_set():
            born_at = loop.time()
            cause = await self._run()
            self._fail_all(cause)
            if self._closing.is_set() or not self._has_ever_been_ready():
                return
            self.num_restarts += 1
            logger.error("the engine process ended (%s) and is started again", cause)
            num_short_lives = num_short_lives + 1 if loop.time() - born_at < SHORT_LIFE_S else 0
            if num_short_lives > 1:
                pause_s = min(FIRST_PAUSE_S * 2 ** (num_short_lives - 2), LONGEST_PAUSE_S)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), pause_s)

    async def _run(self) -> str:
        """One life of the process; how it ended."""
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
        except OSError as error:
            return f"it cannot be started: {error}"
        assert process.stdin is not None and process.stdout is not None
        try:
            if not self._closing.is_set():  # `close` came too early to know this process
                process.stdin.write(pack(asdict(self._settings)))  # not an argument: it may hold a password
                self._is_up.set()
                while (message := await receive_message(process.stdout)) is not None:
                    self._take(message)
        finally:
            self._is_up.clear()
            self._is_ready = False
            process.stdin.close()
            try:
                code = await asyncio.wait_for(process.wait(), ENDING_S)
            except TimeoutError:
                process.kill()
                code = await process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def _take(self, message: Message) -> None:
        if "id" in message:
            answer = self._answers.get(message["id"])
            if answer is not None and not answer.done():
                answer.set_result(message)
            return
        error = error_from_dict(message["error"]) if "error" in message else None
        self._is_ready = error is None
        if self._ready is None or self._ready.done():
            if error is not None:
                logger.error("the engine process cannot start: %s", error)
        elif error is None:
            self._ready.set_result(None)
        else:
            self._ready.set_exception(error)

    def _fail_all(self, cause: str) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(EngineDied(cause))
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(
                SuggestionError(f"the engine process ended before it was ready ({cause})")
            )

    def _has_ever_been_ready(self) -> bool:
        ready = self._ready
        return ready is not None and ready.done() and ready.exception() is None


async def _first_of(*events: asyncio.Event) -> None:
    """Wait until one of them has happened."""
    if any(event.is_set() for event in events):
        return
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
