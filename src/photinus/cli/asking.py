"""Commands for working by hand, one at a time or in batches: ask, tell, amend, enqueue."""

import enum
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from photinus.arguments import check_name
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
from photinus.cli.output import note, print_facts, print_json, print_line, printable, short_values
from photinus.errors import ArgumentError, InvalidState, PhotinusError, UnknownTrial
from photinus.problem import Problem
from photinus.record import NewTrial, StudyRecord
from photinus.sheets import read_rows, write_batch
from photinus.space import Value
from photinus.storage import lifecycle
from photinus.study import Study
from photinus.texts import number_from_text, plain_json, value_from_text, value_to_text
from photinus.trial import Measurement, Trial

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
    to: Annotated[BatchFormat | None, typer.Option("--to", help="Write a batch in this format.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for trials to run. `--to csv` writes a batch with columns for the results, for `tell --from`."""
    if output is not None and to is None:
        to = BatchFormat.JSON if as_json else BatchFormat.CSV
    if as_json and to == BatchFormat.CSV and output is None:
        raise ArgumentError(
            "stdout takes one document, but --json and --to csv ask for two: add --output FILE"
        )
    if output is not None and not output.parent.is_dir():  # or the trials would be handed out in vain
        raise ArgumentError(f"the folder of {str(output)!r} must exist: make it first")
    study = open_place(storage, url, project).open_study(name)
    trials = study.ask(count, worker=worker, lease=lease)
    batch = _batch(study, trials, to)
    if output is not None:
        with output_file(output) as file:
            file.write_text(batch, encoding="utf-8")
    if as_json:
        print_json([trial.to_dict() for trial in trials])
    elif output is not None:
        print_line(
            f"{len(trials)} trials written to {output}: fill in the results, then tell --from {output}"
        )
    elif to is not None:
        typer.echo(batch, nl=False)
    else:
        for trial in trials:
            print_line(f"trial {trial.number}")
            print_facts({key: value_to_text(value) for key, value in trial.params.items()}, indent=2)


def tell(
    name: StudyArgument,
    number: Annotated[int | None, typer.Argument(metavar="[TRIAL]", help="The trial's number.")] = None,
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
            help="Results of many trials: columns `number` and one per objective, or `infeasible` or `failed` "
            "with the reason. Every row is checked before any is told; rows without a result are left alone.",
        ),
    ] = None,
    worker: WorkerOption = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the outcome of a trial, or of a whole batch from a CSV file."""
    if (number is None) == (from_file is None):
        raise ArgumentError("either a trial's number or --from FILE.CSV must be given")
    place = open_place(storage, url, project)
    record = place.find_study(name)
    if from_file is not None:
        if values or infeasible is not None or failed is not None:
            raise ArgumentError(
                "with --from every result is in the file: leave values, --infeasible and --failed out"
            )
        told = _tell_rows(place, record, from_file, worker)
        print_json([trial.to_dict() for trial in told]) if as_json else _print_told(told)
        return
    assert number is not None
    measured = _parse_values(record.problem, values) if values else None
    trial = Study(place.backend, record).tell(
        number, measured, infeasible=infeasible, failed=failed, worker=worker
    )
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
        points = [row.params(record.problem) for row in read_rows(from_file)]
    else:
        points = [record.problem.space.validate(_parse_params(record.problem, params or []))]
    queued = place.backend.add_trials(record.id, [NewTrial(point) for point in points])
    if as_json:
        print_json([trial.to_dict() for trial in queued])
    else:
        print_line(f"queued as {_numbers(queued)}")


def _batch(study: Study, trials: Sequence[Trial], to: BatchFormat | None) -> str:
    if to == BatchFormat.JSON:
        return json.dumps(plain_json([trial.to_dict() for trial in trials]), indent=2, allow_nan=False) + "\n"
    return write_batch(study.problem, trials)


def _tell_rows(place: Place, record: StudyRecord, path: Path, worker: str | None) -> list[Trial]:
    """Tell every result in the file, or, if one of them is not right, none."""
    who = None if worker is None else check_name("worker", worker)
    trials = {trial.number: trial for trial in place.backend.get_trials(record.id)}
    results: dict[int, Measurement] = {}
    num_open = 0
    for row in read_rows(path):
        number, measurement = row.number(), row.measurement(record.problem)
        if number not in trials:
            raise UnknownTrial(f"{row.place}: study {record.name!r} has {len(trials)} trials, got {number=}")
        if number in results:
            raise row.error(f"trial {number} must have one row, but it has another one above")
        if measurement is None:
            num_open += 1
            continue
        _check_tellable(row.place, trials[number], measurement)
        results[number] = measurement
    if num_open:
        note(f"{num_open} rows have no result and were left alone")
    return place.backend.tell_all(record.id, list(results.items()), worker=who) if results else []


def _check_tellable(place: str, trial: Trial, measurement: Measurement) -> None:
    """What a store would refuse, by the rule that stores apply, with the row that is to blame."""
    try:
        if not lifecycle.is_repeated(trial, measurement):
            lifecycle.told(trial, measurement, worker=None, now=datetime.now(UTC), event=0)
    except InvalidState as error:
        raise type(error)(f"{place}: {error}") from None


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
