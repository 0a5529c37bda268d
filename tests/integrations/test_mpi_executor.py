"""Objectives in the ranks of an MPI program, by mpi4py's executor."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

pytestmark = [pytest.mark.long, pytest.mark.skipif(MPIEXEC is None, reason="there is no mpiexec")]

PROGRAM = """
import photinus as ph
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor

def objective(trial):
    trial.report({"value": 0.5, "rank": 0}, 1)
    return {"value": trial.params["x"], "rank": MPI.COMM_WORLD.Get_rank()}

if __name__ == "__main__":
    study = ph.create_study(
        {"x": ph.Float(0, 1)}, {"value": "minimize", "rank": "minimize"}, algorithm="random", seed=1
    )
    with MPIPoolExecutor() as executor:
        study.optimize(objective, 6, executor=executor)
        print(executor.num_workers, [trial.state.value for trial in study.trials])
        print([len(trial.reports) for trial in study.trials])
        print(0.0 in {trial.values["rank"] for trial in study.trials})
        try:
            study.optimize(lambda trial: 1 / 0, 1, executor=executor)
        except ZeroDivisionError:
            print(study.trials[6].message)
"""


def test_a_study_on_mpi(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [MPIEXEC, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"2 {['completed'] * 6}",
        str([1] * 6),
        "False",
        "ZeroDivisionError: division by zero",
    ], done.stderr
