"""CSV files as people and their spreadsheets write them: points to try, and results.

Commas, semicolons or tabs between cells; where it is not commas, numbers may have a decimal comma. A byte order
mark and empty rows do no harm. Columns are found by name: `lr` or `params_lr` for a parameter, `error` or
`values_error` for an objective, the long form where a parameter and an objective have the same name.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from photinus.errors import ArgumentError, PhotinusError
from photinus.problem import Problem
from photinus.space import Value
from photinus.texts import number_from_text, value_from_text, value_to_text
from photinus.trial import Measurement, Trial, TrialState

NUMBER, STATE, MESSAGE = "number", "state", "message"
OUTCOMES = ("infeasible", "failed")  # columns that say why there are no values
DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Row:
    """Cells by column, with the place to name in an error."""

    place: str
    cells: Mapping[str, str]
    decimal_comma: bool

    def error(self, message: object) -> ArgumentError:
        """The error that something is wrong with this row."""
        return ArgumentError(f"{self.place}: {message}")

    def params(self, problem: Problem) -> dict[str, Value]:
        """The point of the row."""
        params: dict[str, Value] = {}
        for name in problem.space:
            text = self._cell(_params_column(problem, name), f"params_{name}")
            if text is None:
                raise self.error(f"a column for parameter {name!r} is needed, got {', '.join(self.cells)}")
            try:
                params[name] = value_from_text(problem.space[name], text, decimal_comma=self.decimal_comma)
            except PhotinusError as error:
                raise self.error(f"parameter {name!r} {error}") from error
        return params

    def number(self) -> int:
        """The number of the trial that the row is about."""
        number = number_from_text(self.cells.get(NUMBER, ""))
        if number is None or number != number // 1 or number < 0:
            got = repr(self.cells[NUMBER]) if NUMBER in self.cells else "no such column"
            raise self.error(f"column `{NUMBER}` must have the number of a trial, got {got}")
        return int(number)

    def measurement(self, problem: Problem) -> Measurement | None:
        """The outcome in the row; None if there is none yet."""
        outcome = self._outcome_without_values(problem)
        cells = {
            name: self._cell(_values_column(problem, name), f"values_{name}") for name in problem.metric_names
        }
        absent = [name for name, text in cells.items() if text is None]
        given = {name: text for name, text in cells.items() if text}
        if outcome is not None:
            if given:
                raise self.error(
                    f"a trial that is {outcome.state} has no values, got {given}: remove one of the two"
                )
            return outcome
        state = self.cells.get(STATE, "") if STATE not in problem.space else ""
        if not given and not absent and state != TrialState.COMPLETED:
            return None
        if state and state != TrialState.COMPLETED:
            raise self.error(
                f"a trial with values is {TrialState.COMPLETED.value!r}, got {state=}: correct one of the two"
            )
        if absent or len(given) < len(cells):
            raise self.error(
                f"every objective needs a value, missing {', '.join(name for name in cells if name not in given)}"
            )
        try:
            return Measurement.completed(
                problem.validate_values({n: self._measured(text) for n, text in given.items()})
            )
        except PhotinusError as error:
            raise self.error(error) from error

    def _measured(self, text: str) -> object:
        number = number_from_text(text, decimal_comma=self.decimal_comma)
        return text if number is None else number

    def _outcome_without_values(self, problem: Problem) -> Measurement | None:
        names = {*problem.space, *problem.metric_names}
        notes = {kind: self.cells.get(kind, "") for kind in OUTCOMES if kind not in names}
        state = self.cells.get(STATE, "") if STATE not in names else ""
        if state in OUTCOMES:
            notes[state] = self.cells.get(MESSAGE, "") or "no reason given"
        stated = {kind: text for kind, text in notes.items() if text}
        if len(stated) > 1:
            raise self.error(f"a trial has one outcome, got {stated}: leave one of the two")
        for kind, text in stated.items():
            return Measurement(TrialState(kind), message=text)
        return None

    def _cell(self, *columns: str) -> str | None:
        return next((self.cells[column] for column in columns if column in self.cells), None)


def read_rows(path: Path) -> list[Row]:
    """Every row of the file that is not empty."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read ({error.strerror}): name a CSV file") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path} must be a CSV file in UTF-8: {error}") from error
    first_line = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(DELIMITERS, key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] = []
    rows: list[Row] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = _header(path, cells)
                continue
            place = f"{path}, line {reader.line_num}"
            if any(cell.strip() for cell in cells[len(header) :]):
                raise ArgumentError(f"{place}: at most {len(header)} cells belong there, got {len(cells)}")
            padded = [cell.strip() for cell in cells] + [""] * (len(header) - len(cells))
            rows.append(Row(place, dict(zip(header, padded, strict=False)), delimiter != ","))
    except csv.Error as error:
        raise ArgumentError(f"{path}, line {reader.line_num}: must be CSV, but {error}") from error
    if not rows:
        raise ArgumentError(f"{path} must have a line of column names and at least one row below it")
    return rows


def write_batch(problem: Problem, trials: Sequence[Trial]) -> str:
    """Trials to run as CSV text, with an empty column for each objective to be filled in."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    params = [_params_column(problem, name) for name in problem.space]
    values = [_values_column(problem, name) for name in problem.metric_names]
    writer.writerow([NUMBER, *params, *values])
    for trial in trials:
        writer.writerow([trial.number, *map(value_to_text, trial.params.values()), *[""] * len(values)])
    return text.getvalue()


def _header(path: Path, cells: Sequence[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    while names and not names[-1]:
        names.pop()
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ArgumentError(
            f"{path}: column names must differ, got {', '.join(sorted(repeated))} more than once"
        )
    return names


def _params_column(problem: Problem, name: str) -> str:
    """The short name where nothing else has it."""
    is_taken = name in (*problem.metric_names, NUMBER)
    return f"params_{name}" if is_taken else name


def _values_column(problem: Problem, name: str) -> str:
    is_taken = name in (*problem.space, NUMBER)
    return f"values_{name}" if is_taken else name
