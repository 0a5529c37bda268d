"""The examples of clusters run as they are."""

import subprocess
import sys
from pathlib import Path

import pytest
import ray_cluster

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT_S = 300

pytestmark = pytest.mark.long


def run(name, environment=None):
    """What the example prints."""
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_worker_of_the_dask_cluster_dies_and_one_trial_with_it():
    assert "12 trials, 1 failed; best " in run("dask_cluster.py")


def test_ray_tune():
    with ray_cluster.own_directory() as environment:
        printed = run("ray_tune.py", environment)
    assert "with {'x': " in printed
    assert "at {'x': 0.4, 'model/width': 64, 'model/kind': 'dense'} the model expects " in printed
