"""Sheets to be filled in: what is in them, and how they get onto the disk without a trial or a result being lost.

A sheet has one row per trial: its number, its parameters, an empty cell for every objective, two for the reason why
there is no value, and the name of the study.
"""

import contextlib
import csv
import io
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from photinus.errors import ArgumentError, PhotinusError
from photinus.problem import Problem
from photinus.reporting import BoundTrial
from photinus.sheets.cells import protect, value_to_cell
from photinus.sheets.columns import NUMBER, OUTCOMES, STUDY, Columns, in_one_style
from photinus.trial import Trial


def sheet_text(problem: Problem, study_name: str, trials: Sequence[Trial]) -> str:
    """Trials as CSV, with empty cells for what is not known yet."""
    columns = Columns.of(problem)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    ours = [name for name in (*OUTCOMES, STUDY) if name in columns.plain]
    titles = [NUMBER, *columns.params.values(), *columns.values.values(), *ours]
    writer.writerow(map(protect, titles))
    for trial in trials:
        values = trial.values or {}
        reasons = {str(trial.state): trial.message or "", STUDY: study_name}
        cells = [
            str(trial.number),
            *(value_to_cell(trial.params[name]) for name in problem.space),
            *(repr(values[name]) if name in values else "" for name in problem.metric_names),
            *(protect(reasons.get(name, "")) for name in ours),
        ]
        writer.writerow(map(in_one_style, cells))
    return text.getvalue()


def new_file(path: Path) -> Callable[[str], None]:
    """A function that writes the text of a file which is not there yet, as a whole.

    A name that is taken and a place that cannot be written to show here, before the work. The name itself is taken
    with the text: whoever is killed in between leaves nothing behind, and of two who want it the later is refused.
    """
    is_special = os.path.exists(path) and not path.is_file() and not path.is_dir()  # a pipe, /dev/null
    if not is_special:
        _check_place(path)

    def write(text: str) -> None:
        # Excel takes text beyond ASCII for UTF-8 only behind a byte order mark.
        content = text.encode("utf-8" if text.isascii() else "utf-8-sig")
        with _in_words(path):
            if is_special:
                path.write_bytes(content)
                return
            with _unfinished(path) as unfinished:
                unfinished.write_bytes(content)
                _give_name(unfinished, path)

    return write


def _check_place(path: Path) -> None:
    """There is no such file, but there can be: one beside it is made, and removed again."""
    with _in_words(path):
        with contextlib.suppress(FileNotFoundError):
            path.lstat()
            raise FileExistsError
        with _unfinished(path) as probe:
            probe.touch()


@contextlib.contextmanager
def _unfinished(path: Path) -> Iterator[Path]:
    """A name beside `path`, of a file that does not outlive the block."""
    unfinished = path.with_name(f".{secrets.token_hex(8)}.unfinished")
    try:
        yield unfinished
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _give_name(unfinished: Path, path: Path) -> None:
    """Call the file that, but never in the place of another one."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # file systems of memory sticks have no links
        path.open("x").close()
        unfinished.replace(path)


@contextlib.contextmanager
def _in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise ArgumentError(
            f"{str(path)!r} exists, and may have results in it: choose another file, or remove it first"
        ) from None
    except FileNotFoundError:
        raise ArgumentError(f"the folder of {str(path)!r} must exist: make it first") from None
    except OSError as error:
        raise ArgumentError(
            f"{str(path)!r} cannot be written ({error.strerror}): choose another file"
        ) from error


@contextlib.contextmanager
def handed_back(trials: Sequence[BoundTrial], release: Callable[[BoundTrial], object]) -> Iterator[None]:
    """Around writing trials to a file: if that fails they are handed back, and the error says where they are."""
    try:
        yield
    except BaseException as error:
        where = _hand_back(trials, release)
        if not isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{error}; {where}") from error


def _hand_back(trials: Sequence[BoundTrial], release: Callable[[BoundTrial], object]) -> str:
    """What became of the trials. A named worker keeps them: asking again under the name gives the same ones."""
    numbers = ", ".join(str(trial.number) for trial in trials)
    worker = next((trial.worker for trial in trials if trial.worker is not None), None)
    if worker is not None:
        return f"worker {worker!r} is given trials {numbers} again"
    out: list[int] = []
    for trial in trials:
        try:
            release(trial)
        except PhotinusError:
            out.append(trial.number)
    if out:
        return (
            f"trials {', '.join(map(str, out))} are out without a sheet: write one of the active trials by "
            "`photinus trials NAME --state active --csv FILE` or `study.write_sheet`"
        )
    return f"trials {numbers} were handed back, and are given out next"
