"""studies, show, create, delete, report, storage upgrade."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

import photinus as ph
from photinus.cli.pages import file_name

ODD_NAMES = [
    'it\'s "quoted"',
    "a/b/../c",
    "🦋 emoji",
    "x" * 100,
    "[bold]name[/bold]",
    "--looks like an option",
]


def test_studies_lists_what_is_there(photinus, study, as_json):
    shown = photinus("studies").stdout
    assert re.search(r"resnet +3 +3 +minimize error +random +default", shown)
    assert shown.endswith("in photinus.db\n")
    [entry] = as_json("studies")
    assert (entry["name"], entry["num_trials"], entry["num_finished"]) == ("resnet", 3, 3)
    assert entry["problem"]["metrics"] == [{"name": "error", "goal": "minimize"}]


def test_projects_are_kept_apart(photinus, study, as_json):
    photinus("create", "resnet", "space.toml", "--project", "other")
    assert [entry["project"] for entry in as_json("studies")] == ["default", "other"]
    assert [entry["project"] for entry in as_json("studies", "--project", "other")] == ["other"]
    assert as_json("studies", "--project", "third") == []
    assert photinus("studies", "--project", "third").stdout == "no studies in photinus.db\n"
    assert as_json("trials", "resnet", "--project", "other") == []


def test_the_store_comes_from_the_option_then_the_variable_then_here(photinus, folder, monkeypatch):
    assert "store: photinus.db (--storage or PHOTINUS_STORAGE" in photinus("create", "a", "space.toml").stderr
    monkeypatch.setenv("PHOTINUS_STORAGE", "by_variable.db")
    assert photinus("create", "b", "space.toml").stderr == ""
    assert photinus("create", "c", "space.toml", "--storage", "sqlite:///by_option.db").stderr == ""
    for path, name in [("photinus.db", "a"), ("by_variable.db", "b"), ("by_option.db", "c")]:
        assert ph.load_study(name, storage=folder / path).name == name


def test_show_tells_about_the_study(photinus, study, as_json):
    shown = photinus("show", "resnet").stdout
    for piece in (
        "minimize error",
        "random, seed 0",
        "3: 1 completed, 1 infeasible, 1 failed",
        "1e-05 to 0.1",
        "adam, sgd",
        "best: error=0.25 in trial 0, at",
    ):
        assert piece in shown
    summary = as_json("show", "resnet")
    assert summary["states"] == {"completed": 1, "infeasible": 1, "failed": 1}
    assert [trial["number"] for trial in summary["best_trials"]] == [0]


def test_show_before_anything_is_measured(photinus, as_json):
    photinus("create", "new", "space.toml")
    assert "no completed trial yet" in photinus("show", "new").stdout
    assert as_json("show", "new")["best_trials"] == []


def test_show_of_one_trial(photinus, study, as_json):
    shown = photinus("show", "resnet", 1).stdout
    assert "too hot" in shown and "method  random" in shown
    assert as_json("show", "resnet", 1)["message"] == "too hot"


def test_a_pareto_front_is_a_table(photinus, folder):
    text = (
        (folder / "space.toml")
        .read_text()
        .replace('error = "minimize"', 'error = "minimize", speed = "maximize"')
    )
    (folder / "two.toml").write_text(text)
    photinus("create", "two", "two.toml")
    photinus("ask", "two", "-n", 13)
    for number in range(12):
        photinus("tell", "two", number, f"error={number}", f"speed={number}")
    photinus("tell", "two", 12, "error=12", "speed=0")
    shown = photinus("show", "two").stdout
    assert "Pareto front: 12 trials" in shown
    assert "2 more trials are on the front" in shown


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_of_all_kinds(photinus, as_json, name):
    photinus("create", "--", name, "space.toml")
    [entry] = as_json("studies")
    assert entry["name"] == name
    assert photinus("trials", "--json", "--", name).stdout == "[]\n"
    for line in photinus("studies").stdout.splitlines():
        assert cell_len(line) <= 80
    photinus("delete", "--yes", "--", name)
    assert as_json("studies") == []


def test_fifty_parameters_fit_eighty_columns(photinus, folder):
    tables = [f'[space.quite_a_long_name_{i}]\ntype = "float"\nlow = 0\nhigh = 1\n' for i in range(50)]
    (folder / "wide.toml").write_text("".join(tables) + '[study]\nalgorithm = "random"\n')
    photinus("create", "wide", "wide.toml")
    photinus("ask", "wide", "-n", 2)
    for words in (["trials", "wide"], ["show", "wide"], ["show", "wide", 0], ["studies"]):
        assert all(cell_len(line) <= 80 for line in photinus(*words).stdout.splitlines())
    assert "48 more not shown" in photinus("trials", "wide").stdout


def test_deleting_wants_a_yes(photinus, study, as_json):
    assert "say --yes" in photinus("delete", "resnet", code=2).stderr
    assert len(as_json("studies")) == 1
    assert as_json("delete", "resnet", "--yes") == {"project": "default", "name": "resnet", "num_trials": 3}
    assert as_json("studies") == []
    photinus("delete", "resnet", "--yes", code=3)


def test_on_a_terminal_deleting_asks(photinus, study, as_json):
    for answer, code, num_left in ((b"n\n", 4, 1), (b"y\n", 0, 0)):
        leader, follower = pty.openpty()
        words = [Path(sys.executable).with_name("photinus"), "delete", "resnet"]
        os.write(leader, answer)
        done = subprocess.run(words, stdin=follower, capture_output=True, text=True, timeout=100)
        os.close(follower)
        os.close(leader)
        assert done.returncode == code
        assert "Delete study resnet and its 3 trials?" in done.stderr
        assert len(as_json("studies")) == num_left


def test_a_bad_space_file_makes_no_store(photinus, folder):
    (folder / "bad.toml").write_text("[space.x]")
    photinus("create", "x", "bad.toml", code=2)
    assert not (folder / "photinus.db").exists()


def test_upgrading_a_new_store_changes_nothing(photinus, study, as_json):
    answer = as_json("storage", "upgrade")
    assert answer["from"] == answer["to"]
    assert "is up to date" in photinus("storage", "upgrade").stdout


def test_upgrading_an_empty_file_says_so(photinus, folder):
    (folder / "photinus.db").touch()
    assert "was empty and now has schema" in photinus("storage", "upgrade").stdout


def test_the_page_of_a_study_is_named_after_it(photinus, study, as_json, folder):
    answer = as_json("report", "resnet")
    assert answer["file"] == "resnet.html"
    assert "</html>" in (folder / "resnet.html").read_text()
    photinus("report", "resnet", "-o", "page.html")
    assert "</html>" in (folder / "page.html").read_text()


@pytest.mark.long
def test_the_demo_says_what_it_found(as_json, folder):
    summary = as_json("demo", "--trials", 1, "--jobs", 1, "-o", "demo.html")
    assert summary["states"] == {"completed": 1}
    assert "</html>" in (folder / "demo.html").read_text()


@pytest.mark.parametrize(
    ("study", "expected"),
    [
        ("resnet", "resnet"),
        ("a/b", "a_b"),
        ("../..", "_.."),
        ("🦋", "_"),
        ("...", "study"),
        ("é.1", "é.1"),
        ("学" * 250, "学" * 66),  # of three bytes each
    ],
)
def test_file_names_stay_in_the_folder(study, expected):
    assert file_name(study) == expected
    assert Path(file_name(study)).name == file_name(study)
