"""Commands that carry studies in and out of a store: export, import."""

import enum
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from photinus.cli.options import (
    JsonOption,
    Place,
    ProjectOption,
    StorageOption,
    StudyArgument,
    UrlOption,
    open_place,
    output_file,
)
from photinus.cli.output import note, print_json, print_line, printable
from photinus.cli.secrets import remember_password
from photinus.errors import ArgumentError, DuplicateStudy
from photinus.exchange import read_study, record_to_dict, study_to_dict, to_csv, write_parquet
from photinus.record import NewTrial, StudyRecord
from photinus.sheets import read_measured
from photinus.texts import plain_json
from photinus.trial import Trial


class ExportFormat(enum.StrEnum):
    """How to write a study."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


class PrunedTrials(enum.StrEnum):
    """What a trial that Optuna pruned becomes."""

    FAILED = "failed"
    LAST_VALUE = "last_value"
    INFEASIBLE = "infeasible"


def export(
    name: StudyArgument,
    to: Annotated[ExportFormat, typer.Option("--to", help="json loses nothing; the others are flat tables.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout.")
    ] = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a study to a file: JSON for another store, CSV or Parquet for people."""
    if output is None and to == ExportFormat.PARQUET:
        raise ArgumentError("Parquet is no text for a terminal: say where it goes with --output FILE")
    if output is None and as_json and to != ExportFormat.JSON:
        raise ArgumentError(
            f"stdout takes one document, but --json and --to {to} ask for two: add --output FILE"
        )
    place = open_place(storage, url, project)
    record = place.find_study(name)
    trials = place.backend.get_trials(record.id)

    def write(path: Path) -> None:
        if to == ExportFormat.PARQUET:
            write_parquet(record.problem, trials, path)
        else:
            path.write_text(text(), encoding="utf-8")

    def text() -> str:
        if to == ExportFormat.CSV:
            return to_csv(record.problem, trials)
        return json.dumps(plain_json(study_to_dict(record, trials)), indent=1, allow_nan=False) + "\n"

    if output is None:
        typer.echo(text(), nl=False)
        return
    with output_file(output) as path:
        write(path)
    if as_json:
        print_json({"project": place.project, "name": name, "num_trials": len(trials), "file": str(output)})
    else:
        print_line(f"{len(trials)} trials written to {output}")


def import_file(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|NAME]", help="A .json of `export`, or a .csv; with --optuna the new study's name."
        ),
    ] = None,
    study_name: Annotated[
        str | None,
        typer.Option("--study", metavar="NAME", help="JSON: a new name; CSV: the study to add the rows to."),
    ] = None,
    optuna: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Take a study over from this Optuna storage, sqlite:///optuna.db."
        ),
    ] = None,
    optuna_study: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which one of that storage, if it has several.")
    ] = None,
    pruned: Annotated[
        PrunedTrials | None, typer.Option(help="What trials that Optuna pruned count as; failed.")
    ] = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="A group of studies; JSON: as exported if left out.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a study into a store.

    A JSON file becomes the study it was, with the same trials, numbers and
    states; only trials that were running come back as handed back, and are the
    next to be given out. A CSV file adds its measured rows to an existing study:
    a column for every parameter and objective; in place of values, a column
    infeasible or failed may say why there are none. From an Optuna storage comes
    a copy of a study, under its old name or a new one; the storage stays as it
    is.
    """
    if optuna is not None:
        if study_name is not None:
            raise ArgumentError(
                "with --optuna the new study's name stands alone, `import --optuna ADDRESS NAME`: leave --study out"
            )
        content = _read_optuna(optuna, optuna_study, source, pruned or PrunedTrials.FAILED)
        place = open_place(storage, url, project, may_create=True, is_quiet=as_json)
        _import_study(content, project, place, as_json, remedy=f"import --optuna {optuna} NAME")
        return
    if optuna_study is not None or pruned is not None:
        raise ArgumentError(
            "--optuna-study and --pruned are about an Optuna storage: name it by --optuna ADDRESS"
        )
    if source is None:
        raise ArgumentError(
            "a file must be named, or an Optuna storage: `import FILE` or `import --optuna ADDRESS [NAME]`"
        )
    file = Path(source)
    if file.suffix.lower() == ".csv":
        if study_name is None:
            raise ArgumentError(
                "a CSV file has no study of its own: say --study NAME, the one to add the rows to"
            )
        place = open_place(storage, url, project)
        _import_rows(file, place, place.find_study(study_name), as_json)
    elif file.suffix.lower() == ".json":
        record, trials = read_study(file)  # before a store is made
        place = open_place(storage, url, project, may_create=True, is_quiet=as_json)
        content = replace(record, name=study_name or record.name), trials
        _import_study(content, project, place, as_json, remedy=f"import {file} --study NAME")
    else:
        raise ArgumentError(f"a file to import must end in .json or .csv, got {str(file)!r}")


def _read_optuna(
    address: str, study_name: str | None, name: str | None, pruned: PrunedTrials
) -> tuple[StudyRecord, list[Trial]]:
    remember_password(address)
    from photinus.integrations.optuna_import import read_optuna_study

    try:
        return read_optuna_study(address, study_name, name=name, pruned=pruned.value)
    except ArgumentError as error:
        words = str(error).replace("`study_name`", "--optuna-study").replace("`source`", "--optuna")
        raise ArgumentError(words) from None


def _import_study(
    content: tuple[StudyRecord, list[Trial]],
    project: str | None,
    place: Place,
    as_json: bool,
    *,
    remedy: str,
) -> None:
    record, trials = content
    is_moved = project is not None or place.is_bound
    record = replace(record, project=place.project if is_moved else record.project)
    try:
        stored = place.backend.restore_study(record, trials)
    except DuplicateStudy:
        raise DuplicateStudy(
            f"there is a study {record.name!r} in project {record.project!r}: give this one another name by "
            f"`{remedy}`"
        ) from None
    if as_json:
        print_json(record_to_dict(stored) | {"num_trials": len(trials)})
    else:
        print_line(f"study {printable(stored.name)} has its {len(trials)} trials")


def _import_rows(file: Path, place: Place, record: StudyRecord, as_json: bool) -> None:
    results = read_measured(file, record.problem)
    measured = [NewTrial(params, outcome) for params, outcome in results if outcome is not None]
    if len(measured) < len(results):
        note(f"{len(results) - len(measured)} rows have no result and were left out")
    added = place.backend.add_trials(record.id, measured) if measured else []
    if as_json:
        print_json([trial.to_dict() for trial in added])
    else:
        print_line(f"{len(added)} trials added to study {printable(record.name)}")
