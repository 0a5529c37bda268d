"""google-vizier by its designers: those behind its algorithms DEFAULT and GAUSSIAN_PROCESS_BANDIT, by the argument.

The first point is an active trial of the study. Both designers begin with the centre where a study is empty, and with
this trial it is not, except that the bandit looks at completed trials alone: in a first batch it gives the centre
once more. One designer lives through the search, as in Google's own benchmarks; its service makes a new one
for every suggestion, which compiles everything again and takes longer, from the same trials.
"""

import sys
import warnings
from typing import Any

import jax
from vizier import algorithms as vza
from vizier import pyvizier as vz
from vizier._src.algorithms.designers.gp_bandit import VizierGPBandit
from vizier._src.algorithms.designers.gp_ucb_pe import VizierGPUCBPEBandit

from photinus_bench.searching import Params, Start, Values, serve
from photinus_bench.searching_space import Choice, Number, parse_parameter

DESIGNERS = {"default": VizierGPUCBPEBandit, "gp-bandit": VizierGPBandit}
SCALES = {"linear": vz.ScaleType.LINEAR, "log": vz.ScaleType.LOG, "reverse_log": vz.ScaleType.REVERSE_LOG}
GOALS = {"minimize": vz.ObjectiveMetricGoal.MINIMIZE, "maximize": vz.ObjectiveMetricGoal.MAXIMIZE}


class VizierRival:
    """A study kept here, and the designer that suggests for it."""

    def __init__(self, start: Start, designer: type) -> None:
        entries = start.problem["space"]["parameters"]
        # Google's space knows every type and scale of ours; only categories of other types become texts.
        self._parameters: dict[str, Number | Choice] = {e["name"]: parse_parameter(e) for e in entries}
        problem = vz.ProblemStatement()
        for entry in entries:
            add_parameter(problem.search_space.root, entry)
        for metric in start.problem["metrics"]:
            problem.metric_information.append(
                vz.MetricInformation(metric["name"], goal=GOALS[metric["goal"]])
            )
        self._designer = designer(problem, rng=jax.random.PRNGKey(start.seed))
        self._active: dict[int, vz.Trial] = {}
        self._completed: list[vz.Trial] = []  # that the designer has not seen
        self._num_trials = 0

    def attach(self, params: Params) -> int:
        return self._add(vz.ParameterDict({name: self._to_vizier(name, v) for name, v in params.items()}))

    def ask(self, count: int) -> list[tuple[int, Params]]:
        active = vza.ActiveTrials(list(self._active.values()))
        self._designer.update(vza.CompletedTrials(self._completed), active)
        self._completed = []
        suggestions = self._designer.suggest(count)
        return [(self._add(s.parameters), self._from_vizier(s.parameters)) for s in suggestions]

    def tell(self, results: list[tuple[int, Params, Values | None]]) -> None:
        for number, _, values in results:
            trial = self._active.pop(number)
            if values is None:
                trial.complete(vz.Measurement(), infeasibility_reason="infeasible")
            else:
                trial.complete(vz.Measurement(values))
            self._completed.append(trial)

    def _add(self, parameters: vz.ParameterDict) -> int:
        self._num_trials += 1
        self._active[self._num_trials] = vz.Trial(id=self._num_trials, parameters=parameters)
        return self._num_trials

    def _to_vizier(self, name: str, value: Any) -> Any:
        parameter = self._parameters[name]
        return str(parameter.encode(value)) if isinstance(parameter, Choice) else value

    def _from_vizier(self, parameters: vz.ParameterDict) -> Params:
        found = {}
        for name, parameter in self._parameters.items():
            value = parameters.get_value(name)
            if isinstance(parameter, Choice):
                found[name] = parameter.decode(value)
            elif parameter.values is not None:
                found[name] = min(parameter.values, key=lambda v, value=value: abs(v - value))
            else:
                found[name] = parameter.clip(value)
        return found


def add_parameter(root: vz.SearchSpaceSelector, entry: dict[str, Any]) -> None:
    name = entry["name"]
    match entry["type"]:
        case "categorical":
            root.add_categorical_param(name, [str(index) for index in range(len(entry["values"]))])
        case "discrete":
            root.add_discrete_param(name, entry["values"], scale_type=SCALES[entry["scale"]])
        case "int":
            root.add_int_param(name, entry["low"], entry["high"], scale_type=SCALES[entry["scale"]])
        case _:
            root.add_float_param(name, entry["low"], entry["high"], scale_type=SCALES[entry["scale"]])


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)  # as its own service does
    warnings.simplefilter("ignore")
    serve(
        lambda start: VizierRival(start, DESIGNERS[sys.argv[1]]),
        packages=("google-vizier", "jax", "jaxlib", "numpy"),
    )
