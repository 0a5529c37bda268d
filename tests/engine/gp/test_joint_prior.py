"""The prior that pulls length scales together, alone and in a fit."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from designs import kernel, pack, pad, pad_features, points, random_features, random_hyperparameters
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_t
from twins import loss, penalty

from photinus.engine.features import Features
from photinus.engine.gp.fit import fit, loss_and_gradient
from photinus.engine.gp.joint_prior import FREEDOM, SPREAD, JointPrior
from photinus.engine.gp.priors import IndependentPrior

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 16
SHAPES = [(2, 1), (3, 0), (0, 2), (1, 0), (4, 3), (0, 0)]
seeds = st.integers(0, 2**32)
evaluate_padded = jax.jit(functools.partial(loss_and_gradient, length_scales="joint"))
fit_padded = jax.jit(functools.partial(fit, length_scales="joint"))
fit_independently = jax.jit(fit)


def random_theta(seed: int, shape: tuple[int, int]) -> np.ndarray:
    return pack(random_hyperparameters(np.random.default_rng(seed), *shape))


def plain_penalty(theta: np.ndarray, num_continuous: int) -> float:
    """The docstring's formula, by SciPy's multivariate t and loops."""
    numeric, categorical = theta[1 : 1 + num_continuous], theta[1 + num_continuous : -1]
    wide = [theta[0] - math.log(1.0), theta[-1] - math.log(0.0039)]
    wide += [scale - math.log(0.5) for scale in categorical]
    if not len(numeric):
        return sum(0.01 * off**2 for off in wide)
    wide.append(numeric.mean() - math.log(0.5))
    around = numeric - numeric.mean()
    law = multivariate_t(shape=SPREAD**2 * np.eye(len(around)), df=FREEDOM)
    return law.logpdf(np.zeros(len(around))) - law.logpdf(around) + sum(0.01 * off**2 for off in wide)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_penalty_is_a_student_law_around_the_mean_of_numeric_scales_and_wide_for_all_else(shape):
    prior = JointPrior(*shape)
    for seed in range(3):
        theta = random_theta(seed, shape)
        assert float(prior.penalty(jnp.asarray(theta))) == pytest.approx(
            plain_penalty(theta, shape[0]), rel=1e-10
        )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_slope_is_what_central_differences_and_automatic_differentiation_find(shape):
    prior = JointPrior(*shape)
    theta, step = random_theta(4, shape), 1e-6
    slope = np.asarray(prior.slope(jnp.asarray(theta)))
    shifts = step * np.eye(len(theta))
    differences = [
        (plain_penalty(theta + shift, shape[0]) - plain_penalty(theta - shift, shape[0])) / (2 * step)
        for shift in shifts
    ]
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(slope, jax.grad(prior.penalty)(jnp.asarray(theta)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nothing_is_penalised_at_the_centres(shape):
    prior = JointPrior(*shape)
    assert float(prior.penalty(prior.centres)) == pytest.approx(0.0, abs=1e-24)
    np.testing.assert_allclose(prior.slope(prior.centres), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.exp(prior.centres), [1.0, *[0.5] * sum(shape), 0.0039], rtol=1e-12)


def test_a_scale_that_all_share_costs_little_and_one_that_stands_out_more():
    prior, common = (
        JointPrior(20, 0),
        jnp.full(22, math.log(10.0)).at[0].set(0.0).at[-1].set(math.log(0.0039)),
    )
    alone = common.at[1].set(math.log(0.1))
    assert float(prior.penalty(common)) < 0.1
    assert float(prior.penalty(alone)) > 10.0
    # And the further out, the less each further step costs: evidence can win.
    far = [float(prior.slope(common.at[1].add(-distance))[1]) for distance in (1.0, 3.0, 9.0)]
    assert 0 > far[2] > far[1] > far[0]


@pytest.mark.parametrize("shape", [(2, 1), (0, 5), (500, 0)], ids=str)
def test_starts_are_inside_the_bounds_and_two_of_them_have_one_scale(shape):
    prior, (low, high) = JointPrior(*shape), JointPrior(*shape).bounds
    starts = np.asarray(prior.starts(jax.random.key(0)))
    assert starts.shape == (prior.num_starts, sum(shape) + 2)
    assert np.all((low <= starts) & (starts <= high))
    assert np.ptp(starts[0, 1:-1]) > 0
    np.testing.assert_allclose(np.exp(starts[1, 1:-1]), 0.5, rtol=1e-12)
    np.testing.assert_allclose(np.exp(starts[2, 1:-1]), min(0.5 * sum(shape), 100.0), rtol=1e-12)
    np.testing.assert_allclose(np.exp(starts[1:, [0, -1]]), [[1.0, 1e-3]] * 2, rtol=1e-12)


def design(seed: int, rows: int = 9, shape=(2, 1), num_metrics: int = 2):
    rng = np.random.default_rng(seed)
    return (
        random_hyperparameters(rng, *shape),
        random_features(rng, rows, *shape),
        rng.normal(size=(rows, num_metrics)),
    )


def evaluate(theta: np.ndarray, X: Features, Y: np.ndarray, size: int = SIZE) -> tuple[float, np.ndarray]:
    value, gradient = evaluate_padded(theta, pad_features(X, size), pad(Y, size), np.arange(size) < len(Y))
    return float(value), np.asarray(gradient)


def fit_to(X: Features, Y: np.ndarray, seed: int = 0, size: int = SIZE, program=fit_padded):
    arguments = pad_features(X, size), pad(Y, size), np.arange(size) < len(Y)
    return jax.device_get(program(jax.random.key(seed), *arguments))


def test_loss_has_this_penalty_in_place_of_the_papers():
    hyper, X, Y = design(0)
    k, theta = kernel(hyper), pack(hyper)
    expected = loss(k, points(X), Y) - penalty(k) + plain_penalty(theta, 2)
    assert evaluate(theta, X, Y)[0] == pytest.approx(expected, rel=1e-10)


def test_gradient_of_the_loss_is_what_central_differences_find():
    hyper, X, Y = design(1)
    theta, step = pack(hyper), 1e-5
    shifts = step * np.eye(len(theta))
    slopes = [(evaluate(theta + s, X, Y)[0] - evaluate(theta - s, X, Y)[0]) / (2 * step) for s in shifts]
    np.testing.assert_allclose(evaluate(theta, X, Y)[1], slopes, rtol=1e-5, atol=1e-7 * np.abs(slopes).max())


@given(seeds, st.permutations(range(9)))
@settings(max_examples=20)
def test_padding_and_the_order_of_trials_do_not_change_the_loss(seed, order):
    hyper, X, Y = design(seed)
    value, gradient = evaluate(pack(hyper), X, Y)
    permuted = evaluate(pack(hyper), Features(X.continuous[order], X.categorical[order]), Y[order])
    for other in (permuted, evaluate(pack(hyper), X, Y, size=48)):
        assert other[0] == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(other[1], gradient, rtol=1e-7, atol=1e-7 * np.abs(gradient).max())


@given(seeds, st.permutations(range(4)), st.permutations(range(3)))
@settings(max_examples=20)
def test_the_order_of_features_within_a_kind_does_not_change_the_prior(seed, numeric, categorical):
    prior, theta = JointPrior(4, 3), jnp.asarray(random_theta(seed, (4, 3)))
    order = np.array([0, *(1 + np.array(numeric)), *(5 + np.array(categorical)), 8])
    assert float(prior.penalty(theta[order])) == pytest.approx(float(prior.penalty(theta)), rel=1e-12)
    np.testing.assert_allclose(
        prior.slope(theta[order]), np.asarray(prior.slope(theta))[order], rtol=1e-9, atol=1e-12
    )


def standardised(values: np.ndarray) -> np.ndarray:
    return ((values - values.mean()) / values.std())[:, None]


def test_a_fit_ends_where_no_feasible_direction_leads_down():
    _, X, _ = design(5, 16)
    Y = standardised(-np.sum((X.continuous - 0.3) ** 2, axis=1) + 0.2 * (X.categorical[:, 0] == 1))
    found = fit_to(X, Y)
    theta = pack(found.hyper)
    value, gradient = evaluate(theta, X, Y)
    low, high = (np.asarray(bound) for bound in JointPrior(2, 1).bounds)
    assert found.loss == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(np.clip(theta - gradient, low, high), theta, atol=1e-3)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_trials_give_hyperparameters_that_can_be_used(rows):
    _, X, _ = design(8, rows)
    found = fit_to(X, np.zeros((rows, 1)))
    assert np.all(np.isfinite(pack(found.hyper)))
    if rows == 0:
        np.testing.assert_allclose(pack(found.hyper), JointPrior(2, 1).centres, rtol=1e-12)


@pytest.mark.long
def test_few_trials_in_many_dimensions_give_like_scales_and_many_trials_may_not():
    """Where the paper's prior would see a pattern in noise. With evidence one feature stands out under either."""
    rng = np.random.default_rng(2)
    few = random_features(rng, 15, 12, 0)
    Y = standardised(few.continuous.sum(axis=1) + 0.3 * rng.normal(size=15))
    joint, independent = (
        np.log(fit_to(few, Y, program=program).hyper.continuous)
        for program in (fit_padded, fit_independently)
    )
    assert np.std(joint) < 1.0 < np.std(independent)
    many = random_features(rng, 48, 3, 0)
    found = fit_to(many, standardised(np.sin(6 * many.continuous[:, 0])), size=48)
    relevant, *others = found.hyper.continuous
    assert all(other > 10 * relevant for other in others)


def test_studies_side_by_side_are_fitted_as_well_as_alone():
    """To the precision at which the optimiser stops."""
    studies = [design(seed, 12)[1:] for seed in range(3)]
    packed = [
        (
            np.asarray(jax.random.key_data(jax.random.key(0))),
            pad_features(X, SIZE),
            pad(Y, SIZE),
            np.arange(SIZE) < 12,
        )
        for X, Y in studies
    ]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *packed)
    together = jax.jit(
        jax.vmap(lambda key, *rest: fit(jax.random.wrap_key_data(key), *rest, length_scales="joint"))
    )(*stacked)
    for i, (X, Y) in enumerate(studies):
        assert float(together.loss[i]) == pytest.approx(float(fit_to(X, Y).loss), rel=1e-5, abs=1e-5)


def test_the_papers_prior_starts_from_four_places_and_this_one_from_three():
    assert (IndependentPrior.num_starts, JointPrior.num_starts) == (4, 3)
