"""Bounded limited-memory BFGS as one loop, so that it can be vmapped over starts and over studies.

Every turn of the loop evaluates the function once, whether it ends a step or goes on with a line search: under
vmap each lane is then busy with its own work instead of waiting for the longest line search.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from photinus.engine.arrays import Array, Float, Int, Scalar

MEMORY = 10  # SciPy L-BFGS-B: maxcor
SUFFICIENT_DECREASE = 1e-4
GRADIENT_TOLERANCE = 1e-5  # Vizier gp_ucb_pe.py
LOSS_TOLERANCE = 2.2e-9  # SciPy L-BFGS-B: ftol
MIN_CURVATURE = 2.2e-16  # SciPy L-BFGS-B: smaller curvatures are not remembered


class Minimum(NamedTuple):
    """Where the search ended; `loss` is +inf if the function was not finite anywhere it looked."""

    x: Float[Array, " D"]
    loss: Scalar
    num_steps: Int[Array, ""]
    num_evaluations: Int[Array, ""]


class _State(NamedTuple):
    x: Array
    loss: Array
    gradient: Array
    direction: Array
    step: Array  # length to try next along the direction
    S: Array  # last changes of x, oldest first, zero where not filled
    Y: Array  # last changes of the gradient
    rho: Array  # 1/sᵀy, 0 where not filled
    num_steps: Array
    num_tries: Array  # evaluations spent on this line search
    num_evaluations: Array
    is_done: Array


def minimise(
    loss_and_gradient: Callable[[Array], tuple[Array, Array]],
    x: Float[Array, " D"],
    low: Float[Array, " D"],
    high: Float[Array, " D"],
    *,
    max_steps: int,
    max_tries: int,
) -> Minimum:
    """Minimise inside a box from a start. A value that is not finite is a step that was too long."""

    def turn(state: _State) -> _State:
        x = jnp.clip(state.x + state.step * state.direction, low, high)
        loss, gradient = loss_and_gradient(x)
        is_finite = jnp.isfinite(loss) & jnp.all(jnp.isfinite(gradient))
        predicted = state.gradient @ (x - state.x)
        is_better = is_finite & (loss <= state.loss + SUFFICIENT_DECREASE * predicted)
        return _select(
            is_better,
            _accept(state, x, loss, gradient, low, high, max_steps),
            _shorten(state, loss, is_finite, max_tries),
        )

    state = _start(*loss_and_gradient(x), x, low, high)
    state = lax.while_loop(lambda s: ~s.is_done, turn, state)
    return Minimum(state.x, state.loss, state.num_steps, state.num_evaluations)


def _start(loss: Array, gradient: Array, x: Array, low: Array, high: Array) -> _State:
    is_finite = jnp.isfinite(loss) & jnp.all(jnp.isfinite(gradient))
    gradient = jnp.where(is_finite, gradient, 0.0)
    empty = jnp.zeros((MEMORY, x.shape[0]), x.dtype)
    zero = jnp.zeros((), jnp.int32)
    return _State(
        x=x,
        loss=jnp.where(is_finite, loss, jnp.inf),
        gradient=gradient,
        direction=-_free(x, gradient, low, high) * gradient,
        step=jnp.minimum(1.0, 1.0 / jnp.maximum(jnp.sum(jnp.abs(gradient)), 1e-30)),
        S=empty,
        Y=empty,
        rho=jnp.zeros(MEMORY, x.dtype),
        num_steps=zero,
        num_tries=zero,
        num_evaluations=zero + 1,
        is_done=~is_finite | _is_stationary(x, gradient, low, high),
    )


def _accept(
    state: _State, x: Array, loss: Array, gradient: Array, low: Array, high: Array, max_steps: int
) -> _State:
    s, y = x - state.x, gradient - state.gradient
    curvature = s @ y
    is_useful = curvature > MIN_CURVATURE * (y @ y)
    S, Y, rho = (
        jnp.where(is_useful, new, old)
        for new, old in (
            (jnp.concatenate([state.S[1:], s[None]]), state.S),
            (jnp.concatenate([state.Y[1:], y[None]]), state.Y),
            (jnp.concatenate([state.rho[1:], 1.0 / jnp.where(is_useful, curvature, 1.0)[None]]), state.rho),
        )
    )
    free = _free(x, gradient, low, high)
    direction = -free * _apply_inverse_hessian(S, Y, rho, free * gradient)
    # Projection can turn a descent direction of the quadratic model uphill: fall back to the gradient.
    direction = jnp.where(direction @ gradient < 0.0, direction, -free * gradient)
    change = state.loss - loss
    scale = jnp.maximum(jnp.maximum(jnp.abs(state.loss), jnp.abs(loss)), 1.0)
    num_steps = state.num_steps + 1
    is_done = (
        (change <= LOSS_TOLERANCE * scale) | (num_steps >= max_steps) | _is_stationary(x, gradient, low, high)
    )
    return _State(
        x, loss, gradient, direction, jnp.ones_like(state.step), S, Y, rho,
        num_steps, jnp.zeros_like(state.num_tries), state.num_evaluations + 1, is_done,
    )  # fmt: skip


def _shorten(state: _State, loss: Array, is_finite: Array, max_tries: int) -> _State:
    """Next length: the minimum of the parabola through what is known, between a tenth and a half of this one."""
    slope = state.gradient @ state.direction
    bend = loss - state.loss - slope * state.step
    parabola = -0.5 * slope * state.step**2 / jnp.where(bend > 0, bend, 1.0)
    ratio = jnp.where(is_finite & (bend > 0), parabola / state.step, 0.1)
    num_tries = state.num_tries + 1
    return state._replace(
        step=state.step * jnp.clip(ratio, 0.1, 0.5),
        num_tries=num_tries,
        num_evaluations=state.num_evaluations + 1,
        is_done=num_tries >= max_tries,
    )


def _apply_inverse_hessian(S: Array, Y: Array, rho: Array, gradient: Array) -> Array:
    """Product of the limited-memory inverse Hessian with a vector, in the compact form of Byrd et al. (1994).

    H = γI + [S γY] [[R⁻ᵀ(D + γYᵀY)R⁻¹, -R⁻ᵀ], [-R⁻¹, 0]] [S γY]ᵀ with R the upper triangle of SᵀY and D its
    diagonal. Rows of memory that are not filled are 0; a 1 on R's diagonal keeps them out of the solves.
    """
    is_filled = rho > 0
    SY = S @ Y.T
    R = jnp.triu(SY) + jnp.diag(jnp.where(is_filled, 0.0, 1.0))
    yy = Y[-1] @ Y[-1]
    gamma = jnp.where(is_filled[-1], SY[-1, -1] / jnp.where(yy > 0, yy, 1.0), 1.0)
    u = solve_triangular(R, S @ gradient)
    v = jnp.diagonal(SY) * u + gamma * (Y @ (u @ Y) - Y @ gradient)
    w = solve_triangular(R, v, trans=1)
    return gamma * gradient + w @ S - gamma * (u @ Y)


def _free(x: Array, gradient: Array, low: Array, high: Array) -> Float[Array, " D"]:
    """1 for coordinates that a descent step may change, 0 for those that a bound holds."""
    is_held = ((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0))
    return jnp.where(is_held, 0.0, 1.0)


def _is_stationary(x: Array, gradient: Array, low: Array, high: Array) -> Array:
    return jnp.max(jnp.abs(jnp.clip(x - gradient, low, high) - x)) <= GRADIENT_TOLERANCE


def _select(condition: Array, a: _State, b: _State) -> _State:
    return _State(*(jnp.where(condition, u, v) for u, v in zip(a, b, strict=True)))
