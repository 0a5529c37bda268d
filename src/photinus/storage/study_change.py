"""One study inside a transaction, as a store shows it to the code that changes trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from photinus.trial import Trial


class StudyChange(Protocol):
    """One study inside a transaction, with nobody else changing it meanwhile.

    A store notes two keys beside a trial: of the request that added it, and of the one that last handed it out.
    """

    name: str
    now: datetime
    next_number: int  # of the next new trial
    next_event: int  # that the next change will be
    lock: tuple[str, datetime] | None  # who may suggest, and until when; set it to change it

    def find(self, number: int, *, with_reports: bool = True) -> Trial:
        """The trial of that number, or `UnknownTrial`; its reports may be left out where nobody looks."""
        ...

    def find_all(self, numbers: Sequence[int]) -> dict[int, Trial]:
        """The trials of those numbers, or `UnknownTrial` for the first that is not there."""
        ...

    def claimable(self, count: int, worker: str | None) -> list[Trial]:
        """Open trials by number; ones that a claim of `count` trials would not touch may be left out."""
        ...

    def added_by(self, key: str) -> list[Trial]:
        """Trials that a request of that key added, by number."""
        ...

    def handed_out_by(self, key: str) -> list[Trial]:
        """Trials that were last handed out by a request of that key, by number, in whatever state they are now."""
        ...

    def add(self, trial: Trial, key: str | None) -> Trial:
        """Write a new trial that nobody was handed, and spend the event."""
        ...

    def hand_out(self, trial: Trial, key: str | None) -> Trial:
        """Write a trial, new or old, as it is handed out, and spend the event; no key takes an older one's place."""
        ...

    def put(self, trial: Trial) -> Trial:
        """Write a changed trial over the old, whose keys stay, and spend the event."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What a change is expected to spend, so that a store can write its counters ahead."""

    num_events: int = 0
    num_trials: int = 0


NO_CHANGE = Footprint()
ONE_CHANGE = Footprint(num_events=1)
