"""The deployment examples and their page use options, variables and names that exist."""

import configparser
import json
import re
import shlex
import typing
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from pages import ROOT

from photinus.cli.app import app
from photinus.service.settings import PREFIX, Settings

DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "how-to" / "server.md").read_text(encoding="utf-8")
# Of the library or the command line, beside those of `Settings`.
OTHER_VARIABLES = {"PHOTINUS_CACHE_DIR", "PHOTINUS_DOMAIN", "PHOTINUS_TLS_KEY_PASSWORD", "PHOTINUS_TOKEN"}
VARIABLES = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def unit() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment]  # names of settings have capitals
    parser.read(DEPLOY / "photinus.service")
    return parser


def commands() -> dict[str, list[str]]:
    """Every command line that the examples and the page have."""
    found = {
        "compose": compose()["services"]["server-1"]["command"],
        "unit": shlex.split(unit()["Service"]["ExecStart"]),
        "image": json.loads(re.findall(r"^CMD (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)[0]),
    }
    lines = re.findall(r"^(?:docker .*)?\b(photinus (?:serve|token).*)$", PAGE, re.MULTILINE)
    return found | {line: shlex.split(line.partition(" >")[0], comments=True) for line in lines}


@pytest.mark.parametrize(("words"), commands().values(), ids=commands().keys())
def test_commands_have_options_that_exist(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("fullchain.pem", "privkey.pem"):
        Path(name).touch()
    group = typer.main.get_command(app)
    assert Path(words[0]).name == "photinus"
    words = words[1:]
    while hasattr(group, "commands"):
        group = typing.cast(Any, group).commands[words.pop(0)]
    group.make_context("photinus", words)


@pytest.mark.parametrize("path", [*DEPLOY.iterdir(), ROOT / "docs/how-to/server.md"], ids=lambda p: p.name)
def test_variables_exist(path: Path):
    named = set(re.findall(r"\bPHOTINUS_[A-Z_]+", path.read_text(encoding="utf-8")))
    assert named <= VARIABLES | OTHER_VARIABLES


def test_the_page_has_every_setting_with_its_default():
    rows = dict(re.findall(r"^\| `(PHOTINUS_\w+)` \| ([^|]*) \|", PAGE, re.MULTILINE))
    assert set(rows) >= VARIABLES
    for name, field in Settings.model_fields.items():
        shown = rows[f"{PREFIX}{name.upper()}"].strip("`").replace(" MiB", f" {2**20}").split()
        if isinstance(field.default, bool | tuple) or field.default is None:
            continue  # said in words
        if isinstance(field.default, str):
            assert shown == [field.default]
        else:
            assert typing.cast(float, field.default) == float(shown[0]) * float(
                shown[1] if len(shown) > 1 else 1
            )


def test_the_containers_fit_together():
    services = compose()["services"]
    proxied = re.findall(r"reverse_proxy (.*) \{", (DEPLOY / "Caddyfile").read_text())[0].split()
    servers = {name: service for name, service in services.items() if name.startswith("server-")}
    assert proxied == [f"{name}:8000" for name in servers]
    for name, service in servers.items():
        assert "--port=8000" in service["command"]
        assert "ports" not in service  # whoever reaches them passes the proxy
        assert name in service["environment"]["PHOTINUS_ALLOWED_HOSTS"].split(",")
    asked_for = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text()))
    given = set(re.findall(r"^(\w+)=", (DEPLOY / "env.example").read_text(), re.MULTILINE))
    assert asked_for == given
    assert {volume.partition(":")[0] for volume in services["db"]["volumes"]} <= set(compose()["volumes"])


def test_stopping_waits_longer_than_the_server_needs():
    from photinus.cli.serving import GRACE_MARGIN_S

    needed = typing.cast(float, Settings.model_fields["grace_s"].default) + GRACE_MARGIN_S
    assert float(unit()["Service"]["TimeoutStopSec"]) > needed
    assert float(compose()["services"]["server-1"]["stop_grace_period"].rstrip("s")) > needed


def test_no_example_holds_a_secret():
    for line in (DEPLOY / "env.example").read_text().splitlines():
        assert line.startswith("#") or not re.match(r"\w*(PASSWORD|KEY)=.", line)
