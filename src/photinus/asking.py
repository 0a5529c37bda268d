"""How trials are handed out: what there is to claim, then what the algorithm suggests.

Several asks of one study can be served together, with one call of the engine for all that is missing. The study's
suggest lock is held while the engine works, so that of several processes each sees the suggestions of the others.
"""

import contextlib
import functools
import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from photinus.backend import AskRequest
from photinus.engine import ENGINE_VERSION
from photinus.errors import LockLost, PhotinusError, SuggestionError
from photinus.heartbeat import Heartbeat
from photinus.record import StudyRecord
from photinus.storage import Draw, Storage
from photinus.trial import Suggestion, Trial

Suggest = Callable[..., list[Suggestion]]  # like `photinus.engine.designers.suggest`

LOCK_TTL_S = 20.0  # how long a process that died while suggesting keeps the others waiting
LOCK_RENEWALS = 4
MAX_LOST_LOCKS = 5  # in one ask; a lock that is lost so often is not renewed, for whatever reason
FIRST_WAIT_S, LONGEST_WAIT_S = 0.001, 0.1  # between looks at a lock that someone else holds

logger = logging.getLogger("photinus")


@dataclass(frozen=True, slots=True)
class Suggester:
    """The algorithm of one study, and what never changes about it."""

    record: StudyRecord  # its state is that of the first ask
    suggest_with: Suggest | None  # None: the engine of this process
    draw: Draw | None  # None: the algorithm looks at the trials

    @classmethod
    def of(cls, storage: Storage, study_id: int, suggest_with: Suggest | None) -> "Suggester":
        """For a study; says so if another version of the engine suggested for it before."""
        from photinus.engine import designers

        record = storage.get_study(study_id)
        others = storage.engine_versions(study_id) - {ENGINE_VERSION}
        if others:
            logger.warning(
                "study %r has trials suggested by engine version %s, this is version %s: it goes on well, "
                "but not exactly as the other version would have",
                record.name,
                ", ".join(sorted(others)),
                ENGINE_VERSION,
            )
        quick = designers.drawing(record.problem, record.seed, algorithm=record.algorithm)
        if quick is None:
            return cls(record, suggest_with, None)

        def draw(first: int, count: int) -> list[Suggestion]:
            return _checked(record, first, count, lambda: quick(first, count))

        return cls(record, suggest_with, draw)

    def suggest(self, trials: list[Trial], count: int) -> list[Suggestion]:
        """The algorithm's suggestions, checked."""
        from photinus.engine import designers

        record, suggest = self.record, self.suggest_with or designers.suggest
        return _checked(
            record,
            len(trials),
            count,
            lambda: suggest(record.problem, trials, count, record.seed, algorithm=record.algorithm),
        )

    def claim_or_draw(self, storage: Storage, request: AskRequest) -> list[Trial]:
        """The trials of a request, if the algorithm need not look at trials."""
        assert self.draw is not None
        return storage.claim_or_draw(
            self.record.id,
            request.count,
            self.draw,
            algorithm=self.record.algorithm,
            engine_version=ENGINE_VERSION,
            worker=request.worker,
            lease_s=request.lease_s,
            key=request.key,
        )


@dataclass(slots=True, eq=False)
class _Ask:
    """A request, and how far it is served."""

    request: AskRequest
    trials: list[Trial] = field(default_factory=list)
    error: PhotinusError | None = None

    @property
    def num_missing(self) -> int:
        return 0 if self.error else self.request.count - len(self.trials)


class Asking:
    """Serves asks of one study; others may do so at the same time, each as an `owner` of the lock of its own."""

    def __init__(
        self, storage: Storage, suggester: Suggester, read_trials: Callable[[int], list[Trial]], owner: str
    ) -> None:
        self._storage = storage
        self._suggester = suggester
        self._record = suggester.record
        self._read_trials = read_trials
        self._owner = owner

    def serve(self, requests: Sequence[AskRequest]) -> list[list[Trial] | PhotinusError]:
        """Exactly the trials that each request wants, or why it has none."""
        asks = [_Ask(request) for request in requests]
        try:
            for turn in _turns(asks):
                if self._suggester.draw is None:
                    self._claim_or_suggest(turn)
                else:
                    self._claim_or_draw(turn)
        except BaseException:
            self._tidy_up(asks)
            raise
        self._tidy_up([ask for ask in asks if ask.error])
        return [ask.error or ask.trials for ask in asks]

    def _claim_or_draw(self, asks: Sequence[_Ask]) -> None:
        for ask in asks:
            try:
                ask.trials = self._suggester.claim_or_draw(self._storage, ask.request)
            except PhotinusError as error:
                ask.error = error

    def _claim_or_suggest(self, asks: Sequence[_Ask]) -> None:
        """Hand out what is there; the suggest lock is held while the algorithm works out what is missing."""
        has_lock = self._claim(asks)
        num_lost = 0
        while short := [ask for ask in asks if ask.num_missing]:
            try:
                if not has_lock:
                    self._wait_for_lock()
                    # Of a request that is served elsewhere too, the other one may have what is missing by now.
                    self._claim([ask for ask in short if ask.request.key is not None])
                self._suggest([ask for ask in short if ask.num_missing])
            except LockLost as error:
                num_lost += 1
                if num_lost == MAX_LOST_LOCKS:
                    _refuse(short, error)
                else:
                    logger.warning("study %r: the suggest lock ran out, suggesting again", self._record.name)
                has_lock = False
            except PhotinusError as error:
                _refuse(short, error)

    def _claim(self, asks: Sequence[_Ask]) -> bool:
        """Hand out what there is for each; whether the suggest lock came with it, because it is not enough."""
        has_lock = False
        for ask in asks:
            try:
                claim = self._storage.claim_trials(
                    self._record.id,
                    ask.request.count,
                    lock_owner=self._owner,
                    lock_s=LOCK_TTL_S,
                    **_taker(ask.request),
                )
                ask.trials, has_lock = claim.trials, has_lock or claim.has_lock
            except PhotinusError as error:
                ask.error = error
        return has_lock

    def _suggest(self, asks: Sequence[_Ask]) -> None:
        """Have the algorithm propose all that is missing, hand it out in order, and give the lock back."""
        if not asks:
            self._storage.release_suggest_lock(self._record.id, self._owner)
            return
        renew = functools.partial(self._storage.renew_suggest_lock, self._record.id, self._owner, LOCK_TTL_S)
        with Heartbeat(renew, LOCK_TTL_S / LOCK_RENEWALS):
            trials = self._read_trials(self._record.id)
            suggestions = iter(self._suggester.suggest(trials, sum(ask.num_missing for ask in asks)))
        for ask in asks:
            share = list(itertools.islice(suggestions, ask.num_missing))
            try:
                ask.trials = ask.trials + self._storage.add_suggestions(
                    self._record.id,
                    share,
                    lock_owner=self._owner,
                    keep_lock=ask is not asks[-1],
                    algorithm=self._record.algorithm,
                    engine_version=ENGINE_VERSION,
                    **_taker(ask.request),
                )
            except LockLost:
                raise
            except PhotinusError as error:
                ask.error = error

    def _wait_for_lock(self) -> None:
        wait_s = FIRST_WAIT_S
        while not self._storage.acquire_suggest_lock(self._record.id, self._owner, LOCK_TTL_S):
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    def _tidy_up(self, asks: Sequence[_Ask]) -> None:
        """Let others have what these asks would have had.

        Whatever stands in the way, a study deleted meanwhile or a full disk, the first error says more.
        """
        # A named worker is given again what it claimed; nobody would find what an anonymous one did.
        for trial in [trial for ask in asks if ask.request.worker is None for trial in ask.trials]:
            with contextlib.suppress(PhotinusError):
                self._storage.release(self._record.id, trial.number, worker=None, attempt=trial.attempts)
        if asks and self._suggester.draw is None:
            with contextlib.suppress(PhotinusError):
                self._storage.release_suggest_lock(self._record.id, self._owner)


def _turns(asks: Sequence[_Ask]) -> Iterator[list[_Ask]]:
    """Asks that can be served together, in order.

    Two of one worker cannot, nor two with one key: the later one is given what the earlier one got.
    """
    while asks:
        turn: list[_Ask] = []
        others: list[_Ask] = []
        seen: set[tuple[str, str]] = set()
        for ask in asks:
            named = (("worker", ask.request.worker), ("key", ask.request.key))
            names = {(kind, name) for kind, name in named if name is not None}
            (others if names & seen else turn).append(ask)
            seen |= names
        yield turn
        asks = others


def _refuse(asks: Sequence[_Ask], error: PhotinusError) -> None:
    for ask in asks:
        if ask.num_missing:
            ask.error = error


def _taker(request: AskRequest) -> dict[str, Any]:
    return {"worker": request.worker, "lease_s": request.lease_s, "key": request.key}


def _checked(
    record: StudyRecord, num_trials: int, count: int, suggest: Callable[[], Sequence[Suggestion]]
) -> list[Suggestion]:
    try:
        suggestions = suggest()
        if len(suggestions) != count:
            raise ValueError(f"{count} suggestions were due, got {len(suggestions)}")
        return [Suggestion(record.problem.space.validate(s.params), s.reason) for s in suggestions]
    except Exception as error:
        raise SuggestionError(
            f"algorithm {record.algorithm!r} could not suggest for study {record.name!r} with {num_trials} "
            f"trials ({type(error).__name__}: {error}); nothing new was added to the study"
        ) from error
