"""What a command's output means."""

import math

import pytest

import photinus as ph
from photinus.commands.results import ResultReader, check_pattern
from photinus.errors import AlreadyTold, ArgumentError
from photinus.problem import Problem

ONE = {"error": "minimize"}
TWO = {"error": "minimize", "speed": "maximize"}


def read(lines, objectives=ONE, pattern=None):
    """The study's only trial after its command printed these lines, and the measurement."""
    study = ph.create_study({"x": ph.Float(0, 1)}, objectives, algorithm="random", seed=0)
    [trial] = study.ask()
    reader = ResultReader(trial, pattern)
    for line in lines:
        reader.read_line(line)
    return reader.measurement(), [(r.step, r.values) for r in study.trials[0].reports]


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["epoch 1", "0.5"], 0.5),
        (["0.5", "", "   "], 0.5),
        ([" -1e-3 "], -1e-3),
        (["1"], 1.0),
        (['{"error": 0.25}', "saved the model"], 0.25),
        (['{"error": 0.5}', '{"error": 0.25, "epoch": 3}', "bye"], 0.25),
        (['{"error": 0.5}', "0.125"], 0.125),
        (["{broken", "{'error': 1}", '{"other": 1}', "0.5"], 0.5),
        (['{"error": 0.25}', '{"step": 9, "error": 8}'], 0.25),
    ],
)
def test_the_value_is_found(lines, value):
    measurement, _ = read(lines)
    assert (measurement.state, measurement.values) == (ph.TrialState.COMPLETED, {"error": value})


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [],
            'must print a number on its last line, or a JSON line such as {"error": 0.5}, but there was no output',
        ),
        (["0.5", "done"], "but the last line was 'done'"),
        (["1_000"], "but the last line was '1_000'"),
        (['{"step": 1, "error": 0.5}'], "; lines with 'step' are reports"),
        (['{"error": "low"}'], "its output: the value of 'error' must be a number, got 'low'"),
        (['{"error": null}'], "must be a number, got None"),
        (['{"error": true}'], "must be a number, got True"),
    ],
)
def test_no_value_is_a_failure_that_says_what_was_expected(lines, message):
    measurement, _ = read(lines)
    assert measurement.state == ph.TrialState.FAILED
    assert measurement.message is not None and message in measurement.message


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", '{"error": NaN}', '{"error": -Infinity}', "1e999"])
def test_a_diverged_value_is_infeasible(text):
    measurement, _ = read([text])
    assert measurement.state == ph.TrialState.INFEASIBLE
    assert measurement.message is not None and measurement.message.startswith("the command printed error=")


def test_several_objectives_need_a_json_line():
    measurement, _ = read(['{"speed": 3, "error": 0.5, "note": "x"}'], TWO)
    assert measurement.values == {"error": 0.5, "speed": 3.0}
    for lines in (["0.5"], ['{"error": 0.5}'], ["no"]):
        measurement, _ = read(lines, TWO)
        assert measurement.state == ph.TrialState.FAILED


def test_reports_arrive_and_bad_ones_are_left_out(caplog):
    lines = [
        '{"step": 0, "error": 0.5}',
        '{"step": 1, "error": NaN}',
        '{"step": 1.5, "error": 1}',
        '{"step": 2, "error": "x"}',
        '{"step": 3}',
        "1",
    ]
    measurement, reports = read(lines)
    assert [step for step, _ in reports] == [0, 1]
    assert reports[0][1] == {"error": 0.5} and math.isnan(reports[1][1]["error"])
    assert measurement.values == {"error": 1.0}
    assert caplog.text.count("a report was left out") == 2


def test_a_report_for_a_trial_that_was_told_elsewhere_is_an_error():
    study = ph.create_study({"x": ph.Float(0, 1)}, ONE, algorithm="random", seed=0)
    [trial] = study.ask()
    study.tell(trial.number, 1.0)
    with pytest.raises(AlreadyTold):
        ResultReader(trial).read_line('{"step": 0, "error": 0.5}')


def test_a_pattern_finds_the_last_match():
    lines = ["test error: 0.5 after 1 s", "test error: 0.25 after 2 s", "test error: 0.125", "17"]
    measurement, _ = read(lines, pattern=r"error: (\S+) after")
    assert measurement.values == {"error": 0.25}
    assert read(["error: nan"], pattern=r"error: (\S+)")[0].state == ph.TrialState.INFEASIBLE
    nothing, _ = read(["17"], pattern=r"error: (\S+)")
    assert nothing.message == r"the command printed no line with 'error: (\\S+)'"
    text, _ = read(["error: low"], pattern=r"error: (\S+)")
    assert text.message == "its output: the value of 'error' must be a number, got 'low'"


@pytest.mark.parametrize(
    ("pattern", "objectives", "message"),
    [
        ("(", ONE, "must be a regular expression, got '\\('"),
        ("x", ONE, "must have one group"),
        ("(x)(y)", ONE, "must have one group"),
        ("(x)", TWO, "finds one value, but there are 2 objectives: print a JSON line with error, speed"),
    ],
)
def test_patterns_that_cannot_work_are_refused(pattern, objectives, message):
    with pytest.raises(ArgumentError, match=message):
        check_pattern(pattern, Problem.define({"x": ph.Float(0, 1)}, objectives))
