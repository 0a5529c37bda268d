"""Getting an answer in spite of restarts, dropped connections and busy servers, without any input or output.

`deliver` is a conversation with whoever can send and wait: it yields a `Request` and is sent its outcome, or yields a
`Pause` to be waited for. The synchronous and the asynchronous connection both drive it.

Repeating is safe: what the server may do once only carries a key, by which it knows a repeated request; some things are
the same when done twice; and for the rest the call has a `look`, which tells whether an earlier request had its effect.
"""

import logging
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from photinus.client.answers import is_ours
from photinus.client.messages import Call, NoResponse, Outcome, Request, Response, Unsettled
from photinus.errors import ConnectionLost

FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0
BUSY = (429, 503)
PASSING = (408, 429, 502, 503, 504)  # the same request may well succeed a moment later

logger = logging.getLogger("photinus")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pause:
    """So many seconds of waiting."""

    seconds: float


Steps = Generator[Request | Pause, Outcome | None, T]


class Patience:
    """How long to go on trying; shared by all who use one connection.

    A server is given `retry_s` from the moment it was first missed, not from the moment each caller missed it: when a
    loop gives up, its heartbeat and its tidying up need not each wait as long again.
    """

    def __init__(
        self,
        url: str,
        retry_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        seed: int | None = None,
    ) -> None:
        self.url = url
        self.retry_s = retry_s
        self.clock = clock
        self._jitter = random.Random(seed)
        self._missed_since: float | None = None
        self._last_missed = 0.0

    def miss(self, what: str) -> float:
        """Note that there was no answer; when to give up."""
        now = self.clock()
        # A miss long after the last one is the beginning of another outage.
        if self._missed_since is None or now - self._last_missed > self.retry_s:
            self._missed_since = now
            if self.retry_s:
                logger.warning("%s: %s; trying again for up to %.0f s", self.url, what, self.retry_s)
        self._last_missed = now
        return self._missed_since + self.retry_s

    def heard(self) -> None:
        """Note that the server answers."""
        if self._missed_since is not None:
            self._missed_since = None
            logger.warning("%s answers again", self.url)

    def wait_s(self, num_tries: int) -> float:
        """Twice as long each time, and never the same for two clients that lost the server together."""
        longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(num_tries, 20))
        return longest * self._jitter.uniform(0.5, 1.0)


def deliver(call: Call[T], patience: Patience) -> Steps[T]:
    """The call's answer, sent for as often as it takes; raises the error that the answer stands for."""
    end: float | None = None
    may_have_acted = False
    num_tries = 0
    while True:
        if may_have_acted and call.look is not None:
            found = yield from deliver(call.look, patience)
            if not isinstance(found, Unsettled):
                return found
        outcome = yield call.request
        assert outcome is not None
        if isinstance(outcome, Response) and is_ours(outcome):
            patience.heard()
        if not _is_worth_repeating(outcome):
            return _conclude(call, outcome, patience)
        may_have_acted = may_have_acted or _may_have_acted(outcome)
        now, asked_s = patience.clock(), _asked_to_wait_s(outcome)
        end = now + patience.retry_s if end is None else end
        if isinstance(outcome, NoResponse) or not is_ours(outcome):
            end = min(end, patience.miss(_describe(outcome)))
        if now >= end or asked_s > end - now:
            return _conclude(call, outcome, patience)
        yield Pause(min(max(patience.wait_s(num_tries), asked_s), end - now))
        num_tries += 1


def _conclude(call: Call[T], outcome: Outcome, patience: Patience) -> T:
    """What the last outcome means."""
    if isinstance(outcome, Response) and (is_ours(outcome) or not _is_worth_repeating(outcome)):
        return call.read(outcome)
    raise _lost(patience, outcome)


def _is_worth_repeating(outcome: Outcome) -> bool:
    if isinstance(outcome, NoResponse):
        return not outcome.is_final
    if outcome.status in BUSY and is_ours(outcome):
        return "retry-after" in outcome.headers  # without it, waiting does not help
    return outcome.status in PASSING


def _may_have_acted(outcome: Outcome) -> bool:
    if isinstance(outcome, NoResponse):
        return outcome.may_have_acted
    return outcome.status not in (408, 429)


def _asked_to_wait_s(outcome: Outcome) -> float:
    text = outcome.headers.get("retry-after", "") if isinstance(outcome, Response) else ""
    return float(text) if text.isdecimal() else 0.0  # it may be a date: then our own waiting has to do


def _describe(outcome: Outcome) -> str:
    if isinstance(outcome, NoResponse):
        return outcome.what
    return f"a proxy in front of it answers {outcome.status}"


def _lost(patience: Patience, outcome: Outcome) -> ConnectionLost:
    if isinstance(outcome, NoResponse) and outcome.is_final:
        return ConnectionLost(f"{patience.url} cannot be talked to: {outcome.what}")
    return ConnectionLost(
        f"{patience.url} gave no answer for {patience.retry_s:g} s ({_describe(outcome)}): see that the server runs "
        "and can be reached from here, then try again; what it acknowledged before is kept"
    )
