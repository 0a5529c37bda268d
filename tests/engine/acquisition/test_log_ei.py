"""Log expected improvement against integrals, down to where improvement is hopeless."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from photinus.engine.acquisition import log_ei
from photinus.engine.gp.posterior import Prediction

pytestmark = pytest.mark.usefixtures("engine")

log_improvement = jax.jit(log_ei.log_improvement)
slope = jax.jit(jax.vmap(jax.grad(log_ei.log_improvement)))
expected_improvement = jax.jit(log_ei.log_expected_improvement)

# Across the switch of formulas, deep into the tail, and where improvement is certain.
Z = np.concatenate(
    [-np.geomspace(1e-3, 9.9e5, 60), np.linspace(-5, 8, 53), [0.0, -3.0, np.nextafter(-3.0, 0), 1e4]]
)


def scaled_moment(x: float, power: int) -> float:
    """∫ sᵖ exp(-s - s²/2x²) ds over s > 0, which is smooth however large x is."""
    return integrate.quad(
        lambda s: s**power * math.exp(-s - (s / x) ** 2 / 2), 0, 60, epsabs=0, epsrel=1e-13
    )[0]


def exactly(z: float) -> tuple[float, float]:
    """ln h(z) and its derivative; below -1 by h(-x) = φ(x)/x² ∫ s exp(-s - s²/2x²) ds, where nothing cancels."""
    if z > -1:
        h = stats.norm.pdf(z) + z * stats.norm.cdf(z)
        return math.log(h), stats.norm.cdf(z) / h
    x = -z
    log_h = -x * x / 2 - math.log(2 * math.pi) / 2 + math.log(scaled_moment(x, 1)) - 2 * math.log(x)
    return log_h, x * scaled_moment(x, 0) / scaled_moment(x, 1)


def test_it_is_the_integral_everywhere():
    np.testing.assert_allclose(log_improvement(Z), [exactly(z)[0] for z in Z], rtol=1e-10, atol=1e-10)


def test_its_gradient_is_the_integrals_everywhere():
    np.testing.assert_allclose(slope(Z), [exactly(z)[1] for z in Z], rtol=1e-8)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e3))
def test_more_is_never_less(z, more):
    low, high = np.asarray(log_improvement(np.array([z, z + more])))
    assert low <= high
    assert math.isfinite(low)


def test_what_is_hopeless_scores_above_what_is_outside_of_a_trust_region():
    score = float(log_improvement(np.float64(-1e9)))
    assert score == float(log_improvement(np.float64(-1e6)))
    assert score > -1e12


def moments(mu, sigma, visited=None) -> Prediction:
    columns = (mu, sigma, sigma if visited is None else visited)
    return Prediction(*(np.asarray(column, float)[:, None] for column in columns))  # pyright: ignore


def test_it_is_the_expectation_of_what_is_gained():
    mu, sigma, noise, best = np.array([0.3, -0.2, 1.5]), np.array([0.5, 1.0, 0.2]), 0.01, 0.4
    found = np.exp(expected_improvement(moments(mu, sigma), best, noise))
    for value, m, s in zip(found, mu, np.sqrt(sigma**2 - noise), strict=True):
        gain = integrate.quad(lambda f, m=m, s=s: (f - best) * stats.norm.pdf(f, m, s), best, m + 12 * s)[0]
        assert value == pytest.approx(gain, rel=1e-8)


def test_noise_promises_nothing():
    """At a point that is known but for the noise of measuring it, the deviation is the noise's."""
    known, unknown = np.asarray(expected_improvement(moments([0.0, 0.0], [0.1, 0.2]), 0.05, 0.1**2))
    assert known < -1e5
    assert unknown > -4


def test_pending_trials_count_by_the_deviation_given_them():
    free, taken = np.asarray(expected_improvement(moments([0.0, 0.0], [1.0, 1.0], [1.0, 0.2]), 0.5, 0.01))
    assert taken < free


def test_labels_in_other_units_shift_it_by_the_logarithm_of_the_unit():
    mu, sigma, best, noise = np.array([0.1, -3.0]), np.array([0.7, 0.3]), 0.2, 0.01
    plain = np.asarray(expected_improvement(moments(mu, sigma), best, noise))
    other = expected_improvement(moments(50 * mu + 7, 50 * sigma), 50 * best + 7, 2500 * noise)
    np.testing.assert_allclose(other, plain + math.log(50), rtol=1e-10)


def test_its_gradient_in_moments_is_what_central_differences_find():
    def at(values):
        return log_ei.log_expected_improvement(
            Prediction(values[:1, None], values[1:, None], values[1:, None]),
            jnp.asarray(0.4),
            jnp.asarray(0.01),
        )[0]

    score, gradient, step = jax.jit(at), jax.jit(jax.grad(at)), 1e-6
    for values in (np.array([0.3, 0.5]), np.array([-6.0, 0.5])):
        slopes = [(score(values + s) - score(values - s)) / (2 * step) for s in step * np.eye(2)]
        np.testing.assert_allclose(gradient(values), slopes, rtol=1e-6)
