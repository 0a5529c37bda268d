"""The README's examples run, in order, and print what it says they print."""

from pathlib import Path

import pytest
from pages import ROOT, check_output, read_blocks, run_page

README = ROOT / "README.md"
FIRST_EXAMPLE_LINES = 15


def test_examples_print_what_the_readme_says(tmp_path: Path):
    assert run_page(README, tmp_path, {}) >= 5


def test_the_first_example_is_short_and_shows_its_output():
    first, output = [block for block in read_blocks(README) if block.language in ("python", "text")][:2]
    assert first.is_code and output.language == "text"
    assert len([line for line in first.text.splitlines() if line]) <= FIRST_EXAMPLE_LINES


def test_the_site_begins_with_the_same_example():
    languages = ("python", "text")
    first, output = [block.text for block in read_blocks(README) if block.language in languages][:2]
    shown = [block.text for block in read_blocks(ROOT / "docs" / "index.md") if block.language in languages]
    assert shown == [first, output]


@pytest.mark.parametrize(
    "printed",
    [
        "error 0.12, lr 4 adam\n",
        "error 0.08, lr 5 adam\n",
        "error 0.08, lr 4 sgd\n",
        "error 0.08, lr 4 adam 7\n",
        "",
    ],
)
def test_another_output_is_noticed(printed: str):
    with pytest.raises(AssertionError):
        check_output(printed, "error 0.08, lr 4 adam\n")


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("error 0.0800, lr 4", "error 0.0831, lr 4"),
        ("a  1.5e-05   b\n", "a 1.5e-5 b"),
        ("trial 3\nby host-17 on 2026-01-01\ndone", "trial 3\n...\ndone"),
        ("done", "...\ndone"),
    ],
)
def test_outputs_that_say_the_same_are_the_same(printed: str, expected: str):
    check_output(printed, expected)
