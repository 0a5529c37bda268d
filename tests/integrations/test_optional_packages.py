"""What happens where an adapter's package is missing, broken or too old."""

import re
import subprocess
import sys

import pytest

from photinus.errors import MissingDependency
from photinus.integrations import packages
from photinus.integrations.packages import GRPC, MCP, OPTUNA, PROTOBUF, RAY, SKLEARN, Requires

WITHOUT = """
import importlib.metadata, sys
found = importlib.metadata.version
installed = None
def version(name):
    if name != {distribution!r}:
        return found(name)
    if installed is None:
        raise importlib.metadata.PackageNotFoundError(name)
    return installed
importlib.metadata.version = version
import photinus, photinus.integrations
for installed in (None, "0.0.7"):
    assert {package!r} not in sys.modules
    try:
        import {module}
    except ImportError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("module", "distribution", "package", "extra"),
    [
        ("photinus.integrations.optuna_sampler", "optuna", "optuna", "optuna"),
        ("photinus.integrations.optuna_import", "optuna", "optuna", "optuna"),
        ("photinus.integrations.sklearn_search", "scikit-learn", "sklearn", "sklearn"),
        ("photinus.integrations.mcp_server", "mcp", "mcp", "mcp"),
        ("photinus.integrations.ray_search", "ray", "ray", "ray"),
        ("photinus.integrations.ray_executor", "ray", "ray", "ray"),
    ],
)
def test_a_package_is_named_with_the_line_that_installs_it(module, distribution, package, extra):
    program = WITHOUT.format(module=module, distribution=distribution, package=package)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    missing, old = done.stdout.splitlines()
    remedy = f'pip install --upgrade "photinus[{extra}]"'
    assert missing == f"MissingDependency this needs {distribution}, which is not installed: {remedy}"
    assert re.fullmatch(
        rf"MissingDependency this needs {distribution} >= [1-9][\d.]+, but 0\.0\.7 is installed: {re.escape(remedy)}",
        old,
    )


@pytest.mark.parametrize(
    ("needs", "old"),
    [
        (GRPC, "1.69.0"),
        (MCP, "2.0.1"),
        (OPTUNA, "4.1.9"),
        (PROTOBUF, "5.28.3"),
        (RAY, "2.49.2"),
        (SKLEARN, "1.4.2"),
    ],
)
def test_a_package_that_is_too_old_is_refused(needs, old, monkeypatch):
    monkeypatch.setattr(packages.metadata, "version", lambda name: old)
    with (
        pytest.raises(
            MissingDependency, match=rf"this needs \S+ >= \S+, but {old} is installed: pip install"
        ),
        needs,
    ):
        raise AssertionError("the imports must not be reached")


@pytest.mark.parametrize("version", ["4.2", "4.2.0", "4.2.0rc1", "4.10", "5", "4.2.0.post1+local"])
def test_versions_that_will_do(version, monkeypatch):
    monkeypatch.setattr(packages.metadata, "version", lambda name: version)
    with Requires("optuna", "4.2", extra="optuna"):
        pass


@pytest.mark.parametrize("version", ["4.1.9", "3", "0.99", "4"])
def test_versions_that_will_not(version, monkeypatch):
    monkeypatch.setattr(packages.metadata, "version", lambda name: version)
    with pytest.raises(MissingDependency), Requires("optuna", "4.2", extra="optuna"):
        pass


def test_a_package_that_cannot_be_imported_says_why():
    with (
        pytest.raises(MissingDependency, match=r"which cannot be imported \(no libblas\)") as caught,
        SKLEARN,
    ):
        raise ImportError("no libblas")
    assert isinstance(caught.value.__cause__, ImportError)


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError), SKLEARN:
        raise ZeroDivisionError
