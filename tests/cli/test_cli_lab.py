"""ask --csv, tell FILE.CSV, trials --csv, and studies from Optuna: how work comes in from elsewhere."""

import csv
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import optuna
import pytest
from serving import served

import photinus as ph
from photinus.service import Settings

optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.fixture(scope="module")
def optuna_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a storage of two studies; importing leaves it as it is."""
    address = f"sqlite:///{tmp_path_factory.mktemp('optuna')}/optuna.db"
    storage = optuna.storages.RDBStorage(address)
    for name in ("first", "second"):
        study = optuna.create_study(
            study_name=name, storage=storage, sampler=optuna.samplers.RandomSampler(seed=0)
        )
        study.enqueue_trial({"x": 0.5})
        for value in (0.25, 0.125, None):
            trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
            trial.report(0.75, 1)
            state = optuna.trial.TrialState.PRUNED if value is None else None
            study.tell(trial, value, state=state)
        study.enqueue_trial({"x": 0.25})
    storage.remove_session()
    storage.engine.dispose()
    return address


def read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.reader(file))


def fill(path: Path, column: str, *texts: str) -> None:
    """Write one text into each of the first rows."""
    header, *rows = read(path)
    for row, text in zip(rows, texts, strict=False):
        row[header.index(column)] = text
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def test_a_plate_there_and_back(photinus, study, as_json, folder):
    said = photinus("ask", study, "-n", 4, "--csv", "plate.csv").stdout
    assert " ".join(said.split()) == (
        "4 trials written to plate.csv: fill in the results, then photinus tell resnet plate.csv"
    )
    fill(folder / "plate.csv", "error", "0.5", "", "0.25")
    result = photinus("tell", study, "plate.csv")
    assert result.stdout == "2 trials told: trials 3, 5\n"
    assert result.stderr == "2 rows have no result and were left alone\n"
    fill(folder / "plate.csv", "failed", "", "dropped")
    result = photinus("tell", study, "plate.csv", "--worker", "ada")
    assert result.stdout == "trial 4 is failed: dropped\n"
    assert result.stderr == (
        "1 rows have no result and were left alone\n2 rows were told before and were left alone\n"
    )
    result = photinus("tell", study, "plate.csv")
    assert result.stdout == "nothing to tell\n"
    assert [trial["number"] for trial in as_json("tell", study, "plate.csv")] == [3, 4, 5]
    states = [trial["state"] for trial in as_json("trials", study)[3:]]
    assert states == ["completed", "failed", "completed", "active"]


def test_every_typo_is_named_and_nothing_is_told(photinus, study, as_json, folder):
    photinus("ask", study, "-n", 4, "--csv", "plate.csv")
    fill(folder / "plate.csv", "error", "0.5", "12 mg", "high", "1")
    fill(folder / "plate.csv", "layers", "9")
    message = photinus("tell", study, "plate.csv", code=2).stderr
    assert message.startswith(
        "error: plate.csv has 3 faults, nothing was told:\n  row 2, column `layers`: trial 3 "
    )
    assert "\n  row 3, column `error`: must be a number, got '12 mg': write 12 if" in message
    assert "\n  row 4, column `error`: must be a number, got 'high'" in message
    assert {trial["state"] for trial in as_json("trials", study)[3:]} == {"active"}


def test_exit_codes_tell_kinds_of_faults_apart(photinus, study, folder):
    photinus("ask", study, "-n", 2, "--csv", "plate.csv")
    (folder / "unknown.csv").write_text("number,error\n77,1\n")
    (folder / "again.csv").write_text("number,error\n0,1\n")
    (folder / "both.csv").write_text("number,error\n77,1\n0,1\n")
    assert "row 2, column `number`" in photinus("tell", study, "unknown.csv", code=3).stderr
    assert "trial 0 is completed already" in photinus("tell", study, "again.csv", code=4).stderr
    assert "has 2 faults" in photinus("tell", study, "both.csv", code=2).stderr


def test_a_file_that_exists_is_not_written_over(photinus, study, as_json, folder):
    photinus("ask", study, "--csv", "plate.csv")
    fill(folder / "plate.csv", "error", "0.5")
    before = (folder / "plate.csv").read_bytes()
    for words in (["ask", study, "--csv"], ["ask", study, "-o"], ["trials", study, "--csv"]):
        assert (
            "'plate.csv' exists, and may have results in it" in photinus(*words, "plate.csv", code=2).stderr
        )
    assert (folder / "plate.csv").read_bytes() == before
    assert len(as_json("trials", study)) == 4


def test_a_lost_sheet_is_written_again(photinus, study, folder):
    photinus("ask", study, "-n", 3, "--csv", "plate.csv")
    said = photinus("trials", study, "--state", "active", "--csv", "again.csv").stdout
    assert said == "3 trials written to again.csv\n"
    assert (folder / "again.csv").read_bytes() == (folder / "plate.csv").read_bytes()
    photinus("trials", study, "--csv", "all.csv")
    result = photinus("tell", study, "all.csv")
    assert result.stdout == "nothing to tell\n"
    assert "3 rows were told before" in result.stderr and "3 rows have no result" in result.stderr


def test_a_plate_that_excel_saved_as_unicode_text(photinus, study, folder):
    photinus("ask", study, "-n", 2, "--csv", "plate.csv")
    fill(folder / "plate.csv", "error", "0.5", "0.25")
    with (folder / "plate.txt").open("w", newline="", encoding="utf-16") as file:
        csv.writer(file, delimiter="\t").writerows(read(folder / "plate.csv"))
    assert (folder / "plate.txt").read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff")
    assert photinus("tell", study, "plate.txt").stdout == "2 trials told: trials 3, 4\n"


def test_a_batch_that_cannot_be_written_is_handed_back(photinus, study, as_json, folder):
    (folder / "taken").mkdir()
    said = photinus("ask", study, "-n", 2, "--to", "json", "-o", "taken", code=2).stderr
    assert "'taken' cannot be written" in said and "trials 3, 4 were handed back" in said
    assert [trial["state"] for trial in as_json("trials", study)][3:] == ["expired"] * 2


def test_csv_on_stdout_is_the_sheet(photinus, study, folder):
    shown = photinus("ask", study, "--worker", "ada", "--to", "csv").stdout
    photinus("ask", study, "--worker", "ada", "--csv", "plate.csv")
    assert shown == (folder / "plate.csv").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--csv", "x.csv", "--to", "json"], "--csv names format and file at once"),
        (["--csv", "x.csv", "-o", "y.csv"], "--csv names format and file at once"),
        (["--csv", "no/such/x.csv"], "the folder of 'no/such/x.csv' must exist"),
        (["--csv", "."], "'.' exists"),
    ],
)
def test_wrong_ways_to_ask_for_a_sheet(photinus, study, as_json, folder, words, message):
    assert message in photinus("ask", study, *words, code=2).stderr
    assert len(as_json("trials", study)) == 3
    assert not list(folder.glob("*.csv"))


def test_formulas_are_not_run_and_come_back(photinus, folder, as_json):
    space = (folder / "space.toml").read_text().replace('"adam", "sgd"', '"=1+1", "-x", "@cmd", "007", "1/2"')
    (folder / "space.toml").write_text(space)
    photinus("create", "formulas", "space.toml")
    photinus("ask", "formulas", "-n", 12, "--csv", "plate.csv")
    header, *rows = read(folder / "plate.csv")
    cells = [row[header.index("opt")] for row in rows]
    assert all(cell.startswith("'") for cell in cells) and len(set(cells)) > 2
    fill(folder / "plate.csv", "error", *map(str, range(12)))
    assert len(as_json("tell", "formulas", "plate.csv")) == 12


def test_on_a_server(photinus, folder, monkeypatch, optuna_address):
    with served(Settings(storage="memory", tokens_required=False)) as url:
        monkeypatch.setenv("PHOTINUS_URL", url)
        photinus("create", "resnet", "space.toml")
        photinus("ask", "resnet", "-n", 3, "--csv", "plate.csv")
        fill(folder / "plate.csv", "error", "0.5", "x")
        assert "row 3, column `error`" in photinus("tell", "resnet", "plate.csv", code=2).stderr
        fill(folder / "plate.csv", "error", "0.5", "")
        assert photinus("tell", "resnet", "plate.csv").stdout == "trial 3 is completed: error=0.5\n".replace(
            "3", "0"
        )
        photinus("import", "--optuna", optuna_address, "taken", "--optuna-study", "first")
        assert len(ph.connect(url).load_study("taken")) == 4
    assert not (folder / "photinus.db").exists()


@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice, which few machines have")
@pytest.mark.parametrize(
    "options", ["44,34,76,1", "59,34,76,1", "9,34,76,1"], ids=["comma", "semicolon", "tab"]
)
@pytest.mark.long
def test_through_a_real_spreadsheet(photinus, study, as_json, folder, options):
    photinus("ask", study, "-n", 4, "--csv", "plate.csv")
    fill(folder / "plate.csv", "error", "0.3333333333333333", "-1.5e-7")
    office = [
        "soffice",
        f"-env:UserInstallation={(folder / 'office').as_uri()}",
        "--headless",
        "--convert-to",
    ]
    for words in (["xlsx", "plate.csv"], [f"csv:Text - txt - csv (StarCalc):{options}", "plate.xlsx"]):
        subprocess.run([*office, *words], cwd=folder, check=True, capture_output=True, timeout=120)
    assert [trial["number"] for trial in as_json("tell", study, "plate.csv")] == [3, 4]
    assert "2 rows were told before" in photinus("tell", study, "plate.csv").stderr


# Studies of Optuna


def test_a_study_of_optuna_is_taken_over(photinus, as_json, optuna_address):
    said = photinus("import", "--optuna", optuna_address, "taken", "--optuna-study", "second").stdout
    assert said == "study taken has its 4 trials\n"
    trials = as_json("trials", "taken")
    assert [trial["state"] for trial in trials] == ["completed", "completed", "failed", "queued"]
    assert [trial["values"] for trial in trials[:2]] == [{"value": 0.25}, {"value": 0.125}]
    assert as_json("ask", "taken")[0]["params"] == {"x": 0.25}
    # Under its own name, with another meaning of pruned trials.
    words = ["--optuna-study", "first", "--pruned", "last_value"]
    assert as_json("import", "--optuna", optuna_address, *words)["name"] == "first"
    assert as_json("trials", "first")[2]["values"] == {"value": 0.75}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "--optuna-study must say which study to import, the storage has 'first', 'second'"),
        (
            ["x", "--optuna-study", "third"],
            3,
            "no Optuna study named 'third' in that storage, it has 'first', ",
        ),
        (["x", "--optuna-study", "first", "--study", "y"], 2, "leave --study out"),
        (["x", "--pruned", "gone"], 2, "gone"),
    ],
)
def test_wrong_ways_to_take_a_study_over(photinus, folder, optuna_address, words, code, message):
    assert message in photinus("import", "--optuna", optuna_address, *words, code=code).stderr
    assert not (folder / "photinus.db").exists()


def test_storages_that_are_none(photinus, folder):
    assert (
        "there is no file of sqlite:///no.db"
        in photinus("import", "--optuna", "sqlite:///no.db", code=2).stderr
    )
    assert "--optuna must be an address such as" in photinus("import", "--optuna", "optuna.db", code=2).stderr
    assert "a file must be named, or an Optuna storage" in photinus("import", code=2).stderr
    for words in (["--optuna-study", "x"], ["--pruned", "failed"]):
        assert "name it by --optuna ADDRESS" in photinus("import", "x.json", *words, code=2).stderr
    secret = "postgresql://me:hush@localhost:1/x"
    assert "hush" not in photinus("import", "--optuna", secret, code=5).stderr
    assert not (folder / "photinus.db").exists() and not (folder / "no.db").exists()


def test_optuna_that_is_not_installed(photinus, folder, monkeypatch, optuna_address):
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    for name in [name for name in sys.modules if name.startswith("photinus.integrations.optuna")]:
        monkeypatch.delitem(sys.modules, name)
    assert (
        'pip install --upgrade "photinus[optuna]"'
        in photinus("import", "--optuna", optuna_address, code=2).stderr
    )
    assert not (folder / "photinus.db").exists()


def test_a_name_that_is_taken(photinus, study, folder, optuna_address):
    words = ["--optuna", optuna_address, study, "--optuna-study", "first"]
    assert f"another name by `import --optuna {words[1]} NAME`" in photinus("import", *words, code=4).stderr
    assert len(ph.load_study(study, storage=folder / "photinus.db")) == 3
