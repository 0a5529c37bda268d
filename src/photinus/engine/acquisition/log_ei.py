"""Logarithm of the expected improvement over the best label.

With z = (μ - best)/σ the improvement max(f - best, 0) is expected to be σ·h(z), h(z) = φ(z) + z·Φ(z). Where there is
little to hope for h is too small for a float, but its logarithm is not, and says which way is up.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from photinus.engine.arrays import Array, Float, Scalar
from photinus.engine.gp.posterior import MIN_VARIANCE, Prediction

TAIL = -3.0  # ours: below, φ and z·Φ cancel too well
NUM_NODES = 40  # ours: of the quadrature that serves below; its error is largest at once, 10⁻¹² there
# Ours: nothing depends on how hopeless a point is, but its score must stay above that of points outside of the
# trust region, which is -10¹².
LEAST = -1e6


def log_expected_improvement(at: Prediction, best: Scalar, noise_variance: Scalar) -> Float[Array, " T"]:
    """Of the function, not of the next measurement, where σ knows visited places as well; for one metric.

    Noise is left out of σ: it would promise improvement where the value is known already.
    """
    sigma = jnp.sqrt(jnp.maximum(at.sigma_visited[:, 0] ** 2 - noise_variance, MIN_VARIANCE))
    return log_improvement((at.mu[:, 0] - best) / sigma) + jnp.log(sigma)  # (36)


@jax.custom_jvp
def log_improvement(z: Array) -> Array:
    """ln h(z), to almost full precision for every z and with a slope for all above `LEAST`."""
    return _log_and_slope(z)[0]


@log_improvement.defjvp
def _log_improvement_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value, slope = _log_and_slope(primals[0])
    return value, slope * tangents[0]


def _log_and_slope(z: Array) -> tuple[Array, Array]:
    """ln h and its derivative Φ/h."""
    # Both branches are evaluated everywhere: each gets what it can take where it is not the one that counts.
    is_near = z > TAIL
    near, x = jnp.where(is_near, z, TAIL), -jnp.where(is_near, TAIL, jnp.maximum(z, LEAST))
    # `norm.cdf` is exact far below as well, which is not needed here, and takes the compiler ten times as long.
    cumulative = 0.5 * (1.0 + lax.erf(math.sqrt(0.5) * near))
    h = jnp.exp(-0.5 * near * near) / math.sqrt(2.0 * math.pi) + near * cumulative
    # Mills' ratio R(x) = Q(x)/φ(x) is the mean of x/(x² + T²) over a normal T, and h(-x)/φ(x) = 1 - x·R(x) that of
    # T²/(x² + T²): everything positive, nothing cancels. Means are by Gauss and Hermite.
    squares, weights = _nodes()
    inverse = 1.0 / (jnp.square(x)[..., None] + squares)
    ratio, rest = x * (inverse @ weights), inverse @ (weights * squares)
    tail = jnp.log(rest) - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi)
    tail_slope = jnp.where(z > LEAST, ratio / rest, 0.0)
    return jnp.where(is_near, jnp.log(h), tail), jnp.where(is_near, cumulative / h, tail_slope)


@functools.cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Squares of the nodes for means over a normal law, and their weights; each stands for two of them."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NUM_NODES)
    is_positive = nodes > 0
    return nodes[is_positive] ** 2, 2.0 * weights[is_positive] / np.sum(weights)
