"""Trials as last read from a server, so that reading them again costs what changed and not all there is."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from photinus.client import calls
from photinus.client.messages import Call, TrialPage
from photinus.errors import UnknownStudy
from photinus.trial import Trial

MAX_TRIALS = 100_000  # ours: some hundred megabytes


@dataclass(slots=True)
class _Known:
    """What was read of one study."""

    trials: list[Trial] = field(default_factory=list)  # by number
    seen_event: int = 0
    mutex: threading.Lock = field(default_factory=threading.Lock)


class TrialCache:
    """Trials of the studies that were read last. Safe for threads; no study waits for another."""

    def __init__(self, run: Callable[[Call[TrialPage]], TrialPage], *, max_trials: int = MAX_TRIALS) -> None:
        self._run = run
        self._max_trials = max_trials
        self._mutex = threading.Lock()
        self._known: OrderedDict[int, _Known] = OrderedDict()  # the one read last is the last

    def read(self, study_id: int) -> list[Trial]:
        """All trials of the study now, by number."""
        with self._mutex:
            known = self._known.setdefault(study_id, _Known())
            self._known.move_to_end(study_id)
        try:
            with known.mutex:
                self._refresh(study_id, known)
                trials = list(known.trials)
        except UnknownStudy:
            with self._mutex:
                self._known.pop(study_id, None)
            raise
        self._forget_oldest()
        return trials

    def _forget_oldest(self) -> None:
        with self._mutex:
            num_trials = sum(len(known.trials) for known in self._known.values())
            while num_trials > self._max_trials and len(self._known) > 1:
                _, oldest = self._known.popitem(last=False)
                num_trials -= len(oldest.trials)

    def _refresh(self, study_id: int, known: _Known) -> None:
        if not known.trials and not self._read_pages(study_id, known):
            return
        changes = self._run(calls.get_changes(study_id, known.seen_event))
        if changes.last_event < known.seen_event:  # its store was put back to an older copy
            known.trials, known.seen_event = [], 0
            self._refresh(study_id, known)
            return
        for trial in changes.trials:
            known.trials[trial.number : trial.number + 1] = [trial]
        known.seen_event = changes.last_event

    def _read_pages(self, study_id: int, known: _Known) -> bool:
        """Read everything; whether trials may have changed while that went on."""
        page = self._run(calls.find_trials(study_id))
        trials, is_whole = list(page.trials), page.next_number is None
        known.seen_event = page.last_event  # of the first page: what changes after it is read again
        while page.next_number is not None:
            page = self._run(calls.find_trials(study_id, after=page.next_number))
            trials += page.trials
        known.trials = trials
        return not is_whole
