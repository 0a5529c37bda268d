"""How studies, trials and problems look in a notebook."""

import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest

import photinus as ph
from photinus.display import MAX_COLUMNS, MAX_ROWS, Card, Table
from photinus.local import open_backend
from photinus.reporting import TrialList
from photinus.trial import Measurement

NASTY = "<script>alert('x')</script> & \"quoted\" | *bold* $x$ [a](b)\n\u202enext"
SPACE = {
    "lr": ph.Float(1e-5, 1e-1, scale="log"),
    "layers": ph.Int(1, 8),
    "opt": ph.Categorical(["adam", "sgd"]),
}


class Cells(HTMLParser):
    """Reads markup: its tags in order, and the text of every cell."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(markup)
        self.close()
        assert self.open == [], "every tag is closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"style", "class"}
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def study_of(objectives: Any = "minimize", **options: Any) -> ph.Study:
    return ph.create_study(SPACE, objectives, algorithm="random", seed=0, **options)


def many(study: ph.Study, count: int) -> None:
    study.add_trials(
        {"params": {"lr": 1e-3, "layers": 1 + i % 8, "opt": "adam"}, "values": float(i)} for i in range(count)
    )


def test_a_study_without_trials():
    shown = Cells(study_of(name="net")._repr_html_())
    assert "Study net" in shown.text and "no trials yet" in shown.text
    assert ["lr", "float", "1e-05 to 0.1", "log"] in shown.rows
    assert ["opt", "categorical", "adam, sgd", ""] in shown.rows


def test_a_study_with_one_trial():
    study = study_of({"error": "minimize"}, name="net")
    [trial] = study.ask()
    study.tell(trial, 0.25)
    shown = Cells(study._repr_html_())
    assert "1 trial: 1 completed" in shown.text
    assert shown.rows[0][:3] == ["trial", "state", "error"]
    assert shown.rows[1][:3] == ["0", "completed", "0.25"]


def test_a_study_with_ten_thousand_trials_stays_small():
    study = study_of()
    many(study, 10_000)
    assert len(study._repr_html_()) < 10_000
    shown = Cells(study.trials._repr_html_())
    assert "10,000 trials" in shown.text and "9,990 more rows" in shown.text
    assert len(shown.rows) == 1 + MAX_ROWS + 1
    assert [row[0] for row in shown.rows[1:]] == [*"01234", "…", *(str(n) for n in range(9995, 10_000))]


def test_only_failures_are_shown_as_such():
    study = study_of()
    for trial in study.ask(2):
        study.tell(trial, failed="power cut")
    shown = Cells(study._repr_html_())
    assert "none of them completed" in shown.text and "2 failed" in shown.text
    assert "message" in shown.rows[0] and "power cut" in shown.rows[1]


def test_a_stopped_study_says_so():
    study = study_of()
    study.stop()
    assert "stopped" in Cells(study._repr_html_()).text


def test_values_that_are_no_numbers():
    study = study_of({"error": "minimize"})
    [trial] = study.ask()
    trial.report(math.nan, 1)
    trial.report(-math.inf, 2)
    study.tell(trial, infeasible="NaN")
    shown = Cells(study.trials[0]._repr_html_())
    assert "Trial 0, infeasible" in shown.text and "NaN" in shown.text
    assert "2 reports, the last at step 2: error -inf" in shown.text


def test_a_pareto_set():
    study = study_of({"a": "minimize", "b": "maximize"})
    for a, b in ((1.0, 1.0), (2.0, 2.0), (3.0, 0.0)):
        study.add_trial({"lr": 1e-3, "layers": 1, "opt": "sgd"}, {"a": a, "b": b})
    shown = Cells(study._repr_html_())
    assert "Pareto set" in shown.text
    assert [row[0] for row in shown.rows[1:3]] == ["0", "1"] and shown.rows[3][0] == "parameter"


def test_a_trial_says_why_it_was_chosen_and_who_ran_it():
    study = study_of({"error": "minimize"})
    [trial] = study.ask(worker="ann")
    shown = Cells(study.tell(trial, 0.5)._repr_html_())
    assert "a random point" in shown.text and "by ann" in shown.text
    assert ["error", "0.5"] in shown.rows and ["layers", str(trial.params["layers"])] in shown.rows


def test_what_the_model_expected_is_shown():
    predicted = {
        "error": {"q05": 0.1, "q50": 0.2, "q95": 0.4},
        "time": {"q05": None, "q50": 1.0, "q95": None},
    }
    reason = {"method": "ucb", "intent": "exploit", "predicted": predicted, "nearest": [], "trust_region": {}}
    trial = ph.Trial(number=3, params={"x": 1.0}, state=ph.TrialState.ACTIVE, reason=reason)
    text = Cells(trial._repr_html_()).text
    assert "upper confidence bound (to exploit)" in text and "expected error 0.2 (0.1 to 0.4)" in text
    assert "expected time" not in text


def test_a_problem_and_a_space():
    problem = ph.Problem.define(SPACE, {"error": "minimize"})
    assert ["error", "minimize"] in Cells(problem._repr_html_()).rows
    assert "Search space: 3 parameters" in Cells(problem.space._repr_html_()).text
    wide = ph.SearchSpace({f"x{i}": ph.Discrete(range(1000)) for i in range(400)})
    shown = Cells(wide._repr_html_())
    assert "360 more rows" in shown.text and len(shown.text) < 8000


def test_a_point_is_shown_whole():
    study = ph.create_study({f"x{i}": ph.Float(0, 1) for i in range(30)}, algorithm="random")
    [trial] = study.ask()
    rows = Cells(trial._repr_html_()).rows
    assert [row[0] for row in rows] == ["parameter", *trial.params]
    assert [row[0] for row in Cells(study.problem.space._repr_html_()).rows] == ["parameter", *trial.params]


def test_lists_of_trials_are_lists():
    study = study_of()
    many(study, 3)
    trials = study.trials
    assert isinstance(trials, list) and trials == list(trials) and trials[0].number == 0
    assert isinstance(trials[1:], TrialList) and "2 trials" in Cells(trials[1:]._repr_html_()).text
    for asked in (study.ask(2), study.best_trials, study.tell_all([(t, 1.0) for t in study.ask(1)])):
        assert isinstance(asked, TrialList)
    assert "0 trials" in Cells(study.trials[:0]._repr_html_()).text


def nasty_things() -> list[Any]:
    study = ph.create_study(
        {NASTY: ph.Categorical([NASTY, "b"])}, {NASTY: "minimize"}, algorithm="random", name="<b>"
    )
    study.add_trial({NASTY: NASTY}, 1.0)
    failed = study.add_trial({NASTY: "b"}, failed=NASTY)
    return [study, study.trials, failed, study.best_trial, study.problem, study.problem.space]


@pytest.mark.parametrize("thing", nasty_things(), ids=lambda thing: type(thing).__name__)
def test_what_a_user_wrote_is_never_markup(thing: Any):
    shown = Cells(thing._repr_html_())
    assert set(shown.tags) <= {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert "<script>alert" in shown.text or "<b>" in shown.text
    assert "\u202e" not in shown.text
    markdown = thing._repr_markdown_()
    assert "<" not in markdown and "\n\u202e" not in markdown
    assert "*bold*" not in re.sub(r"\\\*", "", markdown)
    for line in markdown.splitlines():
        assert not line.startswith("|") or (line.startswith("| ") and line.endswith(" |"))


def test_every_row_of_a_markdown_table_has_the_same_cells():
    for thing in nasty_things():
        for block in thing._repr_markdown_().split("\n\n"):
            lines = [line for line in block.splitlines() if line.startswith("|")]
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) <= 1


def test_long_texts_and_wide_tables_are_cut():
    table = Table([f"column {i}" for i in range(30)], [["x" * 1000] * 30])
    shown = Cells(Card("t" * 1000, tables=[table]).to_html())
    assert len(shown.rows[0]) == MAX_COLUMNS and "18 more columns" in shown.text
    assert all(len(cell) <= 120 for cell in shown.rows[1])
    assert "tttt…" in shown.text


def test_plain_text_is_as_before():
    study = study_of(name="net")
    study.add_trial({"lr": 1e-3, "layers": 1, "opt": "sgd"}, 1.0)
    assert repr(study).startswith("Study(name='net'")
    assert repr(study.trials).startswith("[Trial(number=0, state=completed")


def test_studies_are_shown_without_jax(tmp_path: Any):
    program = """
import sys, photinus as ph
study = ph.create_study({"x": ph.Float(0, 1)}, seed=0, storage=sys.argv[1])
study.add_trial({"x": 0.5}, 1.0)
study._repr_html_(), study.trials._repr_markdown_(), study.best_trial._repr_html_()
sys.exit("jax" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "s.db")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_study_is_read_anew_each_time():
    backend = open_backend(ph.MemoryStorage())
    study = ph.Study.create(backend, ph.Problem.define(SPACE), name="net", algorithm="random")
    assert "no trials yet" in study._repr_html_()
    backend.add_trial(
        study.record.id, {"lr": 1e-3, "layers": 1, "opt": "sgd"}, Measurement.completed({"value": 1.0})
    )
    assert "1 completed" in study._repr_html_()
