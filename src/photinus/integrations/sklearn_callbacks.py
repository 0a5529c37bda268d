"""Callbacks of a search, as they are written for scikit-optimize's `BayesSearchCV`.

They are called after every batch with what it calls a result: a minimisation so far, whose values are negated scores.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from photinus.errors import ArgumentError
from photinus.integrations.sklearn_space import Space
from photinus.space import SearchSpace

Callback = Callable[[OptimizeResult], object]


def read_callbacks(callback: Any) -> list[Callback]:
    """The callbacks that `fit` was given: none, one or a list."""
    given: list[Any] = list(callback) if isinstance(callback, list | tuple) else [callback]
    callbacks = [] if callback is None else given
    if not all(map(callable, callbacks)):
        raise ArgumentError(f"`callback` must be a callable or a list of callables, got {callback!r}")
    return callbacks


class Watch:
    """Shows callbacks what was found in one space, and hears whether it is enough.

    The result has the points tried, `x_iters`, as lists in the order of the parameters' names, their values
    `func_vals`, the best of both, `x` and `fun`, and the `space`, in that order, too. What could not be scored has an
    infinite value.
    """

    def __init__(self, callbacks: Sequence[Callback], space: Space) -> None:
        self._callbacks = callbacks
        self._space = SearchSpace(dict(sorted(space.parameters.items())))
        self._points: list[list[Any]] = []
        self._values: list[float] = []

    def is_enough(self, candidates: Sequence[Mapping[str, Any]], scores: Sequence[float]) -> bool:
        """Whether a callback returns true, with these candidates added; all of them are called."""
        self._points += [[candidate[name] for name in self._space] for candidate in candidates]
        self._values += [-score if math.isfinite(score) else math.inf for score in scores]
        answers = [bool(callback(self._result())) for callback in self._callbacks]
        return any(answers)

    def _result(self) -> OptimizeResult:
        best = int(np.argmin(self._values))
        return OptimizeResult(
            x=self._points[best],
            fun=self._values[best],
            x_iters=list(self._points),
            func_vals=np.array(self._values),
            space=self._space,
        )
