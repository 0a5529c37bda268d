import subprocess
import sys

import photinus

NAMES = [
    "ALGORITHMS",
    "AlreadyTold",
    "Categorical",
    "Discrete",
    "Float",
    "Goal",
    "Int",
    "MemoryStorage",
    "Metric",
    "PhotinusError",
    "Problem",
    "SearchSpace",
    "Storage",
    "Study",
    "StudyState",
    "Suggestion",
    "Trial",
    "TrialState",
    "connect",
    "create_study",
    "load_study",
    "minimize",
    "suggest",
]


def test_the_public_names_are_these():
    modules = {name for name in vars(photinus) if f"photinus.{name}" in sys.modules and name not in NAMES}
    assert sorted(name for name in vars(photinus) if name[0] != "_" and name not in modules) == sorted(NAMES)
    assert photinus.__version__ == "0.1.0"


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)


def test_importing_brings_neither_jax_nor_other_heavy_packages():
    run("""
import sys, photinus
heavy = {"jax", "scipy", "pandas", "rich", "loky", "cloudpickle", "sklearn", "plotly", "sqlalchemy", "httpx"}
heavy &= set(sys.modules)
assert not heavy, heavy
""")


def test_importing_has_no_side_effects():
    done = run("""
import logging, threading, warnings
import numpy  # has its own
filters = list(warnings.filters)
import photinus
assert warnings.filters == filters
assert not logging.getLogger().handlers and not logging.getLogger("photinus").handlers
assert threading.active_count() == 1
""")
    assert (done.stdout, done.stderr) == ("", "")
