"""The command line on a server: every command that opens a store takes --url instead."""

import csv
import json
from types import SimpleNamespace

import pytest
from serving import free_port
from typer.testing import CliRunner

import photinus as ph
from photinus.cli.app import app
from photinus.cli.options import complete_study

SPACE = """
[study]
objectives = { error = "minimize" }
algorithm = "random"
seed = 0

[space.lr]
type = "float"
low = 1e-5
high = 1e-1
scale = "log"
"""
COMMANDS = {
    "studies": [],
    "show": ["resnet"],
    "trials": ["resnet"],
    "report": ["resnet"],
    "delete": ["resnet", "--yes"],
    "create": ["resnet", "space.toml"],
    "ask": ["resnet"],
    "tell": ["resnet", "0", "1"],
    "amend": ["resnet", "0", "1"],
    "enqueue": ["resnet", "lr=0.01"],
    "export": ["resnet", "--to", "csv"],
    "import": ["rows.csv", "--study", "resnet"],
    "tune": ["space.toml", "-n", "1", "--", "echo", "1"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("PHOTINUS_STORAGE", "PHOTINUS_URL", "PHOTINUS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "rows.csv").write_text("lr,error\n0.01,1\n")
    return tmp_path


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, f"exit code {result.exit_code}\n{result.stdout}\n{result.stderr}"
    return result


@pytest.fixture
def photinus(server, folder, monkeypatch):
    """Runs a command on the server, which PHOTINUS_URL names."""
    monkeypatch.setenv("PHOTINUS_URL", server.backend.url)
    return run


def test_a_study_from_beginning_to_end(photinus, server, folder):
    assert photinus("studies").stdout == f"no studies in {server.backend.url}\n"
    assert photinus("create", "resnet", "space.toml").stdout == "study resnet has 0 trials\n"
    photinus("ask", "resnet", "-n", 3, "--output", "batch.csv")
    header, *rows = csv.reader((folder / "batch.csv").read_text().splitlines())
    rows[0][header.index("error")], rows[1][header.index("error")] = "0.5", "0.25"
    (folder / "batch.csv").write_text("\n".join(map(",".join, [header, *rows])))
    assert "2 trials told: trials 0, 1" in photinus("tell", "resnet", "batch.csv").stdout
    photinus("tell", "resnet", 2, "--failed", "power cut")
    photinus("amend", "resnet", 0, 0.125)
    assert photinus("enqueue", "resnet", "lr=0.01").stdout == "queued as trial 3\n"
    photinus("import", "rows.csv", "--study", "resnet")
    trials = json.loads(photinus("trials", "resnet", "--json").stdout)
    assert [trial["state"] for trial in trials] == ["completed", "completed", "failed", "queued", "completed"]
    assert trials == [trial.to_dict() for trial in server.load_study("resnet").trials]
    only = json.loads(photinus("trials", "resnet", "--state", "completed", "-n", 2, "--json").stdout)
    assert [trial["number"] for trial in only] == [1, 4]
    assert "3 earlier trials are left out" in photinus("trials", "resnet", "-n", 2).stdout
    assert "best: error=0.125 in trial 0" in " ".join(photinus("show", "resnet").stdout.split())
    assert json.loads(photinus("studies", "--json").stdout)[0]["num_finished"] == 4
    photinus("export", "resnet", "--to", "json", "--output", "resnet.json")
    photinus("delete", "resnet", "--yes")
    assert server.studies() == []
    assert photinus("import", "resnet.json").stdout == "study resnet has its 5 trials\n"
    assert len(server.load_study("resnet")) == 5
    assert not (folder / "photinus.db").exists()


def test_tune_on_a_server(photinus, server):
    result = photinus("tune", "space.toml", "-n", 4, "-j", 2, "--study", "tuned", "--", "echo", "{lr}")
    assert "study tuned: 4 trials finished" in result.stdout
    trials = server.load_study("tuned").trials
    assert [trial.values for trial in trials] == [{"error": trial.params["lr"]} for trial in trials]


def test_more_rows_than_one_page_are_imported_at_once_and_exported(photinus, server, folder):
    photinus("create", "resnet", "space.toml")
    rows = "".join(f"{0.01 + i * 1e-6!r},{i}\n" for i in range(1500))
    (folder / "rows.csv").write_text("lr,error\n" + rows)
    assert "1500 trials" in photinus("import", "rows.csv", "--study", "resnet").stdout
    values = [trial.values["error"] for trial in server.load_study("resnet").trials]
    assert values == list(range(1500))
    photinus("export", "resnet", "--to", "csv", "--output", "out.csv")
    assert len((folder / "out.csv").read_text().splitlines()) == 1501


def test_a_report_about_a_study_on_a_server(photinus, server, folder):
    photinus("create", "resnet", "space.toml")
    study = server.load_study("resnet")
    for trial in study.ask(4):
        study.tell(trial, trial.params["lr"])
    photinus("report", "resnet", "--output", "page.html")
    page = (folder / "page.html").read_text()
    assert "resnet" in page and f"{study.best_trial.number}" in page and "</html>" in page


def test_nothing_is_half_imported(photinus, server, folder):
    photinus("create", "resnet", "space.toml")
    photinus("ask", "resnet", "-n", 2)
    (folder / "bad.csv").write_text("lr,error\n0.01,1\n0.02,x\n")
    assert "bad.csv, row 3" in photinus("import", "bad.csv", "--study", "resnet", code=2).stderr
    (folder / "bad.csv").write_text("lr\n0.01\n7\n")
    assert "bad.csv, row 3" in photinus("enqueue", "resnet", "--from", "bad.csv", code=2).stderr
    (folder / "bad.csv").write_text("number,error\n0,1\n7,2\n")
    assert "bad.csv, row 3" in photinus("tell", "resnet", "--from", "bad.csv", code=3).stderr
    assert [trial.state.value for trial in server.load_study("resnet").trials] == ["active", "active"]


def test_a_result_that_comes_in_between_leaves_the_others_untold(photinus, server, folder, monkeypatch):
    """What the first look at the rows could not know is refused by the server, for all rows together."""
    photinus("create", "resnet", "space.toml")
    photinus("ask", "resnet", "-n", 2)
    (folder / "results.csv").write_text("number,error\n0,1\n1,2\n")
    from photinus import study

    read_results = study.read_results

    def tell_meanwhile(*words):
        results = read_results(*words)
        server.load_study("resnet").tell(1, 9.0)
        return results

    monkeypatch.setattr(study, "read_results", tell_meanwhile)
    assert (
        "trial 1 is completed already" in photinus("tell", "resnet", "--from", "results.csv", code=4).stderr
    )
    assert [trial.state.value for trial in server.load_study("resnet").trials] == ["active", "completed"]


def test_kinds_of_trouble(photinus, server):
    assert "there is no study 'x'" in photinus("show", "x", code=3).stderr
    photinus("create", "resnet", "space.toml")
    photinus("create", "resnet", "space.toml", code=4)
    photinus("create", "resnet", "space.toml", "--load")
    photinus("tell", "resnet", 5, 1, code=3)
    photinus("studies", "--url", "localhost", code=2)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_store_and_a_server_cannot_both_be_meant(folder, command):
    words = COMMANDS[command]
    options = ["--url", "http://127.0.0.1:1", "--storage", "studies.db"]
    split = words.index("--") if "--" in words else len(words)
    result = run(command, *words[:split], *options, *words[split:], code=2)
    assert "a study is in a store or on a server, but both are named" in result.stderr
    assert not (folder / "studies.db").exists()


def test_an_option_counts_more_than_the_variable_of_the_other(photinus, server, folder, monkeypatch):
    photinus("create", "here", "space.toml", "--storage", "studies.db")
    assert server.studies() == []
    monkeypatch.setenv("PHOTINUS_STORAGE", "studies.db")
    assert "both are named" in photinus("studies", code=2).stderr
    monkeypatch.delenv("PHOTINUS_URL")
    assert "no studies in" in photinus("studies", "--url", server.backend.url).stdout
    assert "here" in photinus("studies").stdout


def test_a_server_that_is_away_is_no_store(folder, monkeypatch):
    monkeypatch.setitem(ph.connect.__kwdefaults__, "retry_s", 0.1)
    url = f"http://127.0.0.1:{free_port()}"
    assert f"error: {url} gave no answer for 0.1 s" in run("studies", "--url", url, code=5).stderr


@pytest.mark.parametrize("debug", ["0", "1"])
def test_the_token_is_never_printed(server, folder, monkeypatch, debug):
    token = "pho_id_sEcReTsEcReT"
    monkeypatch.setenv("PHOTINUS_TOKEN", token)
    monkeypatch.setenv("PHOTINUS_DEBUG", debug)
    shown = run("show", token, "--url", server.backend.url, code=3)
    assert token not in shown.output
    assert "there is no study '***'" in shown.stderr
    assert token not in run("studies", "--help").output


def test_names_are_completed(photinus, server, folder):
    server.create_study({"x": ph.Float(0, 1)}, name="resnet", algorithm="random")

    context = SimpleNamespace(params={"url": server.backend.url, "project": None})
    assert complete_study(context, "res") == ["resnet"]  # pyright: ignore[reportArgumentType]


def test_a_token_of_one_project_works_there(guarded, folder, monkeypatch):
    url, tokens = guarded
    monkeypatch.setenv("PHOTINUS_URL", url)
    monkeypatch.setenv("PHOTINUS_TOKEN", tokens["writer"])
    assert json.loads(run("create", "cli", "space.toml", "--json").stdout)["project"] == "vision"
    run("export", "cli", "--to", "json", "--output", "cli.json")
    monkeypatch.setenv("PHOTINUS_TOKEN", tokens["stranger"])
    assert "no study 'cli' in project 'speech'" in run("show", "cli", code=3).stderr
    assert json.loads(run("import", "cli.json", "--json").stdout)["project"] == "speech"
    assert run("import", "cli.json", "--project", "vision", code=4).stderr.startswith("error: this token")
    monkeypatch.setenv("PHOTINUS_TOKEN", tokens["admin"])
    assert "cli" not in run("studies", "--project", "default").stdout
    for project in ("vision", "speech"):
        run("delete", "cli", "--project", project, "--yes")
    monkeypatch.setenv("PHOTINUS_TOKEN", tokens["reader"])
    assert run("create", "cli", "space.toml", code=4).stderr.startswith("error: ")
