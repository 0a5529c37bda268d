"""Sheets to be filled in: what is in them, and how they get onto the disk without a trial or a result being lost.

A sheet has one row per trial: its number, its parameters, an empty cell for every objective, two for the reason why
there is no value, and the name of the study.
"""

import contextlib
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from photinus.errors import ArgumentError, PhotinusError
from photinus.files import whole_file
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


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Callable[[str], None]]:
    """A function that writes the text of a file which is not there yet, as a whole.

    The name is taken at once: a place that cannot be written to shows before the work, and of two who want the same
    name one is refused. Excel takes text beyond ASCII for UTF-8 only behind a byte order mark.
    """
    is_special = path.exists() and not path.is_file() and not path.is_dir()  # a pipe, /dev/null
    try:
        if not is_special:
            path.open("x").close()
    except FileExistsError:
        raise ArgumentError(
            f"{str(path)!r} exists, and may have results in it: choose another file, or remove it first"
        ) from None
    except FileNotFoundError:
        raise ArgumentError(f"the folder of {str(path)!r} must exist: make it first") from None
    except OSError as error:
        raise ArgumentError(f"{str(path)!r} cannot be written ({error.strerror}): choose another") from error
    is_written = False

    def write(text: str) -> None:
        nonlocal is_written
        with whole_file(path) as unfinished:
            unfinished.write_bytes(text.encode("utf-8" if text.isascii() else "utf-8-sig"))
        is_written = True

    try:
        yield write
    finally:
        if not is_written and not is_special:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def handed_back(
    path: Path, trials: Sequence[BoundTrial], release: Callable[[BoundTrial], object]
) -> Iterator[None]:
    """Around writing a sheet: if that fails, no trial stays out without a sheet, or the error says which ones do."""
    try:
        yield
    except BaseException as error:
        where = _hand_back(trials, release)
        if not isinstance(error, OSError):
            raise
        raise ArgumentError(
            f"{str(path)!r} cannot be written ({error.strerror}): choose another file; {where}"
        ) from error


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
        return f"trials {', '.join(map(str, out))} are out without a sheet: write one of the active trials"
    return f"trials {numbers} were handed back, and are given out next"
