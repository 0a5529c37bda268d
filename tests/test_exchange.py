"""Exported studies: nothing is lost on the way, and damaged files change nothing."""

import copy
import json
import math
import sys
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given

import photinus as ph
from photinus.errors import ArgumentError, MissingDependency
from photinus.exchange import read_study, study_to_dict, to_csv, write_parquet
from photinus.local import LocalBackend
from photinus.study import Study
from photinus.testing import strategies


def make(**settings) -> Study:
    """A study with one trial of every kind."""
    space = {"x": ph.Float(0, 1), "c": ph.Categorical([None, True, 1, "a"])}
    study = ph.create_study(
        space, {"a": "minimize", "b": "maximize"}, algorithm="random", seed=7, name="it's/🦋", **settings
    )
    for trial in study.ask(5, worker="ada"):
        trial.report({"a": math.nan, "b": math.inf}, 0)
        trial.report({"a": 0.1 + 0.2, "b": 1}, 3)
    study.tell(0, {"a": 1.0, "b": 2.0})
    study.amend(0, {"a": 0.1 + 0.2, "b": 2.0})
    study.tell(1, infeasible="hot")
    study.tell(2, failed="broke")
    study.release(study.trials[3])
    study.enqueue({"x": 0.5, "c": None}, metadata={"why": "a hunch"})
    study.add_trial({"x": 0.25, "c": True}, {"a": 3, "b": 4})
    return study


def restored(study: Study, tmp_path) -> Study:
    path = tmp_path / "study.json"
    path.write_text(json.dumps(study_to_dict(study.record, study.trials), allow_nan=False))
    record, trials = read_study(path)
    backend = LocalBackend(ph.MemoryStorage())
    return Study(backend, backend.restore_study(record, trials))


def test_every_field_of_every_trial_comes_back(tmp_path):
    study = make(metadata={"owner": "me"})
    copied = restored(study, tmp_path)
    assert replace(copied.record, id=0) == replace(study.record, id=0)
    before, after = ([trial.to_dict() for trial in each.trials] for each in (study, copied))
    # Nobody holds a trial in the new store: the one that was running is next to be handed out.
    assert before[4]["state"] == "active"
    before[4]["state"] = "expired"
    assert after == before
    assert [trial.number for trial in copied.ask(3)] == [3, 4, 5]


def test_a_restored_study_goes_on_as_the_old_one_would(tmp_path):
    study = make()
    copied = restored(study, tmp_path)
    study.release(study.trials[4])
    for _ in range(4):
        [old], [new] = study.ask(), copied.ask()
        assert (old.number, old.params, old.reason) == (new.number, new.params, new.reason)
        for each, trial in ((study, old), (copied, new)):
            each.tell(trial, {"a": trial.params["x"], "b": 0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["study"].pop("problem"), "'problem' is missing"),
        (lambda data: data["study"].update(algorithm="best"), "algorithm 'best' is unknown to this version"),
        (lambda data: data["study"].update(seed="x"), "`seed` must be an integer between 0 and"),
        (lambda data: data["study"].update(seed=2**32), "`seed` must be an integer between 0 and"),
        (lambda data: data["study"].update(name=""), "`name` must be a non-empty string"),
        (lambda data: data["study"].update(name="a\0b"), "without NUL"),
        (lambda data: data["study"].update(project="\ud800"), "surrogates"),
        (lambda data: data["study"].update(metadata={"a": 1}), "`metadata` must be a dict of strings"),
        (lambda data: data["trials"][1].update(updated_event=10**30), "trial 1 has `updated_event` 1000"),
        (lambda data: data["trials"][1].update(created_event=None), "trial 1 has `created_event` None"),
        (lambda data: data["trials"][1].update(attempts="x"), "trial 1 has `attempts` 'x'"),
        (lambda data: data["trials"][1].update(worker=5), "`worker` must be a non-empty string"),
        (lambda data: data["study"].update(created_at="today"), "today"),
        (lambda data: data["study"]["problem"].update(format=9), "problem of format 9"),
        (lambda data: data["trials"].pop(2), "trial 2 is missing, trial 3 is in its place"),
        (lambda data: data["trials"][1].pop("reports"), "'reports' is missing"),
        (lambda data: data["trials"][1].update(colour="red"), "colour"),
        (lambda data: data["trials"][1].update(state="done"), "'done' is not a valid TrialState"),
        (lambda data: data["trials"][0]["params"].update(x=2), "trial 0: parameter 'x' must be a number"),
        (lambda data: data["trials"][0].update(values={"a": 1}), "trial 0: values must be given for exactly"),
        (lambda data: data["trials"][0].update(values=None), "trial 0 is completed and has the values None"),
        (lambda data: data["trials"][1].update(updated_event=0), "trial 1 has `updated_event` 0"),
        (
            lambda data: data["trials"][1].update(updated_event=data["trials"][0]["updated_event"]),
            "two trials have the same `updated_event`",
        ),
        (lambda data: data.update(trials=5), "not iterable"),
        (lambda data: data.update(trials=[5]), "damaged"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, message):
    study = make()
    data = copy.deepcopy(study_to_dict(study.record, study.trials))
    change(data)
    path = tmp_path / "study.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ArgumentError, match=r"study\.json is damaged: ") as caught:
        read_study(path)
    assert message in str(caught.value)


def test_csv_has_a_row_for_every_trial():
    study = make()
    lines = to_csv(study.problem, study.trials).splitlines()
    assert lines[0].startswith("number,state,values_a,values_b,params_x,params_c,worker,started_at")
    assert lines[1].startswith(f"0,completed,{0.1 + 0.2!r},2.0,{study.trials[0].params['x']!r},")
    assert lines[6].startswith("5,queued,,,0.5,null,")
    assert lines[7].startswith("6,completed,3.0,4.0,0.25,true,")
    assert len(lines) == 8


def test_parquet_takes_choices_of_several_types(tmp_path):
    import pandas

    study = make()
    write_parquet(study.problem, study.trials, tmp_path / "x.parquet")
    frame = pandas.read_parquet(tmp_path / "x.parquet")
    assert frame["params_c"][5] == "null"
    assert frame["params_c"][6] == "true"
    assert list(frame["params_x"]) == [trial.params["x"] for trial in study.trials]


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_parquet_names_the_package_it_needs(package, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    study = make()
    with pytest.raises(MissingDependency, match=r'pip install "photinus\[dataframe\]"'):
        write_parquet(study.problem, study.trials, tmp_path / "x.parquet")


@given(data=st.data())
def test_any_problem_survives(data, tmp_path_factory):
    problem = data.draw(strategies.problems())
    backend = LocalBackend(ph.MemoryStorage())
    study = Study.create(backend, problem, name="s", seed=1, algorithm="random")
    study.ask(2)
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(study_to_dict(study.record, study.trials), allow_nan=False))
    record, trials = read_study(path)
    assert record.problem == problem
    assert [trial.params for trial in trials] == [trial.params for trial in study.trials]
