"""pycma's CMAEvolutionStrategy; problems with categories or several objectives it refuses.

Reals are scaled to [0, 1]; whole numbers keep their units and are declared as `integer_variables`. The first point is
the first mean, and injected into the first generation; without one the mean is the centre. A batch is a part of a
generation, which is made at least as large as the batch: an answer ends where a generation does, since the next one
needs its values. Infeasible points are told the worst value so far. Once one of its own conditions of termination
holds, it stops, as its `fmin` would.
"""

import math
import warnings

import cma
import numpy as np

from photinus_bench.searching import Params, Start, Unsupported, Values, serve
from photinus_bench.searching_space import Choice, Goals, Number, Space, WorstLoss

SIGMA = 0.25  # of the range; pycma's manual: the optimum should lie within some 3 sigma of the start


class CmaRival:
    """Handles are vectors as the strategy drew them."""

    def __init__(self, start: Start) -> None:
        self._space = Space(start.problem)
        self._goals = Goals(start.problem)
        self._goals.require_single("pycma")
        if any(isinstance(p, Choice) for p in self._space.parameters):
            raise Unsupported("pycma has no categories, the problem has")
        self._axes = [Axis(p) for p in self._space.parameters if isinstance(p, Number)]
        if len(self._axes) < 2:
            raise Unsupported("pycma is for two parameters or more")
        self._start = start
        self._worst = WorstLoss()
        self._strategy: cma.CMAEvolutionStrategy | None = None
        self._queue: list[np.ndarray] = []  # of this generation, not given out yet
        self._measured: list[tuple[np.ndarray, list[float] | None]] = []  # of this generation
        self._is_over = False  # this generation

    def attach(self, params: Params) -> np.ndarray:
        first = np.array([a.encode(params[a.parameter.name]) for a in self._axes])
        self._strategy = self._new_strategy(first)
        self._strategy.inject([first], force=True)
        self._queue = self._strategy.ask()
        return self._queue.pop(0)

    def ask(self, count: int) -> list[tuple[np.ndarray, Params]]:
        if self._strategy is None:
            self._strategy = self._new_strategy(np.array([(a.low + a.high) / 2 for a in self._axes]))
            self._queue = self._strategy.ask()
        elif self._is_over:
            self._is_over = False
            if reasons := self._strategy.stop():
                raise RuntimeError(f"stopped: {dict(reasons)}")
            self._queue = self._strategy.ask()
        points, self._queue = self._queue[:count], self._queue[count:]
        return [(x, self._decode(x)) for x in points]

    def tell(self, results: list[tuple[np.ndarray, Params, Values | None]]) -> None:
        assert self._strategy is not None
        for x, _, values in results:
            self._measured.append((x, values and self._goals.losses(values)))
        if len(self._measured) == self._strategy.popsize:
            filled = self._worst.fill(self._measured)
            if not filled:  # nothing was feasible so far: all points are equally bad
                self._worst = WorstLoss()
                filled = [(x, [0.0]) for x, _ in self._measured]
            self._strategy.tell([x for x, _ in filled], [loss for _, [loss] in filled])
            self._measured = []
            self._is_over = True

    def _new_strategy(self, mean: np.ndarray) -> cma.CMAEvolutionStrategy:
        options = {
            "bounds": [[a.low for a in self._axes], [a.high for a in self._axes]],
            "CMA_stds": [a.high - a.low for a in self._axes],
            "integer_variables": [i for i, a in enumerate(self._axes) if a.is_whole],
            "seed": self._start.seed % (2**31 - 1) + 1,  # 0 would mean the clock
            "verbose": -9,
        }
        default = 4 + int(3 * math.log(len(self._axes)))  # pycma's own
        if self._start.batch_size > default:
            options["popsize"] = self._start.batch_size
        return cma.CMAEvolutionStrategy(mean, SIGMA, options)

    def _decode(self, x: np.ndarray) -> Params:
        pairs = zip(self._axes, x.tolist(), strict=True)
        return self._space.decode({a.parameter.name: a.decode(value) for a, value in pairs})


class Axis:
    """One coordinate of the strategy."""

    def __init__(self, parameter: Number) -> None:
        self.parameter = parameter
        self.is_whole = parameter.is_whole and not parameter.is_log
        # Half a step beyond the ends, or the outer numbers would have half the room of the others.
        self.low = parameter.low - 0.5 if self.is_whole else 0.0
        self.high = parameter.high + 0.5 if self.is_whole else 1.0

    def encode(self, value: float) -> float:
        seen = self.parameter.encode(value)
        return seen if self.is_whole else self.parameter.to_unit(seen)

    def decode(self, x: float) -> float:
        return x if self.is_whole else self.parameter.from_unit(x)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(CmaRival, packages=("cma", "numpy"))
