"""BayesianOptimization, asked as its `maximize` asks itself: five random points, then its acquisition function.

The first point is one that a user probes, which `maximize` takes before its five random ones. Batches use the
package's ConstantLiar around its default, UCB with kappa = 2.576. It refuses points that it has seen unless
duplicates are allowed; on finite spaces they come up, so they are. It knows no logarithmic scales: such parameters are
searched by their position between the bounds. It has no infeasible points and is told the worst value so far for them.

Where there are categories its acquisition function is searched by differential evolution, which takes minutes an answer
and can end in an error of its own. The runner's `--limit 120` ends such runs at the first answer that takes longer, and
the record then says the limit.
"""

import warnings
from typing import Any

from bayes_opt import BayesianOptimization
from bayes_opt.acquisition import ConstantLiar, UpperConfidenceBound

from photinus_bench.searching import Params, Start, Values, serve
from photinus_bench.searching_space import Choice, Goals, Number, Space, WorstLoss

INIT_POINTS = 5  # default of `maximize`
KAPPA = 2.576  # default of the class


class BayesOptRival:
    """Handles are points in its own form."""

    def __init__(self, start: Start) -> None:
        self._space = Space(start.problem)
        self._goals = Goals(start.problem)
        self._goals.require_single("BayesianOptimization")
        self._worst = WorstLoss()
        acquisition = UpperConfidenceBound(kappa=KAPPA)
        self._optimizer = BayesianOptimization(
            f=None,
            pbounds={p.name: bounds(p) for p in self._space.parameters},
            acquisition_function=ConstantLiar(acquisition) if start.batch_size > 1 else acquisition,
            random_state=start.seed,
            verbose=0,
            allow_duplicate_points=True,
        )
        self._random = self._optimizer.random_sample(INIT_POINTS)

    def attach(self, params: Params) -> Params:
        return {p.name: to_rival(p, params[p.name]) for p in self._space.parameters}

    def ask(self, count: int) -> list[tuple[Params, Params]]:
        points = []
        for _ in range(count):
            point = self._random.pop(0) if self._random else self._optimizer.suggest()
            points.append(
                (
                    point,
                    self._space.decode(
                        {p.name: from_rival(p, point[p.name]) for p in self._space.parameters}
                    ),
                )
            )
        return points

    def tell(self, results: list[tuple[Params, Params, Values | None]]) -> None:
        losses = [(point, values and self._goals.losses(values)) for point, _, values in results]
        for point, [loss] in self._worst.fill(losses):
            self._optimizer.register(params=point, target=-loss)


def bounds(parameter: Number | Choice) -> tuple:
    if isinstance(parameter, Choice):
        return tuple(str(index) for index in range(len(parameter.values)))
    if parameter.is_log:
        return (0.0, 1.0)
    return (parameter.low, parameter.high, int) if parameter.is_whole else (parameter.low, parameter.high)


def to_rival(parameter: Number | Choice, value: Any) -> Any:
    seen = parameter.encode(value)
    if isinstance(parameter, Choice):
        return str(seen)
    return parameter.to_unit(seen) if parameter.is_log else seen


def from_rival(parameter: Number | Choice, value: Any) -> Any:
    is_position = isinstance(parameter, Number) and parameter.is_log
    return parameter.from_unit(value) if is_position else value


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(BayesOptRival, packages=("bayesian-optimization", "scikit-learn", "numpy", "scipy"))
