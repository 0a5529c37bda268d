"""How things look in a notebook: a card with a title, a few lines and small tables, as HTML and as Markdown.

Colours are the notebook's own, so that a card is as readable on dark as on light. There is neither script nor style
sheet in it, and everything a user wrote is escaped. It takes text and knows nothing of studies.
"""

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

MAX_TEXT = 120  # characters of a line or a cell; longer ones are cut
SHORT_CELL = 30  # characters that are kept on one line
MAX_COLUMNS = 12
MAX_ROWS = 10  # of a list that may have thousands
MAX_PARAMETERS = 40  # as rows: half a point is of little use
ELLIPSIS = "…"

PLAIN = "tex2jax_ignore mathjax_ignore"  # or notebooks would take $ for mathematics
CARD = (
    "display:inline-block;box-sizing:border-box;max-width:100%;overflow-x:auto;margin:.3em 0;padding:.5em .8em;"
    "border:1px solid rgba(128,128,128,.4);border-radius:6px"
)
TITLE = "font-weight:600"
LINE = "opacity:.8;font-size:90%"
CAPTION = "margin-top:.6em;font-weight:600;font-size:90%"
TABLE = "border-collapse:collapse;margin:.4em 0 0;font-size:90%;width:auto"
CELL = "padding:.15em .9em .15em 0;border:0;border-bottom:1px solid rgba(128,128,128,.25);vertical-align:top"

MARKDOWN = re.compile(r"[\\`*_\[\]|~$]|^[#+=-]|(?<=^\d)[.)](?= )")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header, in text; columns in `numeric` are set to the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()
    num_hidden: int = 0  # rows that are left out, in the middle
    title: str = ""

    @classmethod
    def of(
        cls,
        header: Sequence[str],
        items: Sequence[Item],
        row: Callable[[Item], Sequence[str]],
        numeric: Iterable[int] = (),
        title: str = "",
        max_rows: int = MAX_ROWS,
    ) -> "Table":
        """A row for each item, or for the first and the last ones where there are many."""
        shown = ends(items, max_rows)
        rows = [row(item) for item in shown]
        return cls(header, rows, frozenset(numeric), len(items) - len(shown), title)

    def fitted(self) -> tuple["Table", str]:
        """The table as far as it is shown, and what is left out."""
        hidden_columns = len(self.header) - MAX_COLUMNS
        rows, notes = list(self.rows), []
        if self.num_hidden:
            rows.insert(len(rows) // 2, [ELLIPSIS] * len(self.header))
            notes.append(f"{self.num_hidden:,} more rows")
        if hidden_columns > 0:
            notes.append(f"{hidden_columns:,} more columns")
        fitted = Table(self.header[:MAX_COLUMNS], [row[:MAX_COLUMNS] for row in rows], self.numeric)
        return fitted, " and ".join(notes)


@dataclass(frozen=True, slots=True)
class Card:
    """What is shown of one thing."""

    title: str
    lines: Sequence[str] = ()
    tables: Sequence[Table] = ()

    def to_html(self) -> str:
        """As HTML that stands alone."""
        parts = [_element("div", TITLE, _html(self.title))]
        parts += [_element("div", LINE, _html(line)) for line in self.lines if line]
        for table in self.tables:
            fitted, rest = table.fitted()
            parts += [_element("div", CAPTION, _html(table.title))] if table.title else []
            head = _row(fitted, "th", fitted.header)
            body = "".join(_row(fitted, "td", row) for row in fitted.rows)
            parts.append(_element("table", TABLE, f"<thead>{head}</thead><tbody>{body}</tbody>"))
            parts += [_element("div", LINE, _html(rest))] if rest else []
        content = "".join(parts)
        return f'<div class="{PLAIN}" style="{CARD}">{content}</div>'

    def to_markdown(self) -> str:
        """As Markdown, for what shows no HTML."""
        parts = [f"**{_markdown(self.title)}**", *(_markdown(line) for line in self.lines if line)]
        for table in self.tables:
            fitted, rest = table.fitted()
            parts += [_markdown(table.title)] if table.title else []
            rule = ["--:" if i in fitted.numeric else "---" for i in range(len(fitted.header))]
            rows = [[_markdown(text) for text in row] for row in (fitted.header, *fitted.rows)]
            rows.insert(1, rule)
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
            parts += [_markdown(rest)] if rest else []
        return "\n\n".join(parts) + "\n"


class Displayed:
    """Something that notebooks show as a card."""

    __slots__ = ()

    def _card(self) -> Card:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self._card().to_html()

    def _repr_markdown_(self) -> str:
        return self._card().to_markdown()


def ends(items: Sequence[Item], most: int = MAX_ROWS) -> Sequence[Item]:
    """All items, or the first and the last ones where there are many."""
    half = most // 2
    return items if len(items) <= most else [*items[:half], *items[-half:]]


def short_text(value: object) -> str:
    """A value for people: numbers to six digits, booleans and None as in Python."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value) if value != "" else repr(value)


def _element(name: str, style: str, content: str) -> str:
    return f'<{name} style="{style}">{content}</{name}>'


def _row(table: Table, kind: str, cells: Sequence[str]) -> str:
    content = (_element(kind, _cell(table, i, text), _html(text)) for i, text in enumerate(cells))
    return f"<tr>{''.join(content)}</tr>"


def _cell(table: Table, column: int, text: str) -> str:
    fold = ";white-space:nowrap" if len(text) <= SHORT_CELL else ""
    return f"{CELL};text-align:{'right' if column in table.numeric else 'left'}{fold}"


def _html(text: str) -> str:
    return html.escape(_cut(text))


def _markdown(text: str) -> str:
    return MARKDOWN.sub(r"\\\g<0>", html.escape(_cut(text), quote=False))


def _cut(text: str) -> str:
    """On one line, not too long, and without characters that would turn the text around them."""
    plain = CONTROL.sub(" ", text)
    return plain if len(plain) <= MAX_TEXT else plain[: MAX_TEXT - 1] + ELLIPSIS
