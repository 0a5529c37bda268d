"""CSV files as spreadsheets of all countries write them."""

import pytest

import photinus as ph
from photinus.errors import ArgumentError
from photinus.problem import Problem
from photinus.sheets import read_rows, write_batch
from photinus.trial import Measurement, Trial, TrialState

SPACE = {"lr": ph.Float(0, 1), "opt": ph.Categorical(["a", "b;c", True])}
PROBLEM = Problem.define(SPACE, {"error": "minimize"})


@pytest.fixture
def read(tmp_path):
    def read(text: str | bytes):
        path = tmp_path / "x.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_rows(path)

    return read


@pytest.mark.parametrize(
    "text",
    [
        "number,lr,opt,error\n3,0.5,a,1.5\n",
        "\ufeffnumber,lr,opt,error\r\n3,0.5,a,1.5\r\n",
        "number;lr;opt;error\n3;0,5;a;1,5\n",
        "number\tlr\topt\terror\n3\t0,5\ta\t1.5\n",
        "\n\nnumber,lr,opt,error,,\n,,,,,\n 3.0 ,0.50,a,1.5,,\n\n",
        "error,opt,number,lr,extra\n1.5,a,3,0.5,whatever\n",
        "number,params_lr,params_opt,values_error\n3,5e-1,a,15E-1\n",
        'number,lr,opt,error\n3,"0.5","a","1.5"',
    ],
)
def test_one_row_in_many_spellings(read, text):
    [row] = read(text)
    assert row.number() == 3
    assert row.params(PROBLEM) == {"lr": 0.5, "opt": "a"}
    assert row.measurement(PROBLEM) == Measurement.completed({"error": 1.5})


def test_outcomes(read):
    rows = read(
        "number,error,infeasible,failed,state,message\n"
        "0,1,,,,\n1,,hot,,,\n2,,,broke,,\n3,,,,infeasible,cold\n4,,,,failed,\n5,,,,active,\n6,,,,,\n7,2,,,completed,\n"
    )
    assert [row.measurement(PROBLEM) for row in rows] == [
        Measurement.completed({"error": 1.0}),
        Measurement.infeasible("hot"),
        Measurement.failed("broke"),
        Measurement.infeasible("cold"),
        Measurement.failed("no reason given"),
        None,
        None,
        Measurement.completed({"error": 2.0}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "error,infeasible\n1,hot\n",
            "a trial that is infeasible has no values, got .*: remove one of the two",
        ),
        ("error,infeasible,failed\n,a,b\n", "a trial has one outcome, got .*: leave one of the two"),
        ("error,state\n1,active\n", "a trial with values is 'completed', got state='active'"),
        ("error,state\n,completed\n", "every objective needs a value, missing error"),
        ("number\n1\n", "every objective needs a value, missing error"),
        ("error\nlow\n", "the value of 'error' must be a number, got 'low'"),
    ],
)
def test_contradictions_are_refused(read, text, message):
    [row] = read(text)
    with pytest.raises(ArgumentError, match=rf"x.csv, line 2: {message}"):
        row.measurement(PROBLEM)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a line of column names and at least one row"),
        ("a,b\n", "must have a line of column names and at least one row"),
        ("a,a\n1,2\n", "column names must differ, got a more than once"),
        ("a,b\n1,2,3\n", "line 2: at most 2 cells belong there, got 3"),
        (b"\xff\xfe", "must be a CSV file in UTF-8"),
        ('a\n"' + "x" * 200_000 + '"\n', "line 2: must be CSV, but field larger than"),
    ],
)
def test_files_that_make_no_sense(read, text, message):
    with pytest.raises(ArgumentError, match=message):
        read(text)


def test_lines_are_counted_as_an_editor_does(read):
    rows = read('opt,lr,error\n"a\nb",0,1\na,2,1\n')
    with pytest.raises(ArgumentError, match="line 4: parameter 'lr'"):
        rows[1].params(PROBLEM)


def test_a_batch_is_read_back(read):
    trials = [
        Trial(number=n, params={"lr": 0.1 + n / 7, "opt": opt}, state=TrialState.ACTIVE)
        for n, opt in enumerate(["a", "b;c", True])
    ]
    rows = read(write_batch(PROBLEM, trials))
    assert [row.number() for row in rows] == [0, 1, 2]
    assert [row.params(PROBLEM) for row in rows] == [trial.params for trial in trials]
    assert [row.measurement(PROBLEM) for row in rows] == [None] * 3


def test_names_that_clash_are_told_apart(read):
    problem = Problem.define(
        {"x": ph.Float(0, 1), "number": ph.Int(0, 9), "state": ph.Int(0, 9)}, {"x": "minimize"}
    )
    trial = Trial(number=5, params={"x": 0.5, "number": 7, "state": 8}, state=TrialState.ACTIVE)
    text = write_batch(problem, [trial])
    assert text == "number,params_x,params_number,state,values_x\n5,0.5,7,8,\n"
    [row] = read(text.replace("8,", "8,0.25"))
    assert (row.number(), row.params(problem)) == (5, trial.params)
    assert row.measurement(problem) == Measurement.completed({"x": 0.25})
