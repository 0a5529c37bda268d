import subprocess
import sys

import pytest
from pydantic import ValidationError

from photinus.errors import ArgumentError
from photinus.service import Settings
from photinus.service.app import app_from_environment


def test_settings_travel_through_the_environment():
    settings = Settings(
        storage="postgresql://u:p@h/d",
        tokens_required=False,
        allowed_hosts=("a.example", "b.example"),
        session_key="hush",  # pyright: ignore[reportArgumentType]
        token_cache_s=0.5,
        device="gpu",
        max_points=7,
    )
    assert Settings.from_environment(settings.to_environment()) == settings
    assert Settings.from_environment(Settings().to_environment()) == Settings()


def test_what_is_not_set_has_its_default_and_that_is_the_safe_one():
    assert Settings.from_environment({}) == Settings.from_environment({"PHOTINUS_DEVICE": ""}) == Settings()
    assert Settings().tokens_required is True
    assert Settings.from_environment({"PHOTINUS_TOKEN": "pho_a_b", "PHOTINUS_URL": "http://h"}) == Settings()


def test_a_wrong_variable_is_named():
    with pytest.raises(ArgumentError, match=r"PHOTINUS_MAX_POINTS.*greater"):
        Settings.from_environment({"PHOTINUS_MAX_POINTS": "0"})
    with pytest.raises(ArgumentError, match="PHOTINUS_DEVICE"):
        Settings.from_environment({"PHOTINUS_DEVICE": "abacus"})
    with pytest.raises(ValidationError, match="storge"):
        Settings(storge="a")  # pyright: ignore[reportCallIssue]


def test_a_secret_is_not_shown():
    assert "hush" not in repr(Settings(session_key="hush"))  # pyright: ignore[reportArgumentType]


def test_the_factory_reads_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PHOTINUS_STORAGE", "memory")
    monkeypatch.setenv("PHOTINUS_MAX_POINTS", "5")
    assert app_from_environment().state.server.settings == Settings(storage="memory", max_points=5)


def test_tokens_are_made_without_the_packages_of_a_server():
    program = """
import sys
from photinus.service.auth import make_token
make_token("a", "read")
sys.exit(", ".join({"fastapi", "pydantic", "starlette", "jax"} & set(sys.modules)) or 0)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def test_making_the_application_leaves_jax_alone():
    program = """
import sys
from photinus.service import Settings, create_app
create_app(Settings(storage="memory")).openapi()
sys.exit("jax" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
