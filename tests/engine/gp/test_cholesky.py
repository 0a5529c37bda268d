import jax
import numpy as np
import pytest
import scipy.linalg
import twins

from photinus.engine.gp.cholesky import gram, inverse_factor, robust_inverse_factor

pytestmark = pytest.mark.usefixtures("engine")

factorise = jax.jit(inverse_factor)
factorise_robustly = jax.jit(robust_inverse_factor)
# One block; an uneven split; several splits; splits above blocks that are swept panel by panel, with products
# taken whole; the same with products that leave out zeros.
SIZES = [16, 48, 144, 288, 640]


def symmetric(eigenvalues: np.ndarray, seed: int = 0) -> np.ndarray:
    """A matrix with these eigenvalues and random eigenvectors."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))
    K = (Q * eigenvalues) @ Q.T
    return 0.5 * (K + K.T)


@pytest.mark.parametrize("size", SIZES)
def test_it_is_the_inverse_of_the_textbook_factor(size):
    K = symmetric(np.geomspace(1e-3, 10.0, size))
    W = np.asarray(factorise(K))
    L = np.linalg.cholesky(K)
    np.testing.assert_allclose(W, scipy.linalg.solve_triangular(L, np.eye(size), lower=True), atol=1e-9)
    np.testing.assert_array_equal(W, np.tril(W))


@pytest.mark.parametrize("size", SIZES)
def test_gram_is_the_inverse_matrix(size):
    K = symmetric(np.geomspace(1e-3, 10.0, size))
    W = factorise(K)
    np.testing.assert_allclose(jax.jit(gram)(W), np.linalg.inv(K), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("size", SIZES)
def test_a_matrix_that_is_not_positive_gives_no_numbers_rather_than_wrong_ones(size):
    for bad in (0, size // 2, size - 1):
        K = np.eye(size)
        K[bad, bad] = -1.0
        assert np.isnan(factorise(K)[-1, -1])


@pytest.mark.parametrize("least", [1e-3, -1e-9, -1e-7, -1e-5, -1e-3], ids="{:g}".format)
@pytest.mark.parametrize("unit", [1e-3, 1.0, 10.0], ids="unit{:g}".format)
def test_jitter_is_the_least_rung_that_suffices(least, unit):
    K = unit * symmetric(np.array([least, *np.linspace(0.5, 1.5, 47)]))
    W, jitter = (np.asarray(v) for v in factorise_robustly(K))
    assert jitter == pytest.approx(twins.jitter(K), rel=1e-12)
    np.testing.assert_allclose(W @ (K + jitter * np.eye(48)) @ W.T, np.eye(48), atol=1e-5)


def test_a_matrix_that_factorises_gets_no_jitter():
    K = symmetric(np.geomspace(1e-6, 10.0, 48))
    W, jitter = factorise_robustly(K)
    assert jitter == 0.0
    np.testing.assert_array_equal(W, factorise(K))


def test_a_matrix_of_ones_is_factorised():
    W, jitter = (np.asarray(v) for v in factorise_robustly(np.ones((48, 48))))
    assert np.all(np.isfinite(W))
    assert 0.0 < jitter <= 1e-6


def test_studies_side_by_side_need_not_share_their_jitter():
    K = np.stack([symmetric(np.array([least, *np.ones(15)])) for least in (0.5, -1e-7, -1e-3)])
    W, jitter = (np.asarray(v) for v in jax.jit(jax.vmap(robust_inverse_factor))(K))
    np.testing.assert_allclose(jitter, [twins.jitter(k) for k in K], rtol=1e-12)
    assert np.all(np.isfinite(W))
