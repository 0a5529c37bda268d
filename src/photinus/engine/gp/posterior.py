"""Exact Gaussian-process posterior (docs/algorithm.md §3 and §6).

N trials, T query points, M metrics;  K = k(X, X) + σ²I = LLᵀ,  W = L⁻¹,  α = K⁻¹y.

Rows of X are completed trials first, visited ones after. W is lower triangular, so the leading rows of W·k(X, x)
are those of the completed trials alone: one factorisation and one product serve the posterior given completed
trials and the one given completed and visited trials.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.tree_util import register_dataclass

from photinus.engine.arrays import Array, Bool, Features, Float, Observations, Scalar
from photinus.engine.gp.cholesky import robust_inverse_factor
from photinus.engine.gp.kernel import Hyperparameters, matern52, squared_distance

MIN_VARIANCE = 1e-12  # ours: rounding makes the variance at an observed point slightly negative


class Prediction(NamedTuple):
    """Posterior moments of an observation: deviations include its noise, as in Vizier's code.

    Metrics that share their hyperparameters share one column of deviations.
    """

    mu: Float[Array, "T M"]
    sigma: Float[Array, " T #M"]  # given completed trials
    sigma_visited: Float[Array, " T #M"]  # given completed and visited trials


@register_dataclass
@dataclass(frozen=True)
class Posterior:
    """A Gaussian process conditioned on trials; its metrics share everything but their labels."""

    hyper: Hyperparameters
    X: Features
    is_completed: Bool[Array, " N"]
    is_real: Bool[Array, " N"]
    W: Float[Array, "N N"]
    alpha: Float[Array, "N M"]
    jitter: Scalar

    def predict(self, X_query: Features) -> Prediction:
        """Moments at the query points."""
        k = matern52(squared_distance(self.hyper, X_query, self.X), self.hyper.signal_variance) * self.is_real
        mu = k @ self.alpha  # (15)
        V2 = (k @ self.W.T) ** 2
        prior = self.hyper.signal_variance + self.hyper.noise_variance
        var = prior - V2 @ self.is_completed.astype(V2.dtype)  # (16)
        var_visited = prior - jnp.sum(V2, axis=1)
        return Prediction(mu, *(jnp.sqrt(jnp.maximum(v, MIN_VARIANCE))[:, None] for v in (var, var_visited)))


@register_dataclass
@dataclass(frozen=True)
class OwnPosteriors:
    """A Gaussian process for every metric."""

    each: tuple[Posterior, ...]

    @property
    def jitter(self) -> Scalar:
        """The largest of all."""
        return jnp.max(jnp.stack([posterior.jitter for posterior in self.each]))

    def predict(self, X_query: Features) -> Prediction:
        """Moments at the query points, a column for each metric."""
        columns = [posterior.predict(X_query) for posterior in self.each]
        return Prediction(*(jnp.concatenate(moment, axis=1) for moment in zip(*columns, strict=True)))


def condition(
    hyper: Hyperparameters, observations: Observations, y: Float[Array, "N M"]
) -> Posterior | OwnPosteriors:
    """Condition on completed trials with warped labels `y`, and on the places of visited ones."""
    X, is_real = observations.features, observations.is_real
    if hyper.num_own is None:
        W, jitter = robust_inverse_factor(covariance(hyper, X, is_real))
        return _given_factor(hyper, observations, y, W, jitter)
    # The factorisation is what takes long to compile, so it is in the program once for all metrics.
    K = jax.vmap(covariance, in_axes=(0, None, None))(hyper, X, is_real)
    W, jitter = jax.vmap(robust_inverse_factor)(K)
    return OwnPosteriors(
        tuple(
            _given_factor(hyper.of_metric(m), observations, y[:, m : m + 1], W[m], jitter[m])
            for m in range(hyper.num_own)
        )
    )


def _given_factor(
    hyper: Hyperparameters, observations: Observations, y: Float[Array, "N M"], W: Array, jitter: Scalar
) -> Posterior:
    X, is_completed, is_real = observations.features, observations.is_completed, observations.is_real
    labelled = is_completed[:, None]
    v = jnp.where(labelled, W @ jnp.where(labelled, y, 0.0), 0.0)
    return Posterior(hyper, X, is_completed, is_real, W, W.T @ v, jitter)


def covariance(hyper: Hyperparameters, X: Features, is_real: Bool[Array, " N"]) -> Float[Array, "N N"]:
    """Return K = k(X, X) + σ²I; padding rows are those of the identity and touch nothing else."""
    eye = jnp.eye(is_real.shape[0], dtype=bool)
    distance = jnp.where(eye, 0.0, squared_distance(hyper, X, X))
    K = jnp.where(is_real[:, None] & is_real[None, :], matern52(distance, hyper.signal_variance), 0.0)
    return K + jnp.diag(jnp.where(is_real, hyper.noise_variance, 1.0))
