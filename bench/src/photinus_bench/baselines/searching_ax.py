"""Ax by its Client: the default strategy, or (argument `ucb`) upper confidence bounds from the second trial on.

The first point is attached as a running trial. The default strategy would begin with a centre of its own, and leaves
it out where there is a trial already; the attached one counts among its five trials of initialisation. While those are
under way it gives out no others, so the answer to a first large batch is short.
The variant is the paper's ablation: sqrt(beta) = 1.8 and no Sobol points. Ax has no switch for it; the strategy is
a node with Ax's own model and another acquisition function. Only where no trial has data yet (in a first batch, or
where the first point was infeasible) do points come from Sobol, since a model needs some.
Infeasible trials are abandoned, in its words: not modelled, and not suggested again.
"""

import logging
import sys
import warnings
from typing import Any

from ax.adapter.registry import Generators
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.core.trial_status import TrialStatus
from ax.generation_strategy.generation_strategy import GenerationNode, GenerationStrategy
from ax.generation_strategy.generator_spec import GeneratorSpec
from ax.generation_strategy.transition_criterion import MinTrials
from botorch.acquisition.monte_carlo import qUpperConfidenceBound

from photinus_bench.searching import Params, Start, Unsupported, Values, serve
from photinus_bench.searching_space import Choice, Goals, Number, Space

BETA = 1.8**2  # arXiv:2408.11527, appendix on Ax with UCB


class AxRival:
    """An experiment in memory."""

    def __init__(self, start: Start, variant: str) -> None:
        self._space = Space(start.problem)
        self._goals = Goals(start.problem)
        self._metrics = [
            f"m{index}" for index in range(len(self._goals.names))
        ]  # its parser wants identifiers
        self._names = {p.name: f"p{index}" for index, p in enumerate(self._space.parameters)}  # likewise
        self._client = Client(random_seed=start.seed)
        self._client.configure_experiment(
            parameters=[config(p, self._names[p.name]) for p in self._space.parameters]
        )
        signs = ["-" if small else "" for small in self._goals.are_minimized]
        objective = ", ".join(sign + name for sign, name in zip(signs, self._metrics, strict=True))
        self._client.configure_optimization(objective=objective)
        if variant == "ucb":
            if len(self._metrics) > 1:
                raise Unsupported("upper confidence bounds are for one objective")
            self._client.set_generation_strategy(upper_confidence_bounds())

    def attach(self, params: Params) -> int:
        seen = {p.name: p.encode(params[p.name]) for p in self._space.parameters}
        return self._client.attach_trial(
            parameters={self._names[p.name]: to_ax(p, seen[p.name]) for p in self._space.parameters}
        )

    def ask(self, count: int) -> list[tuple[int, Params]]:
        trials = self._client.get_next_trials(max_trials=count)
        return [(index, self._decode(parameters)) for index, parameters in trials.items()]

    def tell(self, results: list[tuple[int, Params, Values | None]]) -> None:
        for index, _, values in results:
            if values is None:
                self._client.mark_trial_abandoned(trial_index=index)
            else:
                data = {m: values[name] for m, name in zip(self._metrics, self._goals.names, strict=True)}
                self._client.complete_trial(trial_index=index, raw_data=data)

    def _decode(self, parameters: dict[str, Any]) -> Params:
        seen = {p.name: from_ax(p, parameters[self._names[p.name]]) for p in self._space.parameters}
        return self._space.decode(seen)


def config(parameter: Number | Choice, name: str) -> RangeParameterConfig | ChoiceParameterConfig:
    if isinstance(parameter, Choice):
        values = [str(index) for index in range(len(parameter.values))]
        return ChoiceParameterConfig(name=name, values=values, parameter_type="str")
    if parameter.values is not None:
        values = [float(value) for value in parameter.values]
        return ChoiceParameterConfig(name=name, values=values, parameter_type="float", is_ordered=True)
    return RangeParameterConfig(
        name=name,
        bounds=(parameter.low, parameter.high),
        parameter_type="int" if parameter.is_whole else "float",
        scaling="log" if parameter.is_log else "linear",
    )


def to_ax(parameter: Number | Choice, seen: Any) -> Any:
    """Ax knows lists of numbers, so positions become the numbers again; categories are texts."""
    if isinstance(parameter, Choice):
        return str(seen)
    return seen if parameter.values is None else float(parameter.values[seen])


def from_ax(parameter: Number | Choice, value: Any) -> Any:
    if isinstance(parameter, Choice) or parameter.values is None:
        return value
    return min(range(len(parameter.values)), key=lambda index: abs(parameter.values[index] - value))


def upper_confidence_bounds() -> GenerationStrategy:
    has_data = MinTrials(
        threshold=1,
        transition_to="UCB",
        use_all_trials_in_exp=True,
        only_in_statuses=[TrialStatus.COMPLETED],
        count_only_trials_with_data=True,
    )
    # The sampled form: the closed one takes no pending points, and abandoned trials count as pending.
    options = {"botorch_acqf_class": qUpperConfidenceBound, "botorch_acqf_options": {"beta": BETA}}
    sobol = GeneratorSpec(generator_enum=Generators.SOBOL)
    ucb = GeneratorSpec(generator_enum=Generators.BOTORCH_MODULAR, generator_kwargs=options)
    return GenerationStrategy(
        name="UCB",
        nodes=[
            GenerationNode(
                name="Sobol", generator_specs=[sobol], transition_criteria=[has_data], should_deduplicate=True
            ),
            GenerationNode(name="UCB", generator_specs=[ucb], should_deduplicate=True),
        ],
    )


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    serve(
        lambda start: AxRival(start, sys.argv[1]),
        packages=("ax-platform", "botorch", "gpytorch", "torch", "numpy"),
    )
