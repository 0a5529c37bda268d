"""How far a grid of runs is, and when it will be done: from the seconds that recorded runs took."""

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence

from photinus_bench.record import Record, RunKey
from photinus_bench.tasks import Task


class Timings:
    """What runs cost, by algorithm and by how large the problem is."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._alike: dict[tuple, list[float]] = defaultdict(list)
        self._by_algorithm: dict[str, list[float]] = defaultdict(list)  # per trial
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Learn from a run; those that shared a machine in lock-step or stopped early tell nothing."""
        if record.side_by_side == 1 and not record.stopped and not record.unsupported:
            self._alike[_kind(record.key)].append(record.wall_s)
            self._by_algorithm[record.key.algorithm].append(record.wall_s / record.key.num_trials)

    def expect(self, key: RunKey) -> float | None:
        """Seconds that a run will take, from runs like it or else any of the algorithm; None where there was none."""
        if alike := self._alike.get(_kind(key)):
            return statistics.median(alike)
        if others := self._by_algorithm.get(key.algorithm):
            return statistics.median(others) * key.num_trials
        return None

    def time_left(self, keys: Sequence[RunKey], num_workers: int) -> str:
        """In words; algorithms that were never timed are named, since they are not in it."""
        known = [seconds for key in keys if (seconds := self.expect(key)) is not None]
        unknown = sorted({key.algorithm for key in keys if self.expect(key) is None})
        if not keys:
            return "all done"
        if not known:
            return "time left unknown"
        text = f"about {in_words(max(sum(known) / max(num_workers, 1), *known))} left"
        return f"{text} (not counting {', '.join(unknown)}: never timed)" if unknown else text


def _kind(key: RunKey) -> tuple:
    task = Task.parse(key.task)
    size = task.family, task.dimension or task.name, task.num_objectives, task.wrappers
    return key.algorithm, size, key.num_trials, key.batch_size


def in_words(seconds: float) -> str:
    """Two units at most."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours / 24:.1f} days"


def outcome_of(record: Record) -> str:
    """A run in a line."""
    if record.unsupported:
        return f"{record.key}: unsupported ({record.unsupported})"
    text = f"{record.key}: {in_words(record.wall_s)}"
    return f"{text}, stopped after {len(record.seconds)} trials: {record.stopped}" if record.stopped else text


def note(text: str) -> None:
    """To whoever watches."""
    print(text, file=sys.stderr, flush=True)
