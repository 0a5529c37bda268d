"""Bounded limited-memory BFGS as one loop, so that it can be vmapped over starts and over studies.

Every turn of the loop evaluates the function once, whether it ends a step or goes on with a line search: under
vmap each lane is then busy with its own work instead of waiting for the longest line search.

A turn judges the point that the turn before evaluated, by flags that travel in the loop's state. Judging at once
would not be safe: the compiler may compute one loss several times, rounded differently, and then half of the state
believes that the point is better and the other half does not. Loops were seen to run for ever that way.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular

from photinus.engine.arrays import Array, Bool, Float, Int, Scalar

MEMORY = 10  # SciPy L-BFGS-B: maxcor
SUFFICIENT_DECREASE = 1e-4
STEEP = 0.5  # ours: a line is followed further while it falls at least this much as steeply as at its start
GRADIENT_TOLERANCE = 1e-5  # Vizier gp_ucb_pe.py
LOSS_TOLERANCE = 1e-6  # ours: relative; SciPy's 2.2e-9 spends evaluations on what no suggestion shows
MIN_CURVATURE = 2.2e-16  # SciPy L-BFGS-B: smaller curvatures are not remembered


class Minimum(NamedTuple):
    """Where the search ended; `loss` is +inf if the function was not finite anywhere it looked."""

    x: Float[Array, " D"]
    loss: Scalar
    num_steps: Int[Array, ""]
    num_evaluations: Int[Array, ""]


_Tree = TypeVar("_Tree", "_Point", "_State")


class _Point(NamedTuple):
    x: Float[Array, " D"]
    loss: Scalar
    gradient: Float[Array, " D"]


class _State(NamedTuple):
    origin: _Point  # where this line starts
    best: _Point  # the best point judged on it
    has_moved: Bool[Array, ""]  # whether that is not the origin
    direction: Float[Array, " D"]
    length: Scalar  # tried last along the direction
    found: _Point  # what is there, not judged yet
    is_better: Bool[Array, ""]  # found decreases the loss enough
    is_steep: Bool[Array, ""]  # and still falls steeply
    shorter: Scalar  # length to try next if it is not better
    S: Float[Array, "R D"]  # last changes of x, oldest first, zero where not filled
    Y: Float[Array, "R D"]  # last changes of the gradient
    num_steps: Int[Array, ""]
    num_tries: Int[Array, ""]  # evaluations spent on this line
    num_evaluations: Int[Array, ""]
    is_done: Bool[Array, ""]


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

    def look(state: _State) -> _State:
        """Evaluate at the current length and write down what to think of it."""
        origin, direction = state.origin, state.direction
        x = origin.x + state.length * direction
        is_inside = (x > low) & (x < high)
        x = jnp.clip(x, low, high)
        found = _Point(x, *loss_and_gradient(x))
        enough = origin.loss + SUFFICIENT_DECREASE * (origin.gradient @ (x - origin.x))
        # Slope of the path, which bends at the bounds.
        slope = found.gradient @ jnp.where(is_inside, direction, 0.0)
        return state._replace(
            found=found,
            is_better=_is_finite(found) & (found.loss <= jnp.minimum(enough, state.best.loss)),
            is_steep=slope < STEEP * (origin.gradient @ direction),
            shorter=_shorter(state, found),
            num_tries=state.num_tries + 1,
            num_evaluations=state.num_evaluations + ~state.is_done,  # the look after the end does not count
        )

    def turn(state: _State) -> _State:
        has_tries = state.num_tries < max_tries
        extends = state.is_better & state.is_steep & has_tries
        shortens = ~state.is_better & ~state.has_moved & has_tries & (state.shorter > 0.0)
        shortens |= state.num_evaluations == 0  # nothing to judge yet
        state = state._replace(
            best=_select(state.is_better, state.found, state.best),
            has_moved=state.has_moved | state.is_better,
        )
        same_line = state._replace(length=jnp.where(extends, 2.0 * state.length, state.shorter))
        return look(_select(extends | shortens, same_line, _next_line(state, low, high, max_steps)))

    state = lax.while_loop(lambda s: ~s.is_done, turn, _start(x))
    return Minimum(state.best.x, state.best.loss, state.num_steps, state.num_evaluations)


def _start(x: Array) -> _State:
    """A line of length 0 from an infinitely bad origin: whatever is at the start itself will be better.

    It spares the program a second copy of the function, which would take as long to compile as the first.
    """
    nothing = _Point(x, jnp.asarray(jnp.inf, x.dtype), jnp.zeros_like(x))
    memory = jnp.zeros((MEMORY, x.shape[0]), x.dtype)
    zero, none, no = jnp.zeros((), x.dtype), jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    return _State(
        origin=nothing,
        best=nothing,
        has_moved=no,
        direction=nothing.gradient,
        length=zero,
        found=nothing,
        is_better=no,
        is_steep=no,
        shorter=zero,
        S=memory,
        Y=memory,
        num_steps=none - 1,
        num_tries=none,
        num_evaluations=none,
        is_done=no,
    )


def _next_line(state: _State, low: Array, high: Array, max_steps: int) -> _State:
    """Go to the best point of the line, remember what it taught, and choose the next direction."""
    origin, best = state.origin, state.best
    s, y = best.x - origin.x, best.gradient - origin.gradient
    is_useful = s @ y > MIN_CURVATURE * (y @ y)
    S = jnp.where(is_useful, jnp.concatenate([state.S[1:], s[None]]), state.S)
    Y = jnp.where(is_useful, jnp.concatenate([state.Y[1:], y[None]]), state.Y)
    # Coordinates held by a bound are left out of the memory too: what they did belongs to another subspace.
    free = _free(best, low, high)
    direction = -_apply_inverse_hessian(S * free, Y * free, free * best.gradient)
    direction = jnp.where(direction @ best.gradient < 0.0, direction, -free * best.gradient)
    is_flat = origin.loss - best.loss <= LOSS_TOLERANCE * jnp.maximum(jnp.abs(best.loss), 1.0)
    # Without memory the direction is the gradient, whose length says nothing about how far to go.
    has_memory = jnp.any(S * free != 0.0)
    shortened = jnp.minimum(1.0, 1.0 / jnp.maximum(jnp.linalg.norm(direction), 1e-30))
    num_steps = state.num_steps + 1
    return state._replace(
        origin=best,
        has_moved=jnp.zeros_like(state.has_moved),
        direction=direction,
        # A line that had to be followed far says that the memory's curvatures are far too large: start further out.
        length=jnp.where(has_memory, jnp.maximum(1.0, 0.25 * state.length), shortened),
        S=S,
        Y=Y,
        num_steps=num_steps,
        num_tries=jnp.zeros_like(state.num_tries),
        is_done=~state.has_moved | is_flat | (num_steps >= max_steps) | _is_stationary(best, low, high),
    )


def _shorter(state: _State, found: _Point) -> Scalar:
    """Next length: the minimum of the parabola through what is known, between a tenth and a half of this one."""
    length = state.length
    slope = state.origin.gradient @ state.direction
    bend = found.loss - state.origin.loss - slope * length
    parabola = -0.5 * slope * length / jnp.where(bend > 0, bend, 1.0)
    return length * jnp.clip(jnp.where(_is_finite(found) & (bend > 0), parabola, 0.1), 0.1, 0.5)


def _apply_inverse_hessian(S: Array, Y: Array, gradient: Array) -> Array:
    """Product of the limited-memory inverse Hessian with a vector, in the compact form of Byrd et al. (1994).

    H = γI + [S γY] [[R⁻ᵀ(D + γYᵀY)R⁻¹, -R⁻ᵀ], [-R⁻¹, 0]] [S γY]ᵀ with R the upper triangle of SᵀY and D its
    diagonal. Pairs without curvature, unfilled memory among them, are set to 0; a 1 on R's diagonal keeps them
    out of the solves. The usual two loops do the same in ten times as many operations.
    """
    sy, yy = jnp.sum(S * Y, axis=1), jnp.sum(Y * Y, axis=1)
    is_useful = sy > MIN_CURVATURE * yy
    S, Y = (jnp.where(is_useful[:, None], v, 0.0) for v in (S, Y))
    SY = S @ Y.T
    R = jnp.triu(SY) + jnp.diag(jnp.where(is_useful, 0.0, 1.0))
    newest = MEMORY - 1 - jnp.argmax(is_useful[::-1])
    gamma = jnp.where(is_useful[newest], sy[newest] / jnp.where(is_useful[newest], yy[newest], 1.0), 1.0)
    u = solve_triangular(R, S @ gradient)
    v = jnp.diagonal(SY) * u + gamma * (Y @ (u @ Y) - Y @ gradient)
    w = solve_triangular(R, v, trans=1)
    return gamma * gradient + w @ S - gamma * (u @ Y)


def _free(point: _Point, low: Array, high: Array) -> Float[Array, " D"]:
    """1 for coordinates that a descent step may change, 0 for those that a bound holds."""
    is_held = ((point.x <= low) & (point.gradient > 0)) | ((point.x >= high) & (point.gradient < 0))
    return jnp.where(is_held, 0.0, 1.0)


def _is_stationary(point: _Point, low: Array, high: Array) -> Bool[Array, ""]:
    descended = jnp.clip(point.x - point.gradient, low, high)
    return jnp.max(jnp.abs(descended - point.x)) <= GRADIENT_TOLERANCE


def _is_finite(point: _Point) -> Bool[Array, ""]:
    return jnp.isfinite(point.loss) & jnp.all(jnp.isfinite(point.gradient))


def _select(condition: Array, a: _Tree, b: _Tree) -> _Tree:
    return jax.tree.map(lambda u, v: jnp.where(condition, u, v), a, b)
