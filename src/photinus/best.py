"""Which trials are best: the best value, or the Pareto set of several objectives."""

from collections.abc import Iterable

import numpy as np

from photinus.backend import Backend
from photinus.problem import Goal, Problem
from photinus.trial import Trial, TrialState


def best_trials(problem: Problem, trials: Iterable[Trial]) -> list[Trial]:
    """Completed trials that no other one beats, by number; with one objective the first of the best."""
    completed = [trial for trial in trials if trial.state == TrialState.COMPLETED]
    if not completed:
        return []
    if not problem.is_multi_objective:
        return [min(completed, key=lambda trial: costs(problem, trial))]
    points = np.array([costs(problem, trial) for trial in completed])
    return [completed[index] for index in np.flatnonzero(_is_on_front(points))]


def costs(problem: Problem, trial: Trial) -> tuple[float, ...]:
    """A completed trial's values, turned so that less is better."""
    assert trial.values is not None
    return tuple(
        trial.values[metric.name] if metric.goal == Goal.MINIMIZE else -trial.values[metric.name]
        for metric in problem.metrics
    )


def _is_on_front(points: np.ndarray) -> np.ndarray:
    """Which rows no other one dominates, by being as good everywhere and better somewhere; equals stay."""
    on_front = np.zeros(len(points), dtype=bool)
    remaining = np.lexsort(points.T[::-1])  # a row can only be dominated by one that sorts before it
    while remaining.size:
        first = points[remaining[0]]
        is_equal = np.all(points[remaining] == first, axis=1)
        on_front[remaining[is_equal]] = True
        is_better_somewhere = np.any(points[remaining] < first, axis=1)
        remaining = remaining[is_better_somewhere]
    return on_front


class BestSoFar:
    """Follows the best trial of a single-objective study that this and other processes work on."""

    def __init__(self, backend: Backend, study_id: int, problem: Problem) -> None:
        self._backend = backend
        self._study_id = study_id
        self._problem = problem
        self._seen_event = 0
        self.trial: Trial | None = None

    def update(self) -> None:
        """Find the best trial now; reads only what changed since the last call."""
        if self._problem.is_multi_objective:
            return
        changed = self._backend.get_trials(self._study_id, since_event=self._seen_event)
        if self.trial is not None and any(trial.number == self.trial.number for trial in changed):
            changed = self._backend.get_trials(self._study_id)  # it was amended: another one may be best now
            self.trial = None
        self._seen_event = max([self._seen_event, *(trial.updated_event for trial in changed)])
        contenders = changed if self.trial is None else [self.trial, *changed]
        best = best_trials(self._problem, contenders)
        self.trial = best[0] if best else None
