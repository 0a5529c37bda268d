"""What a person sees while a study runs: one log line per trial, and a progress bar on a terminal."""

import logging
import sys
import time
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
    outcome = trial.message if trial.values is None else _values(trial.values)
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
        self._progress: Any = _rich_progress() if is_shown else None
        self._total = total
        self._num_done = 0
        self._started = time.monotonic()

    def __enter__(self) -> "ProgressBar":
        if self._progress is not None:
            self._task = self._progress.add_task("trials", total=self._total, best="", rate="")
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
        self._num_done += 1
        rate = self._num_done / max(time.monotonic() - self._started, 1e-9)
        shown_best = "" if best is None or best.values is None else f"best {_values(best.values)}"
        shown_rate = f"{rate:.1f} trials/s" if rate >= 1 else f"{1 / rate:.1f} s/trial"
        self._progress.update(self._task, advance=1, best=shown_best, rate=shown_rate)


def _rich_progress() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[best]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _values(values: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:.6g}" for name, value in values.items())


def _params(params: dict[str, Value], limit: int = 6) -> str:
    shown = [
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in list(params.items())[:limit]
    ]
    return ", ".join(shown if len(params) <= limit else [*shown, "..."])
