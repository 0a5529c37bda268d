"""SMAC3 by its HyperparameterOptimizationFacade (random forest) or its BlackBoxFacade (Gaussian process).

The first point is told as a trial of the user's own, before SMAC's initial design, which stays as it is: a Sobol
design of at most a quarter of the trials. Objectives count as deterministic, or SMAC would measure points repeatedly.
A batch is asked for point by point; SMAC knows which points are running. For infeasible
points it is told the worst value so far: a crash costs infinity by default, and its models fail on that.
"""

import sys
import tempfile
import warnings
from pathlib import Path

from ConfigSpace import Categorical, Configuration, ConfigurationSpace, Float, Integer
from ConfigSpace.hyperparameters import Hyperparameter
from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario
from smac.runhistory import TrialInfo, TrialValue

from photinus_bench.searching import Params, Start, Values, serve
from photinus_bench.searching_space import Choice, Goals, Number, Space, WorstLoss

FACADES = {"hpo": HyperparameterOptimizationFacade, "black-box": BlackBoxFacade}


class SmacRival:
    """Handles are its trial infos."""

    def __init__(self, start: Start, facade: type) -> None:
        self._space = Space(start.problem)
        self._goals = Goals(start.problem)
        self._worst = WorstLoss()
        self._configspace = ConfigurationSpace(seed=start.seed)
        self._configspace.add([hyperparameter(p) for p in self._space.parameters])
        self._folder = tempfile.TemporaryDirectory()  # it writes down what it does
        scenario = Scenario(
            self._configspace,
            output_directory=Path(self._folder.name),
            deterministic=True,
            objectives=self._goals.names if len(self._goals.names) > 1 else self._goals.names[0],
            n_trials=start.num_trials,
            seed=start.seed,
        )
        self._smac = facade(scenario, overwrite=True, logging_level=False)

    def attach(self, params: Params) -> TrialInfo:
        seen = {p.name: to_smac(p, params[p.name]) for p in self._space.parameters}
        info = TrialInfo(Configuration(self._configspace, values=seen), seed=0)
        # What its own `ask` does: without, it would draw another seed and measure the point once more with that.
        self._smac.runhistory.add_running_trial(info)
        return info

    def ask(self, count: int) -> list[tuple[TrialInfo, Params]]:
        infos = [self._smac.ask() for _ in range(count)]
        return [(info, self._space.decode(dict(info.config))) for info in infos]

    def tell(self, results: list[tuple[TrialInfo, Params, Values | None]]) -> None:
        losses = [(info, values and self._goals.losses(values)) for info, _, values in results]
        for info, loss in self._worst.fill(losses):
            self._smac.tell(info, TrialValue(cost=loss if len(loss) > 1 else loss[0]), save=False)


def hyperparameter(parameter: Number | Choice) -> Hyperparameter:
    if isinstance(parameter, Choice):
        return Categorical(parameter.name, [str(index) for index in range(len(parameter.values))])
    kind = Integer if parameter.is_whole else Float
    return kind(parameter.name, (parameter.low, parameter.high), log=parameter.is_log)


def to_smac(parameter: Number | Choice, value: object) -> object:
    seen = parameter.encode(value)
    return str(seen) if isinstance(parameter, Choice) else seen


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(
        lambda start: SmacRival(start, FACADES[sys.argv[1]]),
        packages=("smac", "ConfigSpace", "scikit-learn", "numpy"),
    )
