"""A function of an array minimised in one call, for people who know SciPy."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from photinus.errors import ArgumentError, SpaceError, ValuesError
from photinus.local import create_study
from photinus.reporting import BoundTrial
from photinus.space import Float
from photinus.study import Study
from photinus.trial import TrialState

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

STOPPED_BY_CALLBACK = 99  # as in SciPy
NOTHING_MEASURED = 1


def minimize(
    fun: Callable[[np.ndarray], float],
    bounds: Any,
    n_trials: int = 100,
    *,
    x0: Sequence[float] | np.ndarray | None = None,
    seed: int | None = None,
    algorithm: str = "default",
    n_jobs: int = 1,
    callback: Callable[["OptimizeResult"], object] | None = None,
    progress: bool | None = False,
) -> "OptimizeResult":
    """Minimise `fun(x)` of a 1-D array `x` within bounds.

    A NaN or infinite value marks a point as infeasible.

    Args:
        fun: returns a number.
        bounds: a sequence of (low, high), one for each variable, or `scipy.optimize.Bounds`.
        n_trials: how often to call `fun`.
        x0: a point to try first.
        seed: of all randomness.
        algorithm: see `create_study`.
        n_jobs: worker processes; see `Study.optimize`.
        callback: called after every point with the result so far; raising StopIteration ends the search.
        progress: whether to show a bar; None for only on a terminal.

    Returns:
        SciPy's `OptimizeResult`: `x`, `fun`, `success`, `status`, `message`, `nfev`, `nit`, and also
        `x_iters` and `func_vals` (NaN where infeasible) in the order of trials, and `study`.
    """
    pairs = _pairs(bounds)
    names = [f"x{index}" for index in range(len(pairs))]
    space = {name: _variable(name, *pair) for name, pair in zip(names, pairs, strict=True)}
    study = create_study(space, "minimize", seed=seed, algorithm=algorithm)
    if x0 is not None:
        try:
            start = np.atleast_1d(np.asarray(x0, dtype=float))
        except (TypeError, ValueError):
            raise ArgumentError(f"`x0` must be numbers, one for each bound, got {x0!r}") from None
        if start.shape != (len(names),):
            raise ArgumentError(f"`x0` must have one number for each of {len(names)} bounds, got {x0!r}")
        study.enqueue(dict(zip(names, start, strict=True)))
    is_stopped = False

    def after_trial(study: Study, trial: BoundTrial) -> None:
        nonlocal is_stopped
        if callback is None:
            return
        try:
            callback(_result(study, names, is_stopped=False))
        except StopIteration:
            is_stopped = True
            study.stop()

    study.optimize(_on_array(fun, names), n_trials, n_jobs=n_jobs, callbacks=[after_trial], progress=progress)
    return _result(study, names, is_stopped=is_stopped)


def _on_array(fun: Callable[[np.ndarray], float], names: list[str]) -> Callable[[BoundTrial], float]:
    def objective(trial: BoundTrial) -> float:
        value = np.asarray(fun(np.array([trial.params[name] for name in names], dtype=float)))
        if value.size != 1:
            raise ValuesError(f"the function must return one number, got an array of shape {value.shape}")
        return value.item()

    return objective


def _pairs(bounds: Any) -> list[tuple[float, float]]:
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
        return list(zip(low.tolist(), high.tolist(), strict=True))
    try:
        return [(low, high) for low, high in bounds]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"`bounds` must be a sequence of (low, high) pairs or scipy.optimize.Bounds, got {bounds!r}"
        ) from None


def _variable(name: str, low: float, high: float) -> Float:
    try:
        return Float(low, high)
    except SpaceError as error:
        raise SpaceError(f"bounds of {name!r}: {error}") from None


def _result(study: Study, names: list[str], *, is_stopped: bool) -> "OptimizeResult":
    from scipy.optimize import OptimizeResult

    finished = [trial for trial in study.trials if trial.state.is_finished]
    points = np.array([[trial.params[name] for name in names] for trial in finished]).reshape(-1, len(names))
    values = np.array([trial.values["value"] if trial.values else np.nan for trial in finished])
    is_measured = any(trial.state == TrialState.COMPLETED for trial in finished)
    best = int(np.nanargmin(values)) if is_measured else None
    status, message = 0, "The given number of trials was run."
    if is_stopped:
        status, message = STOPPED_BY_CALLBACK, "`callback` raised `StopIteration`."
    if best is None:
        status, message = NOTHING_MEASURED, "No point could be measured: every value was NaN or infinite."
    return OptimizeResult(
        x=np.full(len(names), np.nan) if best is None else points[best],
        fun=np.nan if best is None else float(values[best]),
        success=status == 0,
        status=status,
        message=message,
        nfev=len(finished),
        nit=len(finished),
        x_iters=points,
        func_vals=values,
        study=study,
    )
