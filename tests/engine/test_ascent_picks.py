"""Picks by the local search: against SciPy and brute force on one acquisition, and in finite spaces."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from designs import NUM_CATEGORIES, cube, observations, random_features, random_hyperparameters
from scipy import optimize

import photinus as ph
from photinus.engine import bandit, designers
from photinus.engine.arrays import Observations
from photinus.engine.ascent import AscentSettings
from photinus.engine.bandit import BanditSettings
from photinus.engine.features import Features
from photinus.engine.gp.posterior import Prediction
from photinus.problem import Problem
from photinus.trial import Trial, TrialState

pytestmark = pytest.mark.usefixtures("engine")

SETTINGS = BanditSettings(acquisition="log_ei", region="anywhere", search=AscentSettings())
NUM_CASES, NUM_TRIALS = 10, 30
CLOSE = 0.001  # of the way from the median of random points to the best point known


def make_cases(num_continuous: int, num_categorical: int):
    """Trials at random, labels of a curved function, hyperparameters at random: with a leading axis of cases."""
    cases = []
    for index in range(NUM_CASES):
        rng = np.random.default_rng([num_continuous, num_categorical, index])
        features = random_features(rng, NUM_TRIALS, num_continuous, num_categorical)
        goal, table = rng.random(num_continuous), rng.normal(size=(num_categorical, NUM_CATEGORIES))
        away = features.continuous - goal
        labels = -np.sum(away**2, axis=1) + 0.3 * np.sum(np.cos(9 * away), axis=1)
        labels += np.sum(table[np.arange(num_categorical), features.categorical], axis=1)
        labels = (labels - labels.mean()) / labels.std()
        observed = observations(features, labels[:, None], NUM_TRIALS + 2)
        y = np.where(observed.is_completed[:, None], observed.labels, 0.0)
        cases.append((observed, y, random_hyperparameters(rng, num_continuous, num_categorical)))
    return cases


def climb(cases, domain) -> np.ndarray:
    """Scores of all picks."""

    def pick(key, observed, y, hyper):
        explores = jnp.bool_(False)
        return bandit.pick(
            key, observed, y, domain, hyper, explores, max_categories=NUM_CATEGORIES, settings=SETTINGS
        ).score  # fmt: skip

    stacked = jax.tree.map(lambda *rows: jnp.stack(rows), *cases)
    return np.asarray(jax.jit(jax.vmap(pick))(jax.random.split(jax.random.key(0), NUM_CASES), *stacked))


def make_score(domain):
    @jax.jit
    def score(case, x):
        observed, y, hyper = case
        key, explores = jax.random.key(0), jnp.bool_(False)
        return bandit.acquisition(key, observed, y, domain, hyper, explores, SETTINGS).score(x)

    return score


def shares_missed(found: np.ndarray, known: list[float], usual: list[float]) -> np.ndarray:
    return (np.array(known) - found) / (np.array(known) - np.array(usual))


@pytest.mark.long
def test_it_comes_as_high_as_differential_evolution_in_four_dimensions():
    cases, domain = make_cases(4, 0), cube(4)
    score, known, usual = make_score(domain), [], []
    for index, case in enumerate(cases):

        def loss(u, case=case):
            x = Features(np.atleast_2d(u.T), np.zeros((u.size // 4, 0), np.int32))
            return -np.asarray(score(case, x)).reshape(u.shape[1:])

        # Three runs without polishing: 45,000 evaluations, where the local search has 1,680.
        runs = [
            optimize.differential_evolution(
                loss,
                [(0, 1)] * 4,
                popsize=25,
                maxiter=150,
                rng=[index, r],
                vectorized=True,
                updating="deferred",
                tol=0,
                polish=False,
            )
            for r in range(3)
        ]
        known.append(-min(run.fun for run in runs))
        usual.append(-float(np.median(loss(np.random.default_rng(index).random((4, 1000))))))
    missed = shares_missed(climb(cases, domain), known, usual)
    assert np.sum(missed <= CLOSE) >= 9, np.sort(missed).round(5)


def test_it_comes_as_high_as_brute_force_over_categories_and_a_lattice():
    cases, domain = make_cases(2, 3), cube(2, 3)
    lattice = np.stack(np.meshgrid(*[np.linspace(0, 1, 81)] * 2), axis=-1).reshape(-1, 2)
    score, known, usual = make_score(domain), [], []
    for index, case in enumerate(cases):
        best = -np.inf
        for categories in itertools.product(range(NUM_CATEGORIES), repeat=3):
            x = Features(lattice, np.tile(np.array(categories, np.int32), (len(lattice), 1)))
            best = max(best, float(jnp.max(score(case, x))))
        known.append(best)
        usual.append(
            float(jnp.median(score(case, random_features(np.random.default_rng(index), 1000, 2, 3))))
        )
    missed = shares_missed(climb(cases, domain), known, usual)
    assert np.sum(missed <= CLOSE) >= 9, np.sort(missed).round(5)


# Finite spaces.

TABLE = Problem.define({"a": ph.Categorical([1, 2, 3]), "b": ph.Categorical([1, 2, 3, 4])}, "maximize")
ALL = sorted(itertools.product([1, 2, 3], [1, 2, 3, 4]))


def finished(number: int, params: dict, value: float, problem: Problem) -> Trial:
    """A trial that `default` suggested and that was measured."""
    values = dict.fromkeys(problem.metric_names, float(value))
    return Trial(
        number=number,
        params=params,
        state=TrialState.COMPLETED,
        values=values,
        completed_event=number,
        algorithm="default",
    )


def complete(trials: list[Trial], suggestions) -> list[Trial]:
    """Trials with those of the suggestions, completed."""
    first = len(trials)
    return trials + [
        finished(i, s.params, s.params["a"] * s.params["b"] % 5, TABLE)
        for i, s in enumerate(suggestions, start=first)
    ]


def places(trials: list[Trial]) -> list[tuple]:
    return [tuple(trial.params.values()) for trial in trials]


# With seed 4 Halton's sequence comes back to a point within the first batch.
@pytest.mark.parametrize(("batch_size", "seed"), [(1, 0), (4, 0), (4, 4)])
def test_every_combination_of_categories_is_tried_once_before_one_is_again(batch_size: int, seed: int):
    trials: list[Trial] = []
    while len(trials) < len(ALL):
        trials = complete(trials, designers.suggest(TABLE, trials, batch_size, seed, algorithm="default"))
    assert sorted(places(trials)) == ALL
    [more] = designers.suggest(TABLE, trials, 1, seed, algorithm="default")
    assert tuple(more.params.values()) in ALL


@pytest.mark.parametrize("space", [{"n": ph.Int(0, 20)}, {"n": ph.Int(0, 5), "m": ph.Int(0, 5)}])
def test_every_point_of_a_grid_is_tried_once_although_the_box_is_smaller(space: dict):
    problem = Problem.define(space, "maximize")
    trials: list[Trial] = []
    for i in range(math.prod(p.num_values for p in space.values())):
        [suggestion] = designers.suggest(problem, trials, 1, 0, algorithm="default")
        value = -sum((v - 1) ** 2 for v in suggestion.params.values())
        trials.append(finished(i, suggestion.params, value, problem))
    assert len(set(places(trials))) == len(trials)


WIDE = {
    "more values than the search tells apart": {"n": ph.Int(0, 5000), "m": ph.Int(0, 5000)},
    "a logarithmic scale": {"n": ph.Int(1, 10**6, scale="log")},
    "categories beside them": {"n": ph.Int(1, 2000), "kind": ph.Categorical([0, 2000])},
    "a box that holds the best point alone": {"n": ph.Int(0, 60), "m": ph.Int(0, 60)},
    "values next to each other": {"n": ph.Discrete([*(30 + 1e-6 * i for i in range(15)), 90])},
}


@pytest.mark.parametrize("space", WIDE.values(), ids=WIDE)
def test_in_a_finite_space_nothing_is_tried_twice(space: dict):
    problem = Problem.define(space, "minimize")
    num_trials = min(24, math.prod(p.num_values for p in space.values()))
    trials: list[Trial] = []
    for i in range(num_trials):
        [suggestion] = designers.suggest(problem, trials, 1, 0, algorithm="default")
        if "instead_of" in (suggestion.reason or {}):
            assert tuple(suggestion.reason["instead_of"].values()) in places(trials)
        value = sum((v - 37) ** 2 for v in suggestion.params.values())
        trials = [*trials, finished(i, suggestion.params, value, problem)]
    assert len(set(places(trials))) == num_trials


def test_what_is_pending_counts_as_tried():
    finished = complete([], designers.suggest(TABLE, [], 4, 1, algorithm="default"))
    more = designers.suggest(TABLE, finished, 8, 1, algorithm="default")
    assert len({*places(finished), *(tuple(s.params.values()) for s in more)}) == 12


# Good trials to begin from.


def promising(mu: np.ndarray, num_completed: int, count: int) -> tuple[list[int], list[bool]]:
    """Rows that are chosen, by a feature that is the number of the row."""
    num_rows = len(mu)
    row = jnp.arange(num_rows)
    features = Features(row[:, None].astype(mu.dtype), jnp.zeros((num_rows, 0), jnp.int32))
    observed = Observations(
        features, jnp.asarray(mu), row < num_completed, row < num_completed, row < num_rows - 1
    )
    sigma = jnp.ones((num_rows, 1))
    choose = jax.jit(bandit._most_promising, static_argnums=2)
    seeds, is_seed = choose(Prediction(jnp.asarray(mu), sigma, sigma), observed, count)
    return [int(v) for v in np.asarray(seeds.continuous)[:, 0]], np.asarray(is_seed).tolist()


def test_of_one_metric_the_completed_trials_of_most_promise_come_first():
    mu = np.array([[0.1], [3.0], [-1.0], [2.0], [9.0], [9.0]])
    assert promising(mu, 4, 3) == ([1, 3, 0], [True] * 3)
    rows, is_seed = promising(mu, 2, 4)
    assert (rows[:2], is_seed) == ([1, 0], [True, True, False, False])
    assert promising(mu, 0, 2)[1] == [False, False]


def test_of_several_metrics_the_balanced_one_comes_first_and_then_the_best_of_each():
    #              balanced     first          second        completed?  no
    mu = np.array([[6.0, 60.0], [10.0, 20.0], [2.0, 100.0], [0.0, 0.0], [99.0, 999.0], [99.0, 999.0]])
    rows, is_seed = promising(mu, 4, 4)
    assert rows[0] == 0
    assert set(rows[1:]) == {1, 2}
    assert is_seed == [True] * 4
    assert promising(mu, 0, 2)[1] == [False, False]
