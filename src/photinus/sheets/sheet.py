"""A file as rows and columns: the point, the outcome and the trial that a row is about.

Nothing is raised on the way: faults are noted, so that all of them can be said at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from photinus.errors import ArgumentError, PhotinusError
from photinus.problem import Problem
from photinus.sheets.cells import decimal_mark, is_broken, is_nothing, read_number, unprotect, value_from_cell
from photinus.sheets.columns import MESSAGE, NUMBER, OUTCOMES, STATE, Columns
from photinus.sheets.faults import Faults
from photinus.space import Categorical, Value
from photinus.trial import Measurement, TrialState

NEGATIONS = ("no", "n", "0", "false", "-", "none", "ok", "nein", "non")


@dataclass(frozen=True, slots=True)
class Row:
    """Cells by column, as they are in the file."""

    number: int  # as spreadsheets count: the line of names is one
    cells: Mapping[str, str]

    def text(self, column: str | None) -> str:
        """What the cell says, without spaces around it."""
        return "" if column is None else self.cells.get(column, "").strip()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file's rows, and where in them the parts of a problem are."""

    problem: Problem
    header: tuple[str, ...]
    columns: Columns
    rows: tuple[Row, ...]
    delimiter: str
    faults: Faults
    mark: str | None = field(init=False)  # of decimals; None if nobody can tell

    def __post_init__(self) -> None:
        numeric = [
            *self.columns.values.values(),
            *(
                column
                for name, column in self.columns.params.items()
                if not isinstance(self.problem.space[name], Categorical)
            ),
        ]
        cells = [row.cells.get(column, "") for row in self.rows for column in numeric]
        object.__setattr__(self, "mark", decimal_mark(cells, self.delimiter))

    def need(self, kind: str, wanted: Mapping[str, str], found: Mapping[str, str]) -> None:
        """Note which of the wanted columns are not there, and which ones were perhaps meant."""
        for name, column in wanted.items():
            if name in found:
                continue
            if other := self.columns.lookalike(column, self.header):
                self.faults.add(
                    f"column `{column}` must be there, got `{other}`: put the name back, and numbers into the unit "
                    f"that the study has for {kind} {name!r}"
                )
            else:
                names = ", ".join(f"`{title}`" for title in self.header)
                self.faults.add(f"column `{column}` must be there, got {names}: add it")

    def trial_number(self, row: Row) -> int | None:
        """The number of the trial that the row is about; a fault is noted if there is none."""
        column = self.columns.plain[NUMBER]
        try:
            number = read_number(row.text(column), self.mark or ".")
        except ArgumentError:
            number = -1
        if number < 0 or number != int(number):
            self.faults.add(
                f"must be the number of a trial, got {row.text(column)!r}: put it back", row.number, column
            )
            return None
        return int(number)

    def params(self, row: Row) -> dict[str, Value]:
        """The point of the row; faults are noted."""
        params: dict[str, Value] = {}
        for name, column in self.columns.params.items():
            try:
                params[name] = value_from_cell(self.problem.space[name], row.text(column), self.mark)
            except PhotinusError as error:
                self.faults.add(ArgumentError(str(error)), row.number, column)
        return params

    def measurement(self, row: Row) -> Measurement | None:
        """The outcome in the row; None if there is none yet. Faults are noted."""
        reasons = dict(self._reasons(row))
        given = {name: column for name, column in self.columns.values.items() if row.text(column)}
        state = row.text(self.columns.plain.get(STATE)).lower()
        if len(reasons) > 1:
            self.faults.add(f"a trial has one outcome, got {reasons}: leave one of the two", row.number)
        if reasons and given:
            self.faults.add(
                f"a trial that is {next(iter(reasons))} has no values: remove the value or the reason",
                row.number,
                next(iter(given.values())),
            )
        if reasons:
            kind, text = next(iter(reasons.items()))
            return Measurement(TrialState(kind), message=text)
        if not given and state != TrialState.COMPLETED:
            return None
        if state and state != TrialState.COMPLETED:
            self.faults.add(
                f"a trial with values is {TrialState.COMPLETED.value!r}, got {state!r}: correct one of the two",
                row.number,
                self.columns.plain[STATE],
            )
        return self._values(row)

    def _values(self, row: Row) -> Measurement | None:
        values: dict[str, float] = {}
        for name, column in self.columns.values.items():
            text = row.text(column)
            if not text:
                self.faults.add("every objective needs a value where one of them has it", row.number, column)
            elif is_nothing(text):
                self.faults.add(
                    f"must be a number, got {text!r}: leave the cell empty while there is no result; if there will be "
                    f"none, say why in the column `{OUTCOMES[0]}` or `{OUTCOMES[1]}`",
                    row.number,
                    column,
                )
            else:
                try:
                    values[name] = float(read_number(text, self.mark))
                except PhotinusError as error:
                    self.faults.add(error, row.number, column)
        return Measurement.completed(values) if len(values) == len(self.problem.metrics) else None

    def _reasons(self, row: Row) -> Iterator[tuple[str, str]]:
        """Why there are no values, by kind of outcome."""
        state = row.text(self.columns.plain.get(STATE)).lower()
        if state in OUTCOMES:
            yield state, unprotect(row.text(self.columns.plain.get(MESSAGE))) or "no reason given"
        for kind in OUTCOMES:
            column = self.columns.plain.get(kind)
            text = unprotect(row.text(column)).replace("\r\n", "\n")
            if is_broken(text):
                self.faults.add(
                    f"the spreadsheet took the reason for a formula, got {text!r}: type it again, with an "
                    "apostrophe in front",
                    row.number,
                    column,
                )
            elif text.lower() in NEGATIONS:
                self.faults.add(
                    f"must be empty, or say why the trial is {kind}, got {text!r}: empty it, or give the reason",
                    row.number,
                    column,
                )
            elif text:
                yield kind, text
