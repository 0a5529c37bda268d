"""Settings of every test: checked shapes, reproducible examples, a compile cache of the run's own."""

import os
import shutil
import tempfile

import hypothesis
import jaxtyping
import pytest

# Shapes and types of every annotated function in the engine are checked at each call. The hook has to come
# before the first import of the engine, and it does not import JAX. An int will do where a float is annotated,
# as everywhere in Python.
jaxtyping.install_import_hook(
    "photinus.engine", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)

# Seeds are literals: the same examples on every machine, and a failure comes again when the test runs again.
hypothesis.settings.register_profile("photinus", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("photinus")


def pytest_configure(config: pytest.Config) -> None:
    # Compiled programs are shared by the tests and worker processes of one run, but not by two runs:
    # a test must never pass because of what an older engine left on disk.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ["PHOTINUS_CACHE_DIR"] = tempfile.mkdtemp(prefix="photinus-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["PHOTINUS_CACHE_DIR"], ignore_errors=True)
