"""Studies as files: JSON, which loses nothing, and flat tables for people.

The JSON form has the study's definition and every field of every trial, so that the study goes on in another store
exactly as it would have here. Only one thing is not carried over: nobody holds a trial in the new store. Trials that
were running come back as EXPIRED, and so are handed out first.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from photinus.arguments import MAX_COUNT, MAX_SEED, check_integer, check_metadata, check_name
from photinus.errors import ArgumentError, MissingDependency, PhotinusError, UnsupportedError
from photinus.frame import to_columns, to_dataframe
from photinus.problem import ALGORITHMS, Problem
from photinus.record import StudyRecord, StudyState
from photinus.texts import value_to_text
from photinus.trial import UNSTORABLE, Trial, TrialState

EXPORT_KIND = "photinus-study"
EXPORT_FORMAT = 1


def study_to_dict(record: StudyRecord, trials: Sequence[Trial]) -> dict[str, Any]:
    """The whole study as plain JSON values."""
    return {
        "kind": EXPORT_KIND,
        "format": EXPORT_FORMAT,
        "study": record_to_dict(record),
        "trials": [trial.to_dict() for trial in trials],
    }


def record_to_dict(record: StudyRecord) -> dict[str, Any]:
    """A study without its trials as plain JSON values."""
    return {
        "project": record.project,
        "name": record.name,
        "algorithm": record.algorithm,
        "seed": record.seed,
        "state": record.state.value,
        "created_at": record.created_at.isoformat(),
        "metadata": dict(record.metadata),
        "problem": record.problem.to_dict(),
    }


def read_study(path: Path) -> tuple[StudyRecord, list[Trial]]:
    """The study in an exported file, checked, ready for `Backend.restore_study`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read ({error.strerror}): name an exported file") from error
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} must be a JSON file of `photinus export`: {error}") from error
    return study_from_dict(data, str(path))


def study_from_dict(data: object, source: str) -> tuple[StudyRecord, list[Trial]]:
    """The study that `study_to_dict` described, checked; errors name the source it came from."""
    if not isinstance(data, dict) or data.get("kind") != EXPORT_KIND:
        raise ArgumentError(f"{source} must be a JSON file of `photinus export`, but it is something else")
    if data.get("format") != EXPORT_FORMAT:
        raise UnsupportedError(
            f"{source} has format {data.get('format')!r}, this version reads {EXPORT_FORMAT}: upgrade photinus"
        )
    try:
        record = _record(data["study"])
        trials = [_trial(record.problem, number, entry) for number, entry in enumerate(data["trials"])]
    except (PhotinusError, KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise ArgumentError(f"{source} is damaged: {what}; export the study again") from error
    events = [trial.updated_event for trial in trials]
    if len(set(events)) < len(events):
        raise ArgumentError(
            f"{source} is damaged: two trials have the same `updated_event`; export the study again"
        )
    return record, trials


def to_csv(problem: Problem, trials: Sequence[Trial]) -> str:
    """One row per trial, in the columns of `Study.to_dataframe`."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    columns = to_columns(problem, trials)
    for name in problem.space:
        columns[f"params_{name}"] = [value_to_text(trial.params[name]) for trial in trials]
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def write_parquet(problem: Problem, trials: Sequence[Trial], path: Path) -> None:
    """The data frame of `Study.to_dataframe` as a Parquet file."""
    frame = to_dataframe(problem, trials)
    for name in problem.space:
        # A Parquet column has one type; choices of several types are told apart by their text.
        column = f"params_{name}"
        if len({type(trial.params[name]) for trial in trials}) > 1:
            frame[column] = [value_to_text(trial.params[name]) for trial in trials]
    try:
        frame.to_parquet(path, index=False)
    except ImportError as error:
        raise MissingDependency(
            'Parquet needs pyarrow, which is not installed: pip install "photinus[dataframe]"'
        ) from error


def _cell(value: object) -> str:
    if value is None or value != value:  # nothing to show: None, NaN
        return ""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _record(data: Mapping[str, Any]) -> StudyRecord:
    if data["algorithm"] not in ALGORITHMS:
        raise UnsupportedError(
            f"algorithm {data['algorithm']!r} is unknown to this version: upgrade photinus"
        )
    return StudyRecord(
        id=0,  # the store that it goes to gives it one
        project=check_name("project", data["project"]),
        name=check_name("name", data["name"]),
        problem=Problem.from_dict(data["problem"]),
        algorithm=data["algorithm"],
        seed=check_integer("seed", data["seed"], 0, MAX_SEED - 1),
        state=StudyState(data["state"]),
        created_at=datetime.fromisoformat(data["created_at"]),
        metadata=check_metadata(data["metadata"]),
    )


def _trial(problem: Problem, number: int, data: Mapping[str, Any]) -> Trial:
    trial = Trial.from_dict(data)
    if trial.number != number:
        raise ValueError(f"trial {number} is missing, trial {trial.number} is in its place")
    try:
        params = problem.space.validate(trial.params)
        values = None if trial.values is None else problem.validate_values(trial.values)
    except PhotinusError as error:
        raise ValueError(f"trial {number}: {error}") from error
    if (values is not None) != (trial.state == TrialState.COMPLETED):
        raise ValueError(f"trial {number} is {trial.state} and has the values {values}")
    for key in ("updated_event", "created_event", "completed_event", "asked_event", "attempts"):
        _check_count(trial, key)
    if trial.worker is not None:
        check_name("worker", trial.worker)
    for key in ("message", "algorithm", "engine_version"):
        if (text := getattr(trial, key)) is not None and UNSTORABLE.search(text):
            raise ValueError(f"trial {number} has `{key}` {text!r}")
    if trial.state.is_running:
        trial = replace(trial, state=TrialState.EXPIRED)
    return replace(trial, params=params, values=values, lease_expires_at=None)


def _check_count(trial: Trial, key: str) -> None:
    """Events count from 1, and a trial may lack some; attempts count from 0."""
    value = getattr(trial, key)
    if value is None and key in ("completed_event", "asked_event"):
        return
    low = 0 if key == "attempts" else 1
    if not isinstance(value, int) or not low <= value <= MAX_COUNT:
        raise ValueError(f"trial {trial.number} has `{key}` {value!r}")
