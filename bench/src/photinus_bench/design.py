"""The trials that everyone is timed on: a random design on a shifted mix of Rastrigin and ellipsoid."""

from dataclasses import dataclass

import numpy as np

LOW, HIGH = -5.0, 5.0


@dataclass(frozen=True)
class Design:
    """Points in [-5, 5]^D and their values, to be minimised."""

    X: np.ndarray  # (n, D)
    y: np.ndarray  # (n,)


def fixed_design(num_trials: int, num_parameters: int, seed: int) -> Design:
    """The first `num_trials` of a design that depends on dimension and seed alone."""
    rng = np.random.default_rng([seed, num_parameters])
    shift = rng.uniform(LOW + 1, HIGH - 1, size=num_parameters)
    X = rng.uniform(LOW, HIGH, size=(num_trials, num_parameters))
    return Design(X, evaluate(X - shift))


def evaluate(Z: np.ndarray) -> np.ndarray:
    """Rastrigin in the even coordinates plus an ellipsoid of condition 1e3 in the odd ones."""
    waves, bowl = Z[:, ::2], Z[:, 1::2]
    rastrigin = np.sum(waves**2 + 10 * (1 - np.cos(2 * np.pi * waves)), axis=1)
    return rastrigin + bowl**2 @ np.logspace(0, 3, bowl.shape[1])
