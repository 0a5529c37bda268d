"""export and import: JSON loses nothing, CSV and Parquet are for people."""

import csv
import io
import json

import pandas
import pytest

import photinus as ph


def content(folder, name="resnet", store="photinus.db"):
    return [trial.to_dict() for trial in ph.load_study(name, storage=folder / store).trials]


def test_json_there_and_back(photinus, study, as_json, folder):
    photinus("export", study, "--to", "json", "--output", "study.json")
    answer = as_json("import", "study.json", "--storage", "other.db")
    assert (answer["name"], answer["num_trials"], answer["seed"]) == ("resnet", 3, 0)
    assert content(folder, store="other.db") == content(folder)
    photinus("export", study, "--to", "json", "--output", "again.json", "--storage", "other.db")
    assert (folder / "again.json").read_text() == (folder / "study.json").read_text()
    # Both go on in the same way.
    assert as_json("ask", study)[0]["params"] == as_json("ask", study, "--storage", "other.db")[0]["params"]


def test_from_sqlite_to_postgresql_and_back(photinus, study, as_json, folder, postgresql):
    photinus("export", study, "--to", "json", "-o", "study.json")
    photinus("import", "study.json", "--storage", postgresql)
    photinus("export", study, "--to", "json", "-o", "again.json", "--storage", postgresql)
    assert (folder / "again.json").read_text() == (folder / "study.json").read_text()
    assert [entry["name"] for entry in as_json("studies", "--storage", postgresql)] == [study]


def test_running_trials_come_back_as_next_to_be_handed_out(photinus, study, as_json):
    photinus("ask", study, "--worker", "ada", "--lease", 1000)
    photinus("export", study, "--to", "json", "-o", "study.json")
    photinus("import", "study.json", "--study", "copy", "--project", "elsewhere")
    [trial] = as_json("trials", "copy", "--project", "elsewhere", "--state", "expired")
    assert (trial["number"], trial["worker"], trial["lease_expires_at"]) == (3, "ada", None)
    assert as_json("ask", "copy", "--project", "elsewhere")[0]["number"] == 3


def test_a_name_that_is_taken_is_refused(photinus, study, folder):
    photinus("export", study, "--to", "json", "-o", "study.json")
    before = content(folder)
    assert (
        "another name by `import study.json --study NAME`" in photinus("import", "study.json", code=4).stderr
    )
    assert content(folder) == before


def test_json_on_stdout_is_the_file(photinus, study, folder):
    photinus("export", study, "--to", "json", "-o", "study.json")
    shown = photinus("export", study, "--to", "json").stdout
    assert shown == (folder / "study.json").read_text()
    assert photinus("export", study, "--to", "json", "--json").stdout == shown
    assert json.loads(shown)["format"] == 1


def test_csv_has_the_columns_of_the_data_frame(photinus, study, folder):
    frame = ph.load_study(study, storage=folder / "photinus.db").to_dataframe()
    rows = list(csv.DictReader(io.StringIO(photinus("export", study, "--to", "csv").stdout)))
    assert list(rows[0]) == list(frame.columns)
    assert [row["state"] for row in rows] == ["completed", "infeasible", "failed"]
    assert [float(row["params_lr"]) for row in rows] == list(frame["params_lr"])
    assert [row["values_error"] for row in rows] == ["0.25", "", ""]
    assert rows[1]["message"] == "too hot"


def test_csv_there_and_back(photinus, study, as_json):
    photinus("ask", study)
    photinus("export", study, "--to", "csv", "-o", "study.csv")
    photinus("create", "copy", "space.toml")
    result = photinus("import", "study.csv", "--study", "copy")
    assert result.stdout == "3 trials added to study copy\n"
    assert "1 rows have no result and were left out" in result.stderr
    pick = [
        [trial[key] for key in ("params", "values", "state", "message")]
        for trial in as_json("trials", "copy")
    ]
    assert pick == [
        [trial[key] for key in ("params", "values", "state", "message")]
        for trial in as_json("trials", study)[:3]
    ]


def test_parquet_is_the_data_frame(photinus, study, as_json, folder):
    answer = as_json("export", study, "--to", "parquet", "-o", "study.parquet")
    assert answer == {"project": "default", "name": study, "num_trials": 3, "file": "study.parquet"}
    expected = ph.load_study(study, storage=folder / "photinus.db").to_dataframe()
    read = pandas.read_parquet(folder / "study.parquet")
    assert list(read.columns) == list(expected.columns)
    assert list(read["params_lr"]) == list(expected["params_lr"])
    assert list(read["state"]) == list(expected["state"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "parquet"], "say where it goes with --output FILE"),
        (["--to", "csv", "--json"], "two: add --output FILE"),
        (["--to", "csv", "-o", "no/such/folder/x.csv"], "cannot be written (No such file or directory)"),
        (["--to", "xlsx"], "'xlsx'"),
        ([], "--to"),
    ],
)
def test_wrong_ways_to_export(photinus, study, folder, words, message):
    assert message in photinus("export", study, *words, code=2).stderr
    assert not [path for path in folder.iterdir() if "csv" in path.name or "unfinished" in path.name]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", "", "must end in .json or .csv"),
        ("x.json", "{", "must be a JSON file of `photinus export`"),
        ("x.json", "[]", "but it is something else"),
        ("x.json", '{"kind": "photinus-study", "format": 2}', "this version reads 1: upgrade photinus"),
        ("x.json", '{"kind": "photinus-study", "format": 1}', "is damaged: 'study' is missing"),
        ("x.csv", "lr,layers,opt,error\n1e-3,1,adam,0.5\n", "say --study NAME"),
    ],
)
def test_wrong_files(photinus, folder, name, text, message):
    (folder / name).write_text(text)
    assert message in photinus("import", name, code=2).stderr
    assert not (folder / "photinus.db").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "lr,layers,error\n1e-3,1,0.5\n",
            "x.csv: column `opt` must be there, got `lr`, `layers`, `error`: add it; nothing was imported",
        ),
        ("lr,layers,opt,error\n1e-3,1,adam,1\n1,1,adam,1\n", "row 3, column `lr`: must be a number"),
        ("lr,layers,opt\n1e-3,1,adam\n", "column `error` must be there"),
        ("lr,layers,opt,error\n", "at least one row"),
    ],
)
def test_one_wrong_row_and_nothing_is_imported(photinus, study, folder, text, message):
    (folder / "x.csv").write_text(text)
    assert message in photinus("import", "x.csv", "--study", study, code=2).stderr
    assert len(content(folder)) == 3


@pytest.mark.parametrize("words", [["--to", "csv"], ["--to", "json"]])
def test_a_link_is_written_through(photinus, study, folder, words):
    (folder / "target").write_text("old")
    (folder / "link").symlink_to(folder / "target")
    photinus("export", "resnet", *words, "-o", "link")
    assert (folder / "link").is_symlink()
    assert len((folder / "target").read_text()) > len("old")
