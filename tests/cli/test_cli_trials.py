"""trials, ask, tell, enqueue: the lab's way of working, also by CSV files."""

import csv
from pathlib import Path

import pytest

import photinus as ph


def states(study: str, folder: Path) -> list[str]:
    return [trial.state.value for trial in ph.load_study(study, storage=folder / "photinus.db").trials]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, header: list[str], *lines: list[object]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *lines])
    return path


def test_trials_are_listed(photinus, study, as_json):
    lines = photinus("trials", study).stdout.splitlines()
    assert lines[0].split() == ["trial", "state", "error", "lr", "layers", "opt", "message"]
    assert lines[2].split()[:3] == ["0", "completed", "0.25"]
    assert lines[3].rstrip().endswith("too hot")
    assert [trial["state"] for trial in as_json("trials", study)] == ["completed", "infeasible", "failed"]


def test_trials_by_state_and_number(photinus, study, as_json):
    assert [t["number"] for t in as_json("trials", study, "--state", "failed", "--state", "completed")] == [
        0,
        2,
    ]
    assert [t["number"] for t in as_json("trials", study, "-n", 2)] == [1, 2]
    assert "2 earlier trials are left out" in photinus("trials", study, "-n", 1).stdout
    assert photinus("trials", study, "--state", "queued").stdout == "no trials\n"
    photinus("trials", study, "--state", "done", code=2)


def test_ask_shows_every_digit(photinus, study, folder):
    shown = photinus("ask", study, "-n", 2).stdout
    for trial in ph.load_study(study, storage=folder / "photinus.db").trials[3:]:
        assert f"trial {trial.number}\n" in shown
        assert repr(trial.params["lr"]) in shown
    assert states(study, folder)[3:] == ["active"] * 2


def test_ask_for_a_worker_and_a_lease(photinus, study, as_json):
    [first] = as_json("ask", study, "--worker", "ada", "--lease", 60)
    [again] = as_json("ask", study, "--worker", "ada")
    assert first["number"] == again["number"] == 3
    assert first["worker"] == "ada" and first["lease_expires_at"] is not None


def test_a_batch_by_csv_there_and_back(photinus, study, as_json, folder):
    photinus("ask", study, "-n", 4, "--to", "csv", "--output", "batch.csv")
    batch = rows(folder / "batch.csv")
    assert list(batch[0]) == ["number", "lr", "layers", "opt", "error", "infeasible", "failed", "study"]
    assert [row["number"] for row in batch] == ["3", "4", "5", "6"]
    assert {row["error"] for row in batch} == {""}
    stored = ph.load_study(study, storage=folder / "photinus.db").trials
    assert [float(row["lr"]) for row in batch] == [trial.params["lr"] for trial in stored[3:]]
    # A result, none yet, a word too few, an explanation.
    filled = [[*row.values()][:4] for row in batch]
    header = list(batch[0])[:-1]
    write(
        folder / "results.csv",
        header,
        [*filled[0], "0.5", "", ""],
        [*filled[1], "", "", ""],
        [*filled[2], "", "leaked", ""],
        [*filled[3], "", "", "dropped"],
    )
    result = photinus("tell", study, "--from", "results.csv")
    assert "3 trials told: trials 3, 5, 6" in result.stdout
    assert "1 rows have no result and were left alone" in result.stderr
    assert states(study, folder)[3:] == ["completed", "active", "infeasible", "failed"]
    # The same file again changes nothing, so that a half-told file can simply be told again.
    assert [trial["number"] for trial in as_json("tell", study, "--from", "results.csv")] == [3, 5, 6]
    assert states(study, folder)[3:] == ["completed", "active", "infeasible", "failed"]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (
            ["9", "1"],
            3,
            "results.csv, row 3, column `number`: study 'resnet' has the trials 0 to 5, got 9",
        ),
        (["3", "1"], 2, "row 3, column `number`: a trial must have one row, but row 2 is about trial 3, too"),
        (["0", "1"], 4, "row 3: trial 0 is completed already"),
        (["5", "1"], 4, "row 3: trial 5 must be handed out before it is told"),
        (["4", "one"], 2, "row 3, column `error`: must be a number, got 'one'"),
        (["4", "nan"], 2, "row 3, column `error`: must be a number, got 'nan': leave the cell empty while"),
        (["4.5", "1"], 2, "row 3, column `number`: must be the number of a trial, got '4.5'"),
        (["4", "1", "2"], 2, "row 3: at most 2 cells belong there, got 3"),
    ],
)
def test_one_wrong_row_and_nothing_is_told(photinus, study, folder, line, code, message):
    photinus("ask", study, "-n", 2)
    photinus("enqueue", study, "lr=0.01", "layers=1", "opt=sgd")
    write(folder / "results.csv", ["number", "error"], ["3", "0.5"], line)
    before = states(study, folder)
    assert message in photinus("tell", study, "--from", "results.csv", code=code).stderr
    assert states(study, folder) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "either a trial's number or a file of results must be given"),
        (["3", "--from", "x.csv"], "either a trial's number or a file"),
        (["no.csv"], "no.csv cannot be read"),
        (["no.csv", "0.5"], "every result is in the file, but 'no.csv' is no trial's number"),
        (["--from", "no.csv"], "no.csv cannot be read"),
        (["3"], "exactly one of values, infeasible= and failed= must be given"),
        (["3", "1", "--failed", "x"], "exactly one of values"),
        (["3", "abc"], "must be a number, got 'abc'"),
        (["3", "inf"], "must be finite"),
        (["3", "loss=1"], "values must be given for exactly 'error'"),
        (["3", "error=1", "error=2"], "values must be given once each as error=..., got 'error=2'"),
        (["3", "1", "2"], "once each as error=..., got '1'"),
        (["3", "--eror", "1"], "there is no option --eror"),
    ],
)
def test_wrong_ways_to_tell(photinus, study, folder, words, message):
    photinus("ask", study)
    assert message in photinus("tell", study, *words, code=2).stderr
    assert states(study, folder)[3] == "active"


def test_values_below_zero_and_names_with_them(photinus, study, as_json):
    photinus("ask", study, "-n", 2)
    assert photinus("tell", study, 3, "-0.5").stdout == "trial 3 is completed: error=-0.5\n"
    assert as_json("tell", study, 4, "error=-1e-3", "--worker", "ada")["values"] == {"error": -1e-3}


def test_values_can_be_corrected(photinus, study, as_json):
    assert photinus("amend", study, 0, "-1").stdout == "trial 0 is completed: error=-1\n"
    [amendment] = as_json("amend", study, 0, "error=2")["amendments"][1:]
    assert (amendment["old_values"], amendment["new_values"]) == ({"error": -1.0}, {"error": 2.0})
    assert "was error=0.25" in photinus("show", study, 0).stdout
    photinus("amend", study, 1, 3, code=4)
    photinus("amend", study, 0, "high", code=2)


def test_enqueue_by_hand_and_by_csv(photinus, study, as_json, folder):
    assert photinus("enqueue", study, "opt=sgd", "lr=0.01", "layers=3").stdout == "queued as trial 3\n"
    write(folder / "points.csv", ["lr", "layers", "opt"], ["1e-3", "2", "adam"], ["1e-4", "8", "sgd"])
    assert [t["number"] for t in as_json("enqueue", study, "--from", "points.csv")] == [4, 5]
    assert [t["params"] for t in as_json("ask", study, "-n", 3)] == [
        {"lr": 0.01, "layers": 3, "opt": "sgd"},
        {"lr": 0.001, "layers": 2, "opt": "adam"},
        {"lr": 0.0001, "layers": 8, "opt": "sgd"},
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "either a value for every parameter or --from FILE.CSV must be given"),
        (["lr=1"], "parameter 'lr' must be a number with"),
        (["lr=0.01"], "every parameter needs a value, missing 'layers', 'opt'"),
        (["rate=0.01"], "parameters must be given once each as lr=... layers=... opt=..., got 'rate=0.01'"),
        (["lr=0.01", "lr=0.02"], "once each"),
        (["lr=0.01", "layers=2", "opt=adm"], "did you mean 'adam'?"),
    ],
)
def test_wrong_points_are_refused(photinus, study, folder, words, message):
    assert message in photinus("enqueue", study, *words, code=2).stderr
    assert len(states(study, folder)) == 3


def test_ask_refuses_before_it_hands_out(photinus, study, folder):
    assert "must exist" in photinus("ask", study, "-o", "no/such/batch.csv", code=2).stderr
    assert "two" in photinus("ask", study, "--json", "--to", "csv", code=2).stderr
    assert len(states(study, folder)) == 3


def test_batches_as_json(photinus, study, as_json, folder):
    assert photinus("ask", study, "--to", "json").stdout.startswith("[\n")
    assert [trial["number"] for trial in as_json("ask", study, "-o", "batch.csv", "--to", "csv")] == [4]
    assert [row["number"] for row in rows(folder / "batch.csv")] == ["4"]
