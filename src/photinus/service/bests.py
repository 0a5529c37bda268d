"""The best trials of studies, kept, so that lists and polls read only what changed since the last look."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from photinus.best import best_trials
from photinus.problem import Problem
from photinus.record import StudyProgress
from photinus.storage import Storage
from photinus.trial import Trial

MAX_STUDIES = 4096  # ours: a few kilobytes each, more with large Pareto sets


@dataclass(slots=True)
class _Front:
    """The best trials of one study, as of an event."""

    mutex: threading.Lock = field(default_factory=threading.Lock)
    seen_event: int = 0
    trials: dict[int, Trial] = field(default_factory=dict)  # by number


class Bests:
    """Best trials by the rules of `photinus.best`. Safe for threads."""

    def __init__(self, storage: Storage, max_studies: int = MAX_STUDIES) -> None:
        self._storage = storage
        self._max_studies = max_studies
        self._mutex = threading.Lock()
        self._fronts: OrderedDict[int, _Front] = OrderedDict()  # the one longest unused comes first

    def find(self, progress: StudyProgress) -> list[Trial]:
        """The best trials of a study at the time of its progress, or a little later, by number."""
        study_id = progress.record.id
        front = self._front(study_id)
        with front.mutex:
            if front.seen_event < progress.last_event:
                self._update(front, study_id, progress.record.problem)
                front.seen_event = max(front.seen_event, progress.last_event)
            return list(front.trials.values())

    def _update(self, front: _Front, study_id: int, problem: Problem) -> None:
        changed = self._storage.get_trials(study_id, since_event=front.seen_event)
        for trial in changed:
            known = front.trials.get(trial.number)
            if known is not None and known.values != trial.values:
                # One of the best was amended: any other one may be among them now.
                changed = self._storage.get_trials(study_id)
                front.trials = {}
                break
        contenders = front.trials | {trial.number: trial for trial in changed}
        by_number = [contenders[number] for number in sorted(contenders)]  # the first of equals counts
        front.trials = {trial.number: trial for trial in best_trials(problem, by_number)}
        front.seen_event = max([front.seen_event, *(trial.updated_event for trial in changed)])

    def _front(self, study_id: int) -> _Front:
        with self._mutex:
            front = self._fronts.setdefault(study_id, _Front())
            self._fronts.move_to_end(study_id)
            while len(self._fronts) > self._max_studies:
                self._fronts.popitem(last=False)
            return front
