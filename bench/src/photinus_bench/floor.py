"""The floor under one suggestion: only its matrix products and factorisations, by the bare libraries.

A fit must factorise and invert an n x n matrix per evaluation of its loss (dpotrf, dpotri); a search of
75,000 points in batches of 25 must multiply 3,000 times 25 x n by n x n for the variances. Everything else
(distances, exponentials, moves) is left out: it is the bare libraries' time for the linear algebra that we do.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

BATCH_SIZE = 25
NUM_STEPS = 3_000


@dataclass(frozen=True)
class Floor:
    """Seconds that the bare linear algebra of one suggestion takes."""

    fit_s: float
    search_s: float

    @property
    def total_s(self) -> float:
        return self.fit_s + self.search_s


def measure(num_trials: int, num_loss_evaluations: int, seed: int) -> Floor:
    """Time the kernels on a covariance of this size, and multiply by how often a suggestion needs them."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(num_trials, 5))
    gaps = np.sum((points[:, None] - points[None]) ** 2, axis=-1)
    covariance = np.asfortranarray(np.exp(-gaps) + np.eye(num_trials))
    queries = rng.normal(size=(BATCH_SIZE, num_trials))

    def factorise_and_invert() -> None:
        factor, info = lapack.dpotrf(covariance, lower=1)
        _, more_info = lapack.dpotri(factor, lower=1, overwrite_c=1)
        assert info == more_info == 0, (info, more_info)

    fit_s = num_loss_evaluations * median_seconds(factorise_and_invert, repeats=15)
    search_s = NUM_STEPS * median_seconds(lambda: queries @ covariance, repeats=300)
    return Floor(fit_s, search_s)


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    for _ in range(repeats // 10 + 1):
        work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
