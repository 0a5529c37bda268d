"""The server benchmark's own machinery, on a real server; rivals are what it runs."""

import math
import random
import time
from pathlib import Path

import pytest

import photinus as ph
from photinus_bench import crew, loading, server
from photinus_bench.crew import Outcome, percentile
from photinus_bench.ledger import audit
from photinus_bench.server import Settings, run_ours, studies_of, turns
from photinus_bench.server_report import Result, compare, describe, is_clean
from photinus_bench.serving import faults


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(server.MIXES, "quasi", ("quasi_random",))  # no model, but the engine's
    for module in (server, crew):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    return tmp_path


def test_a_short_load_is_measured_and_all_of_it_kept(results: Path):
    settings = Settings(num_workers=4, num_studies=3, seconds=1.0, warm_up_s=0.5, num_processes=2)
    [result] = run_ours("sqlite", settings, ("random",))
    outcome = result.outcome
    assert is_clean(result)
    assert result.audit is not None
    assert result.audit.num_acknowledged == len(outcome.tells) > 0
    assert 0 < len(outcome.ask_s) == len(outcome.tell_s) <= len(outcome.tells)
    assert {study for study, _, _ in outcome.tells} == set(studies_of("random", 3))
    assert "0 lost, 0 doubled, 0 unheard, 0 left over" in describe([result])


@pytest.mark.long
def test_servers_that_are_killed_lose_nothing(results: Path):
    settings = Settings(
        num_workers=4, num_studies=2, seconds=8.0, warm_up_s=0.5, num_processes=1, kill_every_s=2.0
    )
    [result] = run_ours("postgresql", settings, ("random",))
    assert result.faults["servers killed"] > 0
    assert is_clean(result), describe([result])


def test_the_ledger_finds_what_is_wrong():
    storage = ph.storage.MemoryStorage()
    study = ph.create_study({"x": ph.Float(0, 1)}, name="s", storage=storage, algorithm="random", seed=1)
    kept, changed, unheard, left_over, amended = study.ask(5)
    for trial in (kept, changed, unheard, amended):
        study.tell(trial, 0.5)
    study.amend(amended, 0.7)
    tells = [("s", kept.number, 0.5), ("s", kept.number, 0.5), ("s", changed.number, 0.25), ("s", 99, 0.5)]
    found = audit(storage, ["s"], [*tells, ("s", amended.number, 0.7)])
    assert not found.is_clean
    assert found.num_acknowledged == 5
    assert sorted(text.split(":")[0] for text in found.lost) == [
        f"s {changed.number}",
        f"s {amended.number}",
        "s 99 is not there",
    ]
    assert found.doubled == [f"s {kept.number}: 2 times"]
    assert found.unheard == [f"s {unheard.number}"]
    assert found.left_over == [f"s {left_over.number} (active)"]


def test_a_clean_ledger_is_clean():
    storage = ph.storage.MemoryStorage()
    study = ph.create_study({"x": ph.Float(0, 1)}, name="s", storage=storage, algorithm="random", seed=1)
    tells = []
    for trial in study.ask(3):
        study.tell(trial, trial.number / 10)
        tells.append(("s", trial.number, trial.number / 10))
    assert audit(storage, ["s"], tells).is_clean


class Flaky:
    """Fails every second time it is told."""

    def __init__(self) -> None:
        self.num_told = 0

    def ask(self) -> int:
        return self.num_told

    def tell(self, trial: int, value: float) -> int:
        self.num_told += 1
        if self.num_told % 2:
            raise ConnectionError("no answer")
        return trial


def test_errors_are_counted_and_do_not_end_the_load(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loading, "ERROR_PAUSE_S", 0.0)
    notes = loading.Notes("s")
    loading.work(Flaky(), notes, time.monotonic() + 0.2, 0.0, random.Random(1))
    assert notes.errors["ConnectionError: no answer"] >= len(notes.tells) > 0


def test_faults_stop_with_their_time_and_pass_on_what_failed():
    with faults(lambda rng: None, 0.01, for_s=0.1, seed=1) as moments:
        time.sleep(0.5)
    assert moments
    assert moments[-1] - moments[0] < 60

    def fail(rng: random.Random) -> None:
        raise RuntimeError("PostgreSQL did not end")

    with pytest.raises(RuntimeError, match="did not end"), faults(fail, 0.01, for_s=10, seed=1):
        time.sleep(0.2)
    with faults(fail, None, for_s=10, seed=1) as moments:
        pass
    assert moments == []


def test_loads_take_turns_forth_and_back_and_are_followed_by_random_ones():
    settings = Settings(seconds=12, num_slices=2)
    assert [load for load, _, _ in turns(settings, ("random", "mixed"))] == [
        "random",
        "mixed",
        "random at the pace of mixed",
        "mixed",
        "random at the pace of mixed",
        "random",
    ]
    assert [seconds for _, seconds, _ in turns(settings, ("mixed",))] == [12]


@pytest.mark.long
def test_a_comparison_is_also_made_at_equal_pace(results: Path):
    settings = Settings(
        num_workers=4, num_studies=2, seconds=2.0, warm_up_s=0.5, num_processes=1, num_slices=1
    )
    found = {result.load: result for result in run_ours("sqlite", settings, ("random", "quasi"))}
    assert set(found) == {"random", "quasi", "random at the pace of quasi"}
    assert all(is_clean(result) for result in found.values()), describe(list(found.values()))
    num_random = len(found["random"].outcome.tells) + len(found["random at the pace of quasi"].outcome.tells)
    assert found["random"].audit.num_acknowledged == num_random


def result_of(load: str, tell_s: list[float], rate: int = 0) -> Result:
    return Result(
        "photinus", "sqlite", load, 1, Outcome(tell_s=tell_s, seconds=1, num_in_time=rate), num_kept=0
    )


def test_the_ratio_is_that_of_the_99th_percentiles():
    slow, quick = result_of("mixed", [0.2] * 99 + [9.0], 7), result_of("random", [0.1] * 100, 9)
    paced = result_of("random at the pace of mixed", [0.05] * 100, 7)
    assert compare([quick, slow, paced]) == [
        "sqlite: p99 of tell under mixed load (7/s) is 2.00 times that of random (9/s); goal met: at most 3",
        "sqlite: p99 of tell under mixed load (7/s) is 4.00 times that of random at the pace of mixed (7/s); "
        "goal missed: at most 3",
    ]


def test_percentiles_are_values_that_occurred():
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile([3.0, 1.0, 2.0], 100) == 3.0
    assert percentile([3.0, 1.0, 2.0], 1) == 1.0
    assert math.isnan(percentile([], 50))
