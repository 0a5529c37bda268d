"""Space files: everything is read, and every mistake is named with file, key, value and remedy."""

from pathlib import Path

import pytest

import photinus as ph
from photinus.cli.space_file import EXAMPLE, TUNE_KEYS, read_space_file
from photinus.errors import ArgumentError

SMALL = '[space.x]\ntype = "float"\nlow = 0\nhigh = 1\n'


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "space.toml"
        path.write_text(text)
        return path

    return write


def test_the_example_has_every_key_and_is_right(write):
    content = read_space_file(write(EXAMPLE))
    assert content.problem == ph.Problem.define(
        {
            "lr": ph.Float(1e-5, 1e-1, scale="log"),
            "layers": ph.Int(1, 8),
            "batch": ph.Discrete([16, 32, 64, 128]),
            "optimizer": ph.Categorical(["adam", "sgd"]),
        },
        {"error": "minimize"},
    )
    assert (content.name, content.algorithm, content.seed) == ("digits", "default", 0)
    assert content.metadata == {"owner": "me"}
    assert content.command is not None and content.command[:4] == ["python", "train.py", "--lr", "{lr}"]
    assert {*content.tune, "command"} == set(TUNE_KEYS)
    assert content.tune["value_pattern"] == r"error: (\S+)"


def test_only_a_space_is_needed(write):
    content = read_space_file(write(SMALL))
    assert content.problem == ph.Problem.define({"x": ph.Float(0, 1)}, "minimize")
    assert (content.name, content.seed, content.command, content.tune) == (None, None, None, {})


def test_a_command_may_be_a_line(write):
    content = read_space_file(write(SMALL + "[tune]\ncommand = \"python 'my train.py' {x}\""))
    assert content.command == ["python", "my train.py", "{x}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"must define at least one parameter: a line \[space.lr\]"),
        ("[space\n[x]", r"must be a TOML file: .*line 1"),
        ("space = 1", r"`space` must be a table, begun by a line \[space\], got 1"),
        ("[space]\nx = 1", r"\[space\] x: must be a table such as .*, got 1"),
        ("[space.x]\nlow = 1", r"\[space.x\] type: must be one of float, int, .*, but there is none"),
        ('[space.x]\ntype = "real"', r"\[space.x\] type: must be one of .*, got 'real'"),
        ('[space.x]\ntype = "int"\nlow = 1', r"\[space.x\]: a parameter of type 'int' needs `high`"),
        (
            '[space.x]\ntype = "float"\nlow = 2\nhigh = 1',
            r"\[space.x\]: `low <= high` must hold, got low=2.0, high=1.0",
        ),
        (
            SMALL + 'scales = "log"',
            r"\[space.x\]: unknown key `scales`, known are .*; did you mean `scale`\?",
        ),
        (SMALL + 'scale = "log"', r"`low > 0` must hold on a log scale"),
        ('[space.x]\ntype = "categorical"\nvalues = []', r"\[space.x\]: .*must not be empty"),
        (
            SMALL + '[stduy]\nname = "x"',
            r"unknown key `stduy`, known are study, space, tune; did you mean `study`\?",
        ),
        (SMALL + '[study]\nobjectives = "up"', r"\[study\] objectives: .*got 'up'"),
        (
            SMALL + '[study]\nalgorithm = "best"',
            r"\[study\] algorithm: must be one of default, .*, got 'best'",
        ),
        (SMALL + '[study]\nseed = "one"', r"\[study\] seed: must be a whole number, got 'one'"),
        (SMALL + "[study]\nname = 1", r"\[study\] name: must be text, got 1"),
        (SMALL + "[tune]\ntrials = 1.5", r"\[tune\] trials: must be a whole number, got 1.5"),
        (SMALL + "[tune]\njobs = true", r"\[tune\] jobs: must be a whole number, got True"),
        (SMALL + '[tune]\ntimeout = "1h"', r"\[tune\] timeout: must be a number, got '1h'"),
        (SMALL + "[tune]\ncommand = []", r"\[tune\] command: must be a list of words such as"),
        (SMALL + "[tune]\ncommand = [1]", r"\[tune\] command: must be a list of words such as .* got \[1\]"),
        (SMALL + '[tune]\ncommand = "a \'b"', r"\[tune\] command: No closing quotation"),
    ],
)
def test_mistakes_are_named(write, text, message):
    path = write(text)
    with pytest.raises(ArgumentError, match=message) as caught:
        read_space_file(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ArgumentError, match=r"no.toml cannot be read \(No such file or directory\)"):
        read_space_file(tmp_path / "no.toml")


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ArgumentError, match="must be a TOML file"):
        read_space_file(tmp_path / "x.toml")
