"""Trials as users hold them: bound to their study, so that `trial.report(value, step)` works anywhere.

In the study's own process a report goes straight to the back end. A trial that was pickled into another
process keeps its reports instead; they travel back with the trial or the result, and `tell` delivers them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, SupportsIndex, overload

from photinus.arguments import MAX_COUNT, check_integer
from photinus.backend import Backend
from photinus.display import Card, Displayed
from photinus.problem import Problem
from photinus.trial import Trial, trial_table

Reports = list[tuple[dict[str, float], int]]  # values and step


class Reporter(Protocol):
    """Where a trial's reports go."""

    study_key: tuple[str, str]  # project and name
    problem: Problem
    kept: Reports  # not delivered yet

    def report(self, number: int, values: dict[str, float], step: int) -> None:
        """Deliver or keep a report."""
        ...


@dataclass(slots=True)
class LiveReporter:
    """Delivers at once."""

    backend: Backend
    study_id: int
    study_key: tuple[str, str]
    problem: Problem
    kept: Reports = field(default_factory=list)

    def report(self, number: int, values: dict[str, float], step: int) -> None:
        """Hand the report to the back end."""
        self.backend.report(self.study_id, number, values, step)

    def __reduce__(self) -> tuple[type["KeptReporter"], tuple[tuple[str, str], Problem]]:
        return KeptReporter, (self.study_key, self.problem)


@dataclass(slots=True)
class KeptReporter:
    """Keeps reports until somebody who knows the study delivers them."""

    study_key: tuple[str, str]
    problem: Problem
    kept: Reports = field(default_factory=list)

    def report(self, number: int, values: dict[str, float], step: int) -> None:
        """Keep the report."""
        self.kept.append((values, step))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BoundTrial(Trial):
    """A trial of a certain study. Its dicts are the holder's own: changing them changes nothing else."""

    reporter: Reporter = field(compare=False)

    def report(self, value: float | Mapping[str, float], step: int) -> None:
        """Record an intermediate value (a dict for several objectives); the same step again replaces it."""
        position = check_integer("step", step, 0, MAX_COUNT)
        self.reporter.report(self.number, self.reporter.problem.parse_values(value), position)


class TrialList(list[BoundTrial], Displayed):
    """A list of trials that notebooks show as a table; a slice of it is one, too."""

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> BoundTrial: ...

    @overload
    def __getitem__(self, key: slice, /) -> "TrialList": ...

    def __getitem__(self, key: SupportsIndex | slice, /) -> "BoundTrial | TrialList":
        found = super().__getitem__(key)
        return TrialList(found) if isinstance(found, list) else found

    def _card(self) -> Card:
        return Card(f"{len(self):,} trial{'' if len(self) == 1 else 's'}", tables=[trial_table(self)])


def bind(trial: Trial, reporter: Reporter) -> BoundTrial:
    """The trial as its user may hold it."""
    content: dict[str, Any] = {entry.name: getattr(trial, entry.name) for entry in fields(Trial)}
    for name in ("params", "values", "reason", "metadata"):
        if content[name] is not None:
            content[name] = dict(content[name])
    return BoundTrial(**content, reporter=reporter)
