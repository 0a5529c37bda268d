"""Parameters on a command line: `{name}` in an argument is replaced by the value; no shell reads it."""

import re
from collections.abc import Mapping, Sequence

from photinus.errors import ArgumentError
from photinus.space import Value
from photinus.texts import value_to_text

NUMBER_NAME = "trial"  # stands for the trial's number, unless a parameter has that name

_PIECE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]")


def check_words(words: Sequence[str], parameters: Sequence[str]) -> set[str]:
    """The names that a command line uses; raises for one that is no parameter, and for stray braces."""
    used: set[str] = set()
    for word in words:
        for piece in _PIECE.findall(word):
            if piece in ("{{", "}}"):
                continue
            if len(piece) == 1:
                raise ArgumentError(
                    f"`{piece}` stands alone in {word!r} of the command: write `{piece * 2}` for the brace itself"
                )
            name = piece[1:-1]
            if name not in (*parameters, NUMBER_NAME):
                raise ArgumentError(
                    f"{piece} in {word!r} of the command is no parameter: there are {', '.join(parameters)} "
                    f"({NUMBER_NAME} is the trial's number); write {{{piece}}} for the text itself"
                )
            used.add(name)
    return used


def substitute(words: Sequence[str], number: int, params: Mapping[str, Value]) -> list[str]:
    """The command line of one trial."""
    texts = {NUMBER_NAME: str(number)} | {name: value_to_text(value) for name, value in params.items()}

    def fill(match: re.Match[str]) -> str:
        piece = match[0]
        return piece[0] if piece in ("{{", "}}") else texts[piece[1:-1]]

    return [_PIECE.sub(fill, word) for word in words]
