"""What a person sees while a study runs: one log line per trial, and a progress bar on a terminal."""

import logging
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from photinus.space import Value
from photinus.trial import Trial, TrialState

logger = logging.getLogger("photinus")


def log_trial(trial: Trial, best: Trial | None) -> None:
    """One line: outcome, parameters, best so far. Trials without values are worth a warning."""
    level = logging.INFO if trial.state == TrialState.COMPLETED else logging.WARNING
    if not logger.isEnabledFor(level):
        return
    outcome = one_line(trial.message or "") if trial.values is None else _values(trial.values)
    standing = (
        "" if best is None or best.values is None else f"; best {_values(best.values)} (trial {best.number})"
    )
    logger.log(
        level, "trial %d %s: %s at %s%s", trial.number, trial.state, outcome, _params(trial.params), standing
    )


class ProgressBar:
    """A bar on stderr with the best value, the rate and the time left; does nothing when not wanted."""

    def __init__(self, *, total: int | None, wanted: bool | None) -> None:
        is_shown = sys.stderr.isatty() if wanted is None else wanted
        self._pace = Pace(total)
        self._progress: Any = _rich_progress(self._pace) if is_shown else None
        self._total = total

    def __enter__(self) -> "ProgressBar":
        if self._progress is not None:
            self._task = self._progress.add_task("trials", total=self._total, best="")
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self, best: Trial | None) -> None:
        """One more trial is finished."""
        if self._progress is None:
            return
        self._pace.advance()
        shown_best = "" if best is None or best.values is None else f"best {_values(best.values)}"
        self._progress.update(self._task, advance=1, best=shown_best)


class Pace:
    """How fast trials finish, over all of them: rich's own estimate knows nothing of slow ones."""

    def __init__(self, total: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = total
        self._num_done = 0
        self._started = self._last = clock()

    def advance(self) -> None:
        """One more is done."""
        self._num_done += 1
        self._last = self._clock()

    def rate_text(self) -> str:
        """Trials per second, or seconds per trial."""
        if self._num_done == 0:
            return ""
        rate = self._num_done / max(self._last - self._started, 1e-9)
        return f"{rate:.1f} trials/s" if rate >= 1 else f"{1 / rate:.1f} s/trial"

    def left_text(self) -> str:
        """Hours, minutes and seconds to go, counting down between trials."""
        if self._num_done == 0 or self._total is None:
            return ""
        seconds_each = (self._last - self._started) / self._num_done
        left = seconds_each * (self._total - self._num_done) - (self._clock() - self._last)
        minutes, seconds = divmod(max(0, round(left)), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left"


def _rich_progress(pace: Pace) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.table import Column
    from rich.text import Text

    class PaceColumn(ProgressColumn):
        """Asked several times a second, so that the time left runs down while a trial takes long."""

        def render(self, task: Task) -> Text:
            """Rate and time left."""
            return Text("  ".join(filter(None, [pace.rate_text(), pace.left_text()])))

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=8)),  # what the others leave free
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TextColumn(
            "{task.fields[best]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")
        ),
        PaceColumn(table_column=Column(no_wrap=True)),
        console=Console(stderr=True),
        expand=True,
    )


def _values(values: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:.6g}" for name, value in values.items())


def one_line(message: str) -> str:
    """What happened and, of a longer story, how it ended."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return " ... ".join([lines[0], lines[-1]] if len(lines) > 1 else lines)


def _params(params: dict[str, Value], limit: int = 6) -> str:
    shown = [
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in list(params.items())[:limit]
    ]
    return ", ".join(shown if len(params) <= limit else [*shown, "..."])
