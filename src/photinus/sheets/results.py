"""Results in a sheet that was filled in, compared with what went out.

A result is taken only if the row is still about the trial it was written for. Units are part of a column's name,
which must not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from photinus.errors import InvalidState, UnknownTrial
from photinus.problem import Problem
from photinus.reporting import TrialList
from photinus.sheets.cells import is_same_text, is_same_value, is_shown_as
from photinus.sheets.columns import NUMBER, OUTCOMES, STUDY, Columns
from photinus.sheets.reading import read_sheet
from photinus.sheets.sheet import Row, Sheet
from photinus.storage import lifecycle
from photinus.texts import value_to_text
from photinus.trial import Measurement, Trial


@dataclass(frozen=True, slots=True)
class SheetResults:
    """What a sheet that came back says, in numbers of trials."""

    new: dict[int, Measurement]
    repeated: list[int]  # told before, with that result
    pending: list[int]  # no result yet
    unread: list[str]  # columns that are none of ours


@dataclass(frozen=True, slots=True)
class ToldSheet:
    """What came of a sheet: trials that got their result now, had it before, or have none yet."""

    told: TrialList
    repeated: TrialList
    pending: TrialList
    unread: list[str]  # columns that are none of ours


def read_results(path: Path, problem: Problem, study_name: str, trials: Sequence[Trial]) -> SheetResults:
    """The results in a sheet, or one error about everything that is wrong with it."""
    sheet = read_sheet(path, problem, "nothing was told")
    return _Reader(sheet, study_name, {trial.number: trial for trial in trials}).read()


class _Reader:
    """Compares the rows of a sheet with the trials of a study."""

    def __init__(self, sheet: Sheet, study_name: str, trials: dict[int, Trial]) -> None:
        self._sheet = sheet
        self._study_name = study_name
        self._trials = trials
        self._results = SheetResults({}, [], [], self._unread())
        self._rows: dict[int, Row] = {}  # by trial

    def read(self) -> SheetResults:
        """Every row."""
        self._check_columns()
        if NUMBER in self._sheet.columns.plain:
            for row in self._sheet.rows:
                self._read_row(row)
        self._sheet.faults.check()
        return self._results

    def _unread(self) -> list[str]:
        return [
            name for name in self._sheet.header if name.strip() and name not in self._sheet.columns.titles
        ]

    def _check_columns(self) -> None:
        sheet, wanted, found = self._sheet, Columns.of(self._sheet.problem), self._sheet.columns
        if NUMBER not in found.plain:
            sheet.faults.add(f"column `{NUMBER}` must be there, with the numbers of the trials: put it back")
        sheet.need("objective", wanted.values, found.values)
        # A file of results may do without parameters; where some are there, all of them are compared.
        if found.params or any(found.lookalike(title, sheet.header) for title in wanted.params.values()):
            sheet.need("parameter", wanted.params, found.params)
        for name in OUTCOMES:
            other = None if name in found.plain else found.lookalike(name, sheet.header)
            if name in wanted.plain and other:
                sheet.faults.add(f"column `{other}` must be called `{name}`, or reasons would be overlooked")

    def _read_row(self, row: Row) -> None:
        number = self._sheet.trial_number(row)
        if number is None:
            return
        column = self._sheet.columns.plain[NUMBER]
        trial = self._trials.get(number)
        if trial is None:
            total = len(self._trials)
            has = f"has the trials 0 to {total - 1}" if total else "has no trials"
            message = f"study {self._study_name!r} {has}, got {number}: put the number back"
            self._sheet.faults.add(UnknownTrial(message), row.number, column)
            return
        if number in self._rows:
            self._sheet.faults.add(
                f"a trial must have one row, but row {self._rows[number].number} is about trial {number}, too: remove "
                "one of them",
                row.number,
                column,
            )
            return
        self._rows[number] = row
        self._check_identity(trial, row)
        self._take(trial, row)

    def _check_identity(self, trial: Trial, row: Row) -> None:
        """The row must be about this trial of this study."""
        sheet = self._sheet
        study = sheet.columns.plain.get(STUDY)
        if row.text(study) and not is_same_text(self._study_name, row.text(study)):
            sheet.faults.add(
                f"must be {self._study_name!r}, got {row.text(study)!r}: tell the study that the sheet was made for, "
                "or empty the column",
                row.number,
                study,
            )
        for name, title in sheet.columns.params.items():
            if not is_same_value(trial.params[name], row.cells.get(title, ""), sheet.mark):
                sheet.faults.add(
                    f"trial {trial.number} has {value_to_text(trial.params[name])}, got {row.text(title)!r}: put it "
                    "back; what was measured at another point is added by `photinus import` or `add_trial`",
                    row.number,
                    title,
                )

    def _take(self, trial: Trial, row: Row) -> None:
        """Sort the row's result into what is new, known and pending."""
        if trial.state.is_finished and self._has_nothing_new(trial, row):
            self._results.repeated.append(trial.number)
            return
        num_faults = len(self._sheet.faults)
        measurement = self._sheet.measurement(row)
        if len(self._sheet.faults) > num_faults:
            return
        if measurement is None:
            self._results.pending.append(trial.number)
            return
        try:  # what a store would refuse, by the rule that stores apply
            lifecycle.told(trial, measurement, worker=None, now=datetime.now(UTC), event=0)
        except InvalidState as error:
            self._sheet.faults.add(error, row.number)
            return
        self._results.new[trial.number] = measurement

    def _has_nothing_new(self, trial: Trial, row: Row) -> bool:
        """Whether the row says what a finished trial has, or had before it was amended, or nothing at all."""
        columns, mark = self._sheet.columns, self._sheet.mark
        values = {name: row.text(title) for name, title in columns.values.items() if row.text(title)}
        reasons = {name: row.text(columns.plain.get(name)) for name in OUTCOMES}
        if trial.values is None:
            text = reasons.pop(trial.state)
            return (
                not values
                and not any(reasons.values())
                and (not text or is_same_text(trial.message or "", text))
            )
        known = [trial.values, *(amendment.old_values for amendment in trial.amendments[:1])]
        return not any(reasons.values()) and any(
            all(is_shown_as(outcome[name], text, mark) for name, text in values.items()) for outcome in known
        )
