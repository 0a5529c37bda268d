"""Trials of studies as last read, so that whoever needs all of them reads only what changed."""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from photinus.errors import UnknownStudy
from photinus.storage import Storage
from photinus.trial import Trial

MAX_TRIALS = 100_000  # ours: some hundred megabytes


@dataclass(slots=True, eq=False)
class KnownTrials:
    """What was read of one study."""

    reading: threading.Lock = field(default_factory=threading.Lock)  # held by whoever reads it up to date
    trials: list[Trial] = field(default_factory=list)  # by number
    seen_event: int = 0

    def take(self, changed: Sequence[Trial]) -> None:
        """Put changed and new trials, in order, into their places."""
        for trial in changed:
            self.trials[trial.number : trial.number + 1] = [trial]


Refresh = Callable[[int, KnownTrials], None]  # (study, what is known) brings the latter up to date


class TrialCache:
    """Trials of the studies that were read last. Safe for threads; no study waits for another."""

    def __init__(self, refresh: Refresh, *, max_trials: int = MAX_TRIALS) -> None:
        self._refresh = refresh
        self._max_trials = max_trials
        self._mutex = threading.Lock()
        self._studies: OrderedDict[int, KnownTrials] = OrderedDict()  # the one read last is the last

    @classmethod
    def of_storage(cls, storage: Storage, *, max_trials: int = MAX_TRIALS) -> "TrialCache":
        """Of what a store holds."""
        return cls(functools.partial(_read_changes, storage), max_trials=max_trials)

    def read(self, study_id: int) -> list[Trial]:
        """All trials of the study now, by number."""
        with self._mutex:
            known = self._studies.setdefault(study_id, KnownTrials())
            self._studies.move_to_end(study_id)
        try:
            with known.reading:
                self._refresh(study_id, known)
                trials = list(known.trials)
        except UnknownStudy:
            with self._mutex:
                self._studies.pop(study_id, None)
            raise
        self._forget_oldest()
        return trials

    def _forget_oldest(self) -> None:
        with self._mutex:
            num_trials = sum(len(known.trials) for known in self._studies.values())
            while num_trials > self._max_trials and len(self._studies) > 1:
                _, oldest = self._studies.popitem(last=False)
                num_trials -= len(oldest.trials)


def _read_changes(storage: Storage, study_id: int, known: KnownTrials) -> None:
    changed = storage.get_trials(study_id, since_event=known.seen_event)
    known.take(changed)
    known.seen_event = max([known.seen_event, *(trial.updated_event for trial in changed)])
