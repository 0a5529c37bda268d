"""A study at one moment: everything on the page is about the same trials, read once."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from photinus.plots.source import completed_trials
from photinus.problem import Problem
from photinus.study import Study
from photinus.trial import Trial

MIN_VALUES = 3  # ours


class Moment:
    """Trials as they were, and the model of the study; what pictures need of a `Study`."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.trials: Sequence[Trial] = study.trials

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    @property
    def problem(self) -> Problem:
        """Search space and objectives."""
        return self.study.problem

    @property
    def has_values(self) -> bool:
        """Whether anything was measured."""
        return bool(self.completed)

    @property
    def can_learn(self) -> bool:
        """Whether there are enough values for a model to say more than its priors do."""
        return len(self.completed) >= MIN_VALUES

    @functools.cached_property
    def completed(self) -> list[Trial]:
        """Trials with values."""
        return completed_trials(self.trials)

    def predict(
        self, points: Sequence[Mapping[str, Any]], *, max_trials: int | None = None
    ) -> list[dict[str, dict[str, float | None]]]:
        """See `Study.predict`."""
        return self.study.predict(points, max_trials=max_trials)

    def describe_model(self, *, max_trials: int | None = None) -> dict[str, Any]:
        """See `Study.describe_model`."""
        return self.study.describe_model(max_trials=max_trials)
