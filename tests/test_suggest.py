"""Suggestions without a study."""

import pytest

import photinus as ph
from photinus.errors import ArgumentError

SPACE = {"x": ph.Float(-5, 5), "kind": ph.Categorical(["a", "b"])}


@pytest.mark.parametrize("algorithm", ["random", "quasi_random", "paper", "default"])
def test_it_suggests_what_a_study_would(algorithm: str):
    study = ph.create_study(SPACE, seed=7, algorithm=algorithm)
    for value in (-1.0, 2.0, 0.5):
        study.tell(study.ask()[0], value)
    [running] = study.ask()
    found = ph.suggest(study.problem, study.trials[:-1], seed=7, algorithm=algorithm)
    assert [point.params for point in found] == [running.params]
    assert found == ph.suggest(study.problem, study.trials[:-1], seed=7, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ["paper", "default"])
def test_trials_of_ones_own_are_learnt_from(algorithm: str):
    problem = ph.Problem.define({"x": ph.Float(-5, 5)}, "minimize")
    trials: list[ph.Trial] = []
    for number in range(16):
        [point] = ph.suggest(problem, trials, seed=1, algorithm=algorithm)
        value = (point.params["x"] - 1.7) ** 2
        done = ph.Trial(
            number=number, params=point.params, state=ph.TrialState.COMPLETED, values={"value": value}
        )
        trials.append(done)
    assert min(trial.values["value"] for trial in trials) < 1e-3


def test_running_trials_count():
    study = ph.create_study(SPACE, seed=7, algorithm="quasi_random")
    study.ask(2)
    [third] = ph.suggest(study.problem, study.trials, seed=7, algorithm="quasi_random")
    assert third.params == study.ask()[0].params


def test_nothing_is_needed_but_a_problem():
    problem = ph.Problem.define(SPACE)
    assert len(ph.suggest(problem, count=3, algorithm="random")) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "`count` must be an integer >= 1, got 0"),
        ({"seed": -1}, "`seed` must be an integer between 0 and 4294967295, got -1"),
        ({"algorithm": "best"}, "`algorithm` must be one of"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, message: str):
    with pytest.raises(ArgumentError, match=message):
        ph.suggest(ph.Problem.define(SPACE), **arguments)


def test_trials_come_in_order_each_once():
    study = ph.create_study(SPACE, algorithm="random")
    study.ask(2)
    with pytest.raises(ArgumentError, match=r"in the order of their numbers, each once, got \[1, 0\]"):
        ph.suggest(study.problem, study.trials[::-1])
