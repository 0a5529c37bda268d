"""Batches that go out as a sheet and come back filled in."""

import csv
import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import photinus as ph
from photinus.errors import (
    AlreadyTold,
    ArgumentError,
    ConnectionLost,
    InvalidState,
    UnknownTrial,
)
from photinus.sheets import read_results, sheet_text
from photinus.sheets.cells import (
    decimal_mark,
    is_same_value,
    is_shown_as,
    protect,
    read_number,
    unprotect,
    value_to_cell,
)
from photinus.testing import strategies
from photinus.trial import Trial, TrialState

SPACE = {
    "temperature": ph.Float(120, 220),
    "minutes": ph.Int(10, 90),
    "solvent": ph.Categorical(["ethanol", "=1+1", "007", True]),
}


@pytest.fixture
def study():
    return ph.create_study(SPACE, {"hardness": "maximize"}, name="coating", algorithm="random", seed=0)


@pytest.fixture
def sheet(study, tmp_path):
    """The path of a sheet of four trials."""
    study.ask_sheet(tmp_path / "plate.csv", 4)
    return tmp_path / "plate.csv"


def cells(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.reader(file))


def fill(path: Path, changes: dict[tuple[int, str], str], *, delimiter: str = ",") -> Path:
    """Write into cells, given by row, as a spreadsheet counts them, and column."""
    header, *rows = cells(path)
    table = [header.copy(), *rows]
    for (row, column), text in changes.items():
        table[row - 1][header.index(column)] = text
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(table)
    return path


def states(study) -> list[str]:
    return [trial.state.value for trial in study.trials]


# A sheet of our own


def test_a_sheet_has_a_row_per_trial_and_cells_to_fill_in(study, sheet):
    header, *rows = cells(sheet)
    assert header == [
        *("number", "temperature", "minutes", "solvent", "hardness", "infeasible", "failed", "study")
    ]
    assert [row[0] for row in rows] == ["0", "1", "2", "3"]
    assert [float(row[1]) for row in rows] == [trial.params["temperature"] for trial in study.trials]
    assert {tuple(row[4:]) for row in rows} == {("", "", "", "coating")}
    assert sheet.read_bytes()[:1] == b"n"  # no mark where none is needed


def test_a_sheet_filled_in_bit_by_bit(study, sheet):
    fill(sheet, {(2, "hardness"): "41.5", (4, "infeasible"): "peeled off"})
    outcome = study.tell_sheet(sheet)
    numbers = [[trial.number for trial in part] for part in (outcome.told, outcome.repeated, outcome.pending)]
    assert numbers == [[0, 2], [], [1, 3]]
    assert states(study) == ["completed", "active", "infeasible", "active"]
    fill(sheet, {(3, "failed"): "dropped", (5, "hardness"): "1e2"})
    outcome = study.tell_sheet(sheet, worker="ada")
    numbers = [[trial.number for trial in part] for part in (outcome.told, outcome.repeated, outcome.pending)]
    assert numbers == [[1, 3], [0, 2], []]
    assert states(study) == ["completed", "failed", "infeasible", "completed"]
    assert [trial.worker for trial in study.trials] == [None, "ada", None, "ada"]
    before = study.trials
    assert not study.tell_sheet(sheet).told
    assert study.trials == before


def test_a_file_that_exists_is_never_written_over(study, sheet):
    before = sheet.read_bytes()
    for attempt in (lambda: study.ask_sheet(sheet, 2), lambda: study.write_sheet(sheet, study.trials)):
        with pytest.raises(
            ArgumentError, match=r"plate.csv' exists, and may have results in it: choose another"
        ):
            attempt()
    assert (sheet.read_bytes(), len(study)) == (before, 4)
    link = sheet.with_name("link.csv")
    link.symlink_to(sheet)
    with pytest.raises(ArgumentError, match="exists"):
        study.ask_sheet(link)
    with pytest.raises(ArgumentError, match=r"the folder of .* must exist: make it first"):
        study.ask_sheet(sheet.parent / "no" / "plate.csv")
    with pytest.raises(ArgumentError, match=r"n` must be an integer >= 1"):
        study.ask_sheet(sheet.with_name("new.csv"), 0)
    assert sorted(path.name for path in sheet.parent.iterdir()) == ["link.csv", "plate.csv"]
    assert len(study) == 4


def test_of_two_who_want_the_same_file_one_is_refused(study, tmp_path):
    outcomes: list[object] = []

    def work():
        try:
            outcomes.append(study.ask_sheet(tmp_path / "plate.csv", 3))
        except ArgumentError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    refused = [str(outcome) for outcome in outcomes if isinstance(outcome, ArgumentError)]
    [trials] = [outcome for outcome in outcomes if not isinstance(outcome, ArgumentError)]
    assert len(refused) == 3 and all("plate.csv' exists" in message for message in refused)
    written = [row[0] for row in cells(tmp_path / "plate.csv")[1:]]
    assert written == [str(trial.number) for trial in trials]
    # Nobody else holds a trial: what the others were given, they handed back.
    assert [str(trial.number) for trial in study.trials if trial.state == TrialState.ACTIVE] == written
    assert os.listdir(tmp_path) == ["plate.csv"]


KILLED = """
import os, signal, sys
import photinus as ph
study = ph.load_study("coating", storage=sys.argv[1])
ask = study.ask
def die(*arguments):
    ask(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
study.ask = die
study.ask_sheet(sys.argv[2], 2)
"""


def test_whoever_is_killed_between_asking_and_writing_leaves_no_empty_sheet(tmp_path):
    store, path = tmp_path / "lab.db", tmp_path / "sheets" / "plate.csv"
    path.parent.mkdir()
    study = ph.create_study(SPACE, "maximize", name="coating", storage=store, algorithm="random", seed=0)
    done = subprocess.run([sys.executable, "-c", KILLED, store, path], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert states(study) == ["active", "active"]
    assert os.listdir(path.parent) == []
    study.write_sheet(path, study.trials)  # the way back
    assert [row[0] for row in cells(path)[1:]] == ["0", "1"]


def test_a_file_that_appears_meanwhile_is_left_alone(study, tmp_path, monkeypatch):
    path, ask = tmp_path / "plate.csv", study.ask

    def slowly(*arguments):
        path.write_text("of somebody else")
        return ask(*arguments)

    monkeypatch.setattr(study, "ask", slowly)
    with pytest.raises(ArgumentError, match=r"plate.csv' exists, .*; trials 0, 1 were handed back, and are"):
        study.ask_sheet(path, 2)
    assert path.read_text() == "of somebody else"
    assert states(study) == ["expired", "expired"]
    assert os.listdir(tmp_path) == ["plate.csv"]


def test_file_systems_without_links(study, tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    study.ask_sheet(tmp_path / "plate.csv", 2)
    assert os.listdir(tmp_path) == ["plate.csv"] and len(cells(tmp_path / "plate.csv")) == 3


@pytest.mark.parametrize(
    ("name", "message"), [("n" * 256, "File name too long"), ("file.txt/plate.csv", "Not a directory")]
)
def test_names_that_cannot_be_are_refused_before_a_trial_is_handed_out(study, tmp_path, name, message):
    (tmp_path / "file.txt").touch()
    with pytest.raises(ArgumentError, match=rf"cannot be written \({message}\): choose another file$"):
        study.ask_sheet(tmp_path / name)
    assert len(study) == 0


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_trials_without_a_sheet_are_handed_back(study, tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(
        ArgumentError, match=r"No space left.*: choose another file; trials 0, 1 were handed back"
    ):
        study.ask_sheet(tmp_path / "plate.csv", 2)
    assert list(tmp_path.iterdir()) == []
    assert states(study) == ["expired", "expired"]
    monkeypatch.undo()
    assert [trial.number for trial in study.ask_sheet(tmp_path / "plate.csv", 2)] == [0, 1]


def test_a_named_worker_keeps_trials_without_a_sheet(study, tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(ArgumentError, match="worker 'ada' is given trials 0, 1 again"):
        study.ask_sheet(tmp_path / "plate.csv", 2, worker="ada")
    monkeypatch.undo()
    assert [t.number for t in study.ask_sheet(tmp_path / "plate.csv", 2, worker="ada")] == [0, 1]
    assert len(study) == 2


def test_trials_that_cannot_be_handed_back_are_named(study, tmp_path, monkeypatch):
    def lost(trial):
        raise ConnectionLost("no answer")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    monkeypatch.setattr(study, "release", lost)
    with pytest.raises(
        ArgumentError,
        match="trials 0, 1 are out without a sheet: write one of the active trials by `photinus trials NAME",
    ):
        study.ask_sheet(tmp_path / "plate.csv", 2)
    monkeypatch.undo()
    study.write_sheet(tmp_path / "plate.csv", study.trials)
    study.tell_sheet(fill(tmp_path / "plate.csv", {(2, "hardness"): "1"}))
    assert states(study) == ["completed", "active"]


def test_what_is_no_file_is_written_to(study):
    assert len(study.ask_sheet("/dev/null", 2)) == 2


# What comes back


@pytest.mark.parametrize(
    ("row", "column", "text", "kind", "message"),
    [
        (
            3,
            "hardness",
            "12 mg",
            ArgumentError,
            "must be a number, got '12 mg': write 12 if that is in the column's",
        ),
        (
            3,
            "hardness",
            "12,5",
            ArgumentError,
            "must be a number, got '12,5': write 12.5; numbers of this file",
        ),
        (3, "hardness", "1,250", ArgumentError, "got '1,250': write 1250 or 1.250, whichever it is"),
        (3, "hardness", "1 250.5", ArgumentError, "got '1 250.5': write 1250.5"),
        (3, "hardness", "45%", ArgumentError, "got '45%': this may mean 45 or a hundredth of it"),
        (3, "hardness", "<0.1", ArgumentError, "got '<0.1': a limit or a guess is no measurement"),
        (3, "hardness", "2-Jan", ArgumentError, "got '2-Jan': a date, a time or a fraction"),
        (3, "hardness", "#DIV/0!", ArgumentError, "could not compute it; correct the formula there"),
        (3, "hardness", "=A1", ArgumentError, "a formula; write the number that it gives"),
        (3, "hardness", "\u22125", ArgumentError, "write -5"),
        (3, "hardness", "(5)", ArgumentError, "write -5"),
        (3, "hardness", "1e999", ArgumentError, "it is too large for a number"),
        (3, "hardness", "9" * 5000, ArgumentError, "it is too large for a number"),
        (3, "hardness", "5 ± 1", ArgumentError, "write the number without its uncertainty"),
        (3, "number", "9", UnknownTrial, "study 'coating' has the trials 0 to 3, got 9: put the number back"),
        (3, "number", "1.5", ArgumentError, "must be the number of a trial, got '1.5': put it back"),
        (3, "number", "", ArgumentError, "must be the number of a trial, got ''"),
        (3, "number", "0", ArgumentError, "a trial must have one row, but row 2 is about trial 0, too"),
        (3, "temperature", "423.15", ArgumentError, "trial 1 has .*, got '423.15': put it back"),
        (3, "minutes", "91", ArgumentError, "trial 1 has .*, got '91'"),
        (3, "minutes", "", ArgumentError, "trial 1 has .*, got ''"),
        (3, "solvent", "water", ArgumentError, "trial 1 has .*, got 'water'"),
        (
            3,
            "study",
            "paint",
            ArgumentError,
            "must be 'coating', got 'paint': tell the study that the sheet was",
        ),
    ],
)
def test_a_typo_is_named_by_row_and_column_and_nothing_is_told(
    study, sheet, row, column, text, kind, message
):
    fill(sheet, {(2, "hardness"): "41.5", (row, "hardness"): "1", (row, column): text})
    place = rf"plate.csv, row {row}, column `{column}`: "
    with pytest.raises(kind, match=rf"{place}.*{message.replace('(', '[(]')}.*; nothing was told$"):
        study.tell_sheet(sheet)
    assert states(study) == ["active"] * 4


def test_all_typos_are_named_at_once(study, sheet):
    fill(
        sheet,
        {
            (2, "hardness"): "12 mg",
            (3, "minutes"): "999",
            (3, "hardness"): "n/a",
            (4, "number"): "77",
            (5, "hardness"): "5",
            (5, "failed"): "dropped",
        },
    )
    with pytest.raises(ArgumentError, match="has 5 faults, nothing was told:\n") as caught:
        study.tell_sheet(sheet)
    assert [line.partition(": ")[0].strip() for line in str(caught.value).splitlines()[1:]] == [
        "row 2, column `hardness`",
        "row 3, column `minutes`",
        "row 3, column `hardness`",
        "row 4, column `number`",
        "row 5, column `hardness`",
    ]
    assert states(study) == ["active"] * 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "hardness",
            "hardness [GPa]",
            "column `hardness` must be there, got `hardness .GPa.`: put the name back, and",
        ),
        ("hardness", "Hardness", "column `hardness` must be there, got `Hardness`"),
        ("hardness", "notes", "column `hardness` must be there, got `number`, .*: add it"),
        ("temperature", "temperature (K)", r"column `temperature` must be there, got `temperature \(K\)`"),
        ("temperature", "T", "column `temperature` must be there"),
        ("number", "trial", "column `number` must be there, with the numbers of the trials: put it back"),
        ("failed", "Failed", "column `Failed` must be called `failed`, or reasons would be overlooked"),
        ("study", "hardness", "column names must differ, got hardness more than once"),
    ],
)
def test_changed_titles_and_units_are_refused(study, sheet, old, new, message):
    fill(sheet, {(1, old): new, (2, "hardness"): "41.5"})
    with pytest.raises(ArgumentError, match=message):
        study.tell_sheet(sheet)
    assert states(study) == ["active"] * 4


def test_a_unit_in_the_name_of_an_objective_must_stay(tmp_path):
    study = ph.create_study(
        {"x [mm]": ph.Float(0, 1)}, {"yield [%]": "maximize"}, name="é", algorithm="random", seed=0
    )
    path = tmp_path / "plate.csv"
    study.ask_sheet(path, 2)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")  # or Excel would spoil the é
    fill(path, {(1, "yield [%]"): "yield [mg]", (2, "yield [%]"): "3"})
    with pytest.raises(
        ArgumentError, match=r"column `yield \[%\]` must be there, got `yield \[mg\]`: put the name"
    ):
        study.tell_sheet(path)
    assert len(study.tell_sheet(fill(path, {(1, "yield [mg]"): "yield [%]"})).told) == 1


def test_results_need_no_parameters_and_other_columns_do_no_harm(study, sheet):
    sheet.write_text("operator,hardness,number\nada,5,2\nbob,6,0\n")
    outcome = study.tell_sheet(sheet)
    assert {trial.number: trial.values["hardness"] for trial in outcome.told} == {0: 6, 2: 5}
    assert outcome.unread == ["operator"]


def test_another_result_is_refused_and_a_queued_trial_too(study, sheet):
    study.tell(0, 41.5)
    study.tell(1, infeasible="peeled off")
    study.enqueue({"temperature": 150, "minutes": 20, "solvent": True})
    study.write_sheet(sheet.with_name("more.csv"), study.trials)
    for change, kind, message in [
        (
            {(2, "hardness"): "41.6"},
            AlreadyTold,
            r"row 2: trial 0 is completed already .*correct values with amend",
        ),
        ({(2, "hardness"): "", (2, "failed"): "hm"}, AlreadyTold, "row 2: trial 0 is completed already"),
        ({(3, "infeasible"): "cracked"}, AlreadyTold, "row 3: trial 1 is infeasible already"),
        ({(6, "hardness"): "1"}, InvalidState, "row 6: trial 4 must be handed out before it is told"),
    ]:
        path = sheet.with_name("copy.csv")
        path.write_bytes(sheet.with_name("more.csv").read_bytes())
        with pytest.raises(kind, match=message):
            study.tell_sheet(fill(path, {(4, "hardness"): "7", **change}))
    assert states(study) == ["completed", "infeasible", "active", "active", "queued"]


def test_a_sheet_of_before_an_amendment_says_nothing_new(study, sheet):
    study.tell_sheet(fill(sheet, {(2, "hardness"): "41.5"}))
    study.amend(0, 40.0)
    assert [trial.number for trial in study.tell_sheet(sheet).repeated] == [0]
    assert study.trials[0].values == {"hardness": 40.0}


def test_several_objectives(tmp_path):
    study = ph.create_study(
        {"x": ph.Float(0, 1)}, {"a": "minimize", "b": "maximize"}, name="two", algorithm="random", seed=0
    )
    path = tmp_path / "plate.csv"
    study.ask_sheet(path, 2)
    fill(path, {(2, "a"): "1", (3, "a"): "3", (3, "b"): "4"})
    with pytest.raises(
        ArgumentError, match="row 2, column `b`: every objective needs a value where one of them"
    ):
        study.tell_sheet(path)
    study.tell_sheet(fill(path, {(2, "b"): "2"}))
    assert [trial.values for trial in study.trials] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_semicolons_and_decimal_commas_of_a_european_spreadsheet(study, sheet):
    header, *rows = cells(sheet)
    for number, row in enumerate(rows):
        row[1], row[4] = f"{float(row[1]):.9g}".replace(".", ","), f"{number},5"
    with sheet.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=";").writerows([header, *rows])
    assert [trial.values["hardness"] for trial in study.tell_sheet(sheet).told] == [0.5, 1.5, 2.5, 3.5]


@pytest.mark.long
def test_the_example_runs():
    example = Path(__file__).parents[1] / "examples" / "lab_batch.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=300, check=True)
    slip, first, second = done.stdout.splitlines()
    assert slip.startswith("row 2, column `hardness [HV]`: must be a number, got '57.0 HV': write 57.0 if")
    assert first.startswith("batch 0: 4 results") and second.startswith("batch 1: 4 results")


# Numbers and text


@pytest.mark.parametrize(
    ("number", "text", "is_same"),
    [
        (1.23456789e-5, "1.23457E-05", True),
        (1.23456789e-5, "1.2345E-05", False),
        (170.0, "170", True),
        (0.1 + 0.2, "0.3", True),
        (1 / 3, "0.333333333", True),
        (1 / 3, "0.33", False),
        (1 / 3, "0.3333334", False),
        (1.2000000004e-5, "1.2E-05", True),
        (1234567, "1234567", True),
        (1234567, "1234568", False),
        (123456789012, "1.23457E+11", True),
        (0.0, "0", True),
        (1e-9, "0", False),
        (-0.0, "0", True),
        (2, "2.0", True),
        (2, "", False),
        (5e-324, "5E-324", True),
    ],
)
def test_a_number_is_the_same_if_it_is_shown_rounded(number, text, is_same):
    assert is_shown_as(number, text, ".") == is_same


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(6, 17))
def test_a_rounded_number_is_recognised(number, digits):
    assert is_shown_as(number, f"{number:.{digits}g}", ".")
    assert is_shown_as(number, f"{number:.{digits - 1}E}".replace(".", ","), ",")


@given(st.text())
def test_protected_text_comes_back(text):
    cell = protect(text)
    assert unprotect(cell) == text
    assert not cell.startswith(("=", "+", "-", "@"))


@given(strategies.choices)
def test_a_value_is_recognised_in_its_own_cell(value):
    assert is_same_value(value, value_to_cell(value), ".")


@given(st.text(), st.sampled_from([".", ",", None]))
def test_any_cell_is_a_finite_number_or_an_error_that_quotes_it(text, mark):
    try:
        assert abs(read_number(text, mark)) < float("inf")
    except ArgumentError as error:
        assert repr(text.strip()) in str(error)


@given(st.lists(st.text()), st.sampled_from(",;\t"))
def test_a_mark_is_found_or_not_in_any_cells(texts, delimiter):
    assert decimal_mark(texts, delimiter) in (".", ",", None)


@st.composite
def sheets(draw):
    """A problem, and trials of it in any state, numbered as in a study."""
    problem = draw(strategies.problems())
    drawn = draw(st.lists(strategies.trials(problem), min_size=1, max_size=4))
    return problem, [
        Trial(
            number=number,
            params=trial.params,
            state=trial.state,
            values=trial.values,
            message=trial.message,
            amendments=trial.amendments,
        )
        for number, trial in enumerate(drawn)
    ]


@settings(max_examples=100, deadline=None)
@given(sheets(), strategies.names)
def test_whatever_is_written_says_nothing_new_when_it_is_read(tmp_path_factory, drawn, study_name):
    problem, trials = drawn
    path = tmp_path_factory.mktemp("sheet") / "x.csv"
    path.write_text(sheet_text(problem, study_name, trials), encoding="utf-8", newline="")
    results = read_results(path, problem, study_name, trials)
    finished = [trial.number for trial in trials if trial.state.is_finished]
    assert (results.new, results.repeated, results.unread) == ({}, finished, [])
    assert results.pending == [trial.number for trial in trials if not trial.state.is_finished]


@settings(max_examples=100, deadline=None)
@given(sheets(), st.data())
def test_whatever_is_filled_in_is_what_is_told(tmp_path_factory, drawn, data):
    problem, trials = drawn
    measured = {trial.number: data.draw(strategies.measured_values(problem)) for trial in trials}
    filled = [
        Trial(number=t.number, params=t.params, state=TrialState.COMPLETED, values=measured[t.number])
        for t in trials
    ]
    path = tmp_path_factory.mktemp("sheet") / "x.csv"
    path.write_text(sheet_text(problem, "s", filled), encoding="utf-8", newline="")
    active = [Trial(number=t.number, params=t.params, state=TrialState.ACTIVE) for t in trials]
    results = read_results(path, problem, "s", active)
    assert {number: outcome.values for number, outcome in results.new.items()} == measured
