"""Optuna's GPSampler as its documentation installs it, with torch and SciPy: without the optional greenlet."""

import sys

sys.modules["greenlet"] = None  # type: ignore[assignment]  # as if it were not installed

import optuna  # noqa: E402

from photinus_bench.baselines.optuna_gp import time_one  # noqa: E402
from photinus_bench.pipe import serve  # noqa: E402

if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    serve(time_one, packages=("optuna", "torch", "scipy"))
