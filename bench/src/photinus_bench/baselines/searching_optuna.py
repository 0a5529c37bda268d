"""Optuna by its own ask and tell, with its TPESampler (its default) or its GPSampler; the argument says which.

The first point is enqueued, so it is one of the ten trials that both samplers draw at random before they model.
Points of a batch are running trials to the sampler, which takes them into account as it does by default.
Infeasible trials are told as failed, and Optuna's samplers learn nothing from those.
"""

import sys
import warnings

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.trial import Trial, TrialState

from photinus_bench.searching import Params, Start, Values, serve
from photinus_bench.searching_space import Choice, Goals, Number, Space


class OptunaRival:
    """A study in memory."""

    def __init__(self, start: Start, sampler: BaseSampler) -> None:
        self._space = Space(start.problem)
        self._goals = Goals(start.problem)
        directions = ["minimize" if small else "maximize" for small in self._goals.are_minimized]
        self._study = optuna.create_study(directions=directions, sampler=sampler)
        self._distributions = {p.name: distribution(p) for p in self._space.parameters}

    def attach(self, params: Params) -> Trial:
        self._study.enqueue_trial(self._space.encode(params))
        return self._study.ask(self._distributions)

    def ask(self, count: int) -> list[tuple[Trial, Params]]:
        trials = [self._study.ask(self._distributions) for _ in range(count)]
        return [(trial, self._space.decode(trial.params)) for trial in trials]

    def tell(self, results: list[tuple[Trial, Params, Values | None]]) -> None:
        for trial, _, values in results:
            if values is None:
                self._study.tell(trial, state=TrialState.FAIL)
            else:
                self._study.tell(trial, [values[name] for name in self._goals.names])


def distribution(parameter: Number | Choice) -> BaseDistribution:
    if isinstance(parameter, Choice):
        return CategoricalDistribution(range(len(parameter.values)))
    if parameter.is_whole:
        return IntDistribution(int(parameter.low), int(parameter.high), log=parameter.is_log)
    return FloatDistribution(parameter.low, parameter.high, log=parameter.is_log)


SAMPLERS = {"tpe": TPESampler, "gp": GPSampler}
PACKAGES = {"tpe": ("optuna", "numpy"), "gp": ("optuna", "torch", "scipy", "greenlet", "numpy")}

if __name__ == "__main__":
    name = sys.argv[1]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    serve(lambda start: OptunaRival(start, SAMPLERS[name](seed=start.seed)), packages=PACKAGES[name])
