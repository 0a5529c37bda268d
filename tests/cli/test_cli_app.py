"""The command as a whole: what it imports, helps with and completes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import photinus as ph
from photinus.cli.app import app
from photinus.cli.exits import ExitCode

PHOTINUS = [str(Path(sys.executable).with_name("photinus"))]
COMMANDS = sorted(command.name or "" for command in app.registered_commands)


def test_the_commands_are_these():
    expected = (
        "amend ask create delete demo enqueue export import mcp report serve show studies tell trials tune"
    )
    assert " ".join(COMMANDS) == expected


@pytest.mark.parametrize(
    "words", [["--help"], ["tune", "--help"], ["storage", "--help"], ["serve", "--help"], ["token", "--help"]]
)
def test_help_brings_no_heavy_package(words):
    program = f"""
import sys
sys.argv = ["photinus", *{words!r}]
from photinus.cli import main
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
heavy = {{"jax", "scipy", "pandas", "plotly", "sqlalchemy", "alembic", "loky", "sklearn"}}
heavy |= {{"fastapi", "httpx", "mcp", "starlette", "uvicorn"}}
heavy &= set(sys.modules)
sys.exit(str(heavy) if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_the_installed_command_runs():
    done = subprocess.run([*PHOTINUS, "--version"], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, f"photinus {ph.__version__}\n")


def test_a_terminal_that_cannot_show_a_name_is_no_error(photinus, folder):
    photinus("create", "🦋", "space.toml")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    words = [*PHOTINUS, "studies"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert r"\U0001f98b" in done.stdout


def test_every_exit_code_is_in_the_help(photinus):
    shown = " ".join(photinus("--help").stdout.split())
    for code in ExitCode:
        assert f" {code.value} " in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(photinus, command):
    shown = photinus(command, "--help").stdout
    assert "--json" in shown


def test_no_command_shows_the_help(photinus):
    assert "Usage: " in photinus(code=2).output


def test_an_unknown_option_is_wrong_usage(photinus):
    assert "--colour" in photinus("studies", "--colour", code=2).stderr


def complete(shell_words: str, folder: Path) -> str:
    environment = os.environ | {
        "_PHOTINUS_COMPLETE": "complete_bash",
        "COMP_WORDS": shell_words,
        "COMP_CWORD": str(len(shell_words.split()) - (not shell_words.endswith(" "))),
    }
    done = subprocess.run(
        PHOTINUS, capture_output=True, text=True, timeout=100, env=environment, cwd=folder, check=True
    )
    return done.stdout


def test_the_shell_completes_commands_and_studies(photinus, study, folder):
    assert complete("photinus stu", folder).split() == ["studies"]
    assert complete("photinus show res", folder).split() == ["resnet"]


def test_completion_without_a_store_is_silent_and_creates_none(folder):
    assert complete("photinus show ", folder).split() == []
    assert not (folder / "photinus.db").exists()


def test_a_reader_that_goes_away_is_no_error_of_ours(photinus, study, folder):
    done = subprocess.run(
        f"{PHOTINUS[0]} export resnet --to json | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=100,
        cwd=folder,
    )
    assert (done.stdout, done.stderr) == ("{", "")
