"""CSV files as people and their spreadsheets write them.

UTF-8, or UTF-16 behind a byte order mark. Commas, semicolons or tabs between cells; where it is not commas, numbers
may have a decimal comma. Empty rows, other columns and any order of rows and columns do no harm. Whatever is wrong
with a file is said at once, each fault with its row, counted as spreadsheets do, and its column.
"""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from photinus.errors import ArgumentError
from photinus.problem import Problem
from photinus.sheets.columns import Columns
from photinus.sheets.faults import Faults
from photinus.sheets.sheet import Row, Sheet
from photinus.space import Value
from photinus.trial import Measurement

DELIMITERS = ",;\t"
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how .xlsx, .ods and .xls begin
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # what Excel calls Unicode text
REMEDY = "save it as `CSV UTF-8`"


def read_sheet(path: Path, problem: Problem, consequence: str) -> Sheet:
    """The file, with a column for something of the problem at least; `consequence` ends what errors say."""
    faults = Faults(path, consequence)
    text = _read_text(path)
    declared = re.match(
        r'"?sep=([,;\t])"?\r?\n', text
    )  # Excel's own word on it, which it does not show as a row
    text = text[declared.end() :] if declared else text
    delimiter = declared[1] if declared else _delimiter(text, problem)
    header: tuple[str, ...] = ()
    rows: list[Row] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 0
    try:
        for number, cells in enumerate(reader, start=1):
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = _header(path, cells)
                continue
            if any(cell.strip() for cell in cells[len(header) :]):
                faults.add(
                    f"at most {len(header)} cells belong there, got {len(cells)}: put what has {_name(delimiter)} "
                    "inside in quotes, and write decimals with a point",
                    number,
                )
            else:
                rows.append(Row(number, dict(zip(header, cells, strict=False))))
    except csv.Error as error:
        raise ArgumentError(f"{path}, row {number + 1}: must be CSV, but {error}; {consequence}") from error
    if not rows and not faults:
        raise ArgumentError(f"{path} must have a line of column names and at least one row below it")
    return Sheet(problem, header, Columns.found(header, problem), tuple(rows), delimiter, faults)


def read_points(path: Path, problem: Problem) -> list[dict[str, Value]]:
    """The point in every row of the file."""
    sheet = read_sheet(path, problem, "nothing was queued")
    sheet.need("parameter", Columns.of(problem).params, sheet.columns.params)
    points = [sheet.params(row) for row in sheet.rows]
    sheet.faults.check()
    return points


def read_measured(path: Path, problem: Problem) -> list[tuple[dict[str, Value], Measurement | None]]:
    """The point in every row of the file, with its outcome if there is one."""
    sheet = read_sheet(path, problem, "nothing was imported")
    wanted = Columns.of(problem)
    sheet.need("parameter", wanted.params, sheet.columns.params)
    sheet.need("objective", wanted.values, sheet.columns.values)
    results = [(sheet.params(row), sheet.measurement(row)) for row in sheet.rows]
    sheet.faults.check()
    return results


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read ({error.strerror}): name a CSV file") from error
    if content.startswith(WORKBOOKS):
        raise ArgumentError(f"{path} must be a CSV file, but it is a workbook: {REMEDY} first")
    # Old code pages could only be guessed.
    encoding = "utf-16" if content.startswith(UTF_16) else "utf-8-sig"
    try:
        if encoding != "utf-16" and b"\0" in content[:2]:
            raise UnicodeError("it begins like UTF-16 without a byte order mark")
        return content.decode(encoding)
    except UnicodeError as error:
        raise ArgumentError(f"{path} must be a CSV file in UTF-8, but {error}: {REMEDY}") from error


def _delimiter(text: str, problem: Problem) -> str:
    """The one that finds the most columns of the problem; the first of them where several do."""

    def score(delimiter: str) -> tuple[int, int]:
        try:
            for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
                if any(cell.strip() for cell in cells):
                    return len(Columns.found(cells, problem)), len(cells)
        except csv.Error:
            pass
        return 0, 0

    return max(DELIMITERS, key=score)


def _name(delimiter: str) -> str:
    return {",": "a comma", ";": "a semicolon"}.get(delimiter, "a tab")


def _header(path: Path, cells: Sequence[str]) -> tuple[str, ...]:
    names = list(cells)
    while names and not names[-1]:
        names.pop()
    repeated = {name.strip() for name in names if name.strip() and names.count(name) > 1}
    if repeated:
        raise ArgumentError(
            f"{path}: column names must differ, got {', '.join(sorted(repeated))} more than once: rename one of them"
        )
    return tuple(names)
