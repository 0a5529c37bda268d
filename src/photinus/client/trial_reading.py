"""How a client brings the trials it knows up to date: page by page at first, then by what changed."""

from collections.abc import Callable
from dataclasses import dataclass

from photinus.client import calls
from photinus.client.messages import Call, TrialPage
from photinus.trial_cache import KnownTrials


@dataclass(frozen=True, slots=True)
class TrialReading:
    """The `refresh` of a `TrialCache`, over a connection."""

    run: Callable[[Call[TrialPage]], TrialPage]

    def __call__(self, study_id: int, known: KnownTrials) -> None:
        """Bring what is known of a study up to date."""
        if not known.trials and not self._read_pages(study_id, known):
            return
        changes = self.run(calls.get_changes(study_id, known.seen_event))
        if changes.last_event < known.seen_event:  # its store was put back to an older copy
            known.trials, known.seen_event = [], 0
            self(study_id, known)
            return
        known.take(changes.trials)
        known.seen_event = changes.last_event

    def _read_pages(self, study_id: int, known: KnownTrials) -> bool:
        """Read everything; whether trials may have changed while that went on."""
        page = self.run(calls.find_trials(study_id))
        trials, is_whole = list(page.trials), page.next_number is None
        known.seen_event = page.last_event  # of the first page: what changes after it is read again
        while page.next_number is not None:
            page = self.run(calls.find_trials(study_id, after=page.next_number))
            trials += page.trials
        known.trials = trials
        return not is_whole
