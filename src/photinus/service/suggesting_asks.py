"""Asks on their way through the engine: batches out, trials back, and order whatever happens between."""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from photinus.backend import AskRequest
from photinus.errors import PhotinusError, SuggestionError, TooManyRequests, UnknownStudy
from photinus.service.engine_frames import Message, error_from_dict, error_to_dict
from photinus.service.engine_link import EngineDied, EngineLink
from photinus.service.suggesting_queue import AskQueue, PendingAsk
from photinus.storage import Storage
from photinus.trial import Trial

logger = logging.getLogger("photinus.service")


class EngineLost(SuggestionError):
    """The engine died before it had an answer, perhaps of something else; goes out as `SuggestionError`."""

    status = 503
    retry_after_s = (
        1  # the next engine may well have it, and finds by its key what a repeated request was given
    )


class Asks:
    """Gives the engine one batch of asks after another for each study, several studies at a time.

    A batch that the engine dies of is failed at once, and the study is free again. Trials that come when nobody waits
    any more are found by the key of their request, or by the name of their worker; those of neither are handed back.
    """

    def __init__(
        self,
        link: EngineLink,
        storage: Storage,
        store_threads: Executor,
        queue: AskQueue,
        *,
        max_running: int,
        hang_s: float,
    ) -> None:
        self._link = link
        self._storage = storage
        self._store_threads = store_threads
        self._queue = queue
        self._max_running = max_running
        self._hang_s = hang_s
        self._batches: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self.num_calls = self.num_trials = self.num_failed = 0
        self.engine_s = 0.0

    @property
    def num_waiting(self) -> int:
        """Asks that the engine has not begun with."""
        return len(self._queue)

    @property
    def num_running(self) -> int:
        """Studies that the engine is busy with."""
        return len(self._batches)

    def add(self, study_id: int, request: AskRequest) -> PendingAsk:
        """Have an ask served in its turn; `TooManyRequests` if too many others wait."""
        ask = PendingAsk(study_id, request, asyncio.get_running_loop().create_future())
        self._queue.add(ask)
        self._dispatch()
        return ask

    def withdraw(self, ask: PendingAsk) -> None:
        """Forget an ask that nobody waits for, unless the engine has begun with it."""
        self._queue.remove(ask)

    def refuse_waiting(self) -> None:
        """Begin with nothing more."""
        self._is_closing = True
        for ask in self._queue.drain():
            self._fail(ask, closing_error())

    async def settled(self, limit_s: float) -> None:
        """Wait until what the engine has begun with is served or failed."""
        if self._batches:
            await asyncio.wait(self._batches, timeout=limit_s)

    def _dispatch(self) -> None:
        while len(self._batches) < self._max_running and (batch := self._queue.next_batch()):
            task = asyncio.create_task(self._serve(batch))
            self._batches.add(task)
            task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._batches.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a batch of asks ended with an unexpected error", exc_info=error)
        if not self._is_closing:
            self._dispatch()

    async def _serve(self, batch: list[PendingAsk]) -> None:
        """One call of the engine for asks of one study."""
        study_id, owner = batch[0].study_id, uuid.uuid4().hex
        # With a key for every request, what a dying engine leaves behind is found again.
        requests = [ask.request if ask.request.key else _with_key(ask.request) for ask in batch]
        job = {"kind": "ask", "study": study_id, "owner": owner, "requests": [asdict(r) for r in requests]}
        clock = asyncio.get_running_loop().time
        began_at = clock()
        self.num_calls += 1
        try:
            results = _results(await self._call(job), len(batch))
            self.engine_s += clock() - began_at
            for ask, result in zip(batch, results, strict=True):
                await self._deliver(ask, result)
        except EngineDied as death:
            for ask in batch:
                self._fail(ask, closing_error() if self._is_closing else died_error(death))
            nameless = [r for ask, r in zip(batch, requests, strict=True) if _is_nameless(ask.request)]
            await self._tidy_up(study_id, owner, nameless)
        except Exception as error:
            for ask in batch:
                self._fail(ask, error_from_dict(error_to_dict(error)))
            raise
        finally:
            self._queue.finish(study_id)

    async def _call(self, job: Message) -> Message:
        """The engine's answer. One that never comes would block the study for ever: such an engine is ended."""
        try:
            return await asyncio.wait_for(self._link.call(job), self._hang_s)
        except TimeoutError:
            self._link.kill()
            raise EngineDied(f"no answer for {self._hang_s:g} s") from None

    async def _deliver(self, ask: PendingAsk, result: list[Trial] | PhotinusError) -> None:
        if isinstance(result, PhotinusError):
            self._fail(ask, result)
            return
        self.num_trials += len(result)
        if not ask.trials.done():
            ask.trials.set_result(result)
        elif _is_nameless(ask.request):
            await self._in_thread(partial(self._hand_back, ask.study_id, result))

    def _fail(self, ask: PendingAsk, error: PhotinusError) -> None:
        self.num_failed += 1
        if not ask.trials.done():
            ask.trials.set_exception(error)

    async def _tidy_up(self, study_id: int, owner: str, requests: Sequence[AskRequest]) -> None:
        """Let others have what an engine that died left in the store, of requests that nobody can repeat."""
        try:
            await self._in_thread(partial(self._storage.release_suggest_lock, study_id, owner))
            for request in requests:
                await self._in_thread(partial(self._storage.release_request, study_id, request.key or ""))
        except UnknownStudy:
            pass  # deleted meanwhile
        except PhotinusError:
            logger.warning(
                "study %s: what a dead engine left behind stays until it expires", study_id, exc_info=True
            )

    def _hand_back(self, study_id: int, trials: Sequence[Trial]) -> None:
        """Let trials go to whoever asks next."""
        for trial in trials:
            with contextlib.suppress(PhotinusError):  # told by someone meanwhile, or deleted
                self._storage.release(study_id, trial.number, worker=None, attempt=trial.attempts)

    async def _in_thread(self, call: "partial[Any]") -> None:
        await asyncio.get_running_loop().run_in_executor(self._store_threads, call)


def closing_error() -> TooManyRequests:
    """What a stopping server says; whoever hears it asks again, of it or of another server."""
    return TooManyRequests("the server is stopping: ask again in a moment")


def died_error(death: EngineDied) -> SuggestionError:
    """What a caller hears whose answer died with the engine."""
    return EngineLost(
        f"the engine process ended before it had an answer ({death}); it is started again: ask again"
    )


def _is_nameless(request: AskRequest) -> bool:
    """Whether nobody could ask for its trials again."""
    return request.key is None and request.worker is None


def _with_key(request: AskRequest) -> AskRequest:
    return replace(request, key=uuid.uuid4().hex)


def _results(answer: Message, count: int) -> list[list[Trial] | PhotinusError]:
    """One result for each ask; an error of the whole batch is one for all of them."""
    if "error" in answer:
        return [error_from_dict(answer["error"]) for _ in range(count)]
    return [
        error_from_dict(result["error"])
        if "error" in result
        else [Trial.from_dict(trial) for trial in result["trials"]]
        for result in answer["results"]
    ]
