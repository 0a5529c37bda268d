"""The README's examples run, in order, and print what it says they print."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
FIRST_EXAMPLE_LINES = 15


def examples() -> list[tuple[str, str]]:
    """Each piece of code with the output printed below it."""
    pairs = list(zip(BLOCKS[::2], BLOCKS[1::2], strict=True))
    assert all(code[0] == "python" and output[0] == "text" for code, output in pairs)
    return [(code[1], output[1]) for code, output in pairs]


def test_examples_print_what_the_readme_says():
    names: dict[str, Any] = {}
    for code, expected in examples():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)
        assert_same_output(printed.getvalue(), expected)


def assert_same_output(printed: str, expected: str) -> None:
    """Words must be equal; whole numbers too. Other numbers may differ a little from machine to machine."""
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", expected)
    for ours, theirs in zip(NUMBER.findall(printed), NUMBER.findall(expected), strict=True):
        if "." in theirs:
            assert float(ours) == pytest.approx(float(theirs), rel=0.15)
        else:
            assert ours == theirs


@pytest.mark.parametrize(
    "printed", ["error 0.12, lr 4 adam\n", "error 0.08, lr 5 adam\n", "error 0.08, lr 4 sgd\n"]
)
def test_another_output_is_noticed(printed: str):
    with pytest.raises(AssertionError):
        assert_same_output(printed, "error 0.08, lr 4 adam\n")


def test_the_first_example_is_short():
    lines = [line for line in examples()[0][0].splitlines() if line]
    assert len(lines) <= FIRST_EXAMPLE_LINES
