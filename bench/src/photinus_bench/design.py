"""The trials that everyone is timed on: a study half-way on a shifted mix of Rastrigin and ellipsoid.

Some trials are spread out and the rest gather around the best, as in a real study: rivals that search by
gradients take longer there than on points that know nothing of each other.
"""

from dataclasses import dataclass

import numpy as np

LOW, HIGH = -5.0, 5.0


@dataclass(frozen=True)
class Design:
    """Points in [-5, 5]^D and their values, to be minimised."""

    X: np.ndarray  # (n, D)
    y: np.ndarray  # (n,)


SPREAD_OUT = 20  # first trials, uniform in the box
NARROWING = 0.98  # of the steps around the best, per trial


def fixed_design(num_trials: int, num_parameters: int, seed: int) -> Design:
    """The first `num_trials` of a history that depends on dimension and seed alone."""
    rng = np.random.default_rng([seed, num_parameters])
    shift = rng.uniform(LOW + 1, HIGH - 1, size=num_parameters)
    X, y = np.empty((0, num_parameters)), np.empty(0)
    for i in range(num_trials):
        x = rng.uniform(LOW, HIGH, size=num_parameters)
        if i >= SPREAD_OUT:
            step = 0.15 * (HIGH - LOW) * max(NARROWING ** (i - SPREAD_OUT), 0.02)
            moves = rng.random(num_parameters) < 0.5
            x = np.clip(X[y.argmin()] + moves * rng.laplace(scale=step, size=num_parameters), LOW, HIGH)
        X, y = np.vstack([X, x]), np.append(y, evaluate(x[None] - shift))
    return Design(X, y)


def evaluate(Z: np.ndarray) -> np.ndarray:
    """Rastrigin in the even coordinates plus an ellipsoid of condition 1e3 in the odd ones."""
    waves, bowl = Z[:, ::2], Z[:, 1::2]
    rastrigin = np.sum(waves**2 + 10 * (1 - np.cos(2 * np.pi * waves)), axis=1)
    return rastrigin + bowl**2 @ np.logspace(0, 3, bowl.shape[1])
