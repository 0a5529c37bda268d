"""What commands print: one JSON document, or tables that fit the terminal.

Everything a user named goes through `printable`, so that a study's name can neither colour the terminal nor
move its cursor.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from photinus.space import Value
from photinus.texts import plain_json, value_to_text

MAX_CELL = 28  # cells of the terminal; longer content is cut
MIN_ELASTIC = 12
GAP = 2  # between columns
ZERO_WIDTH_JOINER = "\u200d"  # holds emoji together, though Python does not call it printable


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table; the optional ones give way where the terminal is too narrow."""

    header: str
    cells: Sequence[str]
    is_optional: bool = False
    is_number: bool = False
    is_elastic: bool = False  # prose, of which a part is better than nothing


def print_json(document: Any) -> None:
    """The document on stdout. ASCII, so that no terminal or pipe can spoil it."""
    sys.stdout.write(json.dumps(plain_json(document), indent=2, allow_nan=False) + "\n")


def print_line(text: str = "") -> None:
    """One line of plain text on stdout, folded where the terminal ends."""
    make_console().print(Text(text))


def note(text: str) -> None:
    """Something worth knowing that is not the result: goes to stderr."""
    print(text, file=sys.stderr)


def print_table(columns: Sequence[Column], *, title: str = "", rest: str = "") -> None:
    """Rows under headers, as many columns as fit; says which ones are left out and `rest` after it."""
    console = make_console()
    shown, hidden = _fitting(columns, console.width)
    # The box's own divider is a blank, so that one cell of padding makes a gap of two.
    table = Table(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for column, width in shown:
        justify = "right" if column.is_number else "left"
        header = Text(printable(column.header))
        table.add_column(header, justify=justify, no_wrap=True, overflow="ellipsis", max_width=width)
    for row in zip(*(column.cells for column, _ in shown), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in row))
    if title:
        console.print(Text(title, style="bold"))
    console.print(table)
    if hidden:
        names = ", ".join(printable(column.header) for column in hidden)
        console.print(Text(f"{len(hidden)} more not shown: {names}", style="dim"))
    if rest:
        console.print(Text(rest, style="dim"))


def print_facts(facts: dict[str, str], *, indent: int = 0) -> None:
    """Names and what belongs to them, one pair a line; long values fold under themselves."""
    console = make_console()
    table = Table.grid(padding=(0, GAP, 0, 0))
    table.add_column(no_wrap=True, max_width=min(MAX_CELL, console.width // 2) + indent, overflow="ellipsis")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(Text(" " * indent + printable(name)), Text(printable(value)))
    console.print(table)


def make_console() -> Console:
    """A console on stdout as it is now; highlights nothing by itself."""
    return Console(highlight=False, emoji=False, markup=False)


def printable(text: str) -> str:
    """The text with everything escaped that would do something to the terminal."""
    return "".join(
        char if char.isprintable() or char == ZERO_WIDTH_JOINER else char.encode("unicode_escape").decode()
        for char in text
    )


def short_value(value: Value) -> str:
    """A parameter's value for a table: numbers to four digits."""
    return f"{value:.4g}" if isinstance(value, float) else value_to_text(value)


def short_values(values: dict[str, float]) -> str:
    """Measured values in one line."""
    return ", ".join(f"{name}={value:.6g}" for name, value in values.items())


def _fitting(columns: Sequence[Column], width: int) -> tuple[list[tuple[Column, int]], list[Column]]:
    """Which columns are shown, how wide, and which are not; required ones always are."""
    free = width - sum(_width(column) + GAP for column in columns if not column.is_optional)
    shown: list[tuple[Column, int]] = []
    hidden: list[Column] = []
    for column in columns:
        needed = _width(column)
        if column.is_optional:
            room = free - GAP
            is_fitting = needed <= room or (column.is_elastic and room >= MIN_ELASTIC)
            if hidden or not is_fitting:
                hidden.append(column)
                continue
            needed = min(needed, room)
            free -= needed + GAP
        shown.append((column, needed))
    return shown, hidden


def _width(column: Column) -> int:
    longest = max(cell_len(printable(cell)) for cell in [column.header, *column.cells])
    return longest if column.is_elastic else min(longest, MAX_CELL)
