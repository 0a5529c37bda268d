"""The Gaussian-process bandit on arrays: fit once, then pick point after point (docs/algorithm.md §2 to §7).

All functions are pure and jit-compile to one program per padded size; they vmap over a leading axis of studies.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from photinus.engine import ascent, firefly
from photinus.engine.acquisition import hypervolume
from photinus.engine.acquisition.box import Box, box
from photinus.engine.acquisition.feasibility import Feasibility, Feasible, feasible
from photinus.engine.acquisition.log_ei import log_expected_improvement
from photinus.engine.acquisition.pure_exploration import pure_exploration, threshold
from photinus.engine.acquisition.trust_region import TrustRegion, constrain, trust_region
from photinus.engine.acquisition.ucb import upper_confidence_bound
from photinus.engine.arrays import Array, Bool, Features, Float, Int, Key, Observations, Scalar
from photinus.engine.ascent import AscentSettings
from photinus.engine.features import Domain
from photinus.engine.firefly import FireflySettings
from photinus.engine.gp.fit import Fit, LengthScales, fit, fit_each, fit_each_from, fit_from
from photinus.engine.gp.kernel import Hyperparameters, squared_distance
from photinus.engine.gp.posterior import OwnPosteriors, Posterior, Prediction, condition
from photinus.engine.warping import Warping, warp
from photinus.engine.winsorising import Winsorising, winsorise

Labels = Literal["warped", "winsorised"]
Metrics = Literal["shared", "own"]

SAME = 1e-12  # ours: squared distance of points that are one; the rounding of many features stays below
BEYOND = 1e-9  # ours: what lies no farther outside of the box is inside
SMALL = 2000.0  # ours: a space of so few points is searched as a whole
OUTSIDE = 1e9  # ours: what a point outside the box loses there
REPEATED = 1e13  # ours: what a tried point loses in a finite space; no score is so large
LESSER = 0.1  # ours: weight of the other metrics beside the one whose turn it is


class ModelSettings(NamedTuple):
    """What is fitted to what. Hashable: a program is compiled for each."""

    labels: Labels = "warped"
    length_scales: LengthScales = "independent"
    metrics: Metrics = "shared"  # whether several have one set of hyperparameters or each its own
    infeasible: Literal["label", "apart"] = "label"  # a bad label, or with one metric a model of its own

    def num_own(self, num_metrics: int) -> int | None:
        """How many sets of hyperparameters there are in a row; None for one that is not in a row."""
        return num_metrics if self.metrics == "own" and num_metrics > 1 else None


class BanditSettings(NamedTuple):
    """Constants of one preset; paper, App. B. Hashable: a program is compiled for each."""

    model: ModelSettings = ModelSettings()
    acquisition: Literal["ucb", "log_ei"] = "ucb"  # of one metric
    region: Literal["balls", "box", "anywhere"] = "balls"  # where one metric is searched
    ucb_coefficient: float = 1.8  # √β
    explore_coefficient: float = 0.5  # √β_e
    penalty_coefficient: float = 10.0  # ρ
    num_weights: int = 1000
    search: FireflySettings | AscentSettings = FireflySettings()

    @property
    def needs_past(self) -> bool:
        """Whether observations alone do not say where to search."""
        return self.region == "box"


class Model(NamedTuple):
    """Fitted hyperparameters, and the labels that they were fitted to, with the way back from them."""

    fit: Fit
    y: Float[Array, "N M"]
    warping: Warping | Winsorising  # leading axis: metrics
    feasibility: "Model | None" = None  # where infeasible trials are judged apart and there are some


class Past(NamedTuple):
    """What observations do not tell: they may be a choice of all trials, and do not say what a trial knew."""

    num_completed: Int[Array, ""]
    box_length: Scalar


class Acquisition(NamedTuple):
    """What is maximised, before the trust region has its say."""

    posterior: Posterior | OwnPosteriors
    at_trials: Prediction
    region: TrustRegion
    has_balls: bool  # whether that is where to search
    score: Callable[[Features], Array]
    can_measure: Feasible | None = None


class Pick(NamedTuple):
    """One point and what was known of it when it was picked."""

    features: Features  # (1, Dc), (1, Dk)
    score: Scalar
    mu: Float[Array, " M"]  # in warped units
    sigma: Float[Array, " #M"]
    radius: Scalar  # of the balls, or half of the box's length
    has_trust_region: Bool[Array, ""]
    jitter: Scalar
    num_evaluations: Int[Array, ""]
    feasible: Scalar | None = None  # probability, where infeasible trials are judged apart


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
    return Model(fit_labels(key, observations.features, y, observations.is_completed, settings), y, warping)


def fit_model_from(
    key: Key, observations: Observations, which: Int[Array, ""], settings: ModelSettings
) -> Model:
    """The model that one of the fit's starts leads to; `fit_model` is the one of least loss."""
    y, warping = warp_metrics(observations, settings.labels)
    features, is_completed = observations.features, observations.is_completed
    return Model(fit_labels_from(key, which, features, y, is_completed, settings), y, warping)


def fit_labels(
    key: Key, X: Features, y: Float[Array, "N M"], is_completed: Bool[Array, " N"], settings: ModelSettings
) -> Fit:
    """Fit the hyperparameters to labels that are warped already."""
    search = fit if settings.num_own(y.shape[1]) is None else fit_each
    return search(key, X, y, is_completed, settings.length_scales)


def fit_labels_from(
    key: Key,
    which: Int[Array, ""],
    X: Features,
    y: Float[Array, "N M"],
    is_completed: Bool[Array, " N"],
    settings: ModelSettings,
) -> Fit:
    """The same from one of the fit's starts."""
    search = fit_from if settings.num_own(y.shape[1]) is None else fit_each_from
    return search(key, which, X, y, is_completed, settings.length_scales)


def acquisition(
    key: Key,
    observations: Observations,
    y: Float[Array, "N M"],
    domain: Domain,
    hyper: Hyperparameters,
    explores: Bool[Array, ""],
    settings: BanditSettings,
    past: Past | None = None,
    told: Feasibility | None = None,
) -> Acquisition:
    """Pure exploration if `explores`, else the upper confidence bound or what the settings say, given warped labels.

    Several metrics make the bound a hypervolume improvement, and there is no trust region then. Where infeasible trials
    are judged apart, a multiple of the logarithm of the probability to be measured is added.
    """
    num_metrics = y.shape[1]
    is_possible, can_measure = observations.is_real, None
    if told is not None:
        # What the objective would be at an infeasible place is nothing to improve on.
        is_possible &= ~told.is_told | observations.is_completed
        can_measure = feasible(observations, told)
    posterior = condition(hyper, observations, y)
    has_balls = num_metrics == 1 and settings.region == "balls"
    region = trust_region(observations, domain, has_balls, None if past is None else past.num_completed)
    at_trials = posterior.predict(observations.features)
    tau = threshold(at_trials, is_possible, settings.ucb_coefficient)

    if num_metrics == 1 and settings.acquisition == "log_ei":
        # What the model expects of the best trial, not what was measured: luck is nothing to improve on. Those whose
        # results are awaited count, or the next point would lie beside them.
        best = jnp.max(at_trials.mu[:, 0], where=is_possible, initial=-jnp.inf)
        if told is not None:
            best = jnp.where(jnp.any(is_possible), best, 0.0)  # nothing could be measured yet

        def promise(at: Prediction) -> Float[Array, " T"]:
            return log_expected_improvement(at, best, hyper.noise_variance)
    elif num_metrics == 1:

        def promise(at: Prediction) -> Float[Array, " T"]:
            return upper_confidence_bound(at.mu, at.sigma_visited, settings.ucb_coefficient)[:, 0]
    else:
        directions = hypervolume.scalarisation(key, y, observations.is_completed, settings.num_weights)

        def promise(at: Prediction) -> Float[Array, " T"]:
            bound = upper_confidence_bound(at.mu, at.sigma_visited, settings.ucb_coefficient)
            return hypervolume.improvement(bound, directions)

    def score(x: Features) -> Float[Array, " T"]:
        at = posterior.predict(x)
        promising = promise(at)
        unknown = pure_exploration(at, tau, settings.explore_coefficient, settings.penalty_coefficient)
        scores = jnp.where(explores, unknown, promising)
        return scores if can_measure is None else scores + can_measure.log_weight(x)

    return Acquisition(posterior, at_trials, region, has_balls, score, can_measure)


def pick(
    key: Key,
    observations: Observations,
    y: Float[Array, "N M"],
    domain: Domain,
    hyper: Hyperparameters,
    explores: Bool[Array, ""],
    past: Past | None = None,
    told: Feasibility | None = None,
    *,
    max_categories: int,
    settings: BanditSettings,
) -> Pick:
    """Maximise the acquisition inside the trust region, whatever that is.

    `past` is what a box needs, and any region where not all trials are observed; `told` says which could be measured,
    where that is judged apart.
    """
    key_search, key_weights = jax.random.split(key)
    found = acquisition(key_weights, observations, y, domain, hyper, explores, settings, past, told)
    posterior, at_trials, region = found.posterior, found.at_trials, found.region
    radius, has_trust_region = region.radius, region.is_active
    inside = None
    if settings.region == "box" and y.shape[1] == 1:
        if past is None:
            raise ValueError("a box must be given its length, by `past`, got none")
        # Where little is known is wherever it is, so exploring has the whole cube.
        inside = box(
            observations, at_trials.mu[:, 0], domain, hyper.continuous, past.box_length, is_enabled=~explores
        )
        radius, has_trust_region = 0.5 * inside.length, inside.is_active
    best = _maximise(
        key_search, found, inside, observations, domain, max_categories=max_categories, settings=settings
    )
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
        feasible=None
        if found.can_measure is None
        else jnp.exp(found.can_measure.log_probability(best.features))[0],
    )


def _maximise(
    key: Key,
    acquisition: Acquisition,
    inside: Box | None,
    observations: Observations,
    domain: Domain,
    *,
    max_categories: int,
    settings: BanditSettings,
) -> firefly.Best:
    """Search by the means that the settings name."""
    search, score = settings.search, acquisition.score
    if isinstance(search, AscentSettings):
        return _climb(key, acquisition, inside, observations, domain, max_categories, search)
    seeds, is_seed = _latest(observations, search)
    if inside is not None:
        return _fly_inside(inside, key, score, domain, max_categories, seeds, is_seed, search)
    return firefly.maximise(
        key,
        lambda x: constrain(acquisition.region, x.continuous, score(x)),
        domain, max_categories, seeds, is_seed, search,
    )  # fmt: skip


def _climb(
    key: Key,
    acquisition: Acquisition,
    inside: Box | None,
    observations: Observations,
    domain: Domain,
    max_categories: int,
    settings: AscentSettings,
) -> firefly.Best:
    """Climb from good trials and from anywhere in the box; in a finite space, to a point that is new if any is."""
    features, is_real = observations.features, observations.is_real
    num_continuous = features.continuous.shape[1]
    is_finite = jnp.all(ascent.is_discrete(domain))
    is_small = ascent.num_points(domain) <= SMALL
    region = ascent.Region(jnp.zeros(num_continuous), jnp.ones(num_continuous))
    if inside is not None:
        # In a small space the box may have no new point left: what is outside comes after all that is new inside.
        low, high = jnp.where(is_small, 0.0, inside.low), jnp.where(is_small, 1.0, inside.high)
        region = ascent.Region(low, high)
    one = jnp.ones(())
    unscaled = Hyperparameters(one, jnp.ones(num_continuous), jnp.ones(features.categorical.shape[1]), one)

    def free_score(x: Features) -> Float[Array, " T"]:
        # What is below it is about finite spaces only, where there is no gradient to follow.
        scores = acquisition.score(x)
        return constrain(acquisition.region, x.continuous, scores) if acquisition.has_balls else scores

    def score(x: Features) -> Float[Array, " T"]:
        scores = free_score(x)
        if inside is not None:
            beyond = jnp.maximum(inside.low - x.continuous, x.continuous - inside.high)
            is_outside = is_small & jnp.any(beyond > BEYOND, axis=1)
            scores = jnp.where(is_outside, scores - OUTSIDE, scores)
        distance = jnp.where(is_real, squared_distance(unscaled, x, features), jnp.inf)
        return jnp.where(is_finite & (jnp.min(distance, axis=1) < SAME), scores - REPEATED, scores)

    seeds, is_seed = _most_promising(acquisition.at_trials, observations, settings.num_seeds)
    return ascent.maximise(key, score, domain, max_categories, region, seeds, is_seed, settings, free_score)


def _fly_inside(
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


def _most_promising(
    at_trials: Prediction, observations: Observations, count: int
) -> tuple[Features, Bool[Array, " S"]]:
    """Completed trials of which the model expects most; of several metrics, the best for one mixture after another."""
    is_completed, mu = observations.is_completed, at_trials.mu
    num_rows, num_metrics = mu.shape
    if num_metrics == 1:
        expected = jnp.where(is_completed, mu[:, 0], -jnp.inf)
        row = jnp.argsort(-expected)[jnp.minimum(jnp.arange(count), num_rows - 1)]
        is_seed = jnp.arange(count) < jnp.sum(is_completed)
        return jax.tree.map(lambda v: v[row], observations.features), is_seed
    low = jnp.min(mu, axis=0, where=is_completed[:, None], initial=jnp.inf)
    high = jnp.max(mu, axis=0, where=is_completed[:, None], initial=-jnp.inf)
    relative = (mu - low) / jnp.where(high > low, high - low, 1.0)
    # One metric after another has the upper hand.
    weights = LESSER + jnp.eye(num_metrics, dtype=mu.dtype)[jnp.arange(count) % num_metrics]
    weights = jnp.where((jnp.arange(count) == 0)[:, None], 1.0, weights)
    worst_off = jnp.min(relative[:, None, :] / weights, axis=2)
    row = jnp.argmax(jnp.where(is_completed[:, None], worst_off, -jnp.inf), axis=0)
    return jax.tree.map(lambda v: v[row], observations.features), jnp.full(count, jnp.any(is_completed))
