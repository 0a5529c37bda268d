"""Tables fit the terminal, JSON is JSON, and names cannot harm either."""

import math

import hypothesis.strategies as st
import pytest
from hypothesis import given
from rich.cells import cell_len

from photinus.cli.output import Column, print_facts, print_json, print_table, printable
from photinus.texts import plain_json

WIDTHS = [40, 80, 120]


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", WIDTHS)
def test_wide_tables_drop_columns_and_say_so(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    columns = [Column("trial", ["0", "1"], is_number=True)]
    columns += [Column(f"parameter_{i:02}", ["0.123", "4"], is_optional=True) for i in range(30)]
    print_table(columns)
    lines = printed(capsys)
    assert all(cell_len(line) <= width for line in lines)
    num_shown = sum(f"parameter_{i:02}" in lines[0] for i in range(30))
    assert num_shown == (width - 7) // 14
    text = " ".join(lines)
    assert f"{30 - num_shown} more not shown: parameter_{num_shown:02}," in text
    assert "parameter_29" in text.split("not shown")[1]
    assert "…" not in text


def test_names_of_any_width_keep_the_table_in_shape(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    names = ["🦋 fireflies 🧑‍🔬", "数据" * 30, "x" * 200, "[red]not red[/red]", "tab\tnew\nline \x1b[31mred"]
    print_table([Column("study", names), Column("trials", ["1"] * 5, is_number=True)])
    lines = printed(capsys)
    assert len(lines) == 7
    assert all(cell_len(line) <= 80 for line in lines)
    assert "🦋 fireflies" in lines[2]
    assert "[red]not red[/red]" in lines[5]
    assert r"tab\tnew\nline \x1b[31mred" in lines[6]


def test_a_message_takes_what_is_left(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    prose = "a long story about how it went wrong in the end"
    print_table([Column("trial", ["1"]), Column("message", [prose], is_optional=True, is_elastic=True)])
    lines = printed(capsys)
    assert lines[-1].startswith("1      a long story")
    assert lines[-1].endswith("…")
    assert len(lines[-1]) == 40 - 2


def test_facts_fold_under_themselves(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "30")
    print_facts({"name": "word " * 12, "n" * 40: "1"}, indent=2)
    lines = printed(capsys)
    assert all(cell_len(line) <= 30 for line in lines)
    assert lines[1].startswith("   ")


@given(st.text())
def test_nothing_printable_moves_the_cursor(text):
    assert all(char.isprintable() or char == "\u200d" for char in printable(text))


def test_numbers_that_json_lacks_are_text(capsys):
    print_json({"a": [math.nan, math.inf, -math.inf, 1.5], "b": {"c": (math.nan,)}})
    expected = '{ "a": [ "nan", "inf", "-inf", 1.5 ], "b": { "c": [ "nan" ] } }'
    assert " ".join(capsys.readouterr().out.split()) == expected


def test_json_is_ascii_for_every_terminal(capsys):
    print_json({"name": "🦋"})
    assert capsys.readouterr().out.isascii()


def test_json_without_odd_numbers_stays_itself():
    document = {"a": [1, 2.5, "x", None, True], "b": {}}
    assert plain_json(document) == document
