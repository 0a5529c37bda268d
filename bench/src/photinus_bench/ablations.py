"""Photinus with a part of the algorithm taken out or exchanged, for lock-step runs: `photinus-paper/no-log`.

    no-scaling         labels are shifted by their median but not divided by their deviation
    no-half-rank       bad labels keep their distances
    no-log             labels are brought into the same range by a straight line
    no-warping         none of the three
    no-trust-region    the search may go anywhere from the first trial on
    raw-fit            hyperparameters are fitted as they are, not as logarithms (as google-vizier does)
    l-bfgs             the acquisition is climbed by gradients: 25 random starts, 100 steps (paper, App. C)

Words follow each other by slashes. What stays is the engine's own code; constants are the preset's.
"""

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from photinus.engine import lbfgs, many, warping
from photinus.engine.acquisition.trust_region import constrain
from photinus.engine.arrays import Observations
from photinus.engine.bandit import BanditSettings, ModelSettings, acquisition, fit_labels, warp_metrics
from photinus.engine.cache import Program
from photinus.engine.features import Domain, Features
from photinus.engine.gp import fit, priors
from photinus.engine.gp.fit import Fit
from photinus.engine.gp.kernel import Hyperparameters

STAGES = ("no-scaling", "no-half-rank", "no-log")
WORDS = {*STAGES, "no-warping", "no-trust-region", "raw-fit", "l-bfgs"}
NUM_STARTS, MAX_STEPS = 25, 100  # paper, App. C: random restarts and iterations of L-BFGS-B
MAX_TRIES = 20  # line-search steps, as in the fit
# A compiled program is kept on disk by what it depends on; the engine's own key does not cover this file.
SOURCE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


class Labels(NamedTuple):
    """What of a fitted model the search needs."""

    fit: Fit
    y: jax.Array


class Found(NamedTuple):
    """The point that a search ended at, and the acquisition there."""

    features: Features
    score: jax.Array


@dataclass(frozen=True)
class Ablation:
    """Programs over a leading axis of studies, as `photinus.engine.many` has them."""

    stages_off: tuple[str, ...] = ()
    has_trust_region: bool = True
    fits_raw: bool = False
    climbs: bool = False

    @classmethod
    def parse(cls, words: tuple[str, ...]) -> "Ablation | None":
        """What the words after an algorithm's name mean; None without any."""
        if unknown := [word for word in words if word not in WORDS]:
            raise ValueError(f"no ablation is named {unknown[0]!r}: there are {', '.join(sorted(WORDS))}")
        off = STAGES if "no-warping" in words else tuple(stage for stage in STAGES if stage in words)
        return (
            cls(off, "no-trust-region" not in words, "raw-fit" in words, "l-bfgs" in words) if words else None
        )

    def fit_program(self, settings: ModelSettings) -> Program:
        """Fit of studies side by side."""
        if not self.stages_off and not self.fits_raw:
            return many.fit_program(settings)
        if self.stages_off and settings.labels != "warped":
            raise ValueError(
                f"{self.stages_off[0]} is a stage of warping: labels cannot be {settings.labels}"
            )
        return _fit_program(self.stages_off, self.fits_raw, settings)

    def pick_program(self, max_categories: int, settings: BanditSettings) -> Program:
        """Search of studies side by side."""
        if not self.climbs:
            return many.pick_program(max_categories, settings)
        if settings.region == "box":
            raise ValueError("l-bfgs climbs inside the region of balls: it cannot be combined with box")
        if max_categories:
            raise ValueError("l-bfgs needs gradients: the problem must have no categorical parameters")
        return _climb_program(settings)

    def domain(self, domain: Domain) -> Domain:
        """The search's domain; a trust region that looks at no dimension is none."""
        if self.has_trust_region:
            return domain
        return domain._replace(is_trusted=np.zeros_like(domain.is_trusted))


@functools.cache
def _fit_program(stages_off: tuple[str, ...], fits_raw: bool, settings: ModelSettings) -> Program:
    one = functools.partial(fit_arrays, stages_off=stages_off, fits_raw=fits_raw, settings=settings)
    return Program("fit_ablation", jax.vmap(one), (stages_off, fits_raw, settings, SOURCE))


@functools.cache
def _climb_program(settings: BanditSettings) -> Program:
    return Program("climb", jax.vmap(functools.partial(climb, settings=settings)), (settings, SOURCE))


def fit_arrays(
    key: jax.Array,
    observations: Observations,
    *,
    stages_off: tuple[str, ...],
    fits_raw: bool,
    settings: ModelSettings,
) -> Labels:
    """The engine's fit, or one of raw values, to labels that went through some stages only."""
    if stages_off:
        one = functools.partial(warp, stages_off=stages_off)
        warp_all = jax.vmap(one, in_axes=(1, None, None), out_axes=1)
        y = warp_all(observations.labels, observations.is_feasible, observations.is_completed)
    else:
        y, _ = warp_metrics(observations, settings.labels)
    wrapped = jax.random.wrap_key_data(key, impl="threefry2x32")
    search = fit_raw_labels if fits_raw else fit_labels
    return Labels(search(wrapped, observations.features, y, observations.is_completed, settings), y)


def fit_raw_labels(
    key: jax.Array, X: Features, y: jax.Array, is_completed: jax.Array, settings: ModelSettings
) -> Fit:
    """The engine's loss, bounds and starts, with variances and squared length scales as coordinates.

    The larger a value, the flatter the loss in it, so within so few steps large ones stay nearer to where they began.
    """
    if settings.num_own(y.shape[1]) is not None:
        raise ValueError("raw-fit fits one set of hyperparameters: it cannot be combined with own-metrics")
    num_continuous, num_categorical = X.continuous.shape[1], X.categorical.shape[1]
    prior = fit.PRIORS[settings.length_scales](num_continuous, num_categorical)
    low, high = map(jnp.exp, prior.bounds)

    def loss_and_gradient(values: jax.Array) -> tuple[jax.Array, jax.Array]:
        loss, slope = fit.loss_and_gradient(jnp.log(values), X, y, is_completed, settings.length_scales)
        return loss, slope / values

    def search(start: jax.Array) -> lbfgs.Minimum:
        return lbfgs.minimise(
            loss_and_gradient, start, low, high, max_steps=fit.MAX_STEPS, max_tries=fit.MAX_TRIES
        )

    ends = jax.vmap(search)(jnp.exp(prior.starts(key)))
    best = jnp.argmin(ends.loss)
    is_usable = jnp.any(is_completed) & jnp.isfinite(ends.loss[best])
    theta = jnp.where(is_usable, jnp.log(ends.x[best]), prior.centres)
    return Fit(priors.unpack(theta, num_continuous), ends.loss[best], jnp.sum(ends.num_evaluations))


def warp(
    labels: jax.Array, is_feasible: jax.Array, is_completed: jax.Array, *, stages_off: tuple[str, ...]
) -> jax.Array:
    """One metric's labels through the stages of `photinus.engine.warping` that are on."""
    y = jnp.where(is_feasible, labels, 0.0)
    largest = jnp.max(jnp.abs(y))
    y = y / jnp.where(largest > 0, largest, 1.0)  # a unit in which no square overflows
    y, _, deviation = warping.scale_linearly(y, is_feasible)
    if "no-scaling" in stages_off:
        y = y * deviation
    if "no-half-rank" not in stages_off:
        y = warping.warp_half_rank(y, is_feasible)[0]
    low = jnp.min(y, where=is_feasible, initial=jnp.inf)
    high = jnp.max(y, where=is_feasible, initial=-jnp.inf)
    low, high = (jnp.where(jnp.any(is_feasible), v, 0.0) for v in (low, high))
    if "no-log" in stages_off:
        y = 0.5 - (high - y) / jnp.where(high > low, high - low, 1.0)
    else:
        y = warping.warp_log(y, low, high)
    y = warping.replace_infeasible(y, is_feasible)
    shift = jnp.sum(y, where=is_completed) / jnp.maximum(jnp.sum(is_completed), 1)
    return jnp.where(is_completed, y - shift, 0.0)


def climb(
    key: jax.Array,
    observations: Observations,
    y: jax.Array,
    domain: Domain,
    hyper: Hyperparameters,
    explores: jax.Array,
    *,
    settings: BanditSettings,
    num_starts: int = NUM_STARTS,
    max_steps: int = MAX_STEPS,
) -> Found:
    """The best of L-BFGS from random starts on the acquisition, penalty of the trust region included."""
    key_search, key_weights = jax.random.split(jax.random.wrap_key_data(key, impl="threefry2x32"))
    found = acquisition(key_weights, observations, y, domain, hyper, explores, settings)
    no_categories = observations.features.categorical[:1]

    def loss(x: jax.Array) -> Any:
        point = Features(x[None], no_categories)
        return -constrain(found.region, point.continuous, found.score(point))[0]

    num_features = observations.features.continuous.shape[1]
    starts = jax.random.uniform(key_search, (num_starts, num_features), y.dtype)
    low, high = jnp.zeros(num_features, y.dtype), jnp.ones(num_features, y.dtype)
    tops = jax.vmap(
        lambda x: lbfgs.minimise(
            jax.value_and_grad(loss), x, low, high, max_steps=max_steps, max_tries=MAX_TRIES
        )
    )(starts)
    best = jnp.argmin(tops.loss)
    return Found(Features(tops.x[best][None], no_categories), -tops.loss[best])
