"""Errors become one message and a meaningful exit code, and passwords stay out of everything."""

import inspect

import pytest
from typer.testing import CliRunner

from photinus import errors
from photinus.cli import exits, secrets
from photinus.cli.exits import EXIT_CODE_BY_ERROR, ExitCode, exit_code_of

LEAVES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind is not errors.PhotinusError]


@pytest.mark.parametrize("kind", LEAVES)
def test_every_error_has_an_exit_code_of_its_kind(kind):
    assert any(ancestor in EXIT_CODE_BY_ERROR for ancestor in kind.__mro__), (
        f"{kind.__name__} needs a line in EXIT_CODE_BY_ERROR"
    )


def test_the_nearest_ancestor_decides():
    assert exit_code_of(errors.AlreadyTold("x")) == ExitCode.REFUSED
    assert exit_code_of(errors.LockLost("x")) == ExitCode.STORE
    assert exit_code_of(exits.TuneFailed("x")) == ExitCode.TUNE_FAILED
    assert exit_code_of(errors.ObjectiveError("x")) == ExitCode.UNEXPECTED
    assert exit_code_of(ZeroDivisionError()) == ExitCode.UNEXPECTED


def test_a_missing_store_is_not_created(photinus, folder):
    for words in (["studies"], ["show", "x"], ["trials", "x"], ["ask", "x"], ["delete", "x", "--yes"]):
        result = photinus(*words, code=3)
        assert "there is no store at 'photinus.db'" in result.stderr
        assert result.stdout == ""
    assert "no store" in photinus("storage", "upgrade", code=3).stderr
    assert "no store" in photinus("studies", "--storage", "sqlite:///other.db", code=3).stderr
    assert [path.name for path in folder.iterdir()] == ["space.toml"]


def test_kinds_of_trouble(photinus, study, folder):
    photinus("show", "other", code=3)
    photinus("show", "resnet", 99, code=3)
    photinus("tell", "resnet", 99, 1, code=3)
    photinus("tell", "resnet", 0, 1, code=4)
    photinus("create", "resnet", "space.toml", code=4)
    photinus("create", "resnet", "space.toml", "--load")
    (folder / "space.toml").write_text((folder / "space.toml").read_text().replace("high = 8", "high = 9"))
    assert (
        "'layers': Int(low=1, high=8" in photinus("create", "resnet", "space.toml", "--load", code=4).stderr
    )
    (folder / "broken.db").write_text("this is no database, however long it may be" * 50)
    photinus("studies", "--storage", "broken.db", code=5)
    photinus("studies", "--storage", "mysql://host/db", code=2)
    photinus("ask", "resnet", "-n", 0, code=2)


def test_messages_go_to_stderr_without_a_traceback(photinus, study, monkeypatch):
    result = photinus("show", "other", code=3)
    assert result.stdout == ""
    assert result.stderr == (
        "error: there is no study 'other' in project 'default': `photinus studies` lists what there is\n"
    )
    monkeypatch.setenv("PHOTINUS_DEBUG", "1")
    assert "Traceback" in photinus("show", "other", code=3).stderr


def test_the_unexpected_is_said_and_explained(photinus, study, monkeypatch):
    def explode(*_):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("photinus.cli.studies.best_trials", explode)
    stderr = photinus("show", study, code=1).stderr
    assert stderr == "error: unexpected ZeroDivisionError: of all things (PHOTINUS_DEBUG=1 shows where)\n"


def test_an_interrupt_has_its_code(photinus, study, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("photinus.cli.studies.best_trials", interrupt)
    assert photinus("show", study, code=130).stderr == "error: interrupted\n"


PASSWORD = "s3cr%40t/word"
ADDRESSES = [
    f"postgresql://me:{PASSWORD}@127.0.0.1:1/studies",
    f"postgresql://me@127.0.0.1:1/studies?password={PASSWORD}",
    f"mysql://me:{PASSWORD}@host/studies",
    "postgresql://me:with@at@127.0.0.1:1/studies",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("debug", ["0", "1"])
def test_passwords_are_never_printed(photinus, address, debug, monkeypatch):
    monkeypatch.setenv("PHOTINUS_STORAGE", address)
    monkeypatch.setenv("PHOTINUS_DEBUG", debug)
    monkeypatch.setenv("COLUMNS", "300")
    code = 2 if "mysql" in address else 5
    for result in (
        photinus("studies", code=code),
        photinus("studies", "--help"),
        photinus("storage", "upgrade", code=code),
    ):
        for secret in (PASSWORD, "s3cr@t/word", "with@at"):
            assert secret not in result.output


def test_only_a_password_in_its_place_is_hidden(monkeypatch):
    monkeypatch.setattr(secrets, "_passwords", set())
    secrets.remember_password("postgresql://me:post@host/db")
    assert (
        secrets.redact("postgresql://me:post@host: a post office")
        == "postgresql://me:***@host: a post office"
    )
    assert secrets.redact("{'password': 'post'}") == "{'password': '***'}"


def test_what_a_command_printed_cannot_move_the_cursor(photinus):
    command = ["sh", "-c", r"printf '\033[2Jgone\n' >&2; exit 1"]
    result = photinus("tune", "space.toml", "-n", 5, "--", *command, code=6)
    assert "\033" not in result.output
    assert r"\x1b[2Jgone" in result.stderr


def test_paths_have_no_password():
    before = set(secrets._passwords)
    secrets.remember_password("studies[1].db")
    secrets.remember_password("C:/my@studies.db")
    assert secrets._passwords == before


def test_the_runner_sees_the_codes_too():
    from photinus.cli.app import app

    assert CliRunner().invoke(app, ["tune"]).exit_code == 2
