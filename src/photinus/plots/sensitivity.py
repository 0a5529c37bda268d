"""How much of the variation of the model's predictions each parameter explains: Sobol indices.

A and B are two samples of the space, independent of each other; A with parameter d taken from B is A_d. With f the
predicted median in the objective's units and V its variance over the space,

    alone (first order)          Σ f(B) (f(A_d) - f(A)) / n V      what d does on its own
    with others (total effect)   Σ (f(A) - f(A_d))² / 2 n V        and together with other parameters

Parameters that only act on their own have shares that add up to 1.
"""

import warnings
from typing import NamedTuple

import numpy as np

from photinus.engine.encoding import Encoder
from photinus.plots.source import MODEL_TRIALS, Source
from photinus.problem import Problem

MAX_PREDICTIONS = 8192  # ours: about a second
LARGEST_SAMPLE, SMALLEST_SAMPLE = 1024, 32
SEED = 0  # the same study gives the same picture


class Sensitivity(NamedTuple):
    """Shares by parameter, most important first; single-valued parameters have none."""

    alone: dict[str, float]
    total: dict[str, float]
    deviation: float  # standard deviation of the predicted medians over the space, in the objective's units


def sensitivities(study: Source) -> dict[str, Sensitivity | None]:
    """Shares of every objective; None where the model sees no variation, or nothing was measured."""
    problem = study.problem
    encoder = Encoder(problem.space)
    names = [axis.name for axis in encoder.axes] + list(encoder.categoricals)
    if not names:
        return dict.fromkeys(problem.metric_names)
    points, size = _sample(encoder, len(names))
    rows = study.predict(points, max_trials=MODEL_TRIALS)
    return {
        name: _shares(problem, names, [row[name]["q50"] for row in rows], size)
        for name in problem.metric_names
    }


def _sample(encoder: Encoder, num_params: int) -> tuple[list[dict[str, object]], int]:
    """Points of A, B, and A_d for every parameter, one block after another, and the size of a block."""
    from scipy.stats import qmc  # takes half a second to import

    size = LARGEST_SAMPLE
    while size * (num_params + 2) > MAX_PREDICTIONS and size > SMALLEST_SAMPLE:
        size //= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sizes are powers of two, and there is nothing to warn about
        u = qmc.Sobol(2 * num_params, rng=np.random.default_rng(SEED)).random(size)
    a, b = u[:, :num_params], u[:, num_params:]
    blocks = [a, b]
    for d in range(num_params):
        mixed = a.copy()
        mixed[:, d] = b[:, d]
        blocks.append(mixed)
    return encoder.spread(np.concatenate(blocks)), size


def _shares(problem: Problem, names: list[str], medians: list[float | None], size: int) -> Sensitivity | None:
    if any(median is None for median in medians):
        return None
    f = np.array(medians, dtype=float).reshape(-1, size)
    largest = np.max(np.abs(f))
    f = f / (largest or 1.0)  # squares of the largest numbers would overflow
    f = f - np.mean(f[:2])
    variance = np.mean(f[:2] ** 2)
    if variance <= 1e-16:
        return None
    a, b, mixed = f[0], f[1], f[2:]
    total = np.minimum(np.mean((a - mixed) ** 2, axis=1) / (2.0 * variance), 1.0)
    alone = np.clip(np.mean(b * (mixed - a), axis=1) / variance, 0.0, total)
    order = np.argsort(-total, kind="stable")
    return Sensitivity(
        alone={names[i]: float(alone[i]) for i in order},
        total={names[i]: float(total[i]) for i in order},
        deviation=float(np.sqrt(variance) * largest),
    )
