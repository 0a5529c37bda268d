"""The local search by its laws and against brute force (docs/algorithm.md)."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import photinus as ph
from photinus.engine import ascent
from photinus.engine.ascent import AscentSettings, Region
from photinus.engine.encoding import Encoder
from photinus.engine.features import Features
from photinus.engine.firefly import Best
from photinus.space import SearchSpace

pytestmark = pytest.mark.usefixtures("engine")

USUAL = AscentSettings()
MIXED = {
    "x": ph.Float(0, 1),
    "even": ph.Int(0, 7),
    "log": ph.Int(1, 40, "log"),
    "listed": ph.Discrete([1, 2, 4, 100]),
    "y": ph.Float(-3, 5),
    "a": ph.Categorical(["r", "g", "b"]),
    "b": ph.Categorical([False, True]),
    "many": ph.Categorical(list(range(40))),
}
PLAIN = {"x": ph.Float(0, 1), "y": ph.Float(0, 1), "z": ph.Float(0, 1)}
CHOICES = {f"c{i}": ph.Categorical(list(range(2 + i))) for i in range(4)}
GRIDS = {"n": ph.Int(0, 20), "l": ph.Int(1, 40, "log")}
SPACES = {"mixed": MIXED, "plain": PLAIN, "categorical": CHOICES, "grids": GRIDS}


class Search:
    """One search, with everything needed to follow it."""

    def __init__(
        self, space: dict, settings: AscentSettings = USUAL, num_seeds: int = 0, low: float = 0.0, high: float = 1.0
    ) -> None:  # fmt: skip
        self.encoder = Encoder(SearchSpace(space))
        self.domain = jax.tree.map(jnp.asarray, self.encoder.domain)
        self.settings = settings
        self.max_categories = int(max(self.encoder.domain.num_categories, default=0))
        num_continuous = len(self.encoder.axes)
        self.region = Region(jnp.full(num_continuous, low), jnp.full(num_continuous, high))
        u = np.random.default_rng(1).random((settings.num_seeds, self.encoder.num_features))
        x, categories = self.encoder.encode(self.encoder.spread(u))
        x = low + (high - low) * x
        seeds = Features(jnp.asarray(x), jnp.asarray(categories))
        self.seeds = jax.tree.map(
            lambda v: v[0], ascent._round(jax.tree.map(lambda v: v[None], seeds), self.domain)
        )
        self.is_seed = jnp.arange(settings.num_seeds) < num_seeds
        self.run = jax.jit(self.maximise)

    def score(self, x: Features) -> jax.Array:
        """Smooth in numbers, with an interaction, and different for every category."""
        goal = jnp.linspace(0.2, 0.7, x.continuous.shape[1])
        bowl = -jnp.sum((x.continuous - goal) ** 2, axis=1) + 0.1 * jnp.sum(jnp.cos(9 * x.continuous), axis=1)
        table = jnp.sin(1.0 + 2.0 * x.categorical + jnp.arange(x.categorical.shape[1]))
        return bowl + jnp.sum(table, axis=1)

    def maximise(self, key: jax.Array) -> Best:
        return ascent.maximise(
            key, self.score, self.domain, self.max_categories, self.region, self.seeds, self.is_seed, self.settings
        )  # fmt: skip

    def follow(self, key: jax.Array) -> tuple[Best, Features]:
        """Result and all points scored, in any order."""
        plain, scored = self.score, []

        def recorded(x: Features) -> jax.Array:
            # As bits: the callback's thread is not in the engine's context and would round to single precision.
            bits = jax.lax.bitcast_convert_type(jax.lax.stop_gradient(x.continuous), jnp.uint32)
            jax.debug.callback(scored.append, Features(bits, x.categorical))
            return plain(x)

        self.score = recorded
        best = jax.jit(self.maximise)(key)
        jax.effects_barrier()
        self.score = plain
        bits, categorical = (np.concatenate(v) for v in zip(*scored, strict=True))
        return best, Features(bits.view(np.float64)[..., 0], categorical)


def assert_same(a: Best, b: Best) -> None:
    assert jax.tree.all(jax.tree.map(lambda u, v: bool((u == v).all()), a, b))


# Laws.


@pytest.fixture(scope="module")
def whole(engine):
    """A mixed search with every point that it scored."""
    search = Search(MIXED, num_seeds=3)
    return search, *search.follow(jax.random.key(0))


def test_every_scored_point_is_feasible(whole):
    search, _, scored = whole
    again = search.encoder.encode(search.encoder.decode(scored))
    np.testing.assert_allclose(scored.continuous, again.continuous, rtol=0, atol=1e-12)
    assert (scored.continuous >= 0).all()
    assert (scored.continuous <= 1).all()
    for d, size in enumerate(search.encoder.domain.num_categories):
        assert set(np.unique(scored.categorical[:, d])) == set(range(size))


def test_the_answer_is_the_best_point_scored(whole):
    search, best, scored = whole
    scores = np.asarray(search.score(jax.tree.map(jnp.asarray, scored)))
    assert float(best.score) == pytest.approx(scores.max(), abs=1e-12)
    assert float(search.score(best.features)[0]) == pytest.approx(float(best.score), abs=1e-12)


def test_evaluations_are_counted(whole):
    _, best, scored = whole
    assert int(best.num_evaluations) == len(scored.continuous)


def test_groups_are_as_large_as_they_shall_be_although_nothing_is_discrete():
    best = Search(PLAIN).run(jax.random.key(0))
    num_climbing = USUAL.num_rounds * (USUAL.num_steps + 1)
    assert int(best.num_evaluations) == USUAL.num_starts * (USUAL.group_size + num_climbing)


def test_the_answer_is_at_least_as_good_as_every_seed():
    """Also where chance alone could never find it."""
    search = Search(PLAIN, num_seeds=4)
    needle = search.seeds.continuous[3]
    search.score = lambda x: jnp.where(
        jnp.all(x.continuous == needle, axis=1), 5.0, jnp.sum(x.continuous, axis=1)
    )
    best = search.run(jax.random.key(0))
    assert float(best.score) == 5.0
    assert (np.asarray(best.features.continuous[0]) == np.asarray(needle)).all()


def test_free_coordinates_stay_in_the_region_and_reach_its_sides():
    search = Search(MIXED, num_seeds=4, low=0.3, high=0.45)
    search.score = lambda x: x.continuous[:, 0] - x.continuous[:, 4]
    best, scored = search.follow(jax.random.key(0))
    free = scored.continuous[:, [0, 4]]
    assert free.min() >= 0.3
    assert free.max() <= 0.45
    np.testing.assert_allclose(np.asarray(best.features.continuous)[0, [0, 4]], [0.45, 0.3], atol=1e-3)


@pytest.mark.parametrize("num_seeds", [0, 4])
def test_discrete_features_stay_in_the_region_up_to_rounding(num_seeds: int):
    search = Search(MIXED, num_seeds=num_seeds, low=0.3, high=0.45)
    search.score = lambda x: jnp.sum(x.continuous, axis=1)  # upwards, out of the region
    scored = search.follow(jax.random.key(0))[1].continuous.reshape(-1, 5)
    steps = np.array([0, 1 / 7, np.log(2) / np.log(40), 96 / 99, 0])  # the widest on each grid
    for x in (draw(search, 500).continuous.reshape(-1, 5), scored):
        assert (x >= 0.3 - steps / 2 - 1e-12).all()
        assert (x <= 0.45 + steps / 2 + 1e-12).all()


def test_the_same_key_gives_the_same_answer_and_another_key_another():
    search = Search(PLAIN)
    first, again, other = (search.run(jax.random.key(k)) for k in (1, 1, 2))
    assert_same(first, again)
    assert (np.asarray(first.features.continuous) != np.asarray(other.features.continuous)).all()


@pytest.mark.parametrize("space", SPACES)
def test_searches_side_by_side_find_what_each_finds_alone(space: str):
    search = Search(SPACES[space], num_seeds=2)
    keys = jax.random.split(jax.random.key(7), 3)
    together = jax.jit(jax.vmap(search.maximise))(keys)
    alone = [search.run(key) for key in keys]
    assert np.allclose(together.score, [float(best.score) for best in alone], atol=1e-9)


def test_categories_that_do_not_exist_do_not_matter():
    search = Search(CHOICES, num_seeds=2)
    found = []
    for search.max_categories in (5, 8, 40):
        found.append(jax.jit(search.maximise)(jax.random.key(3)))
    for other in found[1:]:
        assert_same(found[0], other._replace(num_evaluations=found[0].num_evaluations))


def test_as_many_categories_are_tried_at_once_as_there_are():
    few, many = (Search({f"c{i}": ph.Categorical(list(range(n))) for i in range(6)}) for n in (3, 30))
    for search in few, many:
        search.score = lambda x: jnp.sum(x.categorical == 1, axis=1, dtype=float)
    few, many = (int(search.run(jax.random.key(0)).num_evaluations) for search in (few, many))
    drawn = USUAL.num_starts * USUAL.group_size
    assert drawn < few < drawn + (many - drawn) / 3


@pytest.mark.parametrize("parameter", [ph.Categorical([False, True]), ph.Int(0, 1)], ids=repr)
@pytest.mark.parametrize("num_features", [20, 200, 300])
def test_many_features_have_fewer_turns_but_one_at_least(parameter, num_features: int):
    search = Search({f"p{i}": parameter for i in range(num_features)})
    # Nothing but its own turn brings a feature to its best value.
    search.score = lambda x: jnp.sum(jnp.concatenate(x, axis=1), axis=1)
    best = search.run(jax.random.key(0))
    assert float(best.score) == num_features
    num_turns = USUAL.num_rounds * max(min(num_features * USUAL.max_sweeps, ascent.MOST_TURNS), num_features)
    width = 2 if isinstance(parameter, ph.Categorical) else ascent.NUM_TRIED
    assert int(best.num_evaluations) <= USUAL.num_starts * (USUAL.group_size + num_turns * width)


@pytest.mark.parametrize(
    "settings", [{"num_starts": 1}, {"num_starts": 2, "num_steps": 0}, {"num_starts": 3}]
)
def test_few_starts_and_small_groups_do_as_well_where_it_is_easy(settings: dict):
    search = Search(GRIDS, AscentSettings(group_size=1, **settings), num_seeds=1)
    search.score = lambda x: -jnp.sum((x.continuous - jnp.array([0.35, 1.0])) ** 2, axis=1)
    assert float(search.run(jax.random.key(0)).score) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("hole", [-np.inf, np.nan])
def test_points_without_a_score_are_never_the_answer(hole: float):
    search = Search(PLAIN)
    plain = search.score
    search.score = lambda x: jnp.where(x.continuous[:, 0] < 0.6, hole, plain(x))
    best = search.run(jax.random.key(0))
    around = np.random.default_rng(0).random((20_000, 3))
    around[:, 0] = 0.6 + 0.4 * around[:, 0]
    scores = np.asarray(plain(Features(jnp.asarray(around), jnp.zeros((20_000, 0), jnp.int32))))
    assert np.isfinite(float(best.score))
    assert float(best.features.continuous[0, 0]) >= 0.6
    # The top is on the edge of the hole, from which no gradient leads back.
    assert float(best.score) >= np.quantile(scores, 0.99)


# What it finds.


def test_the_best_categories_of_a_sum_are_found_exactly():
    sizes = (2, 3, 5, 9, 17, 40)
    search = Search({f"c{i}": ph.Categorical(list(range(size))) for i, size in enumerate(sizes)})
    tables = np.random.default_rng(0).normal(size=(len(sizes), 40))
    rows = jnp.asarray(tables)
    search.score = lambda x: jnp.sum(rows[jnp.arange(len(sizes)), x.categorical], axis=1)
    found = jax.jit(jax.vmap(search.maximise))(jax.random.split(jax.random.key(0), 5))
    best = [int(row[:size].argmax()) for row, size in zip(tables, sizes, strict=True)]
    assert np.asarray(found.features.categorical)[:, 0].tolist() == [best] * 5


def test_pairs_of_categories_are_found_by_brute_force_too():
    """Features that depend on each other: no sweep of single changes has to find them, several starts do."""
    search = Search({f"c{i}": ph.Categorical(list(range(6))) for i in range(4)})
    pairs = jnp.asarray(np.random.default_rng(1).normal(size=(10, 3, 6, 6)))
    every = np.array(list(itertools.product(range(6), repeat=4)))
    keys = jax.random.split(jax.random.key(0), len(pairs))

    def total(tables, c):
        return sum(tables[d, c[:, d], c[:, d + 1]] for d in range(3))

    def maximise(key, tables):
        search.score = lambda x: total(tables, x.categorical)
        return search.maximise(key).score

    found = np.asarray(jax.jit(jax.vmap(maximise))(keys, pairs))
    best = np.array([np.asarray(total(tables, every)).max() for tables in pairs])
    np.testing.assert_allclose(found, best, rtol=0, atol=1e-12)


def test_the_top_of_a_concave_quadratic_in_20_dimensions_is_found_to_a_thousandth():
    search = Search({f"x{i}": ph.Float(0, 1) for i in range(20)})
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    curvature = jnp.asarray(turn * 10.0 ** np.linspace(-1, 0.5, 20) @ turn.T)
    goal = jnp.asarray(rng.uniform(0.1, 0.9, 20))

    def score(x: Features) -> jax.Array:
        away = x.continuous - goal
        return 1.0 - jnp.sum((away @ curvature) * away, axis=1)

    search.score = score
    found = jax.jit(jax.vmap(search.maximise))(jax.random.split(jax.random.key(0), 5))
    assert found.score.min() >= 1.0 - 1e-3
    assert found.score.max() <= 1.0


def test_the_best_of_a_mixed_space_is_found_as_by_brute_force():
    """Every combination of discrete values times 400 places, for 10 functions."""
    search = Search(
        {
            "x": ph.Float(0, 1),
            "n": ph.Int(0, 7),
            "log": ph.Int(1, 20, "log"),
            "c": ph.Categorical(["a", "b", "c"]),
        }
    )
    rng = np.random.default_rng(0)
    shifts, effects = jnp.asarray(rng.normal(size=(10, 3, 3))), jnp.asarray(0.3 * rng.normal(size=(10, 3)))

    def value(shift, effect, u, c):
        x, n, log = (u[..., d] for d in range(3))
        a, b, e = (shift[d][c] for d in range(3))
        bend = jnp.cos(5 * (x - n - a)) + jnp.cos(5 * (x + log - b)) - (n - log + e) ** 2
        return bend + effect[c]

    def maximise(key, shift, effect):
        search.score = lambda x: value(shift, effect, x.continuous, x.categorical[:, 0])
        return search.maximise(key).score

    found = jax.jit(jax.vmap(maximise))(jax.random.split(jax.random.key(0), 10), shifts, effects)
    logs = np.log(np.arange(1, 21)) / np.log(20)
    axes = np.linspace(0, 1, 401), np.arange(8) / 7, logs
    u = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    c = np.broadcast_to(np.arange(3), (len(u), 3))
    best = np.array([np.asarray(value(s, e, u, c)).max() for s, e in zip(shifts, effects, strict=True)])
    gap = best - np.asarray(found)
    assert np.sum(gap < 1e-4) >= 7, gap
    assert gap.max() < 0.1, gap


# Points drawn, and changes tried.


def draw(search: Search, count: int, turn: int = 0) -> Features:
    def drawn(turn: jax.Array) -> Features:
        return ascent.draw(
            jnp.array([1, 2], jnp.uint32), turn, count, search.domain, search.region,
            search.seeds, search.is_seed, search.settings,
        )  # fmt: skip

    return jax.device_get(jax.jit(drawn)(jnp.int32(turn)))


def test_groups_without_a_seed_are_spread_evenly():
    search = Search(
        {"x": ph.Float(0, 1), "n": ph.Int(0, 4), "c": ph.Categorical(["a", "b", "c"])}, low=0.0, high=0.5
    )
    drawn = draw(search, 4000)
    assert drawn.continuous.shape == (USUAL.num_starts, 4000, 2)
    for group in range(USUAL.num_starts):
        x, n = drawn.continuous[group].T
        assert np.allclose(np.histogram(x, 5, (0, 0.5))[0] / 4000, 0.2, atol=0.03)
        # Half of the region is that of 0, 1 and 2 fourths, of which the outer ones have half a share.
        assert np.allclose([np.mean(n == v) for v in (0, 0.25, 0.5)], [0.25, 0.5, 0.25], atol=0.03)
        assert np.allclose(np.bincount(drawn.categorical[group, :, 0]) / 4000, 1 / 3, atol=0.03)


def test_half_of_the_groups_lie_around_the_seeds_that_there_are():
    search = Search({f"x{i}": ph.Float(0, 1) for i in range(6)} | CHOICES, num_seeds=3)
    drawn = draw(search, 2000)
    far = np.abs(drawn.continuous[4:] - np.asarray(search.seeds.continuous)[:, None])
    assert (far[:3, 0] == 0).all()  # the first is the seed itself
    assert (drawn.categorical[4:7, 0] == np.asarray(search.seeds.categorical)[:3]).all()
    assert (np.median(far[:3], axis=(1, 2)) < 0.05).all()
    assert np.median(far[3]) > 0.2  # there is no fourth seed
    later = draw(search, 2000, turn=1)
    assert not np.any(np.all(later.continuous[4:7, 0] == np.asarray(search.seeds.continuous)[:3], axis=1))
    # At least four of ten features change on average, and points near and far are both there.
    changed = np.mean(np.sum(later.continuous[4] != np.asarray(search.seeds.continuous)[0], axis=1))
    assert 6 * 0.4 < changed < 6 * 0.8
    assert (far[0].max(axis=1) < 0.02).mean() > 0.05
    assert (far[0].max(axis=1) > 0.3).mean() > 0.05


def change_number(search: Search, place: int, x: Features, count: int = 40) -> Features:
    def tried(place: jax.Array, x: Features) -> Features:
        discrete = ascent.is_discrete(search.domain)
        return ascent.change_number(place, x, count, search.domain, discrete, search.region)

    return jax.device_get(jax.jit(tried)(jnp.int32(place), x))


def change_category(search: Search, feature: int, x: Features) -> Features:
    def tried(feature: jax.Array, x: Features) -> Features:
        return ascent.change_category(feature, x, search.max_categories, search.domain)

    return jax.device_get(jax.jit(tried)(jnp.int32(feature), x))


def test_dimensions_that_are_rounded_are_known():
    assert ascent.is_discrete(Search(MIXED).domain).tolist() == [False, True, True, True, False]
    assert ascent.is_discrete(Search(PLAIN).domain).tolist() == [False] * 3


def test_every_category_of_one_feature_is_tried_and_nothing_else_changes():
    search = Search(MIXED)
    x = jax.tree.map(lambda v: v[0], draw(search, 5))
    for feature, size in enumerate((3, 2, 40)):
        tried = change_category(search, feature, x)
        assert (tried.continuous == x.continuous[:, None]).all()
        for start in range(5):
            assert set(tried.categorical[start, :, feature]) == set(range(size))
        others = [d for d in range(3) if d != feature]
        assert (tried.categorical[:, :, others] == x.categorical[:, None, others]).all()


@pytest.mark.parametrize(("place", "number"), [(0, 1), (1, 2), (2, 3)])
def test_neighbours_on_a_grid_are_tried_and_nothing_else_changes(place: int, number: int):
    search = Search(MIXED)
    x = jax.tree.map(lambda v: v[0], draw(search, 5))
    tried = change_number(search, place, x)
    assert (tried.categorical == x.categorical[:, None]).all()
    others = [d for d in range(5) if d != number]
    assert (tried.continuous[:, :, others] == x.continuous[:, None, others]).all()
    grid = [np.arange(8) / 7, np.log(np.arange(1, 41)) / np.log(40), np.array([0, 1, 3, 99]) / 99][number - 1]
    for start in range(5):
        place = np.abs(grid - x.continuous[start, number]).argmin()
        near = {int(np.clip(place + step, 0, len(grid) - 1)) for step in (1, -1, 2, -2, 4, -4, 8, -8)}
        found = np.abs(tried.continuous[start, :, number, None] - grid)
        assert found.min(axis=1).max() < 1e-12
        assert near <= set(found.argmin(axis=1))


def test_an_uneven_grid_is_left_at_neither_end():
    search = Search({"l": ph.Int(1, 40, "log")})
    ends = Features(jnp.array([[0.0], [1.0]]), jnp.zeros((2, 0), jnp.int32))
    tried = change_number(search, 0, ends).continuous[..., 0]
    grid = np.log(np.arange(1, 41)) / np.log(40)
    for row, places in zip(tried, ([0, 1, 2, 4, 8], [39, 38, 37, 35, 31]), strict=True):
        found = np.abs(row[:, None] - grid)
        assert found.min(axis=1).max() < 1e-12
        assert set(places) <= set(found.argmin(axis=1))


@pytest.mark.parametrize("scale", ["log", "reverse_log"])
def test_where_values_are_too_dense_to_be_listed_the_search_has_steps_of_its_own(scale: str):
    search = Search({"l": ph.Int(1, 10**6, scale)})
    assert search.domain.grid.shape[1] < 10**5
    starts = np.array([0.05, 0.3, 0.7, 0.95])
    x = Features(jnp.asarray(starts[:, None]), jnp.zeros((4, 0), jnp.int32))
    x = jax.tree.map(lambda v: v[0], ascent._round(jax.tree.map(lambda v: v[None], x), search.domain))
    tried = change_number(search, 0, x).continuous[..., 0]
    dense = slice(2, 4) if scale == "log" else slice(0, 2)
    away = np.abs(tried - np.asarray(x.continuous))[dense]
    for step in (1, 2, 4, 8):
        assert (np.abs(away - step * ascent.FINE_STEP).min(axis=1) < 1e-5).all()
    # And so the top is found, wherever it lies.
    feasible = search.encoder.encode([{"l": n} for n in range(1, 10**6, 7)]).continuous
    for goal in (0.02, 0.4321, 0.777, 0.98):
        search.score = lambda x, goal=goal: -jnp.abs(x.continuous[:, 0] - goal)
        best = jax.jit(search.maximise)(jax.random.key(0))
        assert -float(best.score) <= np.abs(feasible - goal).min() + ascent.FINE_STEP


def test_points_are_counted_and_a_free_dimension_has_infinitely_many():
    space = {"n": ph.Int(0, 4), "l": ph.Int(1, 6, scale="log"), "k": ph.Categorical(("a", "b", "c"))}
    assert ascent.num_points(Encoder(SearchSpace(space)).domain) == 5 * 6 * 3
    assert np.isinf(ascent.num_points(Encoder(SearchSpace(space | {"x": ph.Float(0, 1)})).domain))
    for scale in ("log", "reverse_log"):  # a dense end is as good as free
        assert np.isinf(ascent.num_points(Encoder(SearchSpace({"l": ph.Int(1, 10**6, scale)})).domain))
