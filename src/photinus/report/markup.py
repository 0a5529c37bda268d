"""Pieces of HTML. Text is escaped unless it is marked as markup already."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from photinus.plots.theme import number

LONG_CELL = 26  # letters


class Html(str):
    """Text that is markup: everything a user wrote was escaped when it was made."""

    __slots__ = ()


def html(content: object) -> Html:
    """`content` as markup."""
    return content if isinstance(content, Html) else Html(escape(str(content)))


def join(parts: Iterable[object], separator: str = "") -> Html:
    """Pieces of markup one after another."""
    return Html(separator.join(html(part) for part in parts))


def tag(name: str, content: object, **attributes: str) -> Html:
    """An element; `class_` stands for `class`, and underscores in names for dashes."""
    pairs = (
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value
    )
    return Html(f"<{name}{''.join(pairs)}>{html(content)}</{name}>")


def table(header: Sequence[object], rows: Sequence[Sequence[object]], numeric: Sequence[int] = ()) -> Html:
    """A table that scrolls inside its own frame; columns in `numeric` are set to the right."""

    def line(cells: Sequence[object], kind: str) -> Html:
        kinds = (
            ("number " if i in numeric else "") + ("" if _is_long(cell) else "short")
            for i, cell in enumerate(cells)
        )
        return tag("tr", join(tag(kind, c, class_=k.strip()) for c, k in zip(cells, kinds, strict=True)))

    head = tag("thead", line(header, "th"))
    body = tag("tbody", join(line(row, "td") for row in rows))
    return tag("div", tag("table", join([head, body])), class_="table", tabindex="0")


def _is_long(cell: object) -> bool:
    """Whether a cell may need several lines; short ones are never broken."""
    return len(re.sub(r"<[^>]*>", "", html(cell))) > LONG_CELL


def section(title: object, *parts: object, intro: object = "") -> Html:
    """A part of the page under a headline; nothing if there is nothing in it."""
    content = [part for part in parts if part]
    if not content:
        return Html("")
    lead = [tag("p", intro, class_="lead")] if intro else []
    return tag("section", join([tag("h2", title), *lead, *content]))


def tile(label: str, value: object, detail: object = "") -> Html:
    """One number worth a glance."""
    return tag("div", join([tag("span", label), tag("strong", value), tag("small", detail)]), class_="tile")


def bar(share: float) -> Html:
    """A share as a small bar with its number."""
    width = f"width:{100 * max(share, 0.0):.1f}%"
    return join([tag("span", tag("i", "", style=width), class_="bar"), Html(f"{share:.0%}")])


def shown(value: object) -> str:
    """A parameter's or an objective's value for people."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "unknown" if value != value else number(value)
    return str(value) or repr(value)
