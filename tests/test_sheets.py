"""CSV files as spreadsheets of all countries write them."""

import pytest

import photinus as ph
from photinus.errors import ArgumentError
from photinus.problem import Problem
from photinus.sheets import read_measured, read_points
from photinus.trial import Measurement

SPACE = {"lr": ph.Float(0, 1), "opt": ph.Categorical(["a", "b;c", True])}
PROBLEM = Problem.define(SPACE, {"error": "minimize"})


@pytest.fixture
def read(tmp_path):
    """The points and outcomes in a file of that content."""

    def read(text: str | bytes, problem: Problem = PROBLEM):
        path = tmp_path / "x.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_measured(path, problem)

    return read


@pytest.mark.parametrize(
    "text",
    [
        "lr,opt,error\n0.5,a,1.5\n",
        "\ufefflr,opt,error\r\n0.5,a,1.5\r\n",
        "lr;opt;error\n0,5;a;1,5\n",
        "lr;opt;error\n0.5;a;1.5\n",
        "sep=;\r\nlr;opt;error\r\n0,5;a;1,5\r\n",
        "lr\topt\terror\n0,5\ta\t1,5\n",
        "\n\nlr,opt,error,,\n,,,,\n 0.50 , a,1.5,,\n\n",
        "error,opt,lr,extra\n1.5,a,0.5,whatever\n",
        "params_lr,params_opt,values_error\n5e-1,a,15E-1\n",
        'lr,opt,error\n"0.5","a","1.5"',
    ],
)
def test_one_row_in_many_spellings(read, text):
    assert read(text) == [({"lr": 0.5, "opt": "a"}, Measurement.completed({"error": 1.5}))]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("delimiter", "\t;,")
def test_unicode_text_of_a_spreadsheet(read, encoding, delimiter):
    text = "\ufefflr\topt\terror\tµ\r\n0.5\ta\t1.5\tΩ\r\n".replace("\t", delimiter)
    assert read(text.encode(encoding)) == [({"lr": 0.5, "opt": "a"}, Measurement.completed({"error": 1.5}))]


def test_outcomes(read):
    rows = read(
        "lr,opt,error,infeasible,failed,state,message\n"
        "0,a,1,,,,\n1,a,,hot,,,\n1,a,,,broke,,\n1,a,,,,infeasible,cold\n1,a,,,,Failed,\n1,a,,,,active,\n1,a,,,,,\n"
        "1,a,2,,,completed,\n1,a,,'=1+1,,,\n"
    )
    assert [outcome for _, outcome in rows] == [
        Measurement.completed({"error": 1.0}),
        Measurement.infeasible("hot"),
        Measurement.failed("broke"),
        Measurement.infeasible("cold"),
        Measurement.failed("no reason given"),
        None,
        None,
        Measurement.completed({"error": 2.0}),
        Measurement.infeasible("=1+1"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("infeasible\n0,a,1,hot\n", "column `error`: a trial that is infeasible has no values: remove"),
        ("infeasible,failed\n0,a,,x,y\n", "a trial has one outcome, got .*: leave one of the two"),
        ("state\n0,a,1,active\n", "column `state`: a trial with values is 'completed', got 'active'"),
        ("state\n0,a,,completed\n", "column `error`: every objective needs a value"),
        ("failed\n0,a,,no\n", "column `failed`: must be empty, or say why the trial is failed, got 'no'"),
        (
            "failed\n0,a,,#NAME?\n",
            "column `failed`: the spreadsheet took the reason for a formula, got '#NAME\\?'",
        ),
        ("x\n0,a,low\n", "column `error`: must be a number, got 'low': write digits alone, such as 12.5"),
        ("x\n0,a,n/a\n", "column `error`: must be a number, got 'n/a': leave the cell empty"),
        ("x\n2,a,1\n", r"column `lr`: must be a number with 0.0 <= value <= 1.0, got 2"),
        ("x\n,a,1\n", "column `lr`: must be a number, got '': the cell is empty"),
        ("x\n1,c,1\n", "column `opt`: must be one of 'a', 'b;c', True, got 'c'"),
    ],
)
def test_contradictions_are_refused(read, text, message):
    with pytest.raises(ArgumentError, match=rf"x.csv, row 2(, |: ){message}.*; nothing was imported"):
        read(f"lr,opt,error,{text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a line of column names and at least one row"),
        ("lr,opt,error\n", "must have a line of column names and at least one row"),
        ("lr,lr,error\n1,2,3\n", "column names must differ, got lr more than once"),
        (
            "lr,opt,error\n1,a,2,5\n",
            "row 2: at most 3 cells belong there, got 4: put what has a comma inside",
        ),
        (b"lr,opt,error,\xb5\n", "must be a CSV file in UTF-8, but .*: save it as `CSV UTF-8`"),
        (b"\xff\xfel\x00r\x00,", "must be a CSV file in UTF-8, but .*truncated data: save it as `CSV UTF-8`"),
        ("lr,opt,error\n0.5,a,1.5\n".encode("utf-16-le"), "but it begins like UTF-16 without .*: save it as"),
        ("lr,opt,error\n0.5,a,1.5\n".encode("utf-16-be"), "but it begins like UTF-16 without .*: save it as"),
        (b"PK\x03\x04\x14\x00", "must be a CSV file, but it is a workbook: save it as `CSV UTF-8` first"),
        ('lr\n"' + "x" * 200_000 + '"\n', "row 2: must be CSV, but field larger than"),
        ('lr,opt,error\n1,"a,2\n3,a,4\n', "row 2: must be CSV, but unexpected end of data"),
    ],
)
def test_files_that_make_no_sense(read, text, message):
    with pytest.raises(ArgumentError, match=message):
        read(text)


def test_rows_are_counted_as_a_spreadsheet_does(read):
    with pytest.raises(ArgumentError, match="row 4, column `lr`"):
        read('notes,opt,lr,error\n"a\nb",a,0,1\n\n,a,2,1\n')


def test_everything_is_said_at_once(read):
    with pytest.raises(ArgumentError) as caught:
        read("lr,opt,error\n7,a,1\n0.5,b,12 mg\n0.5,a,1\n0.5,a,1,1\n")
    assert str(caught.value).splitlines()[0].endswith("x.csv has 4 faults, nothing was imported:")
    places = [line.partition(": ")[0].strip() for line in str(caught.value).splitlines()[1:]]
    assert places == ["row 5", "row 2, column `lr`", "row 3, column `opt`", "row 3, column `error`"]


def test_a_hundred_faults_are_enough(read):
    with pytest.raises(ArgumentError, match="has 150 faults") as caught:
        read("lr,opt,error\n" + "7,a,1\n" * 150)
    assert len(str(caught.value).splitlines()) == 102
    assert str(caught.value).endswith("and 50 more")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lr;opt;error\n0,25;a;1,234\n", 1.234),
        ("lr;opt;error\n0,5;a;1,234\n", 1.234),
        ("lr;opt;error\n1;a;1,234\n", 1.234),  # semicolons are there because the comma is taken
        ("lr;opt;error\n0.5;a;1.234\n", 1.234),
        ("lr\topt\terror\n0.5\ta\t1.234\n", 1.234),
        ("lr,opt,error\n1,a,1.234\n", 1.234),
    ],
)
def test_the_decimal_mark_is_found_where_the_file_shows_it(read, text, value):
    assert read(text)[0][1] == Measurement.completed({"error": value})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr;opt;error\n0,5;a;1.234\n", "write 1234 or 1,234, whichever it is"),
        ("lr;opt;error\n0,5;a;1.5\n", "write 1,5; numbers of this file have a decimal comma"),
        ("lr;opt;error\n1;a;1.234\n", "nobody can tell whether it is 1234; write 1234, or one more digit"),
        ("lr\topt\terror\n1\ta\t1,234\n", "nobody can tell whether it is 1234"),
        ('lr,opt,error\n1,a,"1,234"\n', "write 1234 or 1.234, whichever it is"),
        ('lr,opt,error\n1,a,"0,5"\n', "write 0.5; numbers of this file have a decimal point"),
    ],
)
def test_a_mark_that_may_mean_two_things_is_refused(read, text, message):
    with pytest.raises(ArgumentError, match=f"row 2, column `error`: must be a number, got .*{message}"):
        read(text)


def test_points_alone(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("opt,lr\nTRUE,0.25\n'true,1\n")
    assert read_points(path, PROBLEM) == [{"lr": 0.25, "opt": True}, {"lr": 1.0, "opt": True}]
    path.write_text("opt,lr\nb;c,0.25\n")
    assert read_points(path, PROBLEM) == [{"lr": 0.25, "opt": "b;c"}]
    path.write_text("opt,rate\na,0.25\n")
    with pytest.raises(
        ArgumentError, match=r"column `lr` must be there, got `opt`, `rate`.*nothing was queued"
    ):
        read_points(path, PROBLEM)


def test_names_that_clash_are_told_apart(read):
    problem = Problem.define(
        {"x": ph.Float(0, 1), "number": ph.Int(0, 9), "params_x": ph.Int(0, 9), "state": ph.Int(0, 9)},
        {"x": "minimize"},
    )
    [(params, outcome)] = read(
        "params_params_x,params_number,params_x,state,values_x\n0.5,7,3,8,0.25\n", problem
    )
    assert params == {"x": 0.5, "number": 7, "params_x": 3, "state": 8}
    assert outcome == Measurement.completed({"x": 0.25})
