"""The Gaussian-process bandit on arrays: fit once, then pick point after point (docs/algorithm.md §2 to §7).

All functions are pure and jit-compile to one program per padded size; they vmap over a leading axis of studies.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from photinus.engine import firefly
from photinus.engine.acquisition import hypervolume
from photinus.engine.acquisition.box import Box, box, box_length
from photinus.engine.acquisition.log_ei import log_expected_improvement
from photinus.engine.acquisition.pure_exploration import pure_exploration, threshold
from photinus.engine.acquisition.trust_region import TrustRegion, constrain, trust_region
from photinus.engine.acquisition.ucb import upper_confidence_bound
from photinus.engine.arrays import Array, Bool, Features, Float, Int, Key, Observations, Scalar
from photinus.engine.features import Domain
from photinus.engine.firefly import FireflySettings
from photinus.engine.gp.fit import Fit, LengthScales, fit, fit_from
from photinus.engine.gp.kernel import Hyperparameters
from photinus.engine.gp.posterior import Posterior, Prediction, condition
from photinus.engine.warping import Warping, warp
from photinus.engine.winsorising import Winsorising, winsorise

Labels = Literal["warped", "winsorised"]


class ModelSettings(NamedTuple):
    """What is fitted to what. Hashable: a program is compiled for each."""

    labels: Labels = "warped"
    length_scales: LengthScales = "independent"


class BanditSettings(NamedTuple):
    """Constants of one preset; paper, App. B. Hashable: a program is compiled for each."""

    model: ModelSettings = ModelSettings()
    acquisition: Literal["ucb", "log_ei"] = "ucb"  # of one metric
    region: Literal["balls", "box"] = "balls"  # where one metric is searched
    ucb_coefficient: float = 1.8  # √β
    explore_coefficient: float = 0.5  # √β_e
    penalty_coefficient: float = 10.0  # ρ
    num_weights: int = 1000
    search: FireflySettings = FireflySettings()


class Model(NamedTuple):
    """Fitted hyperparameters, and the labels that they were fitted to, with the way back from them."""

    fit: Fit
    y: Float[Array, "N M"]
    warping: Warping | Winsorising  # leading axis: metrics


class Past(NamedTuple):
    """What only all trials tell, where the observations are a choice of them."""

    num_completed: Int[Array, ""]
    box_length: Scalar


class Acquisition(NamedTuple):
    """What is maximised, before the trust region has its say."""

    posterior: Posterior
    region: TrustRegion
    score: Callable[[Features], Array]


class Pick(NamedTuple):
    """One point and what was known of it when it was picked."""

    features: Features  # (1, Dc), (1, Dk)
    score: Scalar
    mu: Float[Array, " M"]  # in warped units
    sigma: Scalar
    radius: Scalar  # of the balls, or half of the box's length
    has_trust_region: Bool[Array, ""]
    jitter: Scalar
    num_evaluations: Int[Array, ""]


def warp_metrics(
    observations: Observations, labels: Labels = "warped"
) -> tuple[Float[Array, "N M"], Warping | Winsorising]:
    """Warp or winsorise every metric on its own."""
    one = {"warped": warp, "winsorised": winsorise}[labels]
    return jax.vmap(one, in_axes=(1, None, None), out_axes=(1, 0))(
        observations.labels, observations.is_feasible, observations.is_completed
    )


def fit_model(key: Key, observations: Observations, settings: ModelSettings) -> Model:
    """Fit the hyperparameters to the completed trials."""
    y, warping = warp_metrics(observations, settings.labels)
    found = fit(key, observations.features, y, observations.is_completed, settings.length_scales)
    return Model(found, y, warping)


def fit_model_from(
    key: Key, observations: Observations, which: Int[Array, ""], settings: ModelSettings
) -> Model:
    """The model that one of the fit's starts leads to; `fit_model` is the one of least loss."""
    y, warping = warp_metrics(observations, settings.labels)
    features, is_completed = observations.features, observations.is_completed
    return Model(fit_from(key, which, features, y, is_completed, settings.length_scales), y, warping)


def recall(observations: Observations, num_features: int) -> Past:
    """What all trials tell; their places do not matter."""
    labels = jnp.where(observations.is_feasible, observations.labels[:, 0], -jnp.inf)
    length = box_length(labels, observations.is_completed, num_features)
    return Past(jnp.sum(observations.is_completed), length)


def acquisition(
    key: Key,
    observations: Observations,
    y: Float[Array, "N M"],
    domain: Domain,
    hyper: Hyperparameters,
    explores: Bool[Array, ""],
    settings: BanditSettings,
    past: Past | None = None,
) -> Acquisition:
    """Pure exploration if `explores`, else the upper confidence bound or what the settings say, given warped labels.

    Several metrics make the bound a hypervolume improvement, and there is no trust region then.
    """
    num_metrics = y.shape[1]
    posterior = condition(hyper, observations, y)
    has_balls = num_metrics == 1 and settings.region == "balls"
    region = trust_region(observations, domain, has_balls, None if past is None else past.num_completed)
    tau = threshold(posterior.predict(observations.features), observations.is_real, settings.ucb_coefficient)
    directions = hypervolume.scalarisation(key, y, observations.is_completed, settings.num_weights)

    if num_metrics == 1 and settings.acquisition == "log_ei":
        best = jnp.max(y[:, 0], where=observations.is_completed, initial=-jnp.inf)

        def promise(at: Prediction) -> Float[Array, " T"]:
            return log_expected_improvement(at, best, hyper.noise_variance)
    else:

        def promise(at: Prediction) -> Float[Array, " T"]:
            bound = upper_confidence_bound(at.mu, at.sigma_visited, settings.ucb_coefficient)
            return bound[:, 0] if num_metrics == 1 else hypervolume.improvement(bound, directions)

    def score(x: Features) -> Float[Array, " T"]:
        at = posterior.predict(x)
        promising = promise(at)
        unknown = pure_exploration(at, tau, settings.explore_coefficient, settings.penalty_coefficient)
        return jnp.where(explores, unknown, promising)

    return Acquisition(posterior, region, score)


def pick(
    key: Key,
    observations: Observations,
    y: Float[Array, "N M"],
    domain: Domain,
    hyper: Hyperparameters,
    explores: Bool[Array, ""],
    past: Past | None = None,
    *,
    max_categories: int,
    settings: BanditSettings,
) -> Pick:
    """Maximise the acquisition inside the trust region, whatever that is; `past` where not all trials are observed."""
    key_search, key_weights = jax.random.split(key)
    posterior, region, score = acquisition(
        key_weights, observations, y, domain, hyper, explores, settings, past
    )
    seeds, is_seed = _latest(observations, settings.search)
    if settings.region == "box" and y.shape[1] == 1:
        # Where little is known is wherever it is, so exploring has the whole cube.
        length = None if past is None else past.box_length
        inside = box(observations, domain, hyper.continuous, is_enabled=~explores, length=length)
        radius, has_trust_region = 0.5 * inside.length, inside.is_active
        best = _maximise_inside(
            inside, key_search, score, domain, max_categories, seeds, is_seed, settings.search
        )
    else:
        radius, has_trust_region = region.radius, region.is_active
        best = firefly.maximise(
            key_search,
            lambda x: constrain(region, x.continuous, score(x)),
            domain, max_categories, seeds, is_seed, settings.search,
        )  # fmt: skip
    at = posterior.predict(best.features)
    return Pick(
        features=best.features,
        score=best.score,
        mu=at.mu[0],
        sigma=at.sigma[0],
        radius=radius,
        has_trust_region=has_trust_region,
        jitter=posterior.jitter,
        num_evaluations=best.num_evaluations,
    )


def _maximise_inside(
    inside: Box,
    key: Key,
    score: Callable[[Features], Array],
    domain: Domain,
    max_categories: int,
    seeds: Features,
    is_seed: Bool[Array, " S"],
    settings: FireflySettings,
) -> firefly.Best:
    """Search a box as if it were the cube: points become feasible where they are scored, not where they move."""
    free = domain._replace(steps=jnp.zeros_like(domain.steps), grid=domain.grid[:, :0])
    best = firefly.maximise(
        key,
        lambda u: score(inside.place(u, domain)),
        free, max_categories, inside.relative(seeds), is_seed, settings,
    )  # fmt: skip
    return best._replace(features=inside.place(best.features, domain))


def _latest(observations: Observations, settings: FireflySettings) -> tuple[Features, Array]:
    """Latest completed trials, newest first, to seed the pool with."""
    features = observations.features
    count = firefly.num_seeded(features.continuous.shape[1] + features.categorical.shape[1], settings)
    row = jnp.sum(observations.is_completed) - 1 - jnp.arange(count)
    return jax.tree.map(lambda v: v[jnp.maximum(row, 0)], features), row >= 0
