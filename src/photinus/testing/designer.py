"""What every algorithm must do, as tests: subclass `DesignerContract` and give it a `suggest` fixture."""

import copy
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from photinus.problem import Problem
from photinus.record import NewTrial
from photinus.space import Categorical, Discrete, Float, Int, Value
from photinus.storage import lifecycle
from photinus.trial import Measurement, Suggestion, Trial, TrialState

SPACE = {
    "lr": Float(1e-5, 1e-1, scale="log"),
    "layers": Int(1, 8),
    "batch": Discrete([16, 32, 64, 128], scale="log"),
    "optimizer": Categorical(["adam", "sgd", None]),
    "nesterov": Categorical([False, True]),
    "epochs": Int(10, 10),
}
ONE_GOAL = Problem.define(SPACE, "minimize")
TWO_GOALS = Problem.define(SPACE, {"loss": "minimize", "accuracy": "maximize"})
POINTS: tuple[dict[str, Value], ...] = tuple(
    {"lr": lr, "layers": layers, "batch": batch, "optimizer": optimizer, "nesterov": nesterov, "epochs": 10}
    for lr, layers, batch, optimizer, nesterov in (
        (1e-3, 4, 32, "adam", True),
        (2e-5, 8, 16, "sgd", False),
        (7e-2, 1, 128, None, True),
        (4e-4, 2, 64, "sgd", True),
        (1e-5, 5, 32, "adam", False),
        (9e-3, 7, 16, None, False),
    )
)
NOW = datetime(2000, 1, 1, tzinfo=UTC)

Suggest = Callable[[Problem, Sequence[Trial], int, int], list[Suggestion]]
Outcome = Measurement | TrialState


def record(outcomes: Iterable[tuple[Mapping[str, Value], Outcome]]) -> list[Trial]:
    """Trials that were suggested one by one, each of which ended in a measurement or is in an unfinished state."""
    events = itertools.count(1)
    trials = []
    for number, (params, outcome) in enumerate(outcomes):
        if outcome is TrialState.QUEUED:
            trials.append(lifecycle.new(number, NewTrial(params), now=NOW, event=next(events)))
            continue
        trial = lifecycle.suggested(
            number,
            Suggestion(dict(params)),
            algorithm="recorded",
            engine_version="0",
            worker=None,
            lease_s=None,
            now=NOW,
            event=next(events),
        )
        if isinstance(outcome, Measurement):
            trial = lifecycle.told(trial, outcome, worker=None, now=NOW, event=next(events))
        elif outcome is TrialState.EXPIRED:
            trial = lifecycle.expired(trial, event=next(events))
        elif outcome is TrialState.STOPPING:
            trial = lifecycle.stopping(trial, event=next(events))
        trials.append(trial)
    return trials


def measured(problem: Problem, value: float) -> Measurement:
    """The same value for every metric."""
    return Measurement.completed(dict.fromkeys(problem.metric_names, value))


class DesignerContract:
    """Tests for an algorithm: a pure function of problem, trials, count and seed."""

    @pytest.fixture
    def suggest(self) -> Suggest:
        """The algorithm."""
        raise NotImplementedError("a contract needs the fixture `suggest`")

    @pytest.fixture(params=[ONE_GOAL, TWO_GOALS], ids=["one goal", "two goals"])
    def problem(self, request: pytest.FixtureRequest) -> Problem:
        """Problems the algorithm can handle; override it for one that knows a single objective only."""
        return request.param

    @pytest.fixture
    def trials(self, problem: Problem) -> list[Trial]:
        """More completed trials than any algorithm wants to be seeded with."""
        return record((POINTS[i % len(POINTS)], measured(problem, (7.0 * i) % 5)) for i in range(11))

    @pytest.mark.parametrize("count", [1, 3])
    def test_points_are_feasible_and_as_many_as_were_asked_for(
        self, suggest: Suggest, problem: Problem, trials: list[Trial], count: int
    ) -> None:
        """With and without data; also in the values' types and the parameters' order."""
        for known in ([], trials[:1], trials):
            suggestions = suggest(problem, known, count, 5)
            assert len(suggestions) == count
            for suggestion in suggestions:
                _check(problem, suggestion)

    def test_the_same_arguments_give_the_same_suggestions(
        self, suggest: Suggest, problem: Problem, trials: list[Trial]
    ) -> None:
        """To the last bit, reasons included."""
        for known in ([], trials):
            assert suggest(problem, known, 2, 5) == suggest(problem, known, 2, 5)

    def test_another_seed_gives_other_suggestions(
        self, suggest: Suggest, problem: Problem, trials: list[Trial]
    ) -> None:
        """Or two studies beside each other would do the same work twice."""
        for known in ([], trials):
            assert suggest(problem, known, 2, 5) != suggest(problem, known, 2, 6)

    def test_arguments_are_left_as_they_are(
        self, suggest: Suggest, problem: Problem, trials: list[Trial]
    ) -> None:
        """Trials belong to the caller."""
        before = copy.deepcopy(trials)
        suggest(problem, trials, 2, 5)
        assert trials == before

    def test_a_batch_does_not_repeat_itself(
        self, suggest: Suggest, problem: Problem, trials: list[Trial]
    ) -> None:
        """Workers that run side by side get different points."""
        for known in ([], trials):
            points = [tuple(s.params.values()) for s in suggest(problem, known, 3, 5)]
            assert len(set(points)) == 3

    @pytest.mark.parametrize(
        "outcome",
        [
            TrialState.QUEUED,
            TrialState.ACTIVE,
            TrialState.STOPPING,
            TrialState.EXPIRED,
            Measurement.failed("worker lost"),
            Measurement.infeasible("diverged"),
        ],
        ids=lambda outcome: str(outcome if isinstance(outcome, TrialState) else outcome.state),
    )
    def test_trials_without_values_are_no_obstacle(
        self, suggest: Suggest, problem: Problem, trials: list[Trial], outcome: Outcome
    ) -> None:
        """Neither alone nor among completed ones."""
        alone = [(POINTS[0], outcome), (POINTS[1], outcome)]
        among = [(t.params, t.measurement or t.state) for t in trials] + alone
        for outcomes in (alone, among):
            [suggestion] = suggest(problem, record(outcomes), 1, 5)
            _check(problem, suggestion)


def _check(problem: Problem, suggestion: Suggestion) -> None:
    """Feasible, canonical, and explained in plain JSON."""
    canonical = problem.space.validate(suggestion.params)
    assert list(suggestion.params.items()) == list(canonical.items())
    assert [type(v) for v in suggestion.params.values()] == [type(v) for v in canonical.values()]
    reason: Any = json.loads(json.dumps(suggestion.reason, allow_nan=False))
    assert reason == suggestion.reason
