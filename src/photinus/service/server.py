"""What a running server holds: the store and its threads, the engine, tokens, and what is kept between requests."""

import asyncio
import contextlib
import functools
import json
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, Protocol, TypeVar

from starlette.responses import Response

from photinus.errors import PermissionDenied, UnknownStudy
from photinus.exchange import record_to_dict
from photinus.record import StudyProgress, StudyRecord
from photinus.service.auth import Identity, Sessions, TokenCache
from photinus.service.bests import Bests
from photinus.service.metrics import Metrics
from photinus.service.settings import MEMORY, Settings
from photinus.service.suggesting import SuggestionService
from photinus.storage import Storage, open_storage
from photinus.storage.lifecycle import unknown_study
from photinus.texts import plain_json

MAX_RECORDS = 10_000  # ours: definitions of studies that are kept

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class VizierPort(Protocol):
    """What answers google-vizier clients, where there is such a thing."""

    async def stop(self, grace: float | None) -> None:
        """Answer nobody new, and end after so many seconds at the latest."""
        ...


class Server:
    """One server process. Made with the application, started and closed with its lifespan."""

    storage: Storage
    suggestions: SuggestionService
    tokens: TokenCache
    bests: Bests

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.is_running = False
        self.metrics = Metrics(lambda: self.suggestions.stats() if self.is_running else {})
        key = settings.session_key
        self.sessions = Sessions(None if key is None else key.get_secret_value(), settings.session_s)
        self._vizier: VizierPort | None = None
        self._threads = ThreadPoolExecutor(settings.store_threads, "photinus-store")
        self._records: dict[int, StudyRecord] = {}  # by id, which is never used again; the oldest comes first

    async def start(self) -> None:
        """Open the store and have the engine ready; raises what keeps it from that."""
        settings = self.settings
        address = None if settings.storage == MEMORY else settings.storage
        self.storage = await self.run(open_storage, address)
        self.tokens = TokenCache(self.storage.get_token, settings.token_cache_s)
        self.bests = Bests(self.storage)
        self.suggestions = SuggestionService(
            self.storage,
            address=address,
            device=settings.device,
            threads=settings.engine_threads,
            max_waiting=settings.max_queued_asks,
            timeout_s=settings.ask_timeout_s,
            store_threads=self._threads,
        )
        await self.suggestions.start()
        self.is_running = True
        if settings.grpc_address is not None:
            from photinus.service.vizier import listen

            self._vizier = await listen(self)

    async def close(self) -> None:
        """Finish what is under way, or hand it back, and let go of the store."""
        if self.is_running:
            self.is_running = False
            grace_s = self.settings.grace_s
            stopping = [] if self._vizier is None else [self._vizier.stop(grace_s)]
            await asyncio.gather(self.suggestions.close(grace_s), *stopping)
        self._threads.shutdown(wait=True)
        close = getattr(getattr(self, "storage", None), "close", None)
        if close is not None:
            close()

    async def run(
        self,
        function: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Call something that may wait for the store, in a thread, so that nobody else waits for it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, functools.partial(function, *args, **kwargs))

    async def answer(self, function: Callable[[], Any], status: int = 200) -> Response:
        """The answer to a request: what the function returns, as JSON. Both are made in a thread."""
        return Response(await self.run(lambda: encode(function())), status, media_type="application/json")

    async def find_study(self, study_id: int, caller: Identity) -> StudyRecord:
        """The study, if the caller may know of it; its state and metadata may be of an earlier time.

        What is in another project looks exactly like what is not there at all, and takes as long to look for: the
        store is asked for this study of this project in either case.
        """
        record = self._records.get(study_id)
        if record is None or not caller.sees(record.project):
            found = await self.run(self.storage.progress, caller.project, study_ids=[study_id])
            if not found:
                raise unknown_study(study_id)
            record = self._records[study_id] = found[0].record
            if len(self._records) > MAX_RECORDS:
                del self._records[next(iter(self._records))]
        return record

    def has_study(self, project: str, name: str) -> bool:
        """Whether there is a study of that name."""
        try:
            self.storage.find_study(project, name)
        except UnknownStudy:
            return False
        return True

    def check_studies_limit(self, caller: Identity) -> None:
        """Refuse a new study to a token that has made enough of them."""
        limit = self.settings.max_studies_per_token
        # Not `TooManyRequests`: waiting does not help.
        if caller.token_id is not None and self.storage.count_studies(caller.token_id) >= limit:
            raise PermissionDenied(
                f"a token may have made at most {limit} studies, and {caller.name!r} has: delete some of them, or "
                "raise the server's setting `max_studies_per_token`"
            )

    def describe(self, study_id: int) -> dict[str, Any]:
        """A study as it is shown."""
        described = self.describe_all([study_id])
        if not described:
            raise unknown_study(study_id)
        return described[0]

    def describe_all(self, study_ids: Collection[int]) -> list[dict[str, Any]]:
        """Studies as they are shown, in the order of the ids; those deleted meanwhile are left out."""
        found = {entry.record.id: entry for entry in self.storage.progress(study_ids=study_ids)}
        described: list[dict[str, Any]] = []
        for study_id in study_ids:
            with contextlib.suppress(UnknownStudy):
                if study_id in found:
                    described.append(self._describe(found[study_id]))
        return described

    def _describe(self, progress: StudyProgress) -> dict[str, Any]:
        best = self.bests.find(progress)
        is_multi = progress.record.problem.is_multi_objective
        changed_at = progress.last_change_at
        return {
            "id": progress.record.id,
            **record_to_dict(progress.record),
            "last_event": progress.last_event,
            "counts": {state.value: count for state, count in progress.counts.items()},
            "last_change_at": None if changed_at is None else changed_at.isoformat(),
            "num_workers": progress.num_workers,
            "best": {"number": best[0].number, "values": best[0].values} if best and not is_multi else None,
            "pareto_size": len(best) if is_multi else None,
        }


def encode(data: Any) -> bytes:
    """Plain values as JSON, floats with all their digits; infinities and NaN, which JSON lacks, as text."""
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        return encode(plain_json(data))
