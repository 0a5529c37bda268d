"""Commands that write a page to look at: report, demo."""

import re
from pathlib import Path
from typing import Annotated

import typer

from photinus.cli.options import (
    JsonOption,
    ProjectOption,
    StorageOption,
    StudyArgument,
    UrlOption,
    open_place,
)
from photinus.cli.output import print_json, print_line
from photinus.cli.studies import study_summary
from photinus.errors import ArgumentError

MAX_FILE_NAME = 200  # bytes; file systems take 255, an ending included

OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")
]


def report(
    name: StudyArgument,
    output: OutputOption = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write one page about a study: pictures, best trials, what the model believes. Needs no internet."""
    study = open_place(storage, url, project).open_study(name)
    path = output or Path(f"{file_name(name)}.html")

    from photinus.report import write_report

    try:
        written = write_report(study, path)
    except OSError as error:
        raise ArgumentError(
            f"{str(path)!r} cannot be written ({error.strerror}): choose another file"
        ) from error
    print_json({"project": study.project, "name": name, "file": str(written)}) if as_json else print_line(
        str(written)
    )


def demo(
    trials: Annotated[int | None, typer.Option(min=1, help="How many trials; 30 if left out.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many at a time.")] = None,
    output: OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tune a small neural network that reads digits, in about a minute, and write a page about it."""
    from rich.console import Console

    from photinus import demo as demonstration

    study = demonstration.main(
        num_trials=trials or demonstration.NUM_TRIALS,
        num_jobs=jobs,
        output=output or demonstration.OUTPUT,
        console=Console(stderr=as_json),
    )
    if as_json:
        print_json(study_summary(study.record, list(study.trials), list(study.best_trials)))


def file_name(study: str) -> str:
    """A study's name as that of a file: no slashes, no hidden file, not too long."""
    plain = re.sub(r"[^\w.-]+", "_", study).lstrip(".")
    return plain.encode()[:MAX_FILE_NAME].decode(errors="ignore") or "study"
