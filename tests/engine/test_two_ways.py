"""Where the engine computes one thing in two ways, one for narrow and one for wide or long studies: the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from designs import pack, random_features

from photinus.engine.acquisition import trust_region
from photinus.engine.gp import fit, kernel

pytestmark = pytest.mark.usefixtures("engine")


def features(rows: int, *shape: int):
    return jax.tree.map(jnp.asarray, random_features(np.random.default_rng(rows), rows, *shape))


def test_sums_over_categories(monkeypatch):
    a, b = features(7, 0, 5).categorical, features(9, 0, 5).categorical
    weights, values = jnp.arange(1.0, 6.0), jnp.asarray(np.random.default_rng(0).normal(size=(9, 9)))
    unrolled = kernel.mismatch(weights, a, b), kernel.sum_over_mismatches(values, b)
    monkeypatch.setattr(kernel, "UNROLLED", 4)
    np.testing.assert_allclose(kernel.mismatch(weights, a, b), unrolled[0], rtol=1e-14)
    np.testing.assert_allclose(kernel.sum_over_mismatches(values, b), unrolled[1], rtol=1e-12)
    for i in range(7):
        for j in range(9):
            assert unrolled[0][i, j] == sum(w for w, u, v in zip(weights, a[i], b[j], strict=True) if u != v)


@pytest.mark.parametrize("is_active", [True, False])
def test_distances_in_the_trust_region(monkeypatch, is_active: bool):
    x, centres = features(6, 5, 0).continuous, features(16, 5, 0).continuous
    is_trusted = jnp.array([True, True, False, True, True])
    region = trust_region.TrustRegion(
        (centres * is_trusted).T, jnp.arange(16) < 11, is_trusted, jnp.asarray(0.3), jnp.asarray(is_active)
    )
    scores = jnp.arange(6.0)
    straight = trust_region.distance(region, x), trust_region.constrain(region, x, scores)
    expected = np.abs(x[:, None, is_trusted] - centres[None, :11, is_trusted]).max(axis=2).min(axis=1)
    np.testing.assert_allclose(straight[0], expected, rtol=1e-14)
    monkeypatch.setattr(trust_region, "UNROLLED", 4)
    monkeypatch.setattr(trust_region, "BRANCHLESS", 8)
    np.testing.assert_array_equal(trust_region.distance(region, x), straight[0])
    np.testing.assert_array_equal(trust_region.constrain(region, x, scores), straight[1])


def test_starts_side_by_side_or_one_after_another(monkeypatch):
    X, is_completed = features(16, 2, 1), jnp.arange(16) < 12
    y = jnp.where(is_completed, jnp.sin(5 * X.continuous[:, 0]), 0.0)[:, None]
    together = fit.fit(jax.random.key(3), X, y, is_completed)
    monkeypatch.setattr(fit, "SIDE_BY_SIDE", 0)
    apart = fit.fit(jax.random.key(3), X, y, is_completed)
    assert float(apart.loss) == pytest.approx(float(together.loss), abs=1e-5)
    np.testing.assert_allclose(pack(apart.hyper), pack(together.hyper), atol=0.05)
