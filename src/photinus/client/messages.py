"""What goes to a server and comes back, without any input or output: requests, and what became of them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from photinus.record import StudyProgress
from photinus.trial import Trial

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; `path` is relative to the API's."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    key: str | None = None  # the server does the same once only for all requests with this key
    is_slow: bool = False  # the server has to compute

    @property
    def content(self) -> bytes | None:
        """The body as JSON. Floats are written with all their digits."""
        if self.body is None:
            return None
        return json.dumps(self.body, allow_nan=False, separators=(",", ":")).encode()

    @property
    def headers(self) -> dict[str, str]:
        """What the server must know beside the body."""
        headers = {} if self.body is None else {"Content-Type": "application/json"}
        return headers if self.key is None else headers | {"Idempotency-Key": self.key}


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, by the server or by a proxy in front of it."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    content: bytes

    def json(self) -> Any:
        """The body; None if it is no JSON."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class NoResponse:
    """There was no answer, or not all of one."""

    what: str  # for people
    may_have_acted: bool  # the request was sent: only its answer may be lost
    is_final: bool = False  # it will be the same next time


Outcome = Response | NoResponse


class Unsettled:
    """It is not known yet that an earlier request had its effect."""


UNSETTLED = Unsettled()


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request with the meaning of its answer."""

    request: Request
    read: Callable[[Response], T]  # raises the error that the answer stands for
    # For requests that are not the same when done twice: to be asked when the answer to an earlier one was lost.
    look: "Call[T | Unsettled] | None" = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the studies, and where to go on."""

    entries: list[StudyProgress]
    next_id: int | None  # None: these were the last


@dataclass(frozen=True, slots=True)
class TrialPage:
    """Some of a study's trials, and where to go on."""

    trials: list[Trial]
    next_number: int | None  # None: these were the last
    last_event: int  # of the study; what is changed later has a later one
