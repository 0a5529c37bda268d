"""`photinus tune`: any command as the objective."""

import contextlib
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from photinus.best import best_trials
from photinus.cli.exits import ExitCode, TuneFailed, harmless
from photinus.cli.options import JsonOption, ProjectOption, StorageOption, UrlOption, open_place
from photinus.cli.output import note, print_json, print_line, printable
from photinus.cli.space_file import EXAMPLE, SpaceFile, read_space_file
from photinus.cli.studies import create_from_file, print_best, study_summary
from photinus.commands import Command, CommandWorkers, check_pattern, check_words
from photinus.errors import ArgumentError, UnsupportedError
from photinus.optimizing import release_abandoned
from photinus.study import Study
from photinus.trial import Trial, TrialState

DEFAULTS = {"jobs": 1, "max_failures": 5}


def _print_example(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(EXAMPLE, nl=False)
        raise typer.Exit


def tune(
    file: Annotated[Path, typer.Argument(metavar="SPACE.TOML", help="Parameters and objectives.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="With {name} for each parameter.")
    ] = None,
    trials: Annotated[int | None, typer.Option("--trials", "-n", help="Finished ones in all.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Commands at a time; 1 if left out.")
    ] = None,
    study_name: Annotated[
        str | None,
        typer.Option("--study", metavar="NAME", help="If not the file's `name`, or the file's own name."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="After this time no new trial begins.")
    ] = None,
    trial_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="A command that takes longer is ended: failed.")
    ] = None,
    max_failures: Annotated[
        int | None, typer.Option(help="Give up after so many failures in a row; 5 if left out, 0 for never.")
    ] = None,
    infeasible_exit_code: Annotated[
        int | None, typer.Option(metavar="CODE", help="How the command says that a point cannot be measured.")
    ] = None,
    value_pattern: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Finds the value in the output; its group is the value."),
    ] = None,
    logs: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep what every command prints.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A log line for every trial.")] = False,
    example: Annotated[
        bool,
        typer.Option(
            "--example", callback=_print_example, is_eager=True, help="Print a space file to begin with."
        ),
    ] = False,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run any command as the objective, for as many trials as it takes.

    photinus tune space.toml --trials 50 -- python train.py --lr {lr}

    In the command {name} becomes a parameter's value and {trial} the trial's
    number; {{ and }} are braces. No shell is involved. The environment has
    PHOTINUS_TRIAL and PHOTINUS_PARAMS (all parameters as JSON).

    The command prints its value as a number on the last line, or anywhere on
    a JSON line such as {"error": 0.1}, which several objectives need. A JSON
    line that has a "step" as well is kept as an intermediate report. nan or
    inf makes the trial infeasible, an exit code other than 0 makes it failed.

    Run the same again to go on where it ended, whatever ended it.
    photinus tune --example prints a space file in which every key is explained.
    """
    content = read_space_file(file)
    settings: dict[str, Any] = DEFAULTS | content.tune
    given = {
        "trials": trials,
        "jobs": jobs,
        "timeout": timeout,
        "trial_timeout": trial_timeout,
        "max_failures": max_failures,
        "infeasible_exit_code": infeasible_exit_code,
        "value_pattern": value_pattern,
        "logs": logs,
    }
    settings |= {key: value for key, value in given.items() if value is not None}
    _check_settings(settings)
    runnable = _command(content, command, settings)

    place = open_place(storage, url, project, may_create=True, is_quiet=as_json)
    name = study_name or content.name or file.stem
    study = create_from_file(place, content, name, load_if_exists=True)
    num_back = release_abandoned(place.backend, study.record.id)
    if num_back:
        note(f"{num_back} trials of a run that was killed are handed out again")
    with _log_lines(verbose):
        _run(study, CommandWorkers(runnable, settings["jobs"]), settings)
    _print_summary(study, as_json)
    if not study.best_trials:
        raise TuneFailed(f"no trial of study {study.name!r} is completed: see `photinus trials`")


def _check_settings(settings: dict[str, Any]) -> None:
    """What the options' types do not say; numbers from the file and from the command line alike."""
    if "trials" not in settings and "timeout" not in settings:
        raise ArgumentError("tune needs an end: say --trials N, or --timeout SECONDS, or put it into [tune]")
    for key, low in (("trials", 1), ("jobs", 1), ("max_failures", 0), ("infeasible_exit_code", 1)):
        if key in settings and settings[key] < low:
            raise ArgumentError(f"`{key}` must be an integer >= {low}, got {settings[key]}")
    for key in ("timeout", "trial_timeout"):
        if key in settings and not 0 < settings[key] < threading.TIMEOUT_MAX:
            raise ArgumentError(f"`{key}` must be a number of seconds > 0, got {settings[key]}")


def _command(content: SpaceFile, given: Sequence[str] | None, settings: dict[str, Any]) -> Command:
    """What to run, found to be runnable before anything is."""
    if not hasattr(os, "killpg"):
        raise UnsupportedError(
            "tune needs process groups to end commands by, which this system does not have"
        )
    words = given or content.command
    if not words:
        raise ArgumentError("tune needs a command: put it after --, or into [tune] command")
    space = content.problem.space
    used = check_words(words, list(space))
    if "{" not in words[0] and shutil.which(words[0]) is None:
        raise ArgumentError(f"the command {words[0]!r} must be a program that can be run, but there is none")
    unused = [name for name in space if name not in used]
    if unused:
        note(f"not on the command line, but in PHOTINUS_PARAMS: {printable(', '.join(unused))}")
    if "value_pattern" in settings:
        check_pattern(settings["value_pattern"], content.problem)
    folder = Path(settings["logs"]) if "logs" in settings else None
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(f"the folder {str(folder)!r} cannot be made ({error.strerror})") from error
    return Command(
        words=tuple(words),
        timeout_s=settings.get("trial_timeout"),
        infeasible_exit_code=settings.get("infeasible_exit_code"),
        value_pattern=settings.get("value_pattern"),
        logs=folder,
    )


def _run(study: Study, workers: CommandWorkers, settings: dict[str, Any]) -> None:
    guard = _FailureGuard(settings["max_failures"])
    try:
        with _interrupted_once():
            study.optimize_on(
                workers, until=settings.get("trials"), timeout=settings.get("timeout"), callbacks=[guard]
            )
    except KeyboardInterrupt:
        note("interrupted: running trials were handed back; the same command goes on")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


class _FailureGuard:
    """Gives up when a command fails again and again: then it is broken, and not the point."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._num_in_a_row = 0

    def __call__(self, study: Study, trial: Trial) -> None:
        self._num_in_a_row = self._num_in_a_row + 1 if trial.state == TrialState.FAILED else 0
        if self._limit and self._num_in_a_row >= self._limit:
            raise TuneFailed(
                f"{self._num_in_a_row} trials in a row failed, the last one, trial {trial.number}, because "
                f"{trial.message}\nCorrect the command and run it again, or allow more with --max-failures"
            )


def _print_summary(study: Study, as_json: bool) -> None:
    trials = study.trials
    best = best_trials(study.problem, trials)
    if as_json:
        print_json(study_summary(study.record, trials, best))
        return
    num_finished = sum(trial.state.is_finished for trial in trials)
    print_line(f"study {printable(study.name)}: {num_finished} trials finished")
    print_best(study.problem, best)


@contextlib.contextmanager
def _interrupted_once() -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal raise KeyboardInterrupt once; after it nothing disturbs cleaning up."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(number: int, frame: object) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def _log_lines(verbose: bool) -> Iterator[None]:
    """Log lines on stderr: warnings, and with `verbose` one for every trial."""
    logger = logging.getLogger("photinus")
    level, handler = logger.level, _StderrHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _StderrHandler(logging.Handler):
    """Writes to stderr as it is at the moment: a progress bar puts itself there, and lines go above it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record."""
        print(harmless(self.format(record)), file=sys.stderr, flush=True)
