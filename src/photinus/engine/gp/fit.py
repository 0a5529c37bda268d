"""Hyperparameters by maximum a posteriori (docs/algorithm.md §3, eqs. 12 to 14).

N trials, M metrics that share all hyperparameters, or have each its own;  K = k(X, X) + σ²I = LLᵀ,  W = L⁻¹,  α = K⁻¹y.
θ are the logarithms of the signal variance, the squared length scales and the noise variance.
"""

import math
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from photinus.engine import lbfgs
from photinus.engine.arrays import Array, Bool, Features, Float, Int, Key, Scalar
from photinus.engine.gp import priors
from photinus.engine.gp.cholesky import gram, inverse_factor
from photinus.engine.gp.joint_prior import JointPrior
from photinus.engine.gp.kernel import (
    Hyperparameters,
    matern52,
    matern52_slope,
    squared_distance,
    sum_over_mismatches,
)
from photinus.engine.gp.priors import IndependentPrior

LengthScales = Literal["independent", "joint"]
PRIORS: dict[LengthScales, type[IndependentPrior | JointPrior]] = {
    "independent": IndependentPrior,
    "joint": JointPrior,
}
MAX_STEPS = 50  # paper, App. B
MAX_TRIES = 20  # paper, App. B: line-search steps
SIDE_BY_SIDE = 256  # ours: up to this many padded trials the starts run together


class Fit(NamedTuple):
    """Hyperparameters found, from one start or as the best of several; metrics of their own have a leading axis."""

    hyper: Hyperparameters
    loss: Scalar
    num_evaluations: Int[Array, ""]  # of the loss


def fit(
    key: Key,
    X: Features,
    y: Float[Array, "N M"],
    is_completed: Bool[Array, " N"],
    length_scales: LengthScales = "independent",
) -> Fit:
    """Minimise the loss from every start."""

    def search(which: Array) -> Fit:
        return fit_from(key, which, X, y, is_completed, length_scales)

    # Side by side while that saves time; one after another when several matrices at once would cost memory instead.
    starts = jnp.arange(PRIORS[length_scales].num_starts)
    fits = jax.vmap(search)(starts) if y.shape[0] <= SIDE_BY_SIDE else jax.lax.map(search, starts)
    best = jnp.argmin(fits.loss)
    hyper = jax.tree.map(lambda v: v[best], fits.hyper)
    return Fit(hyper, fits.loss[best], jnp.sum(fits.num_evaluations))


def fit_from(
    key: Key,
    which: Int[Array, ""],
    X: Features,
    y: Float[Array, "N M"],
    is_completed: Bool[Array, " N"],
    length_scales: LengthScales = "independent",
) -> Fit:
    """Minimise the loss from one of the prior's starts; without data, the prior's centres."""
    num_continuous, num_categorical = X.continuous.shape[1], X.categorical.shape[1]
    prior = PRIORS[length_scales](num_continuous, num_categorical)
    (low, high), centres = prior.bounds, prior.centres
    found = lbfgs.minimise(
        lambda theta: loss_and_gradient(theta, X, y, is_completed, length_scales),
        prior.starts(key)[which], low, high, max_steps=MAX_STEPS, max_tries=MAX_TRIES,
    )  # fmt: skip
    # No finite loss anywhere means no usable data; the centres are what the prior says without any.
    is_usable = jnp.any(is_completed) & jnp.isfinite(found.loss)
    theta = jnp.where(is_usable, found.x, centres)
    return Fit(priors.unpack(theta, num_continuous), found.loss, found.num_evaluations)


def fit_each(
    key: Key,
    X: Features,
    y: Float[Array, "N M"],
    is_completed: Bool[Array, " N"],
    length_scales: LengthScales = "independent",
) -> Fit:
    """`fit` of every metric as if it were the only one, from the same starts."""

    def alone(column: Array) -> Fit:
        return fit(key, X, column[:, None], is_completed, length_scales)

    return jax.vmap(alone)(y.T) if y.shape[0] <= SIDE_BY_SIDE else jax.lax.map(alone, y.T)


def fit_each_from(
    key: Key,
    which: Int[Array, ""],
    X: Features,
    y: Float[Array, "N M"],
    is_completed: Bool[Array, " N"],
    length_scales: LengthScales = "independent",
) -> Fit:
    """`fit_from` of every metric as if it were the only one, one after another: starts are what runs side by side."""

    def alone(column: Array) -> Fit:
        return fit_from(key, which, X, column[:, None], is_completed, length_scales)

    return jax.lax.map(alone, y.T)


def loss_and_gradient(
    theta: Float[Array, " H"],
    X: Features,
    y: Float[Array, "N M"],
    is_completed: Bool[Array, " N"],
    length_scales: LengthScales = "independent",
) -> tuple[Scalar, Float[Array, " H"]]:
    """Negative log posterior density of θ and its gradient, both in closed form.

    Differentiating through the Cholesky factorisation automatically costs several times as much.
    """
    num_continuous, num_categorical = X.continuous.shape[1], X.categorical.shape[1]
    num_metrics = y.shape[1]
    hyper = priors.unpack(theta, num_continuous)
    prior = PRIORS[length_scales](num_continuous, num_categorical)
    pairs = is_completed[:, None] & is_completed[None, :]
    eye = jnp.eye(y.shape[0], dtype=bool)

    distance = jnp.where(eye, 0.0, squared_distance(hyper, X, X))
    k = jnp.where(pairs, matern52(distance, hyper.signal_variance), 0.0)
    # No jitter here: where K cannot be factorised the loss is NaN and the step that led there is shortened.
    W = inverse_factor(k + jnp.diag(jnp.where(is_completed, hyper.noise_variance, 1.0)))
    v = W @ y
    alpha = (v.T @ W).T  # much quicker on a CPU than Wᵀv
    log_determinant = -2.0 * jnp.sum(jnp.log(jnp.diagonal(W)))
    num_labels = num_metrics * jnp.sum(is_completed)
    nll = 0.5 * (jnp.sum(v * v) + num_metrics * log_determinant + num_labels * math.log(2.0 * math.pi))
    loss = nll + prior.penalty(theta)  # (13)

    # G = ∂nll/∂K. Every derivative is a sum over pairs of G times that of k.
    G = 0.5 * jnp.where(pairs, num_metrics * gram(W) - alpha @ alpha.T, 0.0)
    S = G * matern52_slope(distance, hyper.signal_variance)
    x = X.continuous - 0.5
    # Σ_ij S_ij (x_i - x_j)² without forming the differences.
    spread = 2.0 * (jnp.sum(S, axis=1) @ x**2 - jnp.sum(x * (S @ x), axis=0))
    gradient = jnp.concatenate([
        jnp.sum(G * k)[None],
        -5.0 / hyper.continuous * spread,
        -5.0 / hyper.categorical * sum_over_mismatches(S, X.categorical),
        (hyper.noise_variance * jnp.trace(G))[None],
    ])  # fmt: skip
    return loss, gradient + prior.slope(theta)  # (14)
