"""Asks that wait for the engine: in order within a study, and every study in its turn."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from photinus.backend import AskRequest
from photinus.errors import TooManyRequests
from photinus.trial import Trial


@dataclass(eq=False, slots=True)
class PendingAsk:
    """One caller's wish, and where its trials will appear."""

    study_id: int
    request: AskRequest
    trials: asyncio.Future[list[Trial]]


@dataclass(slots=True)
class _Line:
    """The asks of one study."""

    asks: deque[PendingAsk] = field(default_factory=deque)
    is_busy: bool = False


class AskQueue:
    """Lines of asks, one for each study that has any.

    A study whose batch is under way gets its next turn when `finish` is called for it; what arrives meanwhile is
    merged into that next batch.
    """

    def __init__(self, *, max_waiting: int, max_waiting_per_study: int, max_trials: int) -> None:
        self._max_waiting = max_waiting
        self._max_waiting_per_study = max_waiting_per_study
        self._max_trials = max_trials  # of a batch with more than one ask
        self._lines: dict[int, _Line] = {}
        self._turns: deque[int] = deque()  # studies with asks that are not busy, the longest waiting first
        self._num_waiting = 0

    def __len__(self) -> int:
        return self._num_waiting

    def add(self, ask: PendingAsk) -> None:
        """Put an ask at the end of its study's line; `TooManyRequests` if there is no room."""
        line = self._lines.get(ask.study_id)
        num_in_line = 0 if line is None else len(line.asks)
        if self._num_waiting >= self._max_waiting or num_in_line >= self._max_waiting_per_study:
            raise TooManyRequests(
                f"{self._num_waiting} asks wait for suggestions, {num_in_line} of them for this study, and the "
                f"limits are {self._max_waiting} and {self._max_waiting_per_study}: ask again in a moment"
            )
        if line is None:
            line = self._lines[ask.study_id] = _Line()
        if not line.asks and not line.is_busy:
            self._turns.append(ask.study_id)
        line.asks.append(ask)
        self._num_waiting += 1

    def remove(self, ask: PendingAsk) -> None:
        """Take an ask out that has not been served yet; nothing happens if it has."""
        line = self._lines.get(ask.study_id)
        if line is None or ask not in line.asks:
            return
        line.asks.remove(ask)
        self._num_waiting -= 1
        if not line.asks and not line.is_busy:
            self._turns.remove(ask.study_id)
            del self._lines[ask.study_id]

    def next_batch(self) -> list[PendingAsk]:
        """All that can be served together for the study whose turn it is; empty if no study waits."""
        if not self._turns:
            return []
        line = self._lines[self._turns.popleft()]
        line.is_busy = True
        batch = [line.asks.popleft()]
        num_trials, keys = batch[0].request.count, {batch[0].request.key}
        while line.asks:
            request = line.asks[0].request
            num_trials += request.count
            # A repeated request finds by its key what the first one was given, so it has to come after it.
            if num_trials > self._max_trials or (request.key is not None and request.key in keys):
                break
            keys.add(request.key)
            batch.append(line.asks.popleft())
        self._num_waiting -= len(batch)
        return batch

    def finish(self, study_id: int) -> None:
        """Give the study its next turn, behind the others."""
        line = self._lines[study_id]
        line.is_busy = False
        if line.asks:
            self._turns.append(study_id)
        else:
            del self._lines[study_id]

    def drain(self) -> list[PendingAsk]:
        """Take out everything that waits."""
        waiting = [ask for line in self._lines.values() for ask in line.asks]
        for ask in waiting:
            self.remove(ask)
        return waiting
