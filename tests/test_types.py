"""Whoever checks types in code that uses Photinus finds every public name annotated."""

import json
import os
import subprocess
import sys

import pytest
from pages import ROOT

# What the reference documents. The engine and the tables of the SQL store are internal, and their types are those of
# JAX and SQLAlchemy, which checkers know in part.
PUBLIC = [
    "photinus",
    "photinus.backend",
    "photinus.errors",
    "photinus.minimize",
    "photinus.plots",
    "photinus.problem",
    "photinus.record",
    "photinus.report",
    "photinus.reporting",
    "photinus.space",
    "photinus.storage",
    "photinus.storage.address",
    "photinus.storage.base",
    "photinus.storage.memory",
    "photinus.storage.opening",
    "photinus.study",
    "photinus.testing",
    "photinus.testing.designer",
    "photinus.testing.storage",
    "photinus.testing.strategies",
    "photinus.testing.study",
    "photinus.trial",
]


@pytest.fixture(scope="module")
def completeness() -> dict:
    words = ["--verifytypes", "photinus", "--ignoreexternal", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return json.loads(done.stdout)["typeCompleteness"]


def test_the_package_says_that_it_is_typed(completeness: dict):
    assert completeness["pyTypedPath"].endswith("photinus/py.typed")


def test_every_public_name_has_a_known_type(completeness: dict):
    modules = {module["name"] for module in completeness["modules"]}
    assert set(PUBLIC) <= modules
    checked = 0
    for symbol in completeness["symbols"]:
        home = max((m for m in modules if symbol["name"].startswith(f"{m}.")), key=len, default="")
        if home not in PUBLIC:
            continue
        checked += 1
        told = [entry["message"] for entry in symbol["diagnostics"]]
        assert symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"], f"{symbol['name']}: {told}"
    assert checked > 300
