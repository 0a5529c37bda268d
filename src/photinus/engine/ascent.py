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

NUM_TRIED = 32  # values of a number, or points of a group, that are scored at once
FINE_STEP = 1 / 1024  # where values lie closer than the search can tell apart
MOST_TURNS = 256  # in one round of the numbers, and of the categories; more if there are more of them
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
    num_drawn = -(-settings.group_size // NUM_TRIED)  # turns that draw; in those after them numbers change
    discrete = is_discrete(domain)
    num_categorical = seeds.categorical.shape[1]
    num_discrete = jnp.sum(discrete, dtype=jnp.int32)
    key_data = jax.random.key_data(key)

    def propose(turn: Array, x: Features) -> Features:
        # Both are cheap beside the score, of which there is one copy for them in the program this way.
        drawn = draw(key_data, turn, NUM_TRIED, domain, region, seeds, is_seed, settings)
        if not x.continuous.shape[1]:
            return drawn
        place = (turn - num_drawn) % jnp.maximum(num_discrete, 1)
        changed = change_number(place, x, NUM_TRIED, domain, discrete, region)
        return jax.tree.map(lambda a, b: jnp.where(turn < num_drawn, a, b), drawn, changed)

    def propose_categories(turn: Array, x: Features) -> Features:
        return change_category(turn % num_categorical, x, max_categories, domain)

    def climb_on(i: Array, climb: Climb) -> Climb:
        first = jnp.where(i == 0, 0, num_drawn)
        last = num_drawn + jnp.minimum(
            settings.max_sweeps * num_discrete, jnp.maximum(num_discrete, MOST_TURNS)
        )
        climb = sweep(score, propose, climb, first, num_drawn, last, num_discrete)
        if num_categorical:
            # A loop of their own, as wide as there are categories: mostly far fewer than values of a number are tried.
            last = min(settings.max_sweeps * num_categorical, max(num_categorical, MOST_TURNS))
            climb = sweep(score, propose_categories, climb, 0, 0, last, num_categorical)
        return follow_gradient(free_score or score, climb, discrete, region, settings)

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
        # The dense end of a logarithmic scale is not listed: values without number, as on a fine linear one.
        is_whole = listed[:, 0] & jnp.isposinf(domain.fine_low) & jnp.isneginf(domain.fine_high)
        values = jnp.where(listed[:, 0], jnp.where(is_whole, jnp.sum(listed, axis=1), jnp.inf), values)
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


def change_category(feature: Array, x: Features, count: int, domain: Domain) -> Features:
    """Every start with one categorical feature at each of its categories, (K, count)."""
    # Past the last category: the last one once more.
    values = jnp.minimum(jnp.arange(count), jnp.asarray(domain.num_categories)[feature] - 1)
    tried = _repeat(x, count)
    categories = tried.categorical.at[:, :, feature].set(values.astype(x.categorical.dtype))
    return tried._replace(categorical=categories)


def change_number(
    place: Array, x: Features, count: int, domain: Domain, discrete: Bool[Array, " Dc"], region: Region
) -> Features:
    """Every start with the discrete number that comes in this place at `count` values, (K, count)."""
    number = jnp.argsort(~discrete)[jnp.minimum(place, x.continuous.shape[1] - 1)]
    low, high = region.low[number], region.high[number]
    spread = low + (high - low) * jnp.linspace(0.0, 1.0, count - len(NEIGHBOURS), dtype=x.continuous.dtype)
    near = _along_grid(x.continuous[:, number], number, domain)
    values = jnp.concatenate([near, jnp.broadcast_to(spread, (len(near), *spread.shape))], axis=1)
    tried = _repeat(x, count)
    coordinates = tried.continuous.at[:, :, number].set(jnp.clip(values, low, high))
    return _round(tried._replace(continuous=coordinates), domain)


def sweep(
    score: Score,
    propose: Callable[[Array, Features], Features],
    climb: Climb,
    first: Array | int,
    num_drawn: int,
    last: Array | int,
    patience: Array | int,
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


def _repeat(x: Features, count: int) -> Features:
    return jax.tree.map(lambda v: jnp.broadcast_to(v[:, None, :], (v.shape[0], count, v.shape[1])), x)


def _along_grid(x: Float[Array, " K"], number: Array, domain: Domain) -> Float[Array, "K J"]:
    """Values some steps away along one dimension's grid; where it is too fine to be listed, of the search's own."""
    offset = jnp.array(NEIGHBOURS, x.dtype)
    steps = jnp.asarray(domain.steps)[number]
    even = x[:, None] + offset / jnp.maximum(steps, 1.0)
    if domain.grid.shape[1] == 0:
        return even
    values = jnp.asarray(domain.grid)[number]
    last = jnp.sum(jnp.isfinite(values)) - 1
    place = jnp.searchsorted(values, x)[:, None] + offset.astype(jnp.int32)
    listed = values[jnp.clip(place, 0, jnp.maximum(last, 0))]
    is_fine = (x >= jnp.asarray(domain.fine_low)[number]) | (x <= jnp.asarray(domain.fine_high)[number])
    listed = jnp.where(is_fine[:, None], x[:, None] + offset * FINE_STEP, listed)
    return jnp.where(steps > 0, even, listed)


def _round(x: Features, domain: Domain) -> Features:
    """`round_features` for points in rows and columns."""
    shape = x.continuous.shape
    flat = x.continuous.reshape(shape[0] * shape[1], shape[2])
    rounded = round_features(Features(flat, x.categorical), domain)
    return Features(rounded.continuous.reshape(shape), x.categorical)
