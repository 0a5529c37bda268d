"""Plain-text tables."""

from collections.abc import Sequence

Value = float | int | str | None


def render(head: Sequence[str], rows: Sequence[Sequence[Value]]) -> str:
    """Right-aligned columns under their names; a missing number is a dash, an empty column is left out."""
    texts = [[_text(value) for value in row] for row in rows]
    columns = [i for i in range(len(head)) if any(row[i] is not None for row in rows)]
    widths = {i: max([len(head[i]), *(len(row[i]) for row in texts)]) for i in columns}
    lines = ["  ".join(head[i].rjust(widths[i]) for i in columns)]
    lines += ["  ".join(row[i].rjust(widths[i]) for i in columns) for row in texts]
    return "\n".join(lines)


def _text(value: Value) -> str:
    """Three digits that mean something."""
    match value:
        case None:
            return "-"
        case int() | str():
            return str(value)
        case _:
            return f"{value:.4f}" if value < 0.1 else f"{value:#.3g}".rstrip(".")
