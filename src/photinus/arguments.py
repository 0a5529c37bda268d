"""Checks of plain arguments, with one wording for all calls."""

import secrets
from collections.abc import Mapping
from typing import Any

from photinus.errors import ArgumentError
from photinus.problem import ALGORITHMS
from photinus.space import plain_value
from photinus.trial import UNSTORABLE

CENTURY_S = 100 * 365.25 * 86_400.0
MAX_NAME = 250  # ours: two such names, of four bytes a character, fit an index of PostgreSQL
MAX_COUNT = 2**63 - 1  # databases count no further
MAX_SEED = 2**32
MAX_MESSAGE = 10_000  # ours: characters that a server takes of why a trial is infeasible or failed


def check_integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """`value` as an int within the limits."""
    plain = plain_value(value)
    if (
        not isinstance(plain, int)
        or isinstance(plain, bool)
        or plain < low
        or (high is not None and plain > high)
    ):
        limits = f">= {low}" if high is None else f"between {low} and {high}"
        raise ArgumentError(f"`{name}` must be an integer {limits}, got {value!r}")
    return plain


def check_seed(value: object) -> int:
    """`value` as a seed; drawn if it is None."""
    return secrets.randbelow(MAX_SEED) if value is None else check_integer("seed", value, 0, MAX_SEED - 1)


def check_algorithm(value: str) -> str:
    """`value` as the name of an algorithm."""
    if value not in ALGORITHMS:
        raise ArgumentError(f"`algorithm` must be one of {', '.join(ALGORITHMS)}, got {value!r}")
    return value


def check_seconds(name: str, value: object) -> float:
    """`value` as a positive number of seconds that a calendar can hold."""
    plain = plain_value(value)
    if not isinstance(plain, int | float) or isinstance(plain, bool) or not 0 < plain <= CENTURY_S:
        raise ArgumentError(
            f"`{name}` must be a number of seconds > 0 and at most {CENTURY_S:.0f}, got {value!r}"
        )
    return float(plain)


def check_metadata(value: object) -> dict[str, str]:
    """`value` as notes: strings by name."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(x, str) for pair in value.items() for x in pair):
        raise ArgumentError(f"`metadata` must be a dict of strings by name, got {value!r}")
    return dict(value)


def check_text(name: str, value: object) -> str:
    """`value`, if it is a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise ArgumentError(f"`{name}` must be a non-empty string, got {value!r}")
    return value


def check_name(name: str, value: object) -> str:
    """`value`, if it is a string that every store can keep and find again."""
    text = check_text(name, value)
    if len(text) > MAX_NAME or UNSTORABLE.search(text):
        raise ArgumentError(
            f"`{name}` must be at most {MAX_NAME} characters, without NUL and without halves of characters "
            f"(surrogates), got {len(text)} characters: {text[:50]!r}"
        )
    return text


def check_exceptions(name: str, value: object) -> tuple[type[Exception], ...]:
    """`value` as a tuple of exception classes."""
    kinds: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
    for kind in kinds:
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            raise ArgumentError(f"`{name}` must be an exception class or a tuple of them, got {value!r}")
    return kinds
