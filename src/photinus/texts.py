"""Parameter values and measured numbers as text, for command lines, CSV files and whatever people type.

Numbers keep every digit. Booleans and None are spelt as in JSON: true, false, null.
"""

import math
from typing import Any

from photinus.space import Categorical, Parameter, Value


def value_to_text(value: Value) -> str:
    """A parameter's value in one word; `value_from_text` finds the same value again."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def value_from_text(parameter: Parameter, text: str, *, decimal_comma: bool = False) -> Value:
    """The value of that parameter that a person means by the text."""
    if not isinstance(parameter, Categorical):
        number = number_from_text(text, decimal_comma=decimal_comma)
        return parameter.validate(text if number is None else number)
    if text in [choice for choice in parameter.values if isinstance(choice, str)]:
        return text
    number = number_from_text(text, decimal_comma=decimal_comma)
    for choice in parameter.values:
        if isinstance(choice, str):
            continue
        # Spreadsheets write TRUE for true and 2.0 for 2.
        is_number = isinstance(choice, int | float) and not isinstance(choice, bool)
        if text.strip().lower() == value_to_text(choice) or (is_number and number == choice):
            return choice
    return parameter.validate(text)


def number_from_text(text: str, *, decimal_comma: bool = False) -> int | float | None:
    """The number that the text is, nan and inf included; None if it is none."""
    plain = text.strip()
    if "_" in plain:  # Python reads 1_000 as a number, people do not mean one
        return None
    if decimal_comma and "." not in plain:
        plain = plain.replace(",", ".", 1)
    try:
        return int(plain)
    except ValueError:
        pass
    try:
        return float(plain)
    except ValueError:
        return None


def plain_json(document: Any) -> Any:
    """The document with infinities and NaN as text, for which JSON has no numbers."""
    if isinstance(document, float) and not math.isfinite(document):
        return str(document)
    if isinstance(document, dict):
        return {str(key): plain_json(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [plain_json(value) for value in document]
    return document
