"""Suggestions for a server: worked out beside it, in order for each study, side by side for several.

An event loop owns all of this, and nothing here holds it up. Asks that wait for one study become one batch for
the engine. A caller who gives up leaves nothing broken: what is made for it later is found by the key of its
request, or handed back if it had none.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from photinus.backend import AskRequest
from photinus.engine.designers import drawing
from photinus.errors import SuggestionTimeout, TooManyRequests, UnknownStudy
from photinus.local import LocalBackend
from photinus.service.engine_link import (
    EngineDied,
    EngineLink,
    EngineProcess,
    EngineSettings,
    EngineThreads,
)
from photinus.service.suggesting_asks import Asks, closing_error, died_error
from photinus.service.suggesting_questions import Questions
from photinus.service.suggesting_queue import AskQueue, PendingAsk
from photinus.space import Value
from photinus.storage import Storage
from photinus.trial import Trial

MAX_MERGED = 64  # ours: trials of a batch; the first to ask waits for all of them
GPU_STUDIES = 64  # ours: studies at the same time where they share calls
QUESTION_THREADS = 2  # ours
MAX_QUESTIONS = 64  # ours: that may wait
STORE_THREADS = 4  # ours
HANG_FACTOR, MIN_HANG_S = 4.0, 900.0  # ours: an engine that is silent for so many time-outs will stay so
TIDY_UP_S = 10.0  # ours: for the store, when a server ends

Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Kind:
    """What is known of a study, and in whose turn it is found out."""

    is_drawn: bool | None = None  # None: not looked at yet
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class SuggestionService:
    """What the routes ask for suggestions, predictions and pictures. All methods are for one event loop."""

    def __init__(
        self,
        storage: Storage,
        *,
        address: str | None,
        device: str = "cpu",
        shares_calls: bool | None = None,
        threads: int = 4,
        max_waiting: int = 1000,
        max_waiting_per_study: int | None = None,
        timeout_s: float = 300.0,
        hang_s: float | None = None,
        store_threads: Executor | None = None,
    ) -> None:
        """Nothing runs before `start`.

        Args:
            storage: the server's own way to the store.
            address: of the same store, for the engine process; None for a store in memory, where the engine runs in
                threads of this process.
            device: where the engine computes, "cpu" or "gpu".
            shares_calls: whether studies of one shape that wait at the same moment go through the engine together;
                if left out, on a GPU only: there it is quicker, and elsewhere traffic shall not change a suggestion.
            threads: studies that are suggested for at the same time, if they do not share calls.
            max_waiting: asks that may wait; the next one is refused.
            max_waiting_per_study: the same for one study; half of all if left out.
            timeout_s: how long a caller waits.
            hang_s: after which an engine that does not answer is ended; some time-outs if left out.
            store_threads: where calls of the store run; threads of this service's own if left out.
        """
        shares_calls = device == "gpu" if shares_calls is None else shares_calls
        num_studies = GPU_STUDIES if shares_calls else threads
        self._storage = storage
        self._local = LocalBackend(storage)
        self._own_threads: ThreadPoolExecutor | None = None
        if store_threads is None:
            store_threads = self._own_threads = ThreadPoolExecutor(STORE_THREADS, "photinus-store")
        self._store_threads = store_threads
        self._link = _link(storage, address, device, shares_calls, num_studies)
        self._asks = Asks(
            self._link,
            storage,
            store_threads,
            AskQueue(
                max_waiting=max_waiting,
                max_waiting_per_study=max_waiting_per_study or -(-max_waiting // 2),
                max_trials=MAX_MERGED,
            ),
            max_running=num_studies,
            hang_s=max(HANG_FACTOR * timeout_s, MIN_HANG_S) if hang_s is None else hang_s,
        )
        self._questions = Questions(self._link, max_running=QUESTION_THREADS, max_waiting=MAX_QUESTIONS)
        self._timeout_s = timeout_s
        self._kinds: dict[int, _Kind] = {}  # by study; an id is never used again
        self._is_closing = False
        self._num_asks = self._num_drawn = self._num_timed_out = self._num_refused = 0

    async def start(self) -> None:
        """Have the engine ready; raises what keeps it from that."""
        await self._link.start()

    async def close(self, grace_s: float = 20.0) -> None:
        """Refuse what waits, finish within `grace_s` what is under way, and hand back the rest."""
        self._is_closing = True
        self._asks.refuse_waiting()
        await self._asks.settled(grace_s)
        await self._questions.close()
        await self._link.close()
        await self._asks.settled(TIDY_UP_S)
        if self._own_threads is not None:
            self._own_threads.shutdown(wait=False)

    async def ask(self, study_id: int, request: AskRequest) -> list[Trial]:
        """See `Backend.ask`; asks of one study that wait at the same time share one call of the engine."""
        self._num_asks += 1
        try:
            pending = await self._enter(study_id, request)
        except TooManyRequests:
            self._num_refused += 1
            raise
        except UnknownStudy:
            self._kinds.pop(study_id, None)
            raise
        if pending is None:
            ask = partial(self._local.ask, worker=request.worker, lease_s=request.lease_s, key=request.key)
            trials = await self._in_thread(partial(ask, study_id, request.count))
            self._num_drawn += len(trials)
            return trials
        try:
            return await self._limited(pending.trials)
        finally:
            self._asks.withdraw(pending)

    async def predict(
        self, study_id: int, points: Sequence[Mapping[str, Value]], *, max_trials: int | None = None
    ) -> list[dict[str, dict[str, float | None]]]:
        """See `Study.predict`."""
        rows = [dict(point) for point in points]
        return await self._question(kind="predict", study=study_id, points=rows, max_trials=max_trials)

    async def describe_model(self, study_id: int, *, max_trials: int | None = None) -> dict[str, Any]:
        """See `Study.describe_model`."""
        return await self._question(kind="describe_model", study=study_id, max_trials=max_trials)

    async def plot(self, study_id: int, kind: str, options: Mapping[str, Any] | None = None) -> str:
        """A picture of `study.plot`, as Plotly's JSON; its option `dark` is for a page with a dark background."""
        return await self._question(kind="plot", study=study_id, plot=kind, options=dict(options or {}))

    def stats(self) -> dict[str, float]:
        """Numbers for metrics and health; those with `total` or `restarts` in their names only ever grow."""
        return {
            "alive": self._link.is_alive,
            "restarts": self._link.num_restarts,
            "asks_waiting": self._asks.num_waiting,
            "studies_running": self._asks.num_running,
            "questions_waiting": self._questions.num_waiting,
            "questions_running": self._questions.num_running,
            "questions_total": self._questions.num_total,
            "asks_total": self._num_asks,
            "trials_total": self._asks.num_trials + self._num_drawn,
            "calls_total": self._asks.num_calls,
            "seconds_total": self._asks.engine_s,
            "failed_total": self._asks.num_failed,
            "timed_out_total": self._num_timed_out,
            "refused_total": self._num_refused,
        }

    async def _enter(self, study_id: int, request: AskRequest) -> PendingAsk | None:
        """Put an ask in line; None for a study whose algorithm looks at nothing but numbers of trials."""
        kind = self._kinds.setdefault(study_id, _Kind())
        # Whoever comes first goes first, also while the store is asked what kind of study it is.
        async with kind.turn:
            if kind.is_drawn is None:
                record = await self._in_thread(partial(self._storage.get_study, study_id))
                kind.is_drawn = drawing(record.problem, record.seed, algorithm=record.algorithm) is not None
            if kind.is_drawn:
                return None
            self._refuse_if_closing()
            return self._asks.add(study_id, request)

    async def _question(self, **question: Any) -> Any:
        self._refuse_if_closing()
        try:
            return await self._limited(self._questions.ask(question))
        except TooManyRequests:
            self._num_refused += 1
            raise
        except EngineDied as death:
            raise (closing_error() if self._is_closing else died_error(death)) from None

    async def _limited(self, wait: Awaitable[Result]) -> Result:
        """What is waited for, but not for ever."""
        try:
            return await asyncio.wait_for(wait, self._timeout_s)
        except TimeoutError:
            self._num_timed_out += 1
            raise SuggestionTimeout(
                f"no answer within {self._timeout_s:g} s: the engine goes on with what it has begun, and the same "
                "request with the same idempotency key is given what comes of it"
            ) from None

    def _refuse_if_closing(self) -> None:
        if self._is_closing:
            raise closing_error()

    async def _in_thread(self, call: "partial[Result]") -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._store_threads, call)


def _link(
    storage: Storage, address: str | None, device: str, shares_calls: bool, num_studies: int
) -> EngineLink:
    if address is None:
        return EngineThreads(storage, device, shares_calls, num_studies + QUESTION_THREADS)
    return EngineProcess(
        EngineSettings(
            address=address,
            device=device,
            shares_calls=shares_calls,
            ask_threads=num_studies,
            question_threads=QUESTION_THREADS,
        )
    )
