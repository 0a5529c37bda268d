"""What the fitted model believes, beyond predictions at points: plain JSON values that can travel anywhere."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from photinus.engine.designers import hyperparameters
from photinus.engine.designers.constants import PAPER, Preset
from photinus.engine.designers.gp_bandit import remembered_fit
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.padding import padded_size
from photinus.problem import Problem
from photinus.trial import Trial

NUM_KNOTS = 513  # ours: of the table from the model's scale to the user's; straight lines between them
LARGEST = np.finfo(np.float64).max  # JSON has no infinity
REACH = 4.0  # ours: prior deviations that the table goes beyond the labels seen


def describe(
    problem: Problem, trials: Sequence[Trial], seed: int, *, preset: Preset = PAPER
) -> dict[str, Any]:
    """Hyperparameters, noise in the user's units, and the way from the model's scale to these units.

    `length_scales` are in units of each parameter's whole range, on its own scale; a parameter with a single
    value has none. Per objective, and None as long as nothing was measured:

    - `noise` has the standard deviation of repeated measurements, near the best value and near the median,
    - `scale` lists model values in ascending order (more is better) and the objective's values for them,
    - hyperparameters are there again where each objective has its own; above are the means of all then.
    """
    study = Snapshot(problem, trials, seed, preset)
    model = remembered_fit(study, padded_size(study.num_rows))
    hyper = model.fit.hyper
    own = hyperparameters.tell_own(study, hyper)
    return {
        "num_completed": int(study.is_feasible.sum()),
        "num_infeasible": study.num_infeasible,
        **hyperparameters.tell(study, hyper),
        "objectives": {
            metric.name: own.get(metric.name, {}) | _describe_metric(study, model, m)
            if study.is_feasible.any()
            else None
            for m, metric in enumerate(problem.metrics)
        },
    }


def _describe_metric(study: Snapshot, model: Any, m: int) -> dict[str, Any]:
    hyper, sign = model.fit.hyper.of_metric(m), study.signs[m]
    warping = jax.tree.map(lambda v: v[m], model.warping)
    labels = np.asarray(model.y)[: study.num_completed, m][study.is_feasible]
    noise = float(np.sqrt(hyper.noise_variance))
    prior = float(np.sqrt(hyper.signal_variance + hyper.noise_variance))
    z = np.linspace(labels.min() - REACH * prior, labels.max() + REACH * prior, NUM_KNOTS)

    def values_at(z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # far beyond the largest labels there may be no number left
            return np.clip(warping.undo(z), -LARGEST, LARGEST)

    def deviation_at(z: float) -> float:
        low, high = values_at(np.array([z - noise, z + noise])) / 2.0
        return float(high - low)

    return {
        "noise": {"best": deviation_at(labels.max()), "median": deviation_at(float(np.median(labels)))},
        "scale": {"model": z.tolist(), "values": (sign * values_at(z)).tolist()},
    }
