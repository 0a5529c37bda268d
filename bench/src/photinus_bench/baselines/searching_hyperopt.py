"""HyperOpt's tree of Parzen estimators, asked as its `fmin` asks it.

The first point is a trial of the user's, as `points_to_evaluate` makes them: it counts among the twenty trials that
are random before the model begins. A batch is asked for point by point, as `fmin` does with a queue: pending trials
are there, with an infinite loss. Infeasible trials have the status `fail`.
"""

import warnings
from typing import Any

import numpy as np
from hyperopt import JOB_STATE_DONE, JOB_STATE_NEW, STATUS_FAIL, STATUS_OK, Trials, hp, tpe
from hyperopt.base import Domain
from hyperopt.fmin import generate_trial

from photinus_bench.searching import Params, Start, Values, serve
from photinus_bench.searching_space import Choice, Goals, Number, Space


class HyperOptRival:
    """Trials in memory; handles are their documents."""

    def __init__(self, start: Start) -> None:
        self._space = Space(start.problem)
        self._goals = Goals(start.problem)
        self._goals.require_single("HyperOpt")
        self._domain = Domain(lambda seen: None, {p.name: expression(p) for p in self._space.parameters})
        self._trials = Trials()
        self._rng = np.random.default_rng(start.seed)

    def attach(self, params: Params) -> dict[str, Any]:
        [number] = self._trials.new_trial_ids(1)
        self._trials.insert_trial_docs([generate_trial(number, self._space.encode(params))])
        return self._stored(number)

    def ask(self, count: int) -> list[tuple[dict[str, Any], Params]]:
        return [self._ask_one() for _ in range(count)]

    def tell(self, results: list[tuple[dict[str, Any], Params, Values | None]]) -> None:
        for document, _, values in results:
            document["state"] = JOB_STATE_DONE
            if values is None:
                document["result"] = {"status": STATUS_FAIL}
            else:
                document["result"] = {"status": STATUS_OK, "loss": self._goals.losses(values)[0]}
        self._trials.refresh()

    def _ask_one(self) -> tuple[dict[str, Any], Params]:
        [number] = self._trials.new_trial_ids(1)
        seed = int(self._rng.integers(2**31 - 1))  # `fmin` draws its seeds from this range too
        self._trials.insert_trial_docs(tpe.suggest([number], self._domain, self._trials, seed))
        document = self._stored(number)
        return document, self._space.decode({k: v[0] for k, v in document["misc"]["vals"].items()})

    def _stored(self, number: int) -> dict[str, Any]:
        self._trials.refresh()
        [document] = [d for d in self._trials.trials if d["tid"] == number and d["state"] == JOB_STATE_NEW]
        return document


def expression(parameter: Number | Choice) -> Any:
    name = parameter.name
    if isinstance(parameter, Choice):
        return hp.choice(name, range(len(parameter.values)))
    low, high = parameter.low, parameter.high
    if parameter.is_whole:
        if parameter.is_log:
            return hp.qloguniform(name, np.log(low - 0.5), np.log(high + 0.5), 1)
        return hp.uniformint(name, int(low), int(high))
    return hp.loguniform(name, np.log(low), np.log(high)) if parameter.is_log else hp.uniform(name, low, high)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(HyperOptRival, packages=("hyperopt", "numpy", "scipy"))
