"""The noise models of the paper's appendix on benchmarks, with their severe settings.

They come from the noisy BBOB functions of COCO (Hansen et al. 2009), made for values that are minimised and at
least zero. The paper writes them for the negative of such a value; below they are turned back. COCO leaves values
under 1e-8 without noise and adds 1.01e-8 to the others; the paper does neither, and so do we.
"""

import math
from collections.abc import Callable

import numpy as np

Noise = Callable[[float, int, np.random.Generator], float]  # (value, number of parameters, generator)

EPSILON = 1e-199  # paper: against division by zero
OFFSET = 1000.0  # of Cauchy noise: told of every point, whether an outlier or not
OUTLIERS = 0.2  # share of measurements with a Cauchy term


def gaussian(value: float, num_parameters: int, rng: np.random.Generator) -> float:
    """f · exp(N(0, 1)): as often too small by a factor as too large."""
    return value * math.exp(rng.standard_normal())


def uniform(value: float, num_parameters: int, rng: np.random.Generator) -> float:
    """f · U · max(1, 1e9 / (f + ε))^((0.49 + 1/D) · U'): the nearer to the optimum, the wider."""
    first, second = rng.random(2).tolist()
    if value == 0.0:
        return 0.0  # what the formula gives, but without the overflow of its power at D = 1
    return value * first * max(1.0, 1e9 / (value + EPSILON)) ** ((0.49 + 1 / num_parameters) * second)


def cauchy(value: float, num_parameters: int, rng: np.random.Generator) -> float:
    """f + max(0, 1000 + [U < 0.2] · N / (|N'| + ε)): mostly exact up to a constant, with outliers."""
    is_outlier = rng.random() < OUTLIERS
    first, second = rng.standard_normal(2).tolist()
    return value + max(0.0, OFFSET + is_outlier * first / (abs(second) + EPSILON))


MODELS: dict[str, Noise] = {"gaussian": gaussian, "uniform": uniform, "cauchy": cauchy}
