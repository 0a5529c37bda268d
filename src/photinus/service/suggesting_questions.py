"""Questions about models: predictions, beliefs, pictures. They yield to asks and are never kept from anyone."""

import asyncio
import json
from typing import Any

from photinus.errors import TooManyRequests
from photinus.service.engine_frames import Message, error_from_dict
from photinus.service.engine_link import EngineLink
from photinus.service.suggesting_asks import closing_error


class Questions:
    """Puts a few questions to the engine at a time; the same question asked by several is put once."""

    def __init__(self, link: EngineLink, *, max_running: int, max_waiting: int) -> None:
        self._link = link
        self._slots = asyncio.Semaphore(max_running)
        self._max_waiting = max_waiting
        self._waiting: dict[
            str, asyncio.Task[Any]
        ] = {}  # not put yet: who asks now hears of all that was told
        self._tasks: set[asyncio.Task[Any]] = set()
        self.num_running = 0
        self.num_total = 0

    @property
    def num_waiting(self) -> int:
        """Questions that have not been put yet."""
        return len(self._waiting)

    async def ask(self, question: Message) -> Any:
        """The answer; `TooManyRequests` if too many others wait for theirs."""
        key = json.dumps(question, sort_keys=True)
        task = self._waiting.get(key)
        if task is None:
            if self._slots.locked() and len(self._waiting) >= self._max_waiting:
                raise TooManyRequests(
                    f"{len(self._waiting)} questions about models wait for an answer, which is the limit: "
                    "ask again in a moment"
                )
            task = self._waiting[key] = asyncio.create_task(self._put(key, question))
            self._tasks.add(task)
            task.add_done_callback(self._forget)
        try:
            return await asyncio.shield(task)  # others may be waiting for it when one gives up
        except asyncio.CancelledError:
            if task.cancelled():  # by `close`
                raise closing_error() from None
            raise

    async def close(self) -> None:
        """Give up whatever has no answer yet."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _put(self, key: str, question: Message) -> Any:
        try:
            await self._slots.acquire()
        finally:
            del self._waiting[key]
        self.num_running += 1
        self.num_total += 1
        try:
            answer = await self._link.call(question)
        finally:
            self.num_running -= 1
            self._slots.release()
        if "error" in answer:
            raise error_from_dict(answer["error"])
        return answer["answer"]

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen, even if everyone who asked has left
