"""The store benchmark's own machinery, on real stores; rivals are what it runs."""

import sys
from pathlib import Path

import pytest

import photinus as ph
from photinus_bench import storage
from photinus_bench.databases import fresh_databases
from photinus_bench.storage import Growth, Race, Settings, Team, describe


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(storage, "RESULTS", tmp_path)
    return tmp_path


@pytest.fixture
def team(results: Path):
    workers = Team(storage.OURS, Path(sys.executable))
    yield workers
    workers.stop()


def test_workers_share_the_trials_and_say_how_durable_they_are(team: Team):
    with fresh_databases() as new_database:
        address = new_database("sqlite")
        team.open("sqlite", address, "race", num_workers=2)
        assert team.durability == {"sqlite": {"journal_mode": "wal", "synchronous": "1"}}
        num_before = len(ph.load_study("race", storage=address))
        assert team.work(20, num_workers=2) > 0
        trials = ph.load_study("race", storage=address).trials
        assert len(trials) == num_before + 20
        assert all(trial.values == {"value": trial.params["momentum"]} for trial in trials)


def test_more_careful_writing_shows(team: Team):
    with fresh_databases() as new_database:
        team.open("sqlite", f"{new_database('sqlite')}?synchronous=full", "race", num_workers=1)
        assert team.durability["sqlite"]["synchronous"] == "2"


def test_unequal_durability_ends_the_run(results: Path):
    teams = [Team(name, Path(sys.executable)) for name in (storage.OURS, storage.RIVAL)]
    teams[0].durability["sqlite"] = {"synchronous": "1"}
    storage.check_durability("sqlite", teams)  # nothing to compare with
    teams[1].durability["sqlite"] = {"synchronous": "1"}
    storage.check_durability("sqlite", teams)
    teams[1].durability["sqlite"] = {"synchronous": "0"}
    with pytest.raises(SystemExit, match="durability must be equal"):
        storage.check_durability("sqlite", teams)


def test_a_study_is_filled_until_the_budget_is_spent(team: Team):
    with fresh_databases() as new_database:
        addresses = new_database("sqlite"), new_database("sqlite")
        growth = storage.grow(team, "sqlite", *addresses, Settings(many=10_000, budget_s=0.0, repeats=1))
    assert growth.num_trials == storage.BLOCK
    assert len(growth.few_s) == len(growth.many_s) >= 1


def test_missed_goals_are_said():
    races = [
        Race("sqlite", 1, {"photinus": [90.0, 100.0, 900.0], "optuna": [10.0, 10.0, 10.0]}),
        Race("sqlite", 8, {"photinus": [40.0], "optuna": [10.0]}),
        Race("postgresql", 8, {"photinus": [40.0]}, {"optuna": ["database is locked"]}),
    ]
    growths = [
        Growth("sqlite", "photinus", 10_000, [0.001, 0.001], [0.0011, 0.0011]),
        Growth("postgresql", "photinus", 10_000, [0.001], [0.003]),
        Growth("postgresql", "optuna", 300, [0.001], [0.009]),
    ]
    text = describe(races, growths, {"photinus": {"sqlite": {"synchronous": "1"}}, "optuna": {}})
    assert [line for line in text.splitlines() if "missed" in line] == [
        "goal missed: 4.0 < 5.0 on sqlite with 8",
        "goal missed: growth 3.0 > 2.0 on postgresql",
    ]
    assert "failed" in text
    assert "synchronous=1" in text
    assert storage.Race.ratio(races[0]) == 10.0
