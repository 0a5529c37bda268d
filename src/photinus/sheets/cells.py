"""Cells of spreadsheets: numbers as people type them, and text that a spreadsheet must leave as it is.

Spreadsheets run what begins with `=`, make a date of `1/2` and 7 of `007`, show numbers rounded, and write decimal
commas in half of the world. What cannot be read without guessing is refused, with what to write instead.
"""

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

from photinus.errors import ArgumentError
from photinus.space import Categorical, Parameter, Value
from photinus.texts import value_from_text, value_to_text

SHOWN_DIGITS = 6  # Excel shows 0.0000123456789 as 1.23457E-05
HELD_DIGITS = 15  # no spreadsheet holds more
MAX_DIGITS = 20  # of whole numbers; Python refuses to read thousands of digits

_NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(_NUMBER)
_UNCLEAR = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # 1.234 is a number near one here, and a thousand there
_MONTH = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*\.?"
_REWRITTEN = re.compile(rf"\s*(?:['=+\-@]|[.,]?\d|(?:true|false)\s*$|{_MONTH}[ -]?\d)", re.IGNORECASE)
_NOTHING = re.compile(r"(?i)[+-]?(?:nan|inf(?:inity)?)|n\.?/?a\.?|none|null|nd|tbd|todo|[-–—?x./]+")
_BROKEN = re.compile(r"#(?:N/A|NAME\?|VALUE!|REF!|DIV/0!|NUM!|NULL!|SPILL!|CALC!|#+)|Err:\d+")

# What people write in place of a number, and the advice that helps.
_ADVICE = [
    (_BROKEN, "the spreadsheet could not compute it; correct the formula there"),
    (re.compile(r"[=@].*"), "a formula; write the number that it gives"),
    (re.compile(r".*\d\s*±.*"), "write the number without its uncertainty"),
    (re.compile(r"(?:[<>≤≥~≈±]|ca\b).*"), "a limit or a guess is no measurement; write the number alone"),
    (
        re.compile(
            rf"(?i)\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}|\d{{1,2}}[-. ]*{_MONTH}.*|{_MONTH}[-. ]*\d+|\d+/\d+|\d+:\d+.*"
        ),
        "a date, a time or a fraction, which spreadsheets make of numbers; format the column as numbers, type it again",
    ),
    (
        re.compile(rf"{_NUMBER}\s*%"),
        "this may mean {number} or a hundredth of it; write the one that the column is in",
    ),
]
_SEPARATED = re.compile(r"[+-]?\d{1,3}(?:([.,' ’\u00a0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
_WITH_UNIT = re.compile(rf"({_NUMBER})(?:\s*[^\W\d][^\d]*|\s*[°µμΩ$€£¥][^\d]*|\s+[^\W\d].*)")
_OTHER_SIGNS = str.maketrans(
    {"\u2212": "-", "–": "-", "—": "-", "'": "", "’": "", "\u00a0": "", "\u202f": "", " ": ""}
)


def protect(text: str) -> str:
    """The text as a cell that a spreadsheet neither runs nor rewrites; `unprotect` is the way back."""
    return f"'{text}" if _REWRITTEN.match(text) else text


def unprotect(text: str) -> str:
    """The text that `protect` made a cell of; other text stays as it is."""
    return text[1:] if text.startswith("'") and _REWRITTEN.match(text[1:]) else text


def value_to_cell(value: Value) -> str:
    """A parameter's value for a sheet, numbers to the last digit."""
    text = value_to_text(value)
    return text if isinstance(value, int | float) and not isinstance(value, bool) else protect(text)


def value_from_cell(parameter: Parameter, text: str, mark: str | None) -> Value:
    """The value of that parameter that a cell means."""
    if not isinstance(parameter, Categorical):
        return parameter.validate(read_number(text, mark))
    choices = [choice for choice in parameter.values if isinstance(choice, str)]
    plain = text if text in choices else unprotect(text)
    return value_from_text(parameter, plain, decimal_comma=mark == ",")


def is_same_value(value: Value, text: str, mark: str | None) -> bool:
    """Whether the cell still says what `value_to_cell` wrote, whatever a spreadsheet did to its form."""
    if isinstance(value, str):
        return is_same_text(value, text) or value.casefold() == text.strip().casefold() in ("true", "false")
    if value is None or isinstance(value, bool):
        return unprotect(text.strip()).casefold() == value_to_text(value)
    return is_shown_as(value, text, mark)


def is_same_text(text: str, cell: str) -> bool:
    """Whether the cell has the same words; spaces and line ends do not count."""
    return text.split() in (cell.split(), unprotect(cell.strip()).split(), unprotect(cell).split())


def is_shown_as(number: float, text: str, mark: str | None) -> bool:
    """Whether the cell shows that number, rounded to as many digits as there are, six at least."""
    shown = number_in(text, mark)
    if shown is None or shown == number:
        return shown is not None
    exact = Decimal(_with_point(text))
    if not exact:
        return False
    digits = min(max(len(exact.normalize().as_tuple().digits), SHOWN_DIGITS), HELD_DIGITS)
    unit = Decimal(1).scaleb(exact.adjusted() + 1 - digits)
    return abs(Decimal(number) - exact) <= unit * Decimal(
        "0.51"
    )  # half a unit, and room for binary fractions


def is_broken(text: str) -> bool:
    """Whether the cell has a spreadsheet's word for a formula that it cannot compute."""
    return _BROKEN.fullmatch(text.strip()) is not None


def is_nothing(text: str) -> bool:
    """Whether the cell has one of the words that people write where there is no number."""
    return _NOTHING.fullmatch(text.strip()) is not None


def decimal_mark(cells: Iterable[str], delimiter: str) -> str | None:
    """The decimal mark of a file, by its cells of numbers; None if they only say 1.234, which may be 1234."""
    if delimiter == ",":
        return "."
    marked = [
        text for text in map(str.strip, cells) if _PLAIN.fullmatch(text) and ("," in text or "." in text)
    ]
    clear = Counter("," if "," in text else "." for text in marked if not _UNCLEAR.fullmatch(text))
    usual = "," if delimiter == ";" else "."  # semicolons are there because the comma is taken
    if clear:
        return max(clear, key=lambda mark: (clear[mark], mark == usual))
    if not marked or (usual == "," and all("," in text for text in marked)):
        return usual
    return None


def number_in(text: str, mark: str | None) -> int | float | None:
    """The number in a cell of a file with that decimal mark; None if there is none."""
    plain = text.strip()
    marks = {char for char in plain if char in ".,"}
    if not _PLAIN.fullmatch(plain) or not marks <= {mark}:
        return None
    is_whole = plain.lstrip("+-").isdigit() and len(plain) <= MAX_DIGITS
    return int(plain) if is_whole else float(_with_point(plain))


def read_number(text: str, mark: str | None) -> int | float:
    """The number in a cell, or an error that says what to write instead."""
    number = number_in(text, mark)
    if number is not None and abs(number) != float("inf"):
        return number
    raise ArgumentError(f"must be a number, got {text.strip()!r}: {_advice(text.strip(), mark)}")


def _advice(text: str, mark: str | None) -> str:
    for pattern, advice in _ADVICE:
        if pattern.fullmatch(text):
            return advice.format(number=text.rstrip("% "))
    if not text:
        return "the cell is empty"
    example = f"write digits alone, such as 12{mark or '.'}5"
    if mark is None and _UNCLEAR.fullmatch(text):
        digits = re.sub("[.,]", "", text)
        return f"nobody can tell whether it is {digits}; write {digits}, or one more digit, {text}0"
    if _PLAIN.fullmatch(text) or _SEPARATED.fullmatch(text):
        return _mark_advice(text, mark or ".")
    if match := _WITH_UNIT.fullmatch(text):
        return f"write {match[1]} if that is in the column's unit; units stay out of the cells"
    corrected = text.translate(_OTHER_SIGNS).strip()
    if match := re.fullmatch(rf"\(({_NUMBER})\)", corrected):
        corrected = f"-{match[1]}"
    return f"write {corrected}" if number_in(corrected, mark) is not None else example


def _mark_advice(text: str, mark: str) -> str:
    """What to write for a number with another decimal mark, or with marks between thousands."""
    used = f"numbers of this file have a decimal {'comma' if mark == ',' else 'point'} and no mark between thousands"
    digits = re.sub(r"[^\d+-]", "", text)
    if _UNCLEAR.fullmatch(text):
        return f"write {digits} or {re.sub('[.,]', mark, text)}, whichever it is; {used}"
    if _SEPARATED.fullmatch(text):
        last = max(text.rfind("."), text.rfind(","))
        whole, fraction = (text[:last], text[last + 1 :]) if re.search(r"[.,]\d+$", text) else (text, "")
        if len(fraction) == 3 and text[last] in whole:
            whole, fraction = text, ""
        whole = re.sub(r"[^\d+-]", "", whole)
        return f"write {whole}{mark}{fraction}; {used}" if fraction else f"write {whole}; {used}"
    if _PLAIN.fullmatch(text) and number_in(text, mark) is None:
        return f"write {re.sub('[.,]', mark, text).rstrip(mark)}; {used}"
    return "it is too large for a number"


def _with_point(text: str) -> str:
    return text.strip().replace(",", ".")
