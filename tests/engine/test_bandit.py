"""Fitting and picking as a whole: that the parts are put together as docs/algorithm.md says."""

import functools

import jax
import numpy as np
import pytest
import twins
from designs import (
    NUM_CATEGORIES,
    cube,
    kernel,
    observations,
    points,
    random_features,
    random_hyperparameters,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from photinus.engine import bandit
from photinus.engine.bandit import BanditSettings
from photinus.engine.features import Features
from photinus.engine.firefly import FireflySettings
from photinus.engine.gp.kernel import Hyperparameters

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 16
BUDGET = 2000
SETTINGS = BanditSettings(search=FireflySettings(max_evaluations=BUDGET))
warp_metrics = jax.jit(bandit.warp_metrics)
pick_padded = jax.jit(functools.partial(bandit.pick, max_categories=NUM_CATEGORIES, settings=SETTINGS))


@jax.jit
def score_padded(observed, y, hyper, explores, query):
    found = bandit.acquisition(jax.random.key(0), observed, y, cube(2, 1), hyper, explores, SETTINGS)
    return found.score(query)


score_side_by_side = jax.jit(jax.vmap(score_padded, in_axes=(0, 0, 0, None, None)))


def study(seed: int, num_completed: int = 6, num_visited: int = 3, num_metrics: int = 1, size: int = SIZE):
    """Trials in two numeric and one categorical dimension, their warped labels, and hyperparameters."""
    rng = np.random.default_rng(seed)
    X = random_features(rng, num_completed + num_visited, 2, 1)
    observed = observations(X, rng.normal(size=(num_completed, num_metrics)), size)
    y, _ = warp_metrics(observed)
    return observed, np.asarray(y), random_hyperparameters(rng, 2, 1)


def pick(observed, y, hyper, explores: bool, seed: int = 0):
    return pick_padded(jax.random.key(seed), observed, y, cube(2, 1), hyper, np.bool_(explores))


def expected_scores(observed, y, hyper: Hyperparameters, explores: bool, query: Features) -> list[float]:
    """UCB or pure exploration at the query points, by the textbook."""
    k, num_completed = kernel(hyper), int(observed.is_completed.sum())
    every = points(Features(*(v[: int(observed.is_real.sum())] for v in observed.features)))
    completed, Y = every[:num_completed], y[:num_completed]
    mu, sigma = twins.mean(k, completed, Y, points(query)), twins.deviation(k, completed, points(query))
    sigma_all = twins.deviation(k, every, points(query))
    if not explores:
        return [twins.ucb(m[0], s) for m, s in zip(mu, sigma_all, strict=True)]
    tau = twins.threshold(twins.mean(k, completed, Y, every), twins.deviation(k, completed, every))
    return [twins.pure_exploration(*row, tau) for row in zip(mu, sigma, sigma_all, strict=True)]


def test_every_metric_is_warped_on_its_own():
    rng = np.random.default_rng(0)
    labels = np.column_stack([rng.normal(size=9), 1e6 * rng.random(9), np.full(9, 3.0)])
    is_feasible = rng.random(9) < 0.7
    observed = observations(random_features(rng, 11, 2, 1), labels, SIZE, is_feasible)
    y, warping = warp_metrics(observed)
    for m in range(3):
        column = [v if feasible else None for v, feasible in zip(labels[:, m], is_feasible, strict=True)]
        np.testing.assert_allclose(y[:9, m], twins.warp(column), atol=1e-12)
    assert not np.any(y[9:])
    assert warping.shift.shape == (3,)


@pytest.mark.parametrize("explores", [False, True], ids=["ucb", "explore"])
def test_the_acquisition_is_the_textbooks(explores):
    observed, y, hyper = study(1)
    query = random_features(np.random.default_rng(2), 8, 2, 1)
    score = score_padded(observed, y, hyper, np.bool_(explores), query)
    np.testing.assert_allclose(score, expected_scores(observed, y, hyper, explores, query), atol=1e-8)


@pytest.mark.parametrize("explores", [False, True], ids=["ucb", "explore"])
def test_a_pick_reports_the_score_and_the_moments_of_its_point(explores):
    observed, y, hyper = study(3)
    found = pick(observed, y, hyper, explores)
    x = Features(*(np.asarray(v) for v in found.features))
    completed = points(Features(*(v[:6] for v in observed.features)))
    assert float(found.score) == pytest.approx(*expected_scores(observed, y, hyper, explores, x), abs=1e-8)
    np.testing.assert_allclose([found.mu], twins.mean(kernel(hyper), completed, y[:6], points(x)), atol=1e-8)
    np.testing.assert_allclose(found.sigma, twins.deviation(kernel(hyper), completed, points(x)), atol=1e-8)
    assert found.jitter == 0.0
    assert found.num_evaluations == BUDGET


@pytest.mark.parametrize("explores", [False, True], ids=["ucb", "explore"])
def test_a_pick_is_feasible_inside_the_trust_region_and_better_than_random_points(explores):
    observed, y, hyper = study(4)
    found = pick(observed, y, hyper, explores)
    x = Features(*(np.asarray(v) for v in found.features))
    assert np.all((x.continuous >= 0) & (x.continuous <= 1))
    assert 0 <= x.categorical[0, 0] < NUM_CATEGORIES
    assert found.has_trust_region
    radius = twins.radius(6, 3)
    assert float(found.radius) == pytest.approx(radius, rel=1e-12)
    trusted = observed.features.continuous[:6]
    assert twins.distance(x.continuous[0], trusted, range(2)) <= radius
    query = random_features(np.random.default_rng(5), 200, 2, 1)
    is_inside = np.array([twins.distance(q, trusted, range(2)) <= radius for q in query.continuous])
    inside = Features(query.continuous[is_inside], query.categorical[is_inside])
    assert float(found.score) >= max(expected_scores(observed, y, hyper, explores, inside))


def test_the_same_key_picks_the_same_point():
    arguments = study(6)
    first, again, other = (pick(*arguments, explores=False, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.features.continuous, again.features.continuous)
    assert not np.array_equal(first.features.continuous, other.features.continuous)


def test_what_was_picked_is_not_picked_again():
    observed, y, hyper = study(7, num_visited=0)
    hyper = hyper._replace(noise_variance=np.float64(1e-4))
    first = pick(observed, y, hyper, explores=False)
    row = int(observed.is_real.sum())
    features = Features(*(v.copy() for v in observed.features))
    features.continuous[row], features.categorical[row] = (
        first.features.continuous[0],
        first.features.categorical[0],
    )
    pending = observed._replace(features=features, is_real=np.arange(SIZE) <= row)
    second = pick(pending, y, hyper, explores=True)
    apart = np.abs(np.asarray(first.features.continuous) - np.asarray(second.features.continuous)).max()
    assert apart > 0.05 or not np.array_equal(first.features.categorical, second.features.categorical)


def test_a_box_has_to_be_given_its_length():
    observed, y, hyper = study(0)
    boxed = SETTINGS._replace(region="box")
    assert boxed.needs_past
    assert not SETTINGS.needs_past
    with pytest.raises(ValueError, match="must be given its length"):
        jax.jit(functools.partial(bandit.pick, max_categories=NUM_CATEGORIES, settings=boxed))(
            jax.random.key(0), observed, y, cube(2, 1), hyper, np.bool_(False)
        )


def test_several_metrics_are_scalarised_without_a_trust_region():
    observed, y, hyper = study(8, num_metrics=2)
    found = pick(observed, y, hyper, explores=False)
    assert not found.has_trust_region
    # The key is split in search and weights, as `pick` does.
    _, key_weights = jax.random.split(jax.random.key(0))
    weights = np.abs(np.asarray(jax.random.normal(key_weights, (SETTINGS.num_weights, 2))))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    x = points(Features(*(np.asarray(v) for v in found.features)))
    every = points(Features(*(v[:9] for v in observed.features)))
    bound = twins.mean(kernel(hyper), every[:6], y[:6], x)[0] + 1.8 * twins.deviation(kernel(hyper), every, x)
    assert float(found.score) == pytest.approx(twins.improvement(bound, y[:6], weights), rel=1e-7)
    assert float(found.score) > 0.0


def own_study(seed: int):
    """Two metrics, and for each of them hyperparameters and what the plain formulas say of a query."""
    observed, y, _ = study(seed, num_metrics=2)
    rng = np.random.default_rng(seed)
    sets = [random_hyperparameters(rng, 2, 1) for _ in range(2)]
    query = random_features(rng, 8, 2, 1)
    every = points(Features(*(v[:9] for v in observed.features)))

    def by_metric(moment):
        return np.column_stack([moment(kernel(hyper), m) for m, hyper in enumerate(sets)])

    def mean(at):
        return by_metric(lambda k, m: twins.mean(k, every[:6], y[:6, m : m + 1], at)[:, 0])

    def deviation(given, at):
        return by_metric(lambda k, m: twins.deviation(k, given, at))

    own = jax.tree.map(lambda *leaves: np.stack(leaves), *sets)
    return observed, y, own, query, every, mean, deviation


def test_metrics_of_their_own_are_explored_by_their_own_deviations():
    observed, y, own, query, every, mean, deviation = own_study(10)
    tau = twins.threshold(mean(every), deviation(every[:6], every))
    at = points(query)
    moments = zip(mean(at), deviation(every[:6], at), deviation(every, at), strict=True)
    expected = [twins.pure_exploration(*row, tau) for row in moments]
    np.testing.assert_allclose(score_padded(observed, y, own, np.bool_(True), query), expected, atol=1e-8)


def test_metrics_of_their_own_are_bounded_by_their_own_deviations():
    observed, y, own, query, every, mean, deviation = own_study(11)
    # The key that `score_padded` gives to the directions.
    weights = np.abs(np.asarray(jax.random.normal(jax.random.key(0), (SETTINGS.num_weights, 2))))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    bounds = mean(points(query)) + 1.8 * deviation(every, points(query))
    expected = [twins.improvement(bound, y[:6], weights) for bound in bounds]
    assert max(expected) > 0.0
    np.testing.assert_allclose(score_padded(observed, y, own, np.bool_(False), query), expected, atol=1e-8)
    found = pick(observed, y, own, explores=False)
    x = points(Features(*(np.asarray(v) for v in found.features)))
    np.testing.assert_allclose([found.mu], mean(x), atol=1e-8)
    np.testing.assert_allclose([found.sigma], deviation(every[:6], x), atol=1e-8)


@pytest.mark.parametrize("num_completed", [1, 2])
@pytest.mark.parametrize("is_feasible", [True, False], ids=["feasible", "infeasible"])
def test_one_or_two_trials_are_enough_for_a_fit_and_a_pick(num_completed, is_feasible):
    rng = np.random.default_rng(9)
    labels = np.full((num_completed, 1), np.inf if not is_feasible else 1e300)
    feasible = np.full(num_completed, is_feasible)
    observed = observations(random_features(rng, num_completed, 2, 1), labels, SIZE, feasible)
    model = jax.jit(bandit.fit_model, static_argnums=2)(jax.random.key(0), observed, SETTINGS.model)
    assert all(np.all(np.isfinite(part)) for part in model.fit.hyper)
    np.testing.assert_array_equal(model.y, np.zeros((SIZE, 1)))
    found = pick(observed, model.y, model.fit.hyper, explores=False)
    assert np.isfinite(found.score)
    assert found.score > -1e11  # inside the trust region


def ill_conditioned(seed: int, size: int = SIZE):
    """Near-identical points without noise, which a covariance of full rank in exact arithmetic cannot tell apart."""
    rng = np.random.default_rng(seed)
    base = random_features(rng, 3, 2, 1)
    X = Features(np.repeat(base.continuous, 3, axis=0), np.repeat(base.categorical, 3, axis=0))
    X = X._replace(continuous=np.clip(X.continuous + rng.normal(scale=1e-7, size=X.continuous.shape), 0, 1))
    observed = observations(X, np.repeat(rng.normal(size=(2, 1)), 3, axis=0), size)
    y, _ = warp_metrics(observed)
    hyper = random_hyperparameters(rng, 2, 1)._replace(noise_variance=np.float64(1e-10))
    return observed, np.asarray(y), hyper


# What design promises of scores: relative to the range of the labels.
CONDITIONS = {"well": (study, 1e-9), "ill": (ill_conditioned, 1e-6)}


@pytest.mark.parametrize("condition", CONDITIONS)
@given(seed=st.integers(0, 10_000), explores=st.booleans())
@settings(max_examples=25, deadline=None)
def test_padding_does_not_change_scores(condition, seed, explores):
    make, tolerance = CONDITIONS[condition]
    query = random_features(np.random.default_rng(seed + 1), 25, 2, 1)
    observed, y, hyper = make(seed)
    scores = np.asarray(score_padded(observed, y, hyper, explores, query))
    for size in (48, 144):
        observed, y, _ = make(seed, size=size)
        padded = score_padded(observed, y, hyper, explores, query)
        np.testing.assert_allclose(padded, scores, rtol=0, atol=tolerance * np.ptp(y))


@pytest.mark.parametrize("condition", CONDITIONS)
@given(first=st.integers(0, 10_000), width=st.sampled_from([2, 5]), explores=st.booleans())
@settings(max_examples=25, deadline=None)
def test_studies_side_by_side_have_the_scores_that_they_have_alone(condition, first, width, explores):
    make, tolerance = CONDITIONS[condition]
    query = random_features(np.random.default_rng(first), 25, 2, 1)
    cases = [make(seed) for seed in range(first, first + width)]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *cases)
    together = score_side_by_side(*stacked, explores, query)
    for case, scores in zip(cases, np.asarray(together), strict=True):
        alone = score_padded(*case, explores, query)
        np.testing.assert_allclose(scores, alone, rtol=0, atol=tolerance * np.ptp(case[1]))
