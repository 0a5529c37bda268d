"""The inverse of a Cholesky factor, by an algorithm that cannot fail and never waits for a BLAS thread.

K = LLᵀ,  W = L⁻¹,  K⁻¹ = WᵀW. Everything the Gaussian process needs is a product with W.

JAX borrows its LAPACK from SciPy, whose OpenBLAS starts threads for all but tiny matrices; on a busy machine a
call then takes a hundred times as long as it should (docs/decisions/0004). So LAPACK sees blocks of 16 only,
and the rest is matrix products, which XLA runs on its own threads.
"""

import jax
import jax.numpy as jnp
from jax import lax

from photinus.engine.arrays import Array, Float, Scalar

FIRST_JITTER = 1e-8  # ours: relative to the largest diagonal element, times 100 at every further try
MAX_TRIES = 5
TINY = 16  # ours: largest block given to LAPACK
PANELS = 128  # ours: largest block that is swept panel by panel
UNROLLED = 256  # ours: up to this size all splits are compiled out, which runs faster and compiles slower


def robust_inverse_factor(K: Float[Array, "N N"]) -> tuple[Float[Array, "N N"], Scalar]:
    """Return W with W(K + jitter·I)Wᵀ = I, and the jitter: 0 wherever K itself can be factorised.

    Rounding can make the matrix of a thousand near-identical points indefinite; the jitter grows until it is not.
    """
    unit = jnp.max(jnp.diagonal(K))
    eye = jnp.eye(K.shape[0], dtype=K.dtype)

    def has_failed(state: tuple[Array, Scalar, Array]) -> Array:
        W, _, tries = state
        return ~jnp.isfinite(W[-1, -1]) & (tries < MAX_TRIES)

    def try_again(state: tuple[Array, Scalar, Array]) -> tuple[Array, Scalar, Array]:
        _, _, tries = state
        jitter = jnp.where(tries > 0, unit * FIRST_JITTER * 100.0 ** (tries - 1), 0.0)
        return inverse_factor(K + jitter * eye), jitter, tries + 1

    # Nothing has been tried yet; starting from a failure keeps the factorisation in the program only once.
    untried = (jnp.full_like(K, jnp.nan), jnp.zeros_like(unit), jnp.zeros((), jnp.int32))
    W, jitter, _ = lax.while_loop(has_failed, try_again, untried)
    return W, jitter


def gram(W: Float[Array, "N N"]) -> Float[Array, "N N"]:
    """Return WᵀW for lower triangular W, by halves: a quarter of the work of the plain product."""
    n = W.shape[0]
    if n <= PANELS // 2:
        return W.T @ W
    h = _half(n)
    A, B, C = W[:h, :h], W[h:, :h], W[h:, h:]
    corner = _times_lower(B.T, C)
    return jnp.block([[gram(A) + _times_own_transpose(B.T, mirrored=True), corner], [corner.T, gram(C)]])


def inverse_factor(K: Float[Array, "N N"], smallest: int | None = None) -> Float[Array, "N N"]:
    """Return W with WKWᵀ = I; NaN if K is not positive definite. N is a multiple of TINY (padding.py).

    Only the lower triangle of K is read, but for the diagonal blocks that are not split any more.
    """
    n = K.shape[0]
    smallest = smallest or (TINY if n <= UNROLLED else PANELS)
    if n <= smallest:
        return _invert_tiny(K) if n <= TINY else _sweep(K)
    h = _half(n)
    A = inverse_factor(K[:h, :h], smallest)
    L = _times_upper(K[h:, :h], A)
    C = inverse_factor(K[h:, h:] - _times_own_transpose(L), smallest)
    return jnp.block([[A, jnp.zeros((h, n - h), K.dtype)], [-_times_lower(_lower_times(C, L), A), C]])


# Products that know where the zeros are. Blocks up to PANELS are multiplied whole: smaller ones save no time.


def _times_lower(X: Array, W: Array) -> Array:
    """Return XW."""
    n = W.shape[0]
    if n <= PANELS:
        return X @ W
    h = _half(n)
    left = _times_lower(X[:, :h], W[:h, :h]) + X[:, h:] @ W[h:, :h]
    return jnp.concatenate([left, _times_lower(X[:, h:], W[h:, h:])], axis=1)


def _times_upper(X: Array, W: Array) -> Array:
    """Return XWᵀ."""
    n = W.shape[0]
    if n <= PANELS:
        return X @ W.T
    h = _half(n)
    right = X[:, :h] @ W[h:, :h].T + _times_upper(X[:, h:], W[h:, h:])
    return jnp.concatenate([_times_upper(X[:, :h], W[:h, :h]), right], axis=1)


def _lower_times(W: Array, X: Array) -> Array:
    """Return WX."""
    n = W.shape[0]
    if n <= PANELS:
        return W @ X
    h = _half(n)
    lower = W[h:, :h] @ X[:h] + _lower_times(W[h:, h:], X[h:])
    return jnp.concatenate([_lower_times(W[:h, :h], X[:h]), lower], axis=0)


def _times_own_transpose(X: Array, *, mirrored: bool = False) -> Array:
    """Return XXᵀ; above the diagonal blocks it is zero unless `mirrored`."""
    n = X.shape[0]
    if n <= PANELS:
        return X @ X.T
    h = _half(n)
    upper, lower = X[:h], X[h:]
    corner = lower @ upper.T
    other = corner.T if mirrored else jnp.zeros_like(corner.T)
    return jnp.block([
        [_times_own_transpose(upper, mirrored=mirrored), other],
        [corner, _times_own_transpose(lower, mirrored=mirrored)],
    ])  # fmt: skip


def _sweep(K: Array) -> Array:
    """Eliminate K from [K | I] panel by panel; what becomes of I is W. Slower than splitting, quick to compile."""
    n = K.shape[0]
    row = jnp.arange(n)

    def eliminate(i: Array, M: Array) -> Array:
        start = i * TINY
        panel = lax.dynamic_slice(M, (start, 0), (TINY, 2 * n))
        U = _invert_tiny(lax.dynamic_slice(panel, (0, start), (TINY, TINY))) @ panel
        L = jnp.where((row >= start + TINY)[:, None], U[:, :n].T, 0.0)
        return lax.dynamic_update_slice(M - L @ U, U, (start, 0))

    M = lax.fori_loop(0, n // TINY, eliminate, jnp.concatenate([K, jnp.eye(n, dtype=K.dtype)], axis=1))
    return jnp.where(row[:, None] >= row[None, :], M[:, n:], 0.0)


def _invert_tiny(K: Array) -> Array:
    L = jnp.linalg.cholesky(K, symmetrize_input=False)
    return jax.scipy.linalg.solve_triangular(L, jnp.eye(K.shape[0], dtype=K.dtype), lower=True)


def _half(n: int) -> int:
    """Split so that the halves are whole blocks."""
    return -(-n // (2 * TINY)) * TINY
