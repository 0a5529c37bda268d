"""The modified firefly search over mixed spaces (docs/algorithm.md §5). It knows nothing of Gaussian processes.

P flies in batches of B; a fly is a point with a score and a perturbation ω of its own. One step moves one batch by
the forces of the whole pool, scores it, keeps what improved and calms down what did not.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from photinus.engine import noise
from photinus.engine.arrays import Array, Bool, Features, Float, Int, Key, KeyData, Scalar
from photinus.engine.features import Domain


class FireflySettings(NamedTuple):
    """Constants of the search; paper, App. B, unless another source is named."""

    max_evaluations: int = 75_000
    batch_size: int = 25
    max_pool_size: int = 100
    pool_exponent: float = 1.2
    absorption: float = 4.5  # γ·D
    attraction: float = 1.5  # η_attract
    repulsion: float = 0.008  # η_repel
    perturbation: float = 0.16  # ω at the start
    categorical_factor: float = 1.0  # on ω, for categories in a mixed space
    pure_categorical_factor: float = 30.0  # on ω, where all parameters are categorical
    keep_category: float = 0.98  # Vizier eagle_strategy.py: chance to stay, forces and noise aside
    decay: float = 0.7  # of ω after a step that did not improve
    min_perturbation: float = 7e-5  # Vizier eagle_strategy.py: below it a fly gives up
    seeded_share: float = 0.96  # "keep probability": share of the pool that starts from trials


class Best(NamedTuple):
    """The best point scored."""

    features: Features  # (1, Dc), (1, Dk)
    score: Scalar
    num_evaluations: Int[Array, ""]


class _State(NamedTuple):
    pool: Features
    scores: Float[Array, " P"]  # -inf: not scored yet
    omega: Float[Array, " P"]
    num_evaluations: Int[Array, ""]


def pool_size(num_features: int, settings: FireflySettings) -> int:
    """Number of flies for so many parameters, a whole number of batches."""
    wanted = 10 + int(0.5 * num_features + num_features**settings.pool_exponent)
    batches = math.ceil(min(wanted, settings.max_pool_size) / settings.batch_size)
    return batches * settings.batch_size  # (20)


def num_seeded(num_features: int, settings: FireflySettings) -> int:
    """How many flies start from trials where there are enough."""
    size = pool_size(num_features, settings)
    return size - int(size * (1.0 - settings.seeded_share))


def maximise(
    key: Key,
    score: Callable[[Features], Float[Array, " B"]],
    domain: Domain,
    max_categories: int,
    seeds: Features,
    is_seed: Bool[Array, " S"],
    settings: FireflySettings,
) -> Best:
    """Find the feasible point of the largest score; `seeds` that are not `is_seed` are replaced by random points."""
    num_features = seeds.continuous.shape[1] + seeds.categorical.shape[1]
    size = pool_size(num_features, settings)
    batch = settings.batch_size
    key_pool, key_steps = jax.random.key_data(jax.random.split(key))
    pool = spread(noise.uniform(key_pool, jnp.zeros((), jnp.int32), (size, num_features)), domain)
    num_seeds = is_seed.shape[0]
    pool = Features(*(
        flies.at[:num_seeds].set(jnp.where(is_seed[:, None], seed, flies[:num_seeds]))
        for flies, seed in zip(pool, seeds, strict=True)
    ))  # fmt: skip

    def step(i: Array, state: _State) -> _State:
        chance = draw(key_steps, i, batch, seeds, max_categories)
        start = (i % (size // batch)) * batch
        flies, scores, omega = jax.tree.map(
            lambda v: lax.dynamic_slice_in_dim(v, start, batch), (state.pool, state.scores, state.omega)
        )
        moved = move(chance, flies, scores, omega, state, domain, max_categories, settings)
        # A fly that has no score yet is scored where it stands.
        feasible = round_features(_where(jnp.isneginf(scores), flies, moved), domain)
        found = score(feasible)

        improves = found > scores
        flies = _where(improves, feasible, flies)
        scores = jnp.where(improves, found, scores)
        omega = jnp.where(improves, omega, omega * settings.decay)  # (24)
        best = jnp.maximum(jnp.max(state.scores), jnp.max(scores))
        gives_up = (omega < settings.min_perturbation) & (scores < best)
        flies = _where(gives_up, spread(chance.place, domain), flies)
        scores = jnp.where(gives_up, -jnp.inf, scores)
        omega = jnp.where(gives_up, settings.perturbation, omega)

        pool, all_scores, all_omega = jax.tree.map(
            lambda v, part: lax.dynamic_update_slice_in_dim(v, part, start, 0),
            (state.pool, state.scores, state.omega),
            (flies, scores, omega),
        )
        return _State(pool, all_scores, all_omega, state.num_evaluations + batch)

    state = _State(
        pool=pool,
        scores=jnp.full(size, -jnp.inf),
        omega=jnp.full(size, settings.perturbation),
        num_evaluations=jnp.zeros((), jnp.int32),
    )
    state = lax.fori_loop(0, settings.max_evaluations // batch, step, state)
    # The best point ever scored is still in the pool: flies move only to improve, and the best never gives up.
    top = jnp.argmax(state.scores)
    return Best(jax.tree.map(lambda v: v[top][None], state.pool), state.scores[top], state.num_evaluations)


class Chance(NamedTuple):
    """All random numbers of one step, drawn at once: uniform in [0, 1), single precision."""

    kick: Float[Array, "B Dc"]
    category_kick: Float[Array, "B Dk C"]
    category: Float[Array, "B Dk C"]
    place: Float[Array, "B D"]  # for flies that start anew


def draw(key: KeyData, step: Array, count: int, like: Features, max_categories: int) -> Chance:
    """Draw for a batch of `count` flies in one step."""
    num_continuous, num_categorical = like.continuous.shape[1], like.categorical.shape[1]
    table = num_categorical * max_categories
    ends = np.cumsum([num_continuous, num_continuous + num_categorical, table, table])
    kick, place, category_kick, category = jnp.split(
        noise.uniform(key, step, (count, int(ends[-1]))), ends[:-1], axis=1
    )
    shape = (count, num_categorical, max_categories)
    return Chance(kick, category_kick.reshape(shape), category.reshape(shape), place)


def move(
    chance: Chance,
    flies: Features,
    scores: Float[Array, " B"],
    omega: Float[Array, " B"],
    state: _State,
    domain: Domain,
    max_categories: int,
    settings: FireflySettings,
) -> Features:
    """Where the pool's forces and a random kick take a batch of flies."""
    force = forces(flies, scores, state.pool, state.scores, settings)
    total = jnp.sum(force, axis=1, keepdims=True)
    kick = omega[:, None] * laplace(chance.kick).astype(omega.dtype)
    x = flies.continuous + (force @ state.pool.continuous - total * flies.continuous) + kick  # (22)
    x = jnp.clip(x, 0.0, 1.0)
    if flies.categorical.shape[1] == 0:
        return Features(x, flies.categorical)
    pure = flies.continuous.shape[1] == 0
    factor = settings.pure_categorical_factor if pure else settings.categorical_factor
    logits = category_logits(
        force, total, flies.categorical, state.pool.categorical, domain, max_categories, settings
    )
    logits += (factor * omega)[:, None, None] * laplace(chance.category_kick).astype(omega.dtype)
    return Features(x, choose_categories(chance.category, logits, domain.num_categories))


def forces(
    flies: Features, scores: Array, pool: Features, pool_scores: Array, settings: FireflySettings
) -> Float[Array, "B P"]:
    """Weight with which each fly of the pool pulls (if at least as good) or pushes (if worse), over P."""
    num_features = pool.continuous.shape[1] + pool.categorical.shape[1]
    x, z = flies.continuous, pool.continuous
    r2 = jnp.sum(x * x, axis=1)[:, None] + jnp.sum(z * z, axis=1)[None, :] - 2.0 * (x @ z.T)
    r2 = jnp.maximum(r2, 0.0)
    if pool.categorical.shape[1]:
        differs = flies.categorical[:, None, :] != pool.categorical[None, :, :]
        r2 += jnp.sum(differs, axis=-1).astype(r2.dtype)
    eta = jnp.where(pool_scores[None, :] >= scores[:, None], settings.attraction, -settings.repulsion)
    eta = jnp.where(jnp.isneginf(pool_scores)[None, :], 0.0, eta)
    return eta * jnp.exp(-settings.absorption / num_features * r2) / pool_scores.shape[0]  # (21)


def category_logits(
    force: Array,
    total: Array,
    own: Int[Array, "B Dk"],
    pool: Int[Array, "P Dk"],
    domain: Domain,
    max_categories: int,
    settings: FireflySettings,
) -> Float[Array, "B Dk C"]:
    """Log-weights of every category: mostly stay, drawn towards the categories of flies that pull."""
    categories = jnp.arange(max_categories)
    one_hot = (pool[:, :, None] == categories).astype(force.dtype)
    num_flies, num_features, _ = one_hot.shape
    pulled = (force @ one_hot.reshape(num_flies, -1)).reshape(-1, num_features, max_categories)
    is_own = own[:, :, None] == categories
    keep = settings.keep_category
    change = jnp.log((1.0 - keep) / (domain.num_categories - 1.0))[None, :, None]
    return pulled + jnp.where(is_own, math.log(keep) - total[:, :, None], change)  # (23)


def choose_categories(u: Array, logits: Array, num_categories: Array) -> Int[Array, "B Dk"]:
    """One category per feature, with probability proportional to the exponent of its logit (Gumbel's trick)."""
    is_category = jnp.arange(logits.shape[-1]) < num_categories[:, None]
    gumbel = -jnp.log(-jnp.log(jnp.maximum(u, jnp.finfo(u.dtype).tiny)))
    return jnp.argmax(jnp.where(is_category, logits + gumbel, -jnp.inf), axis=-1).astype(jnp.int32)


def laplace(u: Array) -> Array:
    """Standard Laplace noise from uniform numbers; single precision is plenty for a kick."""
    v = 2.0 * u - 1.0
    return -jnp.sign(v) * jnp.log1p(-jnp.minimum(jnp.abs(v), 1.0 - 2.0**-24))


def spread(u: Float[Array, "B D"], domain: Domain) -> Features:
    """Uniform feasible points from uniform numbers, numeric features first."""
    num_continuous = domain.steps.shape[0]
    x, categories = (
        u[:, :num_continuous].astype(domain.steps.dtype),
        u[:, num_continuous:] * domain.num_categories,
    )
    categories = jnp.minimum(categories.astype(jnp.int32), domain.num_categories - 1)
    return round_features(Features(x, categories), domain)


def round_features(features: Features, domain: Domain) -> Features:
    """Move numeric coordinates to the nearest feasible ones."""
    x = features.continuous
    even = jnp.where(domain.steps > 0, jnp.round(x * domain.steps) / jnp.maximum(domain.steps, 1.0), x)  # (4)
    if domain.grid.shape[1]:
        nearest = jax.vmap(_nearest, in_axes=(0, 1), out_axes=1)(domain.grid, x)
        even = jnp.where(is_listed(x, domain), nearest, even)
    return Features(even, features.categorical)


def is_listed(x: Float[Array, "*B Dc"], domain: Domain) -> Bool[Array, "*B Dc"]:
    """Where coordinates must be on a list of values; there is one for at least one dimension."""
    return jnp.isfinite(domain.grid[:, 0]) & (x < domain.fine_low) & (x > domain.fine_high)


def _nearest(grid: Float[Array, " G"], x: Float[Array, " B"]) -> Float[Array, " B"]:
    right = jnp.clip(jnp.searchsorted(grid, x), 1, grid.shape[0] - 1)
    above, below = grid[right], grid[right - 1]
    return jnp.where(above - x < x - below, above, below)


def _where(rows: Array, a: Features, b: Features) -> Features:
    return Features(*(jnp.where(rows[:, None], u, v) for u, v in zip(a, b, strict=True)))
