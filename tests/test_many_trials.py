"""Several trials added or told by one call of a study."""

import pytest

import photinus as ph
from photinus.errors import AlreadyTold, ArgumentError, InvalidState, ParameterError, ValuesError
from photinus.trial import Measurement, TrialState


@pytest.fixture
def study() -> ph.Study:
    space = {"x": ph.Float(0, 1), "c": ph.Categorical(["a", "b"])}
    return ph.create_study(space, {"loss": "minimize"}, algorithm="random", seed=1)


def test_points_with_and_without_outcome_are_added(study):
    trials = study.add_trials(
        {"params": {"x": 0, "c": "a"}, **rest}
        for rest in (
            {"values": 2},
            {"values": {"loss": 0.5}, "metadata": {"from": "old.csv"}},
            {"infeasible": "too hot"},
            {"failed": "lost"},
            {"metadata": {"try": "this"}},
            {"values": None},
        )
    )
    assert trials == study.trials
    states = ["completed", "completed", "infeasible", "failed", "queued", "queued"]
    assert [trial.state.value for trial in trials] == states
    assert [trial.values for trial in trials[:2]] == [{"loss": 2.0}, {"loss": 0.5}]
    assert [trial.message for trial in trials[2:4]] == ["too hot", "lost"]
    assert [trial.metadata for trial in trials] == [{}, {"from": "old.csv"}, {}, {}, {"try": "this"}, {}]
    assert isinstance(trials[0].params["x"], float)
    assert study.ask()[0].number == 4
    assert study.add_trials([]) == []


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        ({"params": {"x": 2, "c": "a"}}, ParameterError, "entry 1: parameter 'x' must be"),
        ({"params": {"x": 0}}, ParameterError, "entry 1: .*'c'"),
        ({"params": {"x": 0, "c": "a"}, "values": "high"}, ValuesError, "entry 1: "),
        ({"params": {"x": 0, "c": "a"}, "values": 1, "failed": "x"}, ArgumentError, "entry 1: exactly one"),
        ({"params": {"x": 0, "c": "a"}, "metadata": {"a": 1}}, ArgumentError, "entry 1: `metadata`"),
        ({"params": {"x": 0, "c": "a"}, "value": 1}, ArgumentError, "entry 1: .*'value': 1"),
        ({"values": 1}, ArgumentError, "entry 1: must be a dict with params"),
        ([1, 2], ArgumentError, "entry 1: must be a dict with params"),
    ],
)
def test_an_error_says_which_entry_is_wrong_and_nothing_is_added(study, entry, error, message):
    with pytest.raises(error, match=message):
        study.add_trials([{"params": {"x": 0.5, "c": "b"}, "values": 1.0}, entry])
    assert len(study) == 0


def test_outcomes_are_told(study):
    trials = study.ask(4)
    told = study.tell_all(
        [
            (trials[2], 1),
            (0, {"loss": 2.0}),
            (trials[1], Measurement.failed("lost")),
            (3, Measurement.completed({"loss": 3.0})),
        ],
        worker="w",
    )
    assert [trial.number for trial in told] == [2, 0, 1, 3]
    assert [trial.values for trial in study.trials] == [{"loss": 2.0}, None, {"loss": 1.0}, {"loss": 3.0}]
    assert study.trials[1].state == TrialState.FAILED
    assert {trial.worker for trial in study.trials} == {"w"}
    assert study.tell_all([]) == []


def test_whoever_asked_is_recorded_as_the_one_who_measured(study):
    trials = study.ask(2, worker="w")
    for trial in trials:
        study.release(trial)
    study.ask(2, worker="other")
    told = study.tell_all((trial, 1.0) for trial in trials)
    assert [trial.worker for trial in told] == ["w", "w"]


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        ((1, "high"), ValuesError, "result 1: "),
        ((1, None), ArgumentError, "result 1: exactly one"),
        ((-1, 1.0), ArgumentError, "result 1: `trial` must be"),
        ((1, Measurement.completed({"other": 1.0})), ValuesError, "result 1: "),
        ((1, 1.0, 2.0), ArgumentError, "result 1: a result must be a pair"),
        (1, ArgumentError, "result 1: a result must be a pair"),
        ((0, 2.0), AlreadyTold, "trial 0 is completed already"),
        ((2, 2.0), InvalidState, "trial 2 must be handed out"),
    ],
)
def test_an_error_says_which_result_is_wrong_and_nothing_is_told(study, result, error, message):
    study.ask(2)
    study.enqueue({"x": 0.5, "c": "b"})
    before = study.trials
    with pytest.raises(error, match=message):
        study.tell_all([(0, 1.0), result])
    assert study.trials == before


def test_trials_of_another_study_are_refused(study):
    other = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=1)
    with pytest.raises(ArgumentError, match="result 0: trial 0 belongs to study"):
        study.tell_all([(other.ask()[0], 1.0)])
