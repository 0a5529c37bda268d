"""COMBO's two problems on Ising models of a 4 x 4 grid (Oh et al. 2019), both to be minimised.

A zero-field Ising model over spins z in {-1, 1}^16 has the density p(z) = exp(zᵀJz) / Z = exp(2 Σ_e J_e z_i z_j) / Z,
the sum over the 24 edges e = (i, j) of the grid. With two models p (weights J) and q (weights J'),

    KL(p || q) = 2 Σ_e (J_e - J'_e) E_p[z_i z_j] + log Z' - log Z.

Ising sparsification (Baptista and Poloczek 2018): each edge of p is kept or dropped; KL(p || q_x) + λ Σ x.
Centroid: each edge takes its weight from one of three models; the mean of KL(p_k || q_x) over the three.

The 24 edges are COMBO's; the paper's caption says 20 booleans for Ising, which no 4 x 4 grid has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import logsumexp

from photinus.problem import Problem
from photinus.space import Categorical
from photinus_bench.problem import Experimenter, Params

SIDE = 4
# Horizontal edges row by row, then vertical ones.
EDGES = tuple(
    [(row * SIDE + column, row * SIDE + column + 1) for row in range(SIDE) for column in range(SIDE - 1)]
    + [(row * SIDE + column, (row + 1) * SIDE + column) for row in range(SIDE - 1) for column in range(SIDE)]
)
SMALLEST_WEIGHT, LARGEST_WEIGHT = 0.05, 5.0  # BOCS: magnitudes uniform between them, signs at random
PENALTY = 0.01  # COMBO: λ, of 0, 1e-4 and 1e-2 the one that google-vizier uses, too
NUM_MODELS = 3  # COMBO's Centroid


@dataclass(frozen=True)
class IsingModel:
    """Weights of the edges, the expected products of the spins they join, and log Z (half of the states)."""

    weights: np.ndarray  # (24,)
    moments: np.ndarray  # (24,)
    log_partition: float

    @classmethod
    def of(cls, weights: np.ndarray) -> "IsingModel":
        """The model with these weights; sums over all states."""
        energies = energies_of(weights)
        log_partition = float(logsumexp(energies))
        return cls(weights, np.exp(energies - log_partition) @ edge_products(), log_partition)

    def divergence(self, weights: np.ndarray, log_partition: float) -> float:
        """KL from this model to the one with other weights."""
        return float(2 * (self.weights - weights) @ self.moments + log_partition - self.log_partition)


def energies_of(weights: np.ndarray) -> np.ndarray:
    """zᵀJz of half of the states, (2^15,)."""
    return edge_products() @ (2 * weights)


@cache
def edge_products() -> np.ndarray:
    """Products of the spins of every edge in all states whose first spin is 1, (2^15, 24).

    The others are these with all signs turned, which changes no product: they only double Z.
    """
    states = np.arange(2 ** (SIDE * SIDE - 1))[:, None] >> np.arange(SIDE * SIDE) & 1
    spins = 1.0 - 2.0 * states
    first, second = np.array(EDGES).T
    return spins[:, first] * spins[:, second]


def draw_weights(rng: np.random.Generator) -> np.ndarray:
    """Weights of a random model."""
    signs = rng.choice([-1.0, 1.0], size=len(EDGES))
    return signs * rng.uniform(SMALLEST_WEIGHT, LARGEST_WEIGHT, size=len(EDGES))


def ising(weights: np.ndarray) -> Experimenter:
    """Sparsification of the model with these weights; "1" keeps an edge."""
    model = IsingModel.of(weights)
    names = [f"x{i}" for i in range(len(EDGES))]

    def truth(params: Params) -> dict[str, float]:
        x = np.array([int(params[name]) for name in names])
        kept = x * model.weights
        return {"value": model.divergence(kept, float(logsumexp(energies_of(kept)))) + PENALTY * int(x.sum())}

    problem = Problem.define({name: Categorical(("0", "1")) for name in names})
    return Experimenter(name="combo/ising", problem=problem, truth=truth)


def centroid(models: Sequence[np.ndarray]) -> Experimenter:
    """The model in the middle of the given ones; "k" takes an edge's weight from the k-th."""
    stacked = np.array(models)
    originals = [IsingModel.of(weights) for weights in stacked]
    names = [f"x{i}" for i in range(len(EDGES))]

    def truth(params: Params) -> dict[str, float]:
        weights = stacked[[int(params[name]) for name in names], np.arange(len(EDGES))]
        log_partition = float(logsumexp(energies_of(weights)))
        divergences = [original.divergence(weights, log_partition) for original in originals]
        return {"value": sum(divergences) / len(divergences)}

    choices = Categorical(map(str, range(len(stacked))))
    return Experimenter(
        name="combo/centroid", problem=Problem.define(dict.fromkeys(names, choices)), truth=truth
    )
