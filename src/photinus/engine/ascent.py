"""Local search over mixed spaces: many points are scored, the most promising climb. It knows nothing of models.

A few starts, each the best of a group of points of its own: half of the groups are spread over the region, the
others lie around one good point each. Then every start climbs, by turns in its discrete features, one after another
by trying values (all categories, neighbours on a grid), and in its free coordinates, all at once along the gradient.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from photinus.engine import noise
from photinus.engine.arrays import Array, Bool, Features, Float, Int, Key, KeyData, Scalar
from photinus.engine.features import Domain
from photinus.engine.firefly import Best, round_features

NUM_TRIED = (
    32  # values of a feature, or points of a group, that are scored at once; more if it has more categories
)
NEIGHBOURS = (1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 8.0, -8.0)  # steps along a grid that are tried, among others
FIRST_DECAY, SECOND_DECAY = 0.9, 0.99  # of the running moments of gradients


class AscentSettings(NamedTuple):
    """Constants of the search, all ours."""

    num_starts: int = 8  # half of them from groups spread over the region, the others around good points
    group_size: int = 128
    num_steps: int = 40  # along gradients, in every round
    first_step: float = 0.1  # relative to the region's sides; it shrinks geometrically
    last_step: float = 0.001
    max_sweeps: int = 4  # over all discrete features, in every round
    num_rounds: int = 2
    widest: float = 0.3  # standard deviations around a good point, relative to the region
    narrowest: float = 0.003
    num_changes: float = 4.0  # features of a good point that are changed, on average, at least

    @property
    def num_seeds(self) -> int:
        """How many good points are of use; one start alone begins around one."""
        return max(self.num_starts // 2, 1)


class Region(NamedTuple):
    """Least and greatest numeric coordinates."""

    low: Float[Array, " Dc"]
    high: Float[Array, " Dc"]


class Climb(NamedTuple):
    """Where the starts have come to."""

    x: Features  # (K, Dc), (K, Dk)
    score: Float[Array, " K"]
    num_evaluations: Int[Array, ""]


Score = Callable[[Features], Float[Array, " B"]]


def maximise(
    key: Key,
    score: Score,
    domain: Domain,
    max_categories: int,
    region: Region,
    seeds: Features,
    is_seed: Bool[Array, " S"],
    settings: AscentSettings,
    free_score: Score | None = None,
) -> Best:
    """Find a feasible point of large score in the region, near `seeds` and elsewhere.

    Numeric coordinates stay in the region, discrete ones up to the nearest feasible value. `free_score` is the score
    wherever a coordinate is free, in fewer operations.
    """
    num_tried = max(NUM_TRIED, max_categories)
    num_drawn = -(-settings.group_size // num_tried)  # turns that draw; in those after them features change
    discrete = is_discrete(domain)
    num_categorical = seeds.categorical.shape[1]
    num_features = num_categorical + jnp.sum(discrete, dtype=jnp.int32)
    key_data = jax.random.key_data(key)

    def propose(turn: Array, x: Features) -> Features:
        # Both are cheap beside the score, of which there is one copy in the program this way.
        drawn = draw(key_data, turn, num_tried, domain, region, seeds, is_seed, settings)
        feature = (turn - num_drawn) % jnp.maximum(num_features, 1)
        changed = change(feature, x, num_tried, domain, discrete, region)
        return jax.tree.map(lambda a, b: jnp.where(turn < num_drawn, a, b), drawn, changed)

    def climb_on(i: Array, climb: Climb) -> Climb:
        first = jnp.where(i == 0, 0, num_drawn)
        last = num_drawn + settings.max_sweeps * num_features
        return follow_gradient(
            free_score or score,
            sweep(score, propose, climb, first, num_drawn, last, num_features),
            discrete, region, settings,
        )  # fmt: skip

    num_starts = settings.num_starts
    nowhere = Climb(
        Features(
            jnp.zeros((num_starts, region.low.shape[0]), region.low.dtype),
            jnp.zeros((num_starts, num_categorical), seeds.categorical.dtype),
        ),
        jnp.full(num_starts, -jnp.inf, region.low.dtype),
        jnp.zeros((), jnp.int32),
    )
    climb = lax.fori_loop(0, settings.num_rounds, climb_on, nowhere)
    top = jnp.argmax(climb.score)
    x, best = jax.tree.map(lambda v: lax.dynamic_slice_in_dim(v, top, 1), (climb.x, climb.score))
    return Best(x, best[0], climb.num_evaluations)


def is_discrete(domain: Domain) -> Bool[Array, " Dc"]:
    """Numeric dimensions that have to be rounded, at least in parts."""
    even = jnp.asarray(domain.steps) > 0
    return even | jnp.isfinite(domain.grid[:, 0]) if domain.grid.shape[1] else even


def num_points(domain: Domain) -> Scalar:
    """How many feasible points there are; infinitely many with a free dimension."""
    values = jnp.where(jnp.asarray(domain.steps) > 0, domain.steps + 1.0, jnp.inf)
    if domain.grid.shape[1]:
        listed = jnp.isfinite(jnp.asarray(domain.grid))
        values = jnp.where(listed[:, 0], jnp.sum(listed, axis=1), values)
    return jnp.prod(values) * jnp.prod(jnp.asarray(domain.num_categories, values.dtype))


def draw(
    key: KeyData,
    turn: Array,
    count: int,
    domain: Domain,
    region: Region,
    seeds: Features,
    is_seed: Bool[Array, " S"],
    settings: AscentSettings,
) -> Features:
    """Feasible points for every group, (K, count): anywhere in the region, or around the seed of the group.

    Groups whose seed there is not are spread over the region as well. The first point drawn is the seed itself.
    """
    num_starts, num_continuous = settings.num_starts, region.low.shape[0]
    num_features = num_continuous + seeds.categorical.shape[1]
    u = noise.uniform(key, turn, (num_starts * count, 3 * num_features + 2)).astype(region.low.dtype)
    u = u.reshape(num_starts, count, -1)
    place, kick, chance, ends = jnp.split(u, [num_features * i for i in (1, 2, 3)], axis=2)
    side = region.high - region.low
    anywhere = region.low + side * place[..., :num_continuous]
    num_categories = jnp.asarray(domain.num_categories)
    any_category = jnp.minimum(
        (place[..., num_continuous:] * num_categories).astype(jnp.int32), num_categories - 1
    )

    group = jnp.maximum(jnp.arange(num_starts) - (num_starts - settings.num_seeds), 0)
    has_seed = (jnp.arange(num_starts) >= num_starts - settings.num_seeds) & is_seed[group]
    seed = jax.tree.map(lambda v: v[group][:, None], seeds)
    is_seed_itself = (turn == 0) & (jnp.arange(count) == 0)[None, :, None]
    # Few features change at a time where there are many, so that what is good about a seed survives.
    share = jnp.maximum(settings.num_changes / max(num_features, 1), ends[..., :1])
    changes = (chance < share) & ~is_seed_itself
    deviation = settings.widest * (settings.narrowest / settings.widest) ** ends[..., 1:]
    # The logistic law is nearly normal and needs no special function.
    v = jnp.clip(kick[..., :num_continuous], 1e-6, 1.0 - 1e-6)
    step = deviation * side * 0.55 * jnp.log(v / (1.0 - v))
    near = seed.continuous + jnp.where(changes[..., :num_continuous], step, 0.0)
    near_category = jnp.where(changes[..., num_continuous:], any_category, seed.categorical)

    has_seed = has_seed[:, None, None]
    x = jnp.clip(jnp.where(has_seed, near, anywhere), region.low, region.high)
    categories = jnp.where(has_seed, near_category, any_category).astype(seeds.categorical.dtype)
    return _round(Features(x, categories), domain)


def change(
    feature: Int[Array, ""],
    x: Features,
    count: int,
    domain: Domain,
    discrete: Bool[Array, " Dc"],
    region: Region,
) -> Features:
    """Every start with one discrete feature at `count` other values, (K, count); categorical features come first."""
    num_starts, num_categorical = x.categorical.shape
    tried = jax.tree.map(lambda v: jnp.broadcast_to(v[:, None, :], (num_starts, count, v.shape[1])), x)
    if num_categorical:
        number = jnp.minimum(feature, num_categorical - 1)
        # Past the last category: the last one once more.
        values = jnp.minimum(jnp.arange(count), jnp.asarray(domain.num_categories)[number] - 1)
        categories = tried.categorical.at[:, :, number].set(values.astype(x.categorical.dtype))
        is_categorical = feature < num_categorical
        tried = tried._replace(categorical=jnp.where(is_categorical, categories, tried.categorical))
    if x.continuous.shape[1]:
        place = jnp.maximum(feature - num_categorical, 0)
        number = jnp.argsort(~discrete)[jnp.minimum(place, x.continuous.shape[1] - 1)]
        share = jnp.linspace(0.0, 1.0, count - len(NEIGHBOURS), dtype=x.continuous.dtype)
        spread = region.low[number] + (region.high[number] - region.low[number]) * share
        near = _along_grid(x.continuous[:, number], number, domain)
        values = jnp.concatenate([near, jnp.broadcast_to(spread, (num_starts, *spread.shape))], axis=1)
        coordinates = tried.continuous.at[:, :, number].set(
            jnp.clip(values, region.low[number], region.high[number])
        )
        is_numeric = feature >= num_categorical
        tried = tried._replace(continuous=jnp.where(is_numeric, coordinates, tried.continuous))
    return _round(tried, domain)


def sweep(
    score: Score,
    propose: Callable[[Array, Features], Features],
    climb: Climb,
    first: Array,
    num_drawn: int,
    last: Array,
    patience: Array,
) -> Climb:
    """Turn after turn the best of what is proposed to each start, until so many changes have improved nothing.

    Turns that draw points all take place, whether they improve anything or not.
    """
    num_starts = climb.score.shape[0]

    def goes_on(state: tuple[Array, Array, Climb]) -> Array:
        turn, num_idle, _ = state
        return (turn < last) & ((num_idle < patience) | (turn < num_drawn))

    def take(state: tuple[Array, Array, Climb]) -> tuple[Array, Array, Climb]:
        turn, num_idle, climb = state
        tried = propose(turn, climb.x)
        count = tried.continuous.shape[1]
        flat = jax.tree.map(lambda v: v.reshape(num_starts * count, v.shape[2]), tried)
        scores = score(flat).reshape(num_starts, count)
        scores = jnp.where(jnp.isnan(scores), -jnp.inf, scores)
        top, best = jnp.argmax(scores, axis=1), jnp.max(scores, axis=1)
        improves = best > climb.score
        chosen = jax.tree.map(lambda v: jnp.take_along_axis(v, top[:, None, None], axis=1)[:, 0], tried)
        climb = Climb(
            jax.tree.map(lambda new, old: jnp.where(improves[:, None], new, old), chosen, climb.x),
            jnp.where(improves, best, climb.score),
            climb.num_evaluations + num_starts * count,
        )
        is_idle = ~jnp.any(improves) & (turn >= num_drawn)
        return turn + 1, jnp.where(is_idle, num_idle + 1, 0), climb

    zero = jnp.zeros((), jnp.int32)
    return lax.while_loop(goes_on, take, (zero + first, zero, climb))[2]


def follow_gradient(
    score: Score, climb: Climb, discrete: Bool[Array, " Dc"], region: Region, settings: AscentSettings
) -> Climb:
    """Climb in the free coordinates by steps of given lengths, each coordinate by the signs of its gradients (Adam)."""
    num_steps = settings.num_steps
    if climb.x.continuous.shape[1] == 0 or num_steps == 0:
        return climb
    categories, side = climb.x.categorical, jnp.where(discrete, 0.0, region.high - region.low)
    shrinks = (settings.last_step / settings.first_step) ** (1.0 / max(num_steps - 1, 1))

    def total(x: Array) -> tuple[Scalar, Array]:
        scores = score(Features(x, categories))
        return jnp.sum(scores), scores

    def step(i: Array, state: tuple[Array, Array, Array, Climb]) -> tuple[Array, Array, Array, Climb]:
        x, mean, square, climb = state
        (_, scores), gradient = jax.value_and_grad(total, has_aux=True)(x)
        improves = scores > climb.score
        climb = Climb(
            Features(jnp.where(improves[:, None], x, climb.x.continuous), categories),
            jnp.where(improves, scores, climb.score),
            climb.num_evaluations + scores.shape[0],
        )
        gradient = jnp.where(jnp.isfinite(gradient), gradient, 0.0) * side
        mean = FIRST_DECAY * mean + (1.0 - FIRST_DECAY) * gradient
        square = SECOND_DECAY * square + (1.0 - SECOND_DECAY) * gradient**2
        age = i + 1.0
        direction = mean / (1.0 - FIRST_DECAY**age)
        direction /= jnp.sqrt(square / (1.0 - SECOND_DECAY**age)) + 1e-30
        length = settings.first_step * shrinks**i
        x = jnp.clip(x + length * side * direction, region.low, region.high)  # (39)
        return jnp.where(discrete, climb.x.continuous, x), mean, square, climb

    x = climb.x.continuous
    # Without free coordinates there is nothing to do. One step more than that scores where the last one led.
    count = jnp.where(jnp.any(~discrete), num_steps + 1, 0)
    return lax.fori_loop(0, count, step, (x, jnp.zeros_like(x), jnp.zeros_like(x), climb))[3]


def _along_grid(x: Float[Array, " K"], number: Array, domain: Domain) -> Float[Array, "K J"]:
    """Values some steps away along one dimension's grid."""
    offset = jnp.array(NEIGHBOURS, x.dtype)
    steps = jnp.asarray(domain.steps)[number]
    even = x[:, None] + offset / jnp.maximum(steps, 1.0)
    if domain.grid.shape[1] == 0:
        return even
    values = jnp.asarray(domain.grid)[number]
    last = jnp.sum(jnp.isfinite(values)) - 1
    place = jnp.searchsorted(values, x)[:, None] + offset.astype(jnp.int32)
    return jnp.where(steps > 0, even, values[jnp.clip(place, 0, jnp.maximum(last, 0))])


def _round(x: Features, domain: Domain) -> Features:
    """`round_features` for points in rows and columns."""
    shape = x.continuous.shape
    flat = x.continuous.reshape(shape[0] * shape[1], shape[2])
    rounded = round_features(Features(flat, x.categorical), domain)
    return Features(rounded.continuous.reshape(shape), x.categorical)
