"""Every formula of docs/algorithm.md once more, the plain way: loops, `np.linalg.inv`, no masks, no padding.

Written from the equations and not from the engine, so that one can show the other wrong. Numbers in parentheses are
those of the equations. A point is a pair (x, c) of numeric coordinates and category indices, one row each.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm


class Kernel(NamedTuple):
    """Hyperparameters: variances and squared length scales."""

    signal: float
    numeric: Sequence[float]
    categorical: Sequence[float]
    noise: float


def scaled(v: float, low: float, high: float, scale: str) -> float:
    """(1), (2), (3)"""
    if scale == "linear":
        return (v - low) / (high - low)
    if scale == "log":
        return math.log(v / low) / math.log(high / low)
    return 1 - math.log((low + high - v) / low) / math.log(high / low)


def unscaled(u: float, low: float, high: float, scale: str) -> float:
    """The v whose `scaled` is u."""
    if scale == "linear":
        return low + u * (high - low)
    if scale == "log":
        return low * (high / low) ** u
    return low + high - low * (high / low) ** (1 - u)


def nearest(u: float, feasible: Sequence[float], low: float, high: float, scale: str) -> float:
    """(4), as a value"""
    return min(feasible, key=lambda v: abs(scaled(v, low, high, scale) - u))


def scale_linearly(y: Sequence[float]) -> list[float]:
    """(5)"""
    median = float(np.median(y))

    def xi(rows: list[float]) -> float:
        return math.sqrt(sum((v - median) ** 2 for v in rows) / len(rows))

    deviation = xi([v for v in y if v >= median]) or xi(list(y)) or 1.0
    return [(v - median) / deviation for v in y]


def warp_half_rank(z: Sequence[float]) -> list[float]:
    """(6), for labels whose median is 0"""
    below = sorted({v for v in z if v < 0})
    denominator = len(below) + (0.5 if 0.0 in z else 0.0)
    return [float(norm.ppf(0.5 * (below.index(v) + 0.5) / denominator)) if v < 0 else v for v in z]


def warp_log(z: Sequence[float]) -> list[float]:
    """(7)"""
    high = max(z)
    span = (high - min(z)) or 1.0
    return [0.5 - math.log(1 + 0.5 * (high - v) / span) / math.log(1.5) for v in z]


def warp(labels: Sequence[float | None]) -> list[float]:
    """(5) to (9) on the labels of completed trials; None is an infeasible one."""
    feasible = [v for v in labels if v is not None]
    if not feasible:
        return [0.0] * len(labels)
    warped = iter(warp_log(warp_half_rank(scale_linearly(feasible))))
    z = [None if v is None else next(warped) for v in labels]
    known = [v for v in z if v is not None]
    span = (max(known) - min(known)) or 1.0
    filled = [min(known) - 0.5 * span if v is None else v for v in z]  # (8)
    return [v - sum(filled) / len(filled) for v in filled]  # (9)


def squared_distance(kernel: Kernel, a: tuple, b: tuple) -> float:
    """(10) between two points"""
    (x, c), (x_, c_) = a, b
    numeric = sum((p - q) ** 2 / ell for p, q, ell in zip(x, x_, kernel.numeric, strict=True))
    categorical = sum((p != q) / ell for p, q, ell in zip(c, c_, kernel.categorical, strict=True))
    return 5 * (numeric + categorical)


def covariance(kernel: Kernel, a: tuple, b: tuple) -> float:
    """(11) between two points"""
    delta = math.sqrt(squared_distance(kernel, a, b))
    return kernel.signal * (1 + delta + delta**2 / 3) * math.exp(-delta)


def covariances(kernel: Kernel, A: Sequence[tuple], B: Sequence[tuple]) -> np.ndarray:
    """(11) between all points of two lists"""
    return np.array([[covariance(kernel, a, b) for b in B] for a in A]).reshape(len(A), len(B))


def observed(kernel: Kernel, points: Sequence[tuple]) -> np.ndarray:
    """K of (13), noise included"""
    return covariances(kernel, points, points) + kernel.noise * np.eye(len(points))


def penalty(kernel: Kernel) -> float:
    """(12), summed"""
    pulls = [(kernel.signal, 0.039), (kernel.noise, 0.0039)]
    pulls += [(ell, 0.5) for ell in (*kernel.numeric, *kernel.categorical)]
    return sum(0.01 * math.log(theta / c) ** 2 for theta, c in pulls)


def loss(kernel: Kernel, points: Sequence[tuple], Y: np.ndarray) -> float:
    """(13)"""
    K = observed(kernel, points)
    N, M = Y.shape
    fits = sum(0.5 * Y[:, m] @ np.linalg.inv(K) @ Y[:, m] for m in range(M))
    return fits + 0.5 * M * np.linalg.slogdet(K)[1] + 0.5 * M * N * math.log(2 * math.pi) + penalty(kernel)


def mean(kernel: Kernel, points: Sequence[tuple], Y: np.ndarray, query: Sequence[tuple]) -> np.ndarray:
    """(15) at every query point, metric by metric"""
    return covariances(kernel, query, points) @ np.linalg.inv(observed(kernel, points)) @ Y


def deviation(kernel: Kernel, points: Sequence[tuple], query: Sequence[tuple]) -> np.ndarray:
    """Root of (16) at every query point"""
    inverse = np.linalg.inv(observed(kernel, points))
    k = covariances(kernel, query, points)
    return np.array([math.sqrt(kernel.signal + kernel.noise - row @ inverse @ row) for row in k])


def ucb(mu: float, sigma: float) -> float:
    """(17), (25)"""
    return mu + 1.8 * sigma


def radius(num_trials: int, num_features: int) -> float:
    """(18)"""
    return 0.2 + 0.3 * num_trials / (5 * (num_features + 1))


def distance(x: Sequence[float], trusted: Sequence[Sequence[float]], dimensions: Sequence[int]) -> float:
    """First half of (19)"""
    return min(max(abs(x[d] - centre[d]) for d in dimensions) for centre in trusted)


def constrained(score: float, dist: float, rho: float) -> float:
    """Second half of (19)"""
    return score if dist <= rho else -1e12 - dist


def threshold(mu: np.ndarray, sigma: np.ndarray) -> list[float]:
    """(27) per metric, from the moments at all points of D and U; σ by point, or by point and metric"""
    each = sigma if np.ndim(sigma) == 2 else np.column_stack([sigma] * mu.shape[1])
    return [max(zip(mu[:, m] + 1.8 * each[:, m], mu[:, m], strict=True))[1] for m in range(mu.shape[1])]


def pure_exploration(
    mu: Sequence[float],
    sigma: float | Sequence[float],
    sigma_all: float | Sequence[float],
    tau: Sequence[float],
) -> float:
    """(26), (31); one σ for all metrics, or one for each"""
    each, each_all = (s if np.ndim(s) else [s] * len(mu) for s in (sigma, sigma_all))
    penalties = [10 * min(m + 0.5 * s - t, 0.0) for m, s, t in zip(mu, each, tau, strict=True)]
    return sum(each_all) / len(mu) + sum(penalties) / len(mu)


def scalarised(y: Sequence[float], w: Sequence[float]) -> float:
    """(28)"""
    return min(max(0.0, a / b) for a, b in zip(y, w, strict=True)) ** len(y)


def reference_point(Y: np.ndarray) -> np.ndarray:
    """(29)"""
    return np.array([min(column) - 0.01 * (max(column) - min(column)) for column in Y.T])


def improvement(bound: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> float:
    """(30) for one vector of bounds"""
    low = reference_point(Y)
    gains = []
    for w in weights:
        best = max(scalarised(row - low, w) for row in Y)
        gains.append(max(0.0, scalarised(bound - low, w) - best))
    return sum(gains) / len(gains)


def jitter(K: np.ndarray) -> float:
    """Least rung of the ladder (docs/algorithm.md §10) on which the matrix has a Cholesky factor."""
    rungs = [0.0, *(1e-8 * 100.0**i * K.diagonal().max() for i in range(4))]
    for rung in rungs:
        try:
            np.linalg.cholesky(K + rung * np.eye(len(K)))
        except np.linalg.LinAlgError:
            continue
        return rung
    raise AssertionError("no rung is high enough")
