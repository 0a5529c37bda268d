"""Commands about whole studies: studies, show, create, delete."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from photinus.best import best_trials
from photinus.cli.exits import ExitCode
from photinus.cli.options import (
    JsonOption,
    Place,
    ProjectOption,
    StorageOption,
    StudyArgument,
    UrlOption,
    open_place,
)
from photinus.cli.output import (
    Column,
    note,
    print_facts,
    print_json,
    print_line,
    print_table,
    printable,
    short_value,
    short_values,
)
from photinus.cli.space_file import SpaceFile, read_space_file
from photinus.cli.trials import print_trial, trial_columns
from photinus.errors import ArgumentError, DuplicateStudy
from photinus.exchange import record_to_dict
from photinus.problem import Problem
from photinus.record import StudyProgress, StudyRecord
from photinus.space import Categorical, Discrete, Parameter
from photinus.study import Study
from photinus.trial import Trial

MAX_BEST = 10  # rows of a Pareto set in `show`


def list_studies(
    storage: StorageOption = None,
    url: UrlOption = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only this group of studies.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the studies of a store, oldest first."""
    place = open_place(storage, url, project)
    found = place.backend.progress(project)
    records = [entry.record for entry in found]
    counts = [(sum(entry.counts.values()), _num_finished(entry)) for entry in found]
    if as_json:
        print_json(
            [
                record_to_dict(record) | {"num_trials": total, "num_finished": finished}
                for record, (total, finished) in zip(records, counts, strict=True)
            ]
        )
        return
    if not records:
        print_line(f"no studies in {place.address}")
        return
    print_table(
        [
            Column("study", [record.name for record in records]),
            Column("trials", [str(total) for total, _ in counts], is_number=True),
            Column("finished", [str(finished) for _, finished in counts], is_number=True),
            Column("objectives", [_goals(record.problem) for record in records], is_optional=True),
            Column("algorithm", [record.algorithm for record in records], is_optional=True),
            Column("project", [record.project for record in records], is_optional=True),
            Column("created", [_day(record) for record in records], is_optional=True),
        ],
        rest=f"in {place.address}",
    )


def show(
    name: StudyArgument,
    number: Annotated[int | None, typer.Argument(metavar="[TRIAL]", help="Show this trial only.")] = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a study and its best trials, or all there is to know about one trial."""
    place = open_place(storage, url, project)
    record = place.find_study(name)
    if number is not None:
        trial = place.backend.get_trial(record.id, number)
        print_json(trial.to_dict()) if as_json else print_trial(trial)
        return
    trials = place.backend.get_trials(record.id)
    best = best_trials(record.problem, trials)
    if as_json:
        print_json(study_summary(record, trials, best))
        return
    print_facts(_facts(record, trials))
    print_line()
    _print_space(record.problem)
    print_line()
    print_best(record.problem, best)


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new study's name.")],
    file: Annotated[Path, typer.Argument(metavar="SPACE.TOML", help="See `photinus tune --help`.")],
    load: Annotated[bool, typer.Option("--load", help="It may exist, with the same definition.")] = False,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a study from a space file, to be worked on with ask and tell."""
    content = read_space_file(file)
    place = open_place(storage, url, project, may_create=True, is_quiet=as_json)
    try:
        study = create_from_file(place, content, name, load_if_exists=load)
    except DuplicateStudy:
        raise DuplicateStudy(
            f"there is a study {name!r} in project {place.project!r}: go on with it by --load, or choose another "
            "name"
        ) from None
    if as_json:
        print_json(record_to_dict(study.record))
    else:
        print_line(f"study {printable(study.name)} has {len(study)} trials")


def create_from_file(place: Place, file: SpaceFile, name: str, *, load_if_exists: bool) -> Study:
    """The study that a space file defines, made or opened."""
    return Study.create(
        place.backend,
        file.problem,
        name=name,
        seed=file.seed,
        load_if_exists=load_if_exists,
        algorithm=file.algorithm,
        project=place.project,
        metadata=file.metadata,
    )


def delete(
    name: StudyArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a study and all its trials, for good."""
    place = open_place(storage, url, project)
    record = place.find_study(name)
    num_trials, _ = place.backend.count_trials(record.id)
    if not yes:
        if as_json or not sys.stdin.isatty():
            raise ArgumentError("nobody can be asked whether to delete the study here: say --yes")
        if not typer.confirm(f"Delete study {printable(name)} and its {num_trials} trials?", err=True):
            note("nothing was deleted")
            raise typer.Exit(ExitCode.REFUSED)
    place.backend.delete_study(record.id)
    if as_json:
        print_json({"project": place.project, "name": name, "num_trials": num_trials})
    else:
        print_line(f"study {printable(name)} and its {num_trials} trials are deleted")


def study_summary(record: StudyRecord, trials: Sequence[Trial], best: Sequence[Trial]) -> dict[str, Any]:
    """What `show --json` and `tune --json` print."""
    return record_to_dict(record) | {
        "num_trials": len(trials),
        "num_finished": sum(trial.state.is_finished for trial in trials),
        "states": dict(Counter(trial.state.value for trial in trials)),
        "best_trials": [trial.to_dict() for trial in best],
    }


def print_best(problem: Problem, best: Sequence[Trial]) -> None:
    """The best trial, or the Pareto front."""
    if not best:
        print_line("no completed trial yet")
    elif problem.is_multi_objective:
        more = f"{len(best) - MAX_BEST} more trials are on the front" if len(best) > MAX_BEST else ""
        title = f"Pareto front: {len(best)} trials"
        print_table(trial_columns(problem, best[:MAX_BEST]), title=title, rest=more)
    else:
        assert best[0].values is not None
        print_line(f"best: {printable(short_values(best[0].values))} in trial {best[0].number}, at")
        print_facts({name: short_value(value) for name, value in best[0].params.items()}, indent=2)


def _num_finished(progress: StudyProgress) -> int:
    return sum(count for state, count in progress.counts.items() if state.is_finished)


def _facts(record: StudyRecord, trials: list[Trial]) -> dict[str, str]:
    states = Counter(trial.state.value for trial in trials)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    facts = {
        "study": record.name,
        "project": record.project,
        "objectives": _goals(record.problem),
        "algorithm": f"{record.algorithm}, seed {record.seed}",
        "created": f"{record.created_at:%Y-%m-%d %H:%M:%S} UTC",
        "state": record.state.value,
        "trials": f"{len(trials)}: {counts}" if trials else "none yet",
    }
    return facts | {f"note {key}": value for key, value in record.metadata.items()}


def _print_space(problem: Problem) -> None:
    parameters = problem.space.parameters
    print_table(
        [
            Column("parameter", list(parameters)),
            Column("type", [parameter.type_name for parameter in parameters.values()]),
            Column("values", [_range(parameter) for parameter in parameters.values()]),
            Column(
                "scale",
                [getattr(parameter, "scale", "") for parameter in parameters.values()],
                is_optional=True,
            ),
        ]
    )


def _range(parameter: Parameter) -> str:
    if isinstance(parameter, Discrete | Categorical):
        return ", ".join(short_value(value) for value in parameter.values)
    return f"{short_value(parameter.low)} to {short_value(parameter.high)}"


def _goals(problem: Problem) -> str:
    return ", ".join(f"{metric.goal.value} {metric.name}" for metric in problem.metrics)


def _day(record: StudyRecord) -> str:
    return f"{record.created_at:%Y-%m-%d}"
