"""Commands for working by hand, one at a time or in batches: ask, tell, amend, enqueue."""

import enum
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from photinus.cli.options import (
    JsonOption,
    ProjectOption,
    StorageOption,
    StudyArgument,
    UrlOption,
    open_place,
    output_file,
)
from photinus.cli.output import note, print_facts, print_json, print_line, printable, short_values
from photinus.errors import ArgumentError, PhotinusError
from photinus.problem import Problem
from photinus.record import NewTrial
from photinus.sheets import handed_back, read_points, sheet_text
from photinus.space import Value
from photinus.study import Study
from photinus.texts import number_from_text, plain_json, value_from_text, value_to_text
from photinus.trial import Trial

WorkerOption = Annotated[str | None, typer.Option(metavar="NAME", help="Who works on it.")]


class BatchFormat(enum.StrEnum):
    """How `ask` writes a batch."""

    CSV = "csv"
    JSON = "json"


def ask(
    name: StudyArgument,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many trials.")] = 1,
    worker: WorkerOption = None,
    lease: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="After this time others may be given the trials.")
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            "--csv", metavar="FILE.CSV", help="Write them to this new file, to be filled in for `tell`."
        ),
    ] = None,
    to: Annotated[BatchFormat | None, typer.Option("--to", help="Write a batch in this format.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for trials to run.

    --csv writes a sheet with a row for each of them and cells for the results:
    fill it in with a spreadsheet program, then `photinus tell NAME FILE.CSV`.
    """
    if sheet is not None and (to is not None or output is not None):
        raise ArgumentError("--csv names format and file at once: leave --to and --output out")
    if output is not None and to is None:
        to = BatchFormat.JSON if as_json else BatchFormat.CSV
    if output is not None and to == BatchFormat.CSV:
        sheet, output = output, None
    if as_json and to == BatchFormat.CSV and sheet is None:
        raise ArgumentError(
            "stdout takes one document, but --json and --to csv ask for two: add --output FILE"
        )
    if output is not None and not output.parent.is_dir():  # or the trials would be handed out in vain
        raise ArgumentError(f"the folder of {str(output)!r} must exist: make it first")
    study = open_place(storage, url, project).open_study(name)
    if sheet is not None:
        trials = study.ask_sheet(sheet, count, worker=worker, lease=lease)
    else:
        trials = study.ask(count, worker=worker, lease=lease)
    if output is not None:
        with handed_back(trials, study.release), output_file(output) as file:
            file.write_text(_json_batch(trials), encoding="utf-8")
    if as_json:
        print_json([trial.to_dict() for trial in trials])
    elif sheet is not None:
        print_line(
            f"{len(trials)} trials written to {sheet}: fill in the results, then "
            f"photinus tell {printable(name)} {sheet}"
        )
    elif output is not None:
        print_line(f"{len(trials)} trials written to {output}")
    elif to is not None:
        text = sheet_text(study.problem, study.name, trials) if to == BatchFormat.CSV else _json_batch(trials)
        typer.echo(text, nl=False)
    else:
        for trial in trials:
            print_line(f"trial {trial.number}")
            print_facts({key: value_to_text(value) for key, value in trial.params.items()}, indent=2)


def tell(
    name: StudyArgument,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[TRIAL|FILE.CSV]", help="The trial's number, or a sheet of `ask --csv` with results."
        ),
    ] = None,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="[VALUE...]", help="A number, or OBJECTIVE=NUMBER for each.")
    ] = None,
    infeasible: Annotated[
        str | None, typer.Option(metavar="WHY", help="The point cannot be measured: it is bad.")
    ] = None,
    failed: Annotated[
        str | None, typer.Option(metavar="WHY", help="It went wrong: says nothing about the point.")
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE.CSV",
            help="The same as naming the file in place of a trial.",
        ),
    ] = None,
    worker: WorkerOption = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the outcome of a trial, or of a whole batch from a CSV file.

    The file has a column `number` and one for each objective; in place of
    values, a column infeasible or failed says why there are none. Rows without a
    result are left alone, and so are rows that were told before with that result.
    If anything is wrong with the file, every fault is named by row and column,
    and nothing is told.
    """
    number = None if what is None else _trial_number(what)
    file = Path(what) if what is not None and number is None else from_file
    if (what is None) == (from_file is None):
        raise ArgumentError("either a trial's number or a file of results must be given: TRIAL or FILE.CSV")
    if file is not None and (values or infeasible is not None or failed is not None):
        raise ArgumentError(
            f"every result is in the file, but {str(file)!r} is no trial's number: leave values, --infeasible and "
            "--failed out, or name a trial"
        )
    study = open_place(storage, url, project).open_study(name)
    if file is not None:
        _tell_sheet(study, file, worker, as_json)
        return
    assert number is not None
    measured = _parse_values(study.problem, values) if values else None
    trial = study.tell(number, measured, infeasible=infeasible, failed=failed, worker=worker)
    print_json(trial.to_dict()) if as_json else _print_told([trial])


def amend(
    name: StudyArgument,
    number: Annotated[int, typer.Argument(metavar="TRIAL", help="The trial's number.")],
    values: Annotated[
        list[str], typer.Argument(metavar="VALUE...", help="A number, or OBJECTIVE=NUMBER for each.")
    ],
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Correct the values of a completed trial; the old ones stay on record."""
    study = open_place(storage, url, project).open_study(name)
    trial = study.amend(number, _parse_values(study.problem, values))
    print_json(trial.to_dict()) if as_json else _print_told([trial])


def enqueue(
    name: StudyArgument,
    params: Annotated[
        list[str] | None, typer.Argument(metavar="[PARAMETER=VALUE...]", help="A value for every parameter.")
    ] = None,
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE.CSV", help="Many points: a column per parameter.")
    ] = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have a point of your own tried next, or many from a CSV file."""
    if bool(params) == (from_file is not None):
        raise ArgumentError("either a value for every parameter or --from FILE.CSV must be given")
    place = open_place(storage, url, project)
    record = place.find_study(name)
    if from_file is not None:
        points = read_points(from_file, record.problem)
    else:
        points = [record.problem.space.validate(_parse_params(record.problem, params or []))]
    queued = place.backend.add_trials(record.id, [NewTrial(point) for point in points])
    if as_json:
        print_json([trial.to_dict() for trial in queued])
    else:
        print_line(f"queued as {_numbers(queued)}")


def _json_batch(trials: Sequence[Trial]) -> str:
    return json.dumps(plain_json([trial.to_dict() for trial in trials]), indent=2, allow_nan=False) + "\n"


def _trial_number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _tell_sheet(study: Study, file: Path, worker: str | None, as_json: bool) -> None:
    outcome = study.tell_sheet(file, worker=worker)
    if outcome.pending:
        note(f"{len(outcome.pending)} rows have no result and were left alone")
    if outcome.repeated:
        note(f"{len(outcome.repeated)} rows were told before and were left alone")
    if outcome.unread:
        note(f"columns that were not read: {', '.join(map(printable, outcome.unread))}")
    if as_json:
        found = sorted([*outcome.told, *outcome.repeated], key=lambda trial: trial.number)
        print_json([trial.to_dict() for trial in found])
    else:
        _print_told(outcome.told)


def _print_told(told: Sequence[Trial]) -> None:
    if len(told) == 1:
        [trial] = told
        outcome = short_values(trial.values) if trial.values is not None else trial.message or ""
        print_line(f"trial {trial.number} is {trial.state}: {printable(outcome)}")
    else:
        print_line(f"{len(told)} trials told: {_numbers(told)}" if told else "nothing to tell")


def _parse_values(problem: Problem, texts: Sequence[str]) -> Any:
    """A bare number, or values by objective."""
    if len(texts) == 1 and "=" not in texts[0] and not texts[0].startswith("--"):
        number = number_from_text(texts[0])
        return texts[0] if number is None else number
    values: dict[str, object] = {}
    for text in texts:
        if text.startswith("--"):  # they get here because values below 0 look like options, too
            raise ArgumentError(f"there is no option {text}: see --help")
        name, has_value, value = text.rpartition("=")
        if not has_value or name in values:
            names = " ".join(f"{metric}=..." for metric in problem.metric_names)
            raise ArgumentError(f"values must be given once each as {names}, got {text!r}")
        number = number_from_text(value)
        values[name] = value if number is None else number
    return values


def _parse_params(problem: Problem, texts: Sequence[str]) -> dict[str, Value]:
    params: dict[str, Value] = {}
    for text in texts:
        # The longest name that fits: names and values may have an equals sign inside.
        names = [name for name in problem.space if text.startswith(f"{name}=")]
        name = max(names, key=len, default="")
        if not name or name in params:
            known = " ".join(f"{parameter}=..." for parameter in problem.space)
            raise ArgumentError(f"parameters must be given once each as {known}, got {text!r}")
        try:
            params[name] = value_from_text(problem.space[name], text[len(name) + 1 :])
        except PhotinusError as error:
            raise ArgumentError(f"parameter {name!r} {error}") from error
    return params


def _numbers(trials: Sequence[Trial]) -> str:
    numbers = ", ".join(str(trial.number) for trial in trials)
    return f"trial {numbers}" if len(trials) == 1 else f"trials {numbers}"
