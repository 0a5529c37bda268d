"""Trials to test with: random designs, and the padded form in which the engine takes them."""

import numpy as np
from twins import Kernel

from photinus.engine.arrays import Observations
from photinus.engine.features import Domain, Features
from photinus.engine.gp.kernel import Hyperparameters

NUM_CATEGORIES = 3


def random_features(
    rng: np.random.Generator, rows: int, num_continuous: int, num_categorical: int
) -> Features:
    """Uniform points."""
    return Features(
        rng.random((rows, num_continuous)),
        rng.integers(NUM_CATEGORIES, size=(rows, num_categorical), dtype=np.int32),
    )


def random_hyperparameters(
    rng: np.random.Generator, num_continuous: int, num_categorical: int, least_noise: float = 1e-4
) -> Hyperparameters:
    """Hyperparameters well inside the bounds, log-uniform; the noise keeps the condition number moderate."""
    return Hyperparameters(
        np.float64(10 ** rng.uniform(-1.5, 0.5)),
        10 ** rng.uniform(-1.5, 1.0, num_continuous),
        10 ** rng.uniform(-1.5, 1.0, num_categorical),
        np.float64(10 ** rng.uniform(np.log10(least_noise), -1.0)),
    )  # pyright: ignore[reportArgumentType]


def kernel(hyper: Hyperparameters) -> Kernel:
    """The same hyperparameters for the twins."""
    return Kernel(
        float(hyper.signal_variance),
        np.asarray(hyper.continuous).tolist(),
        np.asarray(hyper.categorical).tolist(),
        float(hyper.noise_variance),
    )


def points(features: Features) -> list[tuple[list[float], list[int]]]:
    """The same points for the twins."""
    return list(zip(features.continuous.tolist(), features.categorical.tolist(), strict=True))


def pad(values: np.ndarray, size: int, filler: float = 0) -> np.ndarray:
    """`values` with rows of `filler` up to `size`."""
    rest = np.full((size - len(values), *values.shape[1:]), filler, values.dtype)
    return np.concatenate([values, rest])


def pad_features(features: Features, size: int) -> Features:
    """Points with rows of zeros up to `size`."""
    return Features(pad(features.continuous, size), pad(features.categorical, size))


def observations(
    features: Features, labels: np.ndarray, size: int, is_feasible: np.ndarray | None = None
) -> Observations:
    """Padded trials: the first rows are completed, as many as there are labels, and the others visited."""
    num_completed, num_rows = len(labels), len(features.continuous)
    feasible = np.ones(num_completed, bool) if is_feasible is None else is_feasible
    row = np.arange(size)
    return Observations(
        features=pad_features(features, size),
        labels=pad(labels, size),
        is_completed=row < num_completed,
        is_feasible=pad(feasible, size),
        is_real=row < num_rows,
    )  # pyright: ignore[reportArgumentType]


def cube(num_continuous: int, num_categorical: int = 0) -> Domain:
    """A domain without grids: floats, and categories of `NUM_CATEGORIES` values."""
    return Domain(
        steps=np.zeros(num_continuous),
        grid=np.zeros((num_continuous, 0)),
        fine_low=np.full(num_continuous, np.inf),
        fine_high=np.full(num_continuous, -np.inf),
        is_trusted=np.ones(num_continuous, bool),
        num_categories=np.full(num_categorical, NUM_CATEGORIES, np.int32),
    )


def pack(hyper: Hyperparameters) -> np.ndarray:
    """θ of hyperparameters: all logarithms in one vector."""
    return np.log(np.concatenate([np.atleast_1d(v) for v in hyper]))
