"""Optuna studies become studies of Photinus."""

import logging
import math
import sqlite3
from datetime import UTC, datetime

import optuna
import pytest
import sqlalchemy as sa
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import photinus as ph
from photinus.errors import (
    ArgumentError,
    DuplicateStudy,
    ParameterError,
    SpaceError,
    StorageError,
    UnknownStudy,
)
from photinus.integrations.optuna_import import import_optuna_study

optuna.logging.set_verbosity(optuna.logging.WARNING)

X = FloatDistribution(0.0, 1.0)


def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    batch = trial.suggest_int("batch", 16, 128, step=16)
    share = trial.suggest_float("share", 0, 1, step=0.1)
    kind = trial.suggest_categorical("kind", ["adam", None, True])
    trial.set_user_attr("host", "näher")
    trial.set_user_attr("sizes", [1, 2])
    for step in range(3):
        trial.report(x + 1 / (step + 1), step)
        if trial.number == 3:
            raise optuna.TrialPruned
    if trial.number == 4:
        raise RuntimeError
    return x + rate + batch + share + (kind == "adam")


@pytest.fixture
def storage(tmp_path):
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/optuna.db")
    yield storage
    storage.remove_session()
    storage.engine.dispose()


@pytest.fixture
def study(storage):
    study = optuna.create_study(
        study_name="net", storage=storage, sampler=optuna.samplers.RandomSampler(seed=0), direction="maximize"
    )
    study.set_user_attr("owner", "me")
    study.optimize(objective, n_trials=6, catch=RuntimeError)
    return study


def added(*trials, directions=("minimize",)):
    study = optuna.create_study(directions=list(directions))
    for trial in trials:
        study.add_trial(trial)
    return study


def done(distributions, params, value=1.0, state=TrialState.COMPLETE, **content):
    return create_trial(state=state, value=value, params=params, distributions=distributions, **content)


def test_a_whole_study_comes_along(study, tmp_path):
    ours = import_optuna_study(study, into=f"{tmp_path}/ours.db", seed=7)
    assert (ours.name, ours.seed, ours.metadata) == ("net", 7, {"owner": "me", "optuna:study": "net"})
    assert {metric.name: metric.goal for metric in ours.problem.metrics} == {"value": "maximize"}
    assert ours.problem.space.parameters == {
        "x": ph.Float(0, 1),
        "rate": ph.Float(1e-5, 1e-1, "log"),
        "batch": ph.Discrete(range(16, 129, 16)),
        "share": ph.Discrete([k * 0.1 for k in range(10)] + [1.0]),
        "kind": ph.Categorical(["adam", None, True]),
    }
    assert [trial.state for trial in ours.trials] == [*["completed"] * 3, "failed", "failed", "completed"]
    for theirs, trial in zip(study.trials, ours.trials, strict=True):
        assert trial.params == pytest.approx(theirs.params)
        assert trial.metadata == {
            "host": "näher",
            "sizes": "[1, 2]",
            "optuna:number": str(theirs.number),
        }
        assert trial.started_at == theirs.datetime_start.astimezone(UTC)
        assert trial.completed_at == theirs.datetime_complete.astimezone(UTC)
        assert {r.step: r.values["value"] for r in trial.reports} == theirs.intermediate_values
        assert trial.algorithm is None
    assert ours.best_trial.values["value"] == study.best_value
    assert ours.trials[3].message.startswith("pruned at step 0 with ")


def test_it_goes_on_from_there(study, tmp_path):
    ours = import_optuna_study(study, into=f"{tmp_path}/ours.db", name="copy", algorithm="quasi_random")
    assert ours.record.created_at == study.trials[0].datetime_start.astimezone(UTC)
    for trial in ours.ask(2):
        ours.tell(trial, 1.0)
    again = ph.load_study("copy", storage=f"{tmp_path}/ours.db")
    assert len(again.trials) == 8
    assert again.trials[-1].algorithm == "quasi_random"


def test_the_model_learns_from_it():
    def bowl(trial):
        return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.8) ** 2

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(bowl, n_trials=5)
    ours = import_optuna_study(study, seed=0)
    [trial] = ours.ask()
    assert trial.reason["method"] in ("log_ei", "pure_exploration")
    assert {entry["number"] for entry in trial.reason["nearest"]} <= set(range(5))


def test_sources(storage, study, tmp_path):
    address = f"sqlite:///{tmp_path}/optuna.db"
    for source, name in (
        (storage, None),
        (storage, "net"),
        (address, None),
        (address, "net"),
        (study, "net"),
    ):
        assert len(import_optuna_study(source, name).trials) == 6
    optuna.create_study(study_name="other", storage=storage)
    with pytest.raises(
        ArgumentError, match=r"`study_name` must say which .* has '(net|other)', '(net|other)'"
    ):
        import_optuna_study(storage)
    with pytest.raises(UnknownStudy, match="no Optuna study named 'nett' in that storage, it has"):
        import_optuna_study(address, "nett")


def test_a_journal_file(tmp_path):
    backend = optuna.storages.journal.JournalFileBackend(f"{tmp_path}/journal.log")
    storage = optuna.storages.JournalStorage(backend)
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_int("n", 1, 3), n_trials=2)
    assert len(import_optuna_study(storage).trials) == 2


def test_a_refused_import_leaves_nothing_behind(study, tmp_path):
    with pytest.raises(ArgumentError, match="there is no file of sqlite:"):
        import_optuna_study(f"sqlite:///{tmp_path}/none.db")
    assert not (tmp_path / "none.db").exists()
    ph.create_study({"x": ph.Float(0, 1)}, name="net", storage=f"{tmp_path}/ours.db")
    before = sqlite3.connect(tmp_path / "ours.db").execute("SELECT count(*) FROM sqlite_master").fetchone()
    with pytest.raises(ArgumentError, match=r"must be an Optuna storage, but .*ours.db is something else"):
        import_optuna_study(f"sqlite:///{tmp_path}/ours.db")
    after = sqlite3.connect(tmp_path / "ours.db").execute("SELECT count(*) FROM sqlite_master").fetchone()
    assert before == after
    with pytest.raises(DuplicateStudy, match="a study named 'net' exists"):
        import_optuna_study(study, into=f"{tmp_path}/ours.db")
    assert len(ph.load_study("net", storage=f"{tmp_path}/ours.db").trials) == 0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"algorithm": "tpe"}, ArgumentError, "`algorithm` must be one of"),
        ({"pruned": "?"}, ArgumentError, "`pruned` must be one of"),
        ({"study_name": "other"}, ArgumentError, "`study_name` must be left out where a study is given"),
        ({"name": ""}, ArgumentError, "`name` must be a non-empty string"),
        ({"seed": -1}, ArgumentError, "`seed` must be an integer"),
        (
            {"objectives": ["a", "b"]},
            ArgumentError,
            r"`objectives` must be 1 distinct names, got \['a', 'b'\]",
        ),
        ({"absent": {"z": 1}}, ArgumentError, "`absent` must name parameters of the study, x, rate"),
        ({"absent": {"x": 2}}, ParameterError, "`absent` of 'x' must be a number with"),
    ],
)
def test_bad_arguments_are_refused(settings, error, message):
    study = added(done({"x": X, "rate": X}, {"x": 0.5, "rate": 0.5}))
    with pytest.raises(error, match=message):
        import_optuna_study(study, **settings)


def test_sources_must_be_sources(tmp_path):
    with pytest.raises(ArgumentError, match="`source` must be an Optuna study, storage or address, got 3"):
        import_optuna_study(3)
    with pytest.raises(ArgumentError, match="`source` must be an address such as"):
        import_optuna_study("optuna.db")
    with pytest.raises(StorageError, match=r"me:\*\*\*@localhost:1/none\S* cannot be opened"):
        import_optuna_study("postgresql+psycopg://me:secret@localhost:1/none?connect_timeout=2")
    with pytest.raises(StorageError, match=r"storage unheard://x cannot be opened: Can't load plugin"):
        import_optuna_study("unheard://x")
    with pytest.raises(ArgumentError, match=r"none of the 0 trials of .* has a parameter"):
        import_optuna_study(optuna.create_study())


def test_a_storage_of_another_version_of_optuna_is_left_alone(tmp_path):
    address = f"sqlite:///{tmp_path}/optuna.db"
    storage = optuna.storages.RDBStorage(address)
    optuna.create_study(storage=storage)
    with storage.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'v0.9.0.a'"))
    storage.remove_session()
    storage.engine.dispose()
    with pytest.raises(StorageError, match=r"optuna.db cannot be opened: The runtime optuna version"):
        import_optuna_study(address)


def test_branches_are_filled_in(caplog):
    kind = CategoricalDistribution(["svm", "forest"])
    c, depth = FloatDistribution(1e-2, 1e2, log=True), IntDistribution(1, 9)
    study = added(
        done({"kind": kind, "c": c}, {"kind": "svm", "c": 3.0}),
        done({"kind": kind, "depth": depth}, {"kind": "forest", "depth": 2}),
        done({"kind": kind}, {"kind": "svm"}, None, TrialState.FAIL),
        done({}, {}, None, TrialState.FAIL),
    )
    with caplog.at_level(logging.WARNING, logger="photinus"):
        ours = import_optuna_study(study, absent={"depth": 4})
    assert [trial.params for trial in ours.trials] == [
        {"kind": "svm", "c": 3.0, "depth": 4},
        {"kind": "forest", "c": pytest.approx(1.0), "depth": 2},
        {"kind": "svm", "c": pytest.approx(1.0), "depth": 4},
    ]
    assert [trial.metadata.get("optuna:filled") for trial in ours.trials] == [
        '["depth"]',
        '["c"]',
        '["c", "depth"]',
    ]
    assert [record.getMessage()[:40] for record in caplog.records] == [
        "1 of 4 trials of the Optuna study 'no-na"[:40].replace("no-na", study.study_name[:5]),
        "3 of 4 trials of the Optuna study 'no-na"[:40].replace("no-na", study.study_name[:5]),
    ]


def test_unfinished_trials_are_handed_out_first():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 5), n_trials=1)
    running, early = study.ask(), study.ask()
    point = {"x": running.suggest_float("x", 0, 1), "n": running.suggest_int("n", 0, 5)}
    early.suggest_float("x", 0, 1)  # n is not known yet: left out
    study.enqueue_trial({"x": 0.5, "n": 3})
    study.enqueue_trial({"x": 0.25})
    ours = import_optuna_study(study, algorithm="random", seed=0)
    assert [trial.state for trial in ours.trials] == ["completed", "expired", "queued"]
    assert [trial.metadata["optuna:number"] for trial in ours.trials] == ["0", "1", "3"]
    assert [trial.params for trial in ours.ask(2)] == [point, {"x": 0.5, "n": 3}]


def test_what_was_enqueued_outside_of_its_range_is_left_out(caplog):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.enqueue_trial({"x": 5.0})
    with pytest.warns(UserWarning, match="out of range"):  # Optuna's: it runs the trial
        study.optimize(
            lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 6, step=2), n_trials=2
        )
    study.enqueue_trial({"x": 0.5, "n": "4"})
    study.enqueue_trial({"x": 0.5, "n": 4})
    study.ask(), study.ask()
    with caplog.at_level(logging.WARNING, logger="photinus"):
        ours = import_optuna_study(study, algorithm="random")
    assert [(trial.metadata["optuna:number"], trial.state) for trial in ours.trials] == [
        ("1", "completed"),
        ("3", "expired"),
    ]
    assert "2 of 4 trials" in caplog.text and "or not in range" in caplog.text


def test_what_counts_as_infeasible():
    study = added(
        done({"x": X}, {"x": 0.1}, math.inf),
        done({"x": X}, {"x": 0.2}, system_attrs={"constraints": [1.5, -1.0]}),
        done({"x": X}, {"x": 0.3}, system_attrs={"constraints": [-1.0]}),
        done({"x": X}, {"x": 0.4}, None, TrialState.PRUNED, intermediate_values={2: 5.0}),
    )
    ours = import_optuna_study(study, pruned="last_value")
    assert [trial.state for trial in ours.trials] == ["infeasible", "infeasible", "completed", "completed"]
    assert ours.trials[0].message == "measured inf"
    assert ours.trials[1].message == "violates constraint 0 (1.5 > 0)"
    assert ours.trials[3].values == {"value": 5.0}
    ours = import_optuna_study(study, pruned="infeasible")
    assert ours.trials[3].message == "pruned at step 2 with 5"


def test_several_objectives_keep_their_names():
    trial = create_trial(values=[1.0, 2.0], params={"x": 0.5}, distributions={"x": X})
    study = added(trial, directions=("minimize", "maximize"))
    assert import_optuna_study(study).trials[0].values == {"value_0": 1.0, "value_1": 2.0}
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.set_metric_names(["loss", "speed"])
    ours = import_optuna_study(study)
    assert {m.name: m.goal for m in ours.problem.metrics} == {"loss": "minimize", "speed": "maximize"}
    ours = import_optuna_study(study, objectives=["a", "b"])
    assert ours.best_trials[0].values == {"a": 1.0, "b": 2.0}


@pytest.mark.parametrize(
    ("distributions", "expected"),
    [
        ([FloatDistribution(0, 1), FloatDistribution(-1, 0.5)], ph.Float(-1, 1)),
        ([FloatDistribution(1, 2, log=True)], ph.Float(1, 2, "log")),
        (
            [FloatDistribution(0, 1, step=0.5), FloatDistribution(1, 2, step=0.5)],
            ph.Discrete([0, 0.5, 1, 1.5, 2]),
        ),
        ([FloatDistribution(0, 1, step=0.5), FloatDistribution(0.25, 0.75, step=0.5)], ph.Float(0, 1)),
        ([FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 3)], ph.Float(0, 3)),
        ([FloatDistribution(0, 1, step=1e-6)], ph.Float(0, 1)),
        ([FloatDistribution(2, 2, step=0.5)], ph.Discrete([2.0])),
        ([IntDistribution(1, 100, log=True)], ph.Int(1, 100, "log")),
        ([IntDistribution(1, 5), IntDistribution(3, 9)], ph.Int(1, 9)),
        ([IntDistribution(0, 6, step=3), IntDistribution(6, 9, step=3)], ph.Discrete([0, 3, 6, 9])),
        ([CategoricalDistribution([1, True, math.nan])], ph.Categorical([1, True, "nan"])),
    ],
)
def test_distributions_become_parameters(distributions, expected):
    firsts = [d.low if hasattr(d, "low") else d.choices[2] for d in distributions]
    study = optuna.create_study()
    for distribution, value in zip(distributions, firsts, strict=True):
        study.add_trial(done({"p": distribution}, {"p": value}))
    ours = import_optuna_study(study)
    assert ours.problem.space.parameters["p"] == expected
    assert len(ours.trials) == len(distributions)


def test_kinds_that_cannot_be_one_parameter():
    study = added(done({"n": IntDistribution(0, 2**60)}, {"n": 5}))
    with pytest.raises(
        SpaceError, match="parameter 'n' of the Optuna study: `high` of an Int must be a whole"
    ):
        import_optuna_study(study)
    study = added(done({"n": IntDistribution(0, 3)}, {"n": 1}))
    study.add_trial(done({"m": X}, {"m": 0.5}))
    study.get_trials(deepcopy=False)[1].distributions["n"] = study.get_trials(deepcopy=False)[
        1
    ].distributions["m"]
    with pytest.raises(
        SpaceError, match="parameter 'n' of the Optuna study must be of one kind in all trials"
    ):
        import_optuna_study(study)


def test_attributes_of_any_kind_become_text():
    attributes = {"text": "a\0b", "number": 3, "nothing": None, "object": set}
    ours = import_optuna_study(added(done({"x": X}, {"x": 0.5}, user_attrs=attributes)))
    assert ours.trials[0].metadata == {
        "text": "a\ufffdb",
        "number": "3",
        "nothing": "null",
        "object": "\"<class 'set'>\"",
        "optuna:number": "0",
    }


def test_events_follow_optunas_clock():
    """A trial that ended late was not known to the ones begun before."""
    times = [(0, 9), (1, 2), (3, 4)]  # seconds: begun, ended
    study = optuna.create_study()
    for begun, ended in times:
        trial = done({"x": X}, {"x": 0.5})
        trial.datetime_start = datetime(2026, 1, 1, 0, 0, begun)
        trial.datetime_complete = datetime(2026, 1, 1, 0, 0, ended)
        study.add_trial(trial)
    ours = import_optuna_study(study)
    assert [(t.asked_event, t.completed_event) for t in ours.trials] == [(1, 6), (2, 3), (4, 5)]
    assert [t.updated_event for t in ours.trials] == [6, 3, 5]
