"""Hypothesis tries the same examples in every process, whatever else it has imported."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = """
import conftest
from hypothesis import given
from hypothesis import strategies as st

def examples():
    seen = []

    @given(st.floats(), st.integers(), st.text())
    def collect(share, count, name):
        seen.append((share, count, name))

    collect()
    return repr(seen)

before = examples()
import photinus.demo
import photinus.service.settings
assert examples() == before
"""


def test_examples_are_the_same_whatever_was_imported():
    subprocess.run([sys.executable, "-c", EXAMPLES], cwd=Path(__file__).parents[1], check=True)
