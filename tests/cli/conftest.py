"""A fresh folder, a space file, and the command line as a function."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

SPACE = """
[study]
name = "resnet"
objectives = { error = "minimize" }
algorithm = "random"
seed = 0

[space.lr]
type = "float"
low = 1e-5
high = 1e-1
scale = "log"

[space.layers]
type = "int"
low = 1
high = 8

[space.opt]
type = "categorical"
values = ["adam", "sgd"]
"""

Photinus = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory of the test: a space file, and no store yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PHOTINUS_STORAGE", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path


@pytest.fixture
def photinus(folder: Path) -> Photinus:
    """Runs a command; fails the test if it ends with another exit code than expected."""
    from photinus.cli.app import app

    def run(*words: object, code: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, f"exit code {result.exit_code}\n{result.stdout}\n{result.stderr}"
        return result

    return run


@pytest.fixture
def as_json(photinus: Photinus) -> Callable[..., Any]:
    """What a command prints with `--json`; it must be one legal document."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    def run(*words: object) -> Any:
        return json.loads(photinus(*words, "--json").stdout, parse_constant=refuse)

    return run


@pytest.fixture
def study(photinus: Photinus) -> str:
    """A study with three told trials: completed, infeasible, failed."""
    photinus("create", "resnet", "space.toml")
    photinus("ask", "resnet", "-n", 3)
    photinus("tell", "resnet", 0, "0.25")
    photinus("tell", "resnet", 1, "--infeasible", "too hot")
    photinus("tell", "resnet", 2, "--failed", "power cut")
    return "resnet"


def words_of(text: str) -> str:
    """The text on one line, without the boxes and colours of the help."""
    return re.sub(r"[\s│╭╮╰╯─]+", " ", re.sub(r"\x1b\[[0-9;]*m", "", text))
