"""The search against its plain twin, against google-vizier's moves, and by its laws (docs/algorithm.md §5)."""

import firefly_twins as twins
import golden
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import photinus as ph
from photinus.engine import firefly
from photinus.engine.encoding import Encoder
from photinus.engine.features import Features
from photinus.engine.firefly import FireflySettings
from photinus.space import SearchSpace

pytestmark = pytest.mark.usefixtures("engine")

PAPER = FireflySettings()
SHORT = PAPER._replace(max_evaluations=2500)
MIXED = {
    "x": ph.Float(0, 1),
    "even": ph.Int(0, 7),
    "listed": ph.Discrete([1, 2, 4, 100]),
    "a": ph.Categorical(["r", "g", "b"]),
    "b": ph.Categorical([False, True]),
}
PLAIN = {"x": ph.Float(0, 1), "y": ph.Float(0, 1), "z": ph.Float(0, 1)}
CHOICES = {f"c{i}": ph.Categorical(list(range(2 + i))) for i in range(4)}
SPACES = {"mixed": MIXED, "plain": PLAIN, "categorical": CHOICES}


class Search:
    """One search, with everything needed to follow it."""

    def __init__(self, space: dict, settings: FireflySettings = SHORT, seeds: list[dict] = ()) -> None:  # pyright: ignore
        self.encoder = Encoder(SearchSpace(space))
        self.domain = jax.tree.map(jnp.asarray, self.encoder.domain)
        self.settings = settings
        self.max_categories = 8 if self.encoder.categoricals else 0
        count = firefly.num_seeded(self.encoder.num_features, settings)
        features = self.encoder.encode(seeds)
        self.seeds = Features(*(jnp.asarray(np.resize(v, (count, v.shape[1]))) for v in features))
        self.is_seed = jnp.arange(count) < len(seeds)
        self.scored: list[Features] = []
        self.run = jax.jit(self.maximise)

    def score(self, x: Features) -> jax.Array:
        """Smooth in numbers, with an interaction, and different for every category."""
        goal = jnp.linspace(0.2, 0.7, x.continuous.shape[1])
        bowl = -jnp.sum((x.continuous - goal) ** 2, axis=1) + 0.1 * jnp.sum(jnp.cos(9 * x.continuous), axis=1)
        table = jnp.sin(1.0 + 2.0 * x.categorical + jnp.arange(x.categorical.shape[1]))
        return bowl + jnp.sum(table, axis=1)

    def maximise(self, key: jax.Array) -> firefly.Best:
        return firefly.maximise(
            key, self.score, self.domain, self.max_categories, self.seeds, self.is_seed, self.settings
        )  # fmt: skip

    def follow(self, key: jax.Array) -> tuple[firefly.Best, Features]:
        """Result and all points scored, in order."""
        plain = self.score

        def recorded(x: Features) -> jax.Array:
            # As bits: the callback's thread is not in the engine's context and would round to single precision.
            bits = jax.lax.bitcast_convert_type(x.continuous, jnp.uint32)
            jax.debug.callback(self.scored.append, Features(bits, x.categorical), ordered=True)
            return plain(x)

        self.scored.clear()
        best = jax.jit(
            lambda key: firefly.maximise(
                key, recorded, self.domain, self.max_categories, self.seeds, self.is_seed, self.settings
            )
        )(key)
        jax.effects_barrier()
        bits, categorical = (np.concatenate(v) for v in zip(*self.scored, strict=True))
        return best, Features(bits.view(np.float64)[..., 0], categorical)


# Formulas.


@pytest.mark.parametrize("D", [1, 2, 3, 5, 8, 10, 13, 15, 20, 28, 35, 50, 200])
def test_pool_size_is_that_of_the_twin(D: int):
    size = firefly.pool_size(D, PAPER)
    assert size == twins.pool_size(D)
    assert size % PAPER.batch_size == 0
    assert firefly.num_seeded(D, PAPER) == 96 * size // 100


def test_pool_sizes_worked_out_by_hand():
    # D = 1: 10 + floor(1.5) = 11; D = 5: 10 + floor(2.5 + 6.9) = 19; D = 20: 10 + floor(10 + 36.4) = 56.
    assert [firefly.pool_size(D, PAPER) for D in (1, 5, 20, 60)] == [25, 25, 75, 100]


@pytest.mark.parametrize("case", golden.cases("firefly_move"))
def test_forces_are_those_of_google_vizier(case: dict):
    flies, scores = golden.features(case), golden.numbers(case["scores"])
    flies = jax.tree.map(jnp.asarray, flies)
    force = np.asarray(firefly.forces(flies, jnp.asarray(scores), flies, jnp.asarray(scores), PAPER))
    known = slice(0, -1)  # the last fly has no score: its own row means nothing
    assert np.allclose(
        force[known] * len(scores), golden.numbers(case["weights"])[known], rtol=1e-11, atol=1e-15
    )

    x, omega = np.asarray(flies.continuous), np.zeros(len(scores))
    weights = golden.numbers(case["weights"])
    # The file's displacement is not yet divided by the size of the pool.
    expected = np.clip(x + golden.numbers(case["displacement"]).reshape(x.shape) / len(scores), 0, 1)
    twin = [
        twins.displacement((x[i], []), [(row, []) for row in x], weights[i].tolist()) for i in range(len(x))
    ]
    assert np.allclose(twin, golden.numbers(case["displacement"]).reshape(x.shape), rtol=1e-11, atol=1e-14)
    if flies.categorical.shape[1] == 0:
        moved = _move(flies, scores, omega, np.full(x.shape, 0.5, np.float32), case)
        assert np.allclose(moved[known], expected[known], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("case", [c for c in golden.cases("firefly_move") if "logits" in c.values[0]])
def test_category_logits_are_those_of_google_vizier(case: dict):
    flies, sizes = golden.features(case), case["category_sizes"]
    force = jnp.asarray(golden.numbers(case["weights"]) / len(case["scores"]))
    domain = _domain(flies.continuous.shape[1], sizes)
    c = jnp.asarray(flies.categorical)
    total = jnp.sum(force, axis=1, keepdims=True)
    logits = np.asarray(firefly.category_logits(force, total, c, c, domain, max(sizes), PAPER))
    points = list(zip(flies.continuous.tolist(), flies.categorical.tolist(), strict=True))
    for i, rows in enumerate(case["logits"]):
        twin = twins.logits(points[i], points, golden.numbers(case["weights"])[i].tolist(), sizes)
        for d, size in enumerate(sizes):
            assert np.allclose(logits[i, d, :size], golden.numbers(rows[d])[:size], rtol=1e-11)
            assert np.allclose(logits[i, d, :size], twin[d], rtol=1e-11)


def _domain(num_continuous: int, sizes: list[int]):
    space = {f"x{d}": ph.Float(0, 1) for d in range(num_continuous)}
    space |= {f"c{d}": ph.Categorical(list(range(size))) for d, size in enumerate(sizes)}
    return jax.tree.map(jnp.asarray, Encoder(SearchSpace(space)).domain)


def _move(flies: Features, scores: np.ndarray, omega: np.ndarray, u: np.ndarray, case: dict) -> np.ndarray:
    """Numeric moves of a whole pool."""
    chance = firefly.Chance(
        jnp.asarray(u), jnp.zeros((len(u), 0, 0), u.dtype), jnp.zeros((len(u), 0, 0), u.dtype), jnp.asarray(u)
    )
    state = firefly._State(flies, jnp.asarray(scores), jnp.asarray(omega), jnp.zeros((), jnp.int32))
    domain = _domain(flies.continuous.shape[1], [])
    moved = firefly.move(chance, flies, state.scores, state.omega, state, domain, 0, PAPER)
    return np.asarray(moved.continuous)


def test_laplace_noise_has_its_quantiles():
    u = np.array([0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1 - 2**-24], np.float32)
    found = np.asarray(firefly.laplace(jnp.asarray(u)))
    assert np.allclose(found, [twins.laplace(float(v)) for v in u], rtol=1e-5)
    assert np.isfinite(found).all()
    assert found[4] == pytest.approx(np.log(2), rel=1e-6)  # half of the positive side lies below ln 2


def test_categories_are_drawn_in_proportion_to_their_weights():
    weights = np.array([0.5, 0.3, 0.2])
    u = np.random.default_rng(0).random((50_000, 1, 4), dtype=np.float32)
    logits = jnp.broadcast_to(jnp.log(jnp.array([*weights, 9.0])), (50_000, 1, 4))
    drawn = np.asarray(firefly.choose_categories(jnp.asarray(u), logits, jnp.array([3])))
    shares = np.bincount(drawn.ravel(), minlength=4) / 50_000
    assert np.allclose(shares, [*weights, 0.0], atol=0.01)  # the fourth is no category of this parameter


@pytest.mark.parametrize("space", SPACES)
def test_every_point_scored_is_that_of_the_twin(space: str):
    """One loop over flies against the compiled program: moves, acceptance, decay and restarts, given the noise."""
    search = Search(SPACES[space], seeds=_seeds(SPACES[space], 5))
    key = jax.random.key(3)
    best, scored = search.follow(key)
    rows = list(zip(scored.continuous.tolist(), scored.categorical.tolist(), strict=True))

    key_steps = jax.random.key_data(jax.random.split(key))[1]
    size, batch = firefly.pool_size(search.encoder.num_features, SHORT), SHORT.batch_size
    assert size == batch  # the first step scores the whole pool as it is

    def chances(step: int) -> list[twins.Chance]:
        chance = firefly.draw(key_steps, jnp.int32(step), batch, search.seeds, search.max_categories)
        drawn = (chance.kick, chance.category_kick, chance.category, chance.place)
        return [
            twins.Chance(*row) for row in zip(*(np.asarray(v, float).tolist() for v in drawn), strict=True)
        ]

    def score(fly: twins.Fly) -> float:
        x = np.array(fly[0]).reshape(1, -1), np.array(fly[1], np.int32).reshape(1, -1)
        return float(search.score(Features(*map(jnp.asarray, x)))[0])

    grids = [_grid(axis) for axis in search.encoder.axes]
    plain = twins.Space(grids, [len(p.values) for p in search.encoder.categoricals.values()])
    expected, top = twins.search(rows[:batch], score, chances, plain, len(rows) // batch, batch)
    # The kicks are single precision, so the paths agree to that and no further.
    assert np.allclose([x for x, _ in rows], [x for x, _ in expected], rtol=0, atol=1e-6)
    assert [c for _, c in rows] == [c for _, c in expected]
    assert float(best.score) == pytest.approx(top, abs=1e-6)


def _grid(axis) -> list[float] | None:
    match axis.parameter:
        case ph.Int(low=low, high=high):
            return [(v - low) / (high - low) for v in range(low, high + 1)]
        case ph.Discrete(values=values):
            return [(v - values[0]) / (values[-1] - values[0]) for v in values]
    return None


def _seeds(space: dict, count: int) -> list[dict]:
    encoder = Encoder(SearchSpace(space))
    return encoder.spread(np.random.default_rng(1).random((count, encoder.num_features)))


# Rounding.

GRIDS = {
    "float": ph.Float(-3, 5),
    "int": ph.Int(-2, 11),
    "two values": ph.Int(0, 1),
    "wide int": ph.Int(0, 10**6),
    "log int": ph.Int(1, 40, "log"),
    "wide log int": ph.Int(1, 10**6, "log"),
    "dense log int": ph.Int(10**6, 2 * 10**6, "log"),
    "wide reverse-log int": ph.Int(1, 10**6, "reverse_log"),
    "discrete": ph.Discrete([1, 2, 4, 100]),
    "log discrete": ph.Discrete([1e-6, 1e-3, 0.5], "log"),
}


@pytest.mark.parametrize("parameter", GRIDS.values(), ids=GRIDS)
def test_rounding_goes_to_feasible_values_and_stays_there(parameter):
    # A second parameter of a listed kind: the grid's table is then there for the first one too.
    encoder = Encoder(SearchSpace({"p": parameter, "d": ph.Discrete([0, 1, 5])}))
    domain = jax.tree.map(jnp.asarray, encoder.domain)
    u = np.concatenate(
        [np.random.default_rng(0).random((300, 2)), np.eye(2), np.ones((1, 2)), np.zeros((1, 2))]
    )
    u[:100, 0] **= 4  # more of them where a log scale is coarse
    once = firefly.round_features(Features(jnp.asarray(u), jnp.zeros((len(u), 0), jnp.int32)), domain)
    twice = firefly.round_features(once, domain)
    assert (np.asarray(once.continuous) == np.asarray(twice.continuous)).all()

    # What is scored is what is suggested: exactly, or to less than the search tells apart.
    suggested = encoder.encode(encoder.decode(once)).continuous
    assert np.abs(suggested - np.asarray(once.continuous)).max() <= 0.5 / 1024
    direct = encoder.encode(encoder.decode(Features(u, np.zeros((len(u), 0), np.int32)))).continuous
    assert np.abs(suggested - direct).max() <= 1.0 / 1024


# Laws.


@pytest.fixture(scope="module")
def whole(engine):
    """A mixed search with all its 75,000 evaluations, every one of them recorded."""
    search = Search(MIXED, PAPER, _seeds(MIXED, 7))
    best, scored = search.follow(jax.random.key(0))
    return search, best, scored


def test_exactly_75_000_points_are_scored(whole):
    _, best, scored = whole
    assert int(best.num_evaluations) == len(scored.continuous) == 75_000


def test_every_scored_point_is_feasible(whole):
    search, _, scored = whole
    assert (scored.continuous >= 0).all()
    assert (scored.continuous <= 1).all()
    assert np.allclose(np.unique(scored.continuous[:, 1]), np.arange(8) / 7, rtol=0, atol=1e-15)
    assert np.allclose(np.unique(scored.continuous[:, 2]), [0, 1 / 99, 3 / 99, 1], rtol=0, atol=1e-15)
    for d, size in enumerate(search.encoder.domain.num_categories):
        assert set(np.unique(scored.categorical[:, d])) == set(range(size))


def test_the_answer_is_the_best_point_scored(whole):
    search, best, scored = whole
    scores = np.asarray(search.score(jax.tree.map(jnp.asarray, scored)))
    assert float(best.score) == pytest.approx(scores.max(), abs=1e-12)
    assert float(search.score(best.features)[0]) == pytest.approx(float(best.score), abs=1e-12)


def test_the_answer_is_at_least_as_good_as_every_seed():
    """Also where chance alone could never find it."""
    search = Search(PLAIN, SHORT, _seeds(PLAIN, 3))
    needle = search.seeds.continuous[2]
    search.score = lambda x: jnp.where(
        jnp.all(x.continuous == needle, axis=1), 5.0, jnp.sum(x.continuous, axis=1)
    )
    best = search.run(jax.random.key(0))
    assert float(best.score) == 5.0
    assert (np.asarray(best.features.continuous[0]) == np.asarray(needle)).all()


def test_seeds_stand_first_in_the_pool_in_their_order_and_random_flies_fill_the_rest():
    seeds = _seeds(PLAIN, 6)
    search = Search(PLAIN, PAPER._replace(max_evaluations=25), seeds)
    _, scored = search.follow(jax.random.key(0))
    assert (scored.continuous[:6] == search.encoder.encode(seeds).continuous).all()
    rest = scored.continuous[6:]
    assert len(np.unique(rest, axis=0)) == 19
    assert rest.min() < 0.2
    assert rest.max() > 0.8


def test_the_same_key_gives_the_same_answer_and_another_key_another():
    search = Search(PLAIN)
    first, again, other = (search.run(jax.random.key(k)) for k in (1, 1, 2))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), first, again))
    assert (np.asarray(first.features.continuous) != np.asarray(other.features.continuous)).all()


@pytest.mark.parametrize("space", SPACES)
def test_searches_side_by_side_find_what_each_finds_alone(space: str):
    search = Search(SPACES[space])
    keys = jax.random.split(jax.random.key(7), 3)
    together = jax.jit(jax.vmap(search.maximise))(keys)
    alone = [search.run(key) for key in keys]
    assert np.allclose(together.score, [float(best.score) for best in alone], atol=1e-9)
    assert (np.asarray(together.num_evaluations) == SHORT.max_evaluations).all()


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES)
def test_a_larger_budget_finds_better_points(space: str):
    keys = jax.random.split(jax.random.key(0), 12)
    found = [
        np.mean(
            jax.jit(jax.vmap(Search(SPACES[space], PAPER._replace(max_evaluations=n)).maximise))(keys).score
        )
        for n in (25, 250, 2500)
    ]
    assert found == sorted(found)
    assert found[-1] > found[0] + 1e-3


def test_the_optimum_of_a_bowl_is_found():
    search = Search(PLAIN, PAPER)
    goal = jnp.array([0.3, 0.5, 0.9])
    search.score = lambda x: -jnp.sum((x.continuous - goal) ** 2, axis=1)
    best = search.run(jax.random.key(0))
    assert np.abs(np.asarray(best.features.continuous[0]) - goal).max() < 1e-3


@pytest.mark.parametrize("hole", [-np.inf, np.nan])
def test_points_without_a_score_are_never_the_answer(hole: float):
    search = Search(PLAIN, PAPER)
    plain = search.score
    search.score = lambda x: jnp.where(x.continuous[:, 0] < 0.6, hole, plain(x))
    best = search.run(jax.random.key(0))
    around = np.random.default_rng(0).random((20_000, 3))
    around[:, 0] = 0.6 + 0.4 * around[:, 0]
    reference = np.asarray(plain(Features(jnp.asarray(around), jnp.zeros((20_000, 0), jnp.int32)))).max()
    assert np.isfinite(float(best.score))
    assert float(best.features.continuous[0, 0]) >= 0.6
    assert float(best.score) >= reference
