"""Two ways to maximise an acquisition, with and without the trust region: the firefly search and L-BFGS.

The gradients' way is given what it can use: all restarts run side by side in one program, from uniform points, and
the best end point counts. With the trust region the penalty outside has a gradient almost nowhere, which is what the
paper's figure is about.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from photinus.engine import bandit, firefly, lbfgs
from photinus.engine.acquisition.trust_region import constrain
from photinus.engine.bandit import BanditSettings
from photinus.engine.cache import Program
from photinus.engine.features import Features

MAX_TRIES = 20  # of a line search, as in the fit


class Variant(NamedTuple):
    """Which search, how long, and whether the trust region holds."""

    uses_gradients: bool
    has_trust_region: bool
    num_restarts: int = 25  # paper, App. "Ablations": of L-BFGS-B
    max_steps: int = 100  # paper, likewise
    max_evaluations: int = 75_000  # of the firefly search


class Found(NamedTuple):
    """The best point, on the scale of the acquisition with whatever penalty it has."""

    features: Features
    score: Any


@functools.cache
def search_program(variant: Variant, settings: BanditSettings) -> Program:
    """The search as a program of (key, observations, y, domain, hyper, explores), for one study."""
    return Program("ablated_search", functools.partial(_search, variant, settings), (variant, settings))


@functools.cache
def gradient_program(variant: Variant, settings: BanditSettings) -> Program:
    """One evaluation of values and gradients at as many points as there are restarts."""
    return Program("ablated_gradient", functools.partial(_gradient, variant, settings), (variant, settings))


def _search(variant: Variant, settings: BanditSettings, key, observations, y, domain, hyper, explores):
    key = jax.random.wrap_key_data(key, impl="threefry2x32")
    key_search, key_weights = jax.random.split(key)
    score = _score(variant, settings, key_weights, observations, y, domain, hyper, explores)
    if variant.uses_gradients:
        return _climb(key_search, score, observations.features.continuous.shape[1], variant)
    search = settings.search._replace(max_evaluations=variant.max_evaluations)
    seeds, is_seed = bandit.latest(observations, search)
    best = firefly.maximise(key_search, score, domain, 0, seeds, is_seed, search)
    return Found(best.features, best.score)


def _climb(key, score, num_features: int, variant: Variant) -> Found:
    starts = jax.random.uniform(key, (variant.num_restarts, num_features), jnp.float64)

    def loss(x):
        return -score(Features(x[None], jnp.zeros((1, 0), jnp.int32)))[0]

    def climb(start):
        return lbfgs.minimise(
            jax.value_and_grad(loss),
            start,
            jnp.zeros(num_features),
            jnp.ones(num_features),
            max_steps=variant.max_steps,
            max_tries=MAX_TRIES,
        )

    ends = jax.vmap(climb)(starts)
    best = jnp.argmin(ends.loss)
    return Found(Features(ends.x[best][None], jnp.zeros((1, 0), jnp.int32)), -ends.loss[best])


def _gradient(variant: Variant, settings: BanditSettings, key, observations, y, domain, hyper, explores, x):
    key = jax.random.wrap_key_data(key, impl="threefry2x32")
    score = _score(variant, settings, key, observations, y, domain, hyper, explores)

    def total(x):
        scores = score(Features(x, jnp.zeros((x.shape[0], 0), jnp.int32)))
        return jnp.sum(scores), scores

    gradient, scores = jax.grad(total, has_aux=True)(x)
    return scores, gradient


def _score(variant: Variant, settings: BanditSettings, key, observations, y, domain, hyper, explores):
    _, region, score = bandit.acquisition(key, observations, y, domain, hyper, explores, settings)
    if not variant.has_trust_region:
        return score
    return lambda x: constrain(region, x.continuous, score(x))
