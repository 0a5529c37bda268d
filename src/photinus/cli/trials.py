"""Trials to look at: the command `trials`, and tables and pages of trials for other commands."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from photinus.backend import Backend
from photinus.cli.options import (
    JsonOption,
    ProjectOption,
    StorageOption,
    StudyArgument,
    UrlOption,
    open_place,
)
from photinus.cli.output import (
    Column,
    print_facts,
    print_json,
    print_line,
    print_table,
    short_value,
    short_values,
)
from photinus.problem import Problem
from photinus.progress import one_line
from photinus.study import Study
from photinus.texts import plain_json, value_to_text
from photinus.trial import Trial, TrialState

DEFAULT_LIMIT = 50  # rows of a table


def list_trials(
    name: StudyArgument,
    state: Annotated[list[TrialState] | None, typer.Option(help="Only those; may be repeated.")] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help=f"The last so many; {DEFAULT_LIMIT} in a table."),
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Every one of them.")] = False,
    sheet: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE.CSV", help="Write them to this new file, as `ask --csv` does."),
    ] = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the trials of a study."""
    place = open_place(storage, url, project)
    record = place.find_study(name)
    if limit is None and not show_all and not as_json and sheet is None:
        limit = DEFAULT_LIMIT
    trials, num_found = _last_trials(place.backend, record.id, state, limit)
    if sheet is not None:
        Study(place.backend, record).write_sheet(sheet, trials)
    if as_json:
        print_json([trial.to_dict() for trial in trials])
    elif sheet is not None:
        print_line(f"{len(trials)} trials written to {sheet}")
    elif not trials:
        print_line("no trials")
    else:
        left_out = num_found - len(trials)
        rest = f"{left_out} earlier trials are left out: --all shows them" if left_out else ""
        print_table(trial_columns(record.problem, trials), rest=rest)


def _last_trials(
    backend: Backend, study_id: int, states: Sequence[TrialState] | None, limit: int | None
) -> tuple[list[Trial], int]:
    """The last trials in one of the states, by number, and how many there are in all."""
    if limit is None:
        found = [t for t in backend.get_trials(study_id) if not states or t.state in states]
        return found, len(found)
    last = backend.find_trials(study_id, states=states or None, limit=limit, newest_first=True)
    [progress] = backend.progress(study_ids=[study_id])
    num_found = sum(progress.counts[state] for state in states or TrialState)
    return last[::-1], max(num_found, len(last))


def trial_columns(problem: Problem, trials: Sequence[Trial]) -> list[Column]:
    """A table of trials."""
    columns = [
        Column("trial", [str(trial.number) for trial in trials], is_number=True),
        Column("state", [trial.state.value for trial in trials]),
    ]
    for position, metric in enumerate(problem.metric_names):
        cells = ["" if trial.values is None else f"{trial.values[metric]:.6g}" for trial in trials]
        columns.append(Column(metric, cells, is_optional=position > 0, is_number=True))
    for name in problem.space:
        cells = [short_value(trial.params[name]) for trial in trials]
        columns.append(Column(name, cells, is_optional=True))
    if any(trial.message for trial in trials):
        messages = [one_line(trial.message or "") for trial in trials]
        columns.append(Column("message", messages, is_optional=True, is_elastic=True))
    return columns


def print_trial(trial: Trial) -> None:
    """Everything about one trial."""
    outcome = short_values(trial.values) if trial.values is not None else trial.message or ""
    facts = {
        "trial": str(trial.number),
        "state": trial.state.value,
        "outcome": outcome,
        "worker": trial.worker or "",
        "created": _time(trial.created_at),
        "started": _time(trial.started_at),
        "completed": _time(trial.completed_at),
        "duration": "" if trial.duration_s is None else f"{trial.duration_s:.3g} s",
        "attempts": str(trial.attempts),
        "algorithm": " ".join(filter(None, [trial.algorithm, trial.engine_version])),
    }
    facts |= {f"note {key}": value for key, value in trial.metadata.items()}
    print_facts({key: value for key, value in facts.items() if value})
    print_line("parameters")
    print_facts({key: value_to_text(value) for key, value in trial.params.items()}, indent=2)
    if trial.reason:
        print_line("reason")
        print_facts({key: _in_short(value) for key, value in trial.reason.items()}, indent=2)
    if trial.reports:
        print_line("reports")
        print_facts(
            {f"step {report.step}": short_values(report.values) for report in trial.reports}, indent=2
        )
    if trial.amendments:
        print_line("amended")
        for entry in trial.amendments:
            print_facts({_time(entry.at): f"was {short_values(entry.old_values)}"}, indent=2)


def _in_short(value: object) -> str:
    """Data for reading: numbers to six digits."""
    return value if isinstance(value, str) else json.dumps(plain_json(_rounded(value)), ensure_ascii=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value


def _time(time: object) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"
