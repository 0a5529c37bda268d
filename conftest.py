"""Settings of every test: checked shapes, reproducible examples, a compile cache of the run's own."""

import logging
import os
import shutil
import sys
import tempfile

import hypothesis
import jaxtyping
import pytest
from hypothesis.internal.conjecture import providers

MAX_MAPPINGS = 35_000  # of the 65,530 memory mappings that Linux gives a process

# Shapes and types of every annotated function in the engine are checked at each call. The hook has to come
# before the first import of the engine, and it does not import JAX. An int will do where a float is annotated,
# as everywhere in Python.
jaxtyping.install_import_hook(
    "photinus.engine", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
)

# Seeds are literals: the same examples on every machine, and a failure comes again when the test runs again.
hypothesis.settings.register_profile("photinus", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("photinus")
# Hypothesis also draws constants that it reads in our modules, in those imported so far: which ones these are
# depends on the tests that this process happened to run before.
providers.is_local_module_file = lambda path: False


def pytest_configure(config: pytest.Config) -> None:
    """Compiled programs are shared by the tests and worker processes of one run, but not by two runs.

    A test must never pass because of what an older engine left on disk.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ["PHOTINUS_CACHE_DIR"] = tempfile.mkdtemp(prefix="photinus-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last process of the run leaves nothing behind."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["PHOTINUS_CACHE_DIR"], ignore_errors=True)


@pytest.fixture(autouse=True)
def loggers_as_imported() -> None:
    """Packages that configure logging when they are used silence our loggers for all tests after them."""
    logging.disable(logging.NOTSET)
    logging.getLogger().setLevel(logging.WARNING)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "photinus":
            logger = logging.getLogger(name)
            logger.disabled, logger.propagate = False, True
            logger.setLevel(logging.NOTSET)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After a file that leaves many compiled programs behind, forget them: a process without mappings crashes."""
    is_last_of_file = nextitem is None or nextitem.path != item.path
    if is_last_of_file and "jax" in sys.modules and num_mappings() > MAX_MAPPINGS:
        sys.modules["jax"].clear_caches()


def num_mappings() -> int:
    """0 where the system does not say."""
    try:
        with open("/proc/self/maps") as file:
            return sum(1 for _ in file)
    except OSError:
        return 0
