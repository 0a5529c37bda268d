"""Records as curves and comparisons: what the report's sections ask for."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from photinus.problem import Goal
from photinus_bench.analysis import hypervolume, log_efficiency, vizier_comparator
from photinus_bench.analysis.bootstrap import SEED, Interval, median_interval
from photinus_bench.analysis.comparison import Comparison, Pair, compare
from photinus_bench.analysis.convergence import best_so_far
from photinus_bench.analysis.speed import against_seconds, decades_farther, seconds_per_suggestion
from photinus_bench.problems.fronts import nadir_box
from photinus_bench.record import Record, RunKey
from photinus_bench.tasks import Task

Curves = dict[int, np.ndarray]  # best-so-far by repeat


@dataclass(frozen=True)
class Cell:
    """All repeats of one algorithm on one task in batches of one size."""

    task: str
    algorithm: str
    batch_size: int
    num_trials: int


class Results:
    """Runs that began, by cell and repeat."""

    def __init__(self, records: Mapping[RunKey, Record]) -> None:
        self._runs: dict[Cell, dict[int, Record]] = defaultdict(dict)
        self.unsupported: dict[tuple[str, str], str] = {}  # (algorithm, task) -> why
        for key, record in sorted(records.items()):
            if record.unsupported is not None:
                self.unsupported[key.algorithm, key.task] = record.unsupported
            elif len(record.truth):
                cell = Cell(key.task, key.algorithm, key.batch_size, key.num_trials)
                self._runs[cell][key.repeat] = record

    @property
    def records(self) -> list[Record]:
        """Every run."""
        return [record for runs in self._runs.values() for record in runs.values()]

    def algorithms(self, tasks: Iterable[str], batch_size: int = 1, num_trials: int = 100) -> list[str]:
        """Who ran any of the tasks, by name."""
        wanted = set(tasks)
        return sorted(
            {
                cell.algorithm
                for cell in self._runs
                if cell.task in wanted and (cell.batch_size, cell.num_trials) == (batch_size, num_trials)
            }
        )

    def runs(self, cell: Cell) -> dict[int, Record]:
        """Records by repeat; none where nobody ran it."""
        return self._runs.get(cell, {})

    def curves(self, cell: Cell, *, at_nadir: bool = False) -> Curves:
        """Best truth so far, or hypervolume where there are several objectives, by repeat."""
        runs = self.runs(cell)
        if not runs:
            return {}
        if len(self.goals(cell.task)) > 1:
            table = self._volumes(cell, at_nadir)
        else:
            truths = [record.truth[:, 0].tolist() for record in runs.values()]
            table = best_so_far(truths, cell.num_trials, self.goals(cell.task)[0])
        return dict(zip(runs, table, strict=True))

    def seconds(self, cell: Cell) -> np.ndarray:
        """Seconds of every suggestion, (R, T), NaN where a run had stopped."""
        table = np.full((len(self.runs(cell)), cell.num_trials), np.nan)
        for row, record in zip(table, self.runs(cell).values(), strict=True):
            row[: len(record.seconds)] = record.seconds
        return table

    def by_themselves(self, cell: Cell) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Curve and seconds by repeat, of runs that were not in step with others on a GPU."""
        runs = self.runs(cell)
        rows = zip(self.curves(cell).items(), self.seconds(cell), is_by_itself(runs), strict=True)
        return {repeat: (curve, seconds) for (repeat, curve), seconds, is_alone in rows if is_alone}

    def goals(self, task: str) -> list[Goal]:
        """Directions of a task's objectives."""
        return [Goal(goal) for goal in self._any_record(task).goals.values()]

    def score_goal(self, task: str) -> Goal:
        """Which way the curves of a task go."""
        goals = self.goals(task)
        return goals[0] if len(goals) == 1 else Goal.MAXIMIZE

    def pairs(
        self,
        tasks: Sequence[str],
        baseline: str,
        compared: str,
        *,
        batch_size: int = 1,
        num_trials: int = 100,
        at_nadir: bool = False,
    ) -> list[Pair]:
        """Curves of two algorithms on the tasks that both ran."""
        found = []
        for task in tasks:
            both = [
                self.curves(Cell(task, name, batch_size, num_trials), at_nadir=at_nadir)
                for name in (baseline, compared)
            ]
            if all(both):
                found.append(Pair.of(both[0], both[1], self.score_goal(task)))
        return found

    def compare(
        self, tasks: Sequence[str], baseline: str, compared: str, **settings: int | bool
    ) -> Comparison | None:
        """Log-efficiency of one algorithm against another; None where they share no task."""
        pairs = self.pairs(tasks, baseline, compared, **settings)  # pyright: ignore[reportArgumentType]
        return compare(pairs, SEED, log_efficiency.scores) if pairs else None

    def compare_like_vizier(
        self, tasks: Sequence[str], baseline: str, compared: str, **settings: int | bool
    ) -> Comparison | None:
        """The same by google-vizier's comparator, on the tasks that it has a rule for."""
        pairs = [
            pair
            for pair in self.pairs(tasks, baseline, compared, **settings)  # pyright: ignore[reportArgumentType]
            if np.all(np.isfinite(pair.baseline)) and np.all(np.isfinite(pair.compared))
        ]
        return compare(pairs, SEED, vizier_comparator.scores) if pairs else None

    def on_shared_repeats(
        self, tasks: Sequence[str], algorithms: Sequence[str], batch_size: int = 1, num_trials: int = 100
    ) -> "Results":
        """Only the runs of these algorithms, of the repeats that all of them have, task by task."""
        kept = {}
        for task in tasks:
            found = [self.runs(Cell(task, name, batch_size, num_trials)) for name in algorithms]
            for repeat in set.intersection(*map(set, found)):
                kept |= {runs[repeat].key: runs[repeat] for runs in found}
        return Results(kept)

    def decades_behind(
        self,
        tasks: Sequence[str],
        baseline: str,
        compared: str,
        moments: Sequence[float],
        num_trials: int = 100,
    ) -> tuple[list[Interval], tuple[int, ...]] | None:
        """How many decades farther from an optimum of 0 one is, so many seconds on, than the baseline at its end.

        Of runs by themselves and repeats that both have, whose number by problem comes second.
        """
        values = []
        for task in tasks:
            ends, runs = (
                self.by_themselves(Cell(task, name, 1, num_trials)) for name in (baseline, compared)
            )
            if common := sorted(set(ends) & set(runs)):
                curves, seconds = (np.array([runs[repeat][i] for repeat in common]) for i in range(2))
                reached = against_seconds(curves, seconds, np.array(moments), self.score_goal(task))
                last = np.array([ends[repeat][0][-1:] for repeat in common])
                values.append(decades_farther(reached, last))
        if not values:
            return None
        columns = [[table[:, i] for table in values] for i in range(len(moments))]
        return [median_interval(column, SEED) for column in columns], tuple(map(len, values))

    def speed(self, tasks: Sequence[str], algorithm: str, num_trials: int = 100) -> Interval | None:
        """Median seconds per suggestion over the tasks, of runs that were not in step with others on a GPU."""
        values = []
        for task in tasks:
            cell = Cell(task, algorithm, 1, num_trials)
            medians = seconds_per_suggestion(self.seconds(cell))[is_by_itself(self.runs(cell))]
            medians = medians[np.isfinite(medians)]
            if len(medians):
                values.append(medians)
        return median_interval(values, SEED) if values else None

    def timed(self, tasks: Sequence[str], algorithm: str, num_trials: int = 100) -> list[Record]:
        """The runs behind `speed`."""
        found = []
        for task in tasks:
            cell = Cell(task, algorithm, 1, num_trials)
            is_known = np.isfinite(seconds_per_suggestion(self.seconds(cell)))
            runs = self.runs(cell)
            found += [
                r for r, known in zip(runs.values(), is_known & is_by_itself(runs), strict=True) if known
            ]
        return found

    def stops(self) -> dict[str, list[Record]]:
        """Runs that ended early, by algorithm."""
        found: dict[str, list[Record]] = defaultdict(list)
        for record in self.records:
            if record.stopped is not None:
                found[record.key.algorithm].append(record)
        return dict(found)

    def _any_record(self, task: str) -> Record:
        for cell, runs in self._runs.items():
            if cell.task == task:
                return next(iter(runs.values()))
        raise KeyError(task)

    def _volumes(self, cell: Cell, at_nadir: bool) -> np.ndarray:
        goals = self.goals(cell.task)
        box = _nadir(cell.task) if at_nadir else self._box(cell.task)
        truths = [record.truth for record in self.runs(cell).values()]
        return hypervolume.hypervolume_curves(truths, cell.num_trials, goals, box, _directions(len(goals)))

    @functools.cache  # noqa: B019 - results live as long as the report is written
    def _box(self, task: str) -> hypervolume.Box:
        """The common reference point of everyone who ran the task."""
        points = [r.truth for cell, runs in self._runs.items() if cell.task == task for r in runs.values()]
        return hypervolume.common_box(points, self.goals(task))


def is_by_itself(runs: Mapping[int, Record]) -> np.ndarray:
    """Which runs were not in step with others on a GPU, where seconds are those of all together."""
    return np.array([record.side_by_side == 1 for record in runs.values()], bool)


@functools.cache
def _directions(num_objectives: int) -> np.ndarray:
    return hypervolume.directions(num_objectives)


@functools.cache
def _nadir(text: str) -> hypervolume.Box:
    task = Task.parse(text)
    assert task.dimension is not None
    return nadir_box(task.family, int(task.name), task.dimension, task.num_objectives)
