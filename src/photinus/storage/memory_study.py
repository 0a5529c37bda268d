"""One study in memory, and a change of it.

New trials are made first and put in their places last, all of them by one assignment. The list of trials is the
truth. `history`, `unfinished` and the keys only say where to look: they may name too many trials, never too few. So a
KeyboardInterrupt between two steps may waste events, no more.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from photinus.record import StudyProgress, StudyRecord
from photinus.storage import lifecycle
from photinus.trial import Trial, TrialState


@dataclass(slots=True)
class Keys:
    """Which request each trial is from."""

    by_number: dict[int, str] = field(default_factory=dict)
    numbers: dict[str, list[int]] = field(default_factory=dict)  # also of trials with another key by now

    def find(self, key: str) -> list[int]:
        """Numbers of the request's trials, in order."""
        return sorted({n for n in self.numbers.get(key, ()) if self.by_number.get(n) == key})

    def note(self, keys: dict[int, str | None]) -> None:
        """Have these numbers be from these requests."""
        for number, key in keys.items():
            if key is None:
                self.by_number.pop(number, None)
            else:
                self.numbers.setdefault(key, []).append(number)
                self.by_number[number] = key


@dataclass(slots=True)
class MemoryStudy:
    """One study and its trials; `trials[number]` is the trial of that number."""

    record: StudyRecord
    trials: list[Trial] = field(default_factory=list)
    history: list[int] = field(default_factory=list)  # numbers of the trials that events changed, in order
    num_forgotten: int = 0  # events before these: of the store that it was in before
    unfinished: set[int] = field(default_factory=set)  # numbers of trials without outcome
    lock: tuple[str, datetime] | None = None  # who may suggest, and until when
    changed_at: datetime | None = None  # when a trial changed last
    key: str | None = None  # of the request that created it
    creator: str | None = None
    added: Keys = field(default_factory=Keys)
    handed_out: Keys = field(default_factory=Keys)

    @property
    def last_event(self) -> int:
        """Events are counted from 1."""
        return self.num_forgotten + len(self.history)

    def is_made_by(self, key: str | None) -> bool:
        """Whether a request of that key created it."""
        return key is not None and key == self.key

    def open_trials(self) -> list[Trial]:
        """Trials without outcome, by number."""
        numbers = [number for number in sorted(self.unfinished) if number < len(self.trials)]
        return [self.trials[number] for number in numbers if not self.trials[number].state.is_finished]

    def find(self, number: int) -> Trial:
        """The trial of that number."""
        if not 0 <= number < len(self.trials):
            raise lifecycle.unknown_trial(self.record.name, len(self.trials), number)
        return self.trials[number]

    def progress(self, now: datetime) -> StudyProgress:
        """How far it is."""
        counts = Counter(trial.state for trial in self.trials)
        running = [t for t in self.open_trials() if t.state.is_running and not lifecycle.has_run_out(t, now)]
        named = {trial.worker for trial in running if trial.worker is not None}
        return StudyProgress(
            record=self.record,
            last_event=self.last_event,
            counts={state: counts[state] for state in TrialState},
            last_change_at=self.changed_at,
            num_workers=len(named) + sum(trial.worker is None for trial in running),
        )


class MemoryChange:
    """A `StudyChange`; nothing is in its place until `save`."""

    def __init__(self, study: MemoryStudy, now: datetime) -> None:
        self._study = study
        self._changed: dict[int, Trial] = {}  # by number
        self._events: list[int] = []  # number of the trial that each new event changes
        self._added: dict[int, str | None] = {}
        self._handed_out: dict[int, str | None] = {}
        self.name = study.record.name
        self.now = now
        self.next_number = len(study.trials)
        self.next_event = study.last_event + 1
        self.lock = study.lock

    def find(self, number: int, *, with_reports: bool = True) -> Trial:
        """See `StudyChange.find`."""
        return self._study.find(number)

    def find_all(self, numbers: Sequence[int]) -> dict[int, Trial]:
        """See `StudyChange.find_all`."""
        return {number: self._study.find(number) for number in numbers}

    def claimable(self, count: int, worker: str | None) -> list[Trial]:
        """See `StudyChange.claimable`."""
        return self._study.open_trials()

    def added_by(self, key: str) -> list[Trial]:
        """See `StudyChange.added_by`."""
        return self._existing(self._study.added.find(key))

    def handed_out_by(self, key: str) -> list[Trial]:
        """See `StudyChange.handed_out_by`."""
        return self._existing(self._study.handed_out.find(key))

    def add(self, trial: Trial, key: str | None) -> Trial:
        """See `StudyChange.add`."""
        self._added[trial.number] = key
        self._handed_out[trial.number] = None
        return self.put(trial)

    def hand_out(self, trial: Trial, key: str | None) -> Trial:
        """See `StudyChange.hand_out`."""
        if trial.number >= len(self._study.trials):
            self._added[trial.number] = None
        self._handed_out[trial.number] = key
        return self.put(trial)

    def put(self, trial: Trial) -> Trial:
        """See `StudyChange.put`."""
        self._changed[trial.number] = trial
        self._events.append(trial.number)
        self.next_number = max(self.next_number, trial.number + 1)
        self.next_event += 1
        return trial

    def save(self) -> None:
        """Put everything in its place."""
        study = self._study
        if self._changed:
            numbers = sorted(self._changed)
            study.added.note(self._added)
            study.handed_out.note(self._handed_out)
            study.history.extend(self._events)
            study.unfinished.update(numbers)
            # From the first changed trial to the last, because one assignment cannot be interrupted.
            first, end = numbers[0], numbers[-1] + 1
            section = dict(enumerate(study.trials[first:end], first)) | self._changed
            study.trials[first:end] = [section[number] for number in range(first, end)]
            study.changed_at = self.now
            study.unfinished -= {number for number in numbers if self._changed[number].state.is_finished}
        study.lock = self.lock

    def _existing(self, numbers: list[int]) -> list[Trial]:
        return [self._study.trials[number] for number in numbers if number < len(self._study.trials)]
