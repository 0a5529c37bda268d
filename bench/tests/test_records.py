"""Records: one line each, kept in few files, whatever happens on the way."""

import json
import lzma
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from photinus_bench import records
from photinus_bench.machine import describe_machine, own_versions, provenance, without_paths
from photinus_bench.record import Record, RunKey
from photinus_bench.records import Records, summarise, take_in

TASK = "bbob/f08/20d"


def record(
    algorithm: str = "ax",
    repeat: int = 0,
    task: str = TASK,
    truth: list[list[float]] | None = None,
    goals: int = 1,
    **more,
) -> Record:
    table = np.array(truth if truth is not None else [[3.0], [1 / 3], [2e-12]]).reshape(-1, goals)
    fields = {
        "key": RunKey(task, algorithm, repeat, num_trials=3, batch_size=1),
        "goals": {f"f{i}": "minimize" for i in range(goals)},
        "truth": table,
        "told": table,
        "infeasible": (),
        "seconds": np.full(len(table), 0.123456),
        "wall_s": 1.0,
        "versions": {"python": "3.11.7"},
        "machine": {"processor": "none"},
        "started": "2026-11-15T10:00:00Z",
    }
    return Record(**(fields | more))


def test_a_record_comes_back_from_its_line():
    noisy = record(
        told=np.array([[4.0], [np.nan], [5.0]]),
        truth=np.array([[3.0], [np.nan], [1 / 3]]),
        infeasible=(1,),
        side_by_side=480,
        extra={"peak_mb": 12},
    )
    back = Record.from_line(noisy.to_line())
    assert back.to_line() == noisy.to_line()
    assert (back.key, back.infeasible, back.goals) == (noisy.key, (1,), noisy.goals)
    np.testing.assert_allclose(back.truth, noisy.truth, rtol=1e-7)
    np.testing.assert_array_equal(back.told, noisy.told)
    np.testing.assert_allclose(back.seconds, noisy.seconds, rtol=5e-3)


def test_what_was_told_is_kept_where_it_is_not_the_truth():
    assert json.loads(record().to_line())["told"] is None
    assert json.loads(record(told=np.ones((3, 1))).to_line())["told"] == [1.0, 1.0, 1.0]


def test_several_objectives_are_rows():
    two = record(truth=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], goals=2)
    assert json.loads(two.to_line())["truth"] == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    np.testing.assert_array_equal(Record.from_line(two.to_line()).truth, two.truth)


def test_everyone_has_the_same_seed_on_a_task_and_repeat():
    keys = [RunKey(TASK, name, 1, 100, size) for name in ("ax", "hebo") for size in (1, 5)]
    assert len({key.seed for key in keys}) == 1
    assert replace(keys[0], repeat=2).seed != keys[0].seed != replace(keys[0], task="combo/ising").seed
    assert 0 <= keys[0].seed < 2**31


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"told": np.ones((2, 1))}, "a row per second"),
        (
            {"seconds": np.ones(2), "truth": np.ones((2, 1)), "told": np.ones((2, 1))},
            "or a reason, got 2 trials",
        ),
        ({"stopped": "although it has all of its trials"}, "all of its trials or a reason"),
        ({"truth": np.ones((4, 1)), "told": np.ones((4, 1)), "seconds": np.ones(4)}, "at most 3 rows"),
    ],
)
def test_half_a_record_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        record(**change)


def test_lines_of_another_schema_or_seed_are_refused():
    entry = json.loads(record().to_line())
    with pytest.raises(ValueError, match="schema 1, got 2"):
        Record.from_line(json.dumps(entry | {"schema": 2}))
    with pytest.raises(ValueError, match="seed of ax on bbob/f08/20d, repeat 0, 3 trials must be"):
        Record.from_line(json.dumps(entry | {"seed": 1}))


@pytest.fixture
def store(tmp_path: Path) -> Records:
    return Records(tmp_path / "records")


def contents(store: Records) -> dict[str, bytes]:
    paths = sorted(store.folder.glob("*/*.xz"))
    return {str(path.relative_to(store.folder)): path.read_bytes() for path in paths}


SOME = [
    record("ax"),
    record("ax", 1),
    record("ax", task="bbob/f01/20d"),
    record("hebo"),
    record("ax", task="combo/ising"),
    record("photinus-paper"),
    record("photinus-paper/no-log"),
]


def test_what_was_added_is_there_before_and_after_compacting(store: Records):
    for each in SOME:
        store.add(each)
    before = store.load()
    assert store.compact() == len(SOME)
    after = store.load()
    assert set(before) == set(after) == {each.key for each in SOME}
    assert all(after[key].to_line() == before[key].to_line() for key in after)
    assert list(contents(store)) == [
        "bbob/ax.jsonl.xz",
        "bbob/hebo.jsonl.xz",
        "bbob/photinus-paper.jsonl.xz",
        "combo/ax.jsonl.xz",
    ]


def test_a_run_is_there_from_when_it_was_added_until_it_is_dropped(store: Records):
    other = Records(store.folder)  # as another process has it
    for each in (
        record("ax"),
        record("ax", 1),
        record("hebo"),
    ):  # each archive is new once, and once rewritten
        assert not other.has(each.key)
        store.add(each)
        assert other.has(each.key)
        store.compact()
        assert other.has(each.key)
    store.drop({record("ax").key, record("hebo").key})
    assert [other.has(each.key) for each in (record("ax"), record("ax", 1), record("hebo"))] == [
        False,
        True,
        False,
    ]


def test_an_archive_is_read_again_only_where_it_changed(store: Records, monkeypatch: pytest.MonkeyPatch):
    store.add(record("ax"))
    store.compact()
    store.load()
    with monkeypatch.context() as patch:
        patch.setattr(records, "_read_archive", None)
        assert store.has(record("ax").key) and not store.has(record("ax", 1).key)


def test_the_order_of_arrival_leaves_no_trace(tmp_path: Path):
    first, second = Records(tmp_path / "first"), Records(tmp_path / "second")
    for each in SOME:
        first.add(each)
    first.compact()
    for each in reversed(SOME):
        second.add(each)
        second.compact()
    assert contents(first) == contents(second)


def test_of_two_equal_runs_the_earlier_one_stays(tmp_path: Path):
    early, late = record(), record(started="2026-11-16T10:00:00Z", wall_s=9.0)
    for name, order in (("a", (early, late)), ("b", (late, early))):
        store = Records(tmp_path / name)
        for each in order:
            store.add(each)
            store.compact()
        assert store.load()[early.key].wall_s == 1.0


def test_a_run_whose_writing_was_cut_off_is_none(store: Records):
    store.add(SOME[0])
    for name in ("half.tmp", "under-way.tmp"):
        (store.spool / name).write_text(SOME[1].to_line()[:50])
    os.utime(store.spool / "half.tmp", (0, 0))  # nobody has finished it for long
    assert set(store.load()) == {SOME[0].key}
    store.compact()
    assert [path.name for path in store.spool.glob("*.tmp")] == ["under-way.tmp"]


def test_dropped_runs_are_gone_wherever_they_were(store: Records):
    for each in SOME:
        store.add(each)
    store.compact()
    store.add(record("ax", 2))
    store.drop({SOME[0].key, SOME[3].key, record("ax", 2).key})
    assert set(store.load()) == {each.key for each in SOME} - {SOME[0].key, SOME[3].key}
    assert "bbob/hebo.jsonl.xz" not in contents(store)


def test_runs_made_elsewhere_are_taken_in_once(store: Records, tmp_path: Path):
    store.add(SOME[0])
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(each.to_line() + "\n" for each in SOME[:3]) + SOME[3].to_line()[:80])
    assert take_in(store, path) == (2, 1)
    assert take_in(store, path) == (0, 3)
    assert set(store.load()) == {each.key for each in SOME[:3]}
    store.compact()
    other = Records(tmp_path / "other")
    assert take_in(other, store.folder / "bbob" / "ax.jsonl.xz") == (3, 0)
    assert set(other.load()) == set(store.load())


def test_the_commands_do_what_the_functions_do(store: Records, tmp_path: Path):
    def command(*words: str) -> str:
        arguments = [sys.executable, "-m", "photinus_bench.records", "--records", str(store.folder), *words]
        environment = {"PYTHONPATH": ":".join(sys.path)}
        return subprocess.run(
            arguments, check=True, capture_output=True, text=True, env=environment
        ).stdout.strip()

    path = tmp_path / "runs.jsonl"
    path.write_text("".join(each.to_line() + "\n" for each in SOME))
    assert command("import", str(path)) == "7 runs taken in, 0 were there already"
    assert command("compact") == "7 runs compacted"
    command("drop", "--algorithm", "photinus-paper/*", "--task", "bbob/*")
    assert len(store.load()) == 6
    assert command("summary").splitlines()[1].split() == ["bbob", "ax", "3", "0", "0"]


def test_thousands_of_runs_are_a_few_megabytes():
    """Random digits, which no compression makes smaller, of as many trials as the suites have."""
    rng = np.random.default_rng(1)
    lines = [
        replace(
            record(repeat=repeat),
            key=RunKey(TASK, "ax", repeat, 100, 1),
            truth=(values := rng.lognormal(size=(100, 1))),
            told=values,
            seconds=rng.lognormal(size=100),
        ).to_line()
        for repeat in range(200)
    ]
    assert len(lzma.compress("\n".join(lines).encode(), preset=9)) / len(lines) < 1000


def test_a_summary_counts_what_did_not_end_well():
    none = np.empty((0, 1))
    refused = record("cma", truth=none, told=none, seconds=np.empty(0), unsupported="categories")
    halted = record("hebo", truth=none[:0], told=none, seconds=np.empty(0), stopped="cholesky")
    text = summarise([record("ax"), refused, halted]).splitlines()
    assert [line.split() for line in text[1:]] == [
        ["bbob", "ax", "1", "0", "0"],
        ["bbob", "cma", "1", "0", "1"],
        ["bbob", "hebo", "1", "1", "0"],
    ]


def test_records_name_no_computer():
    text = json.dumps([describe_machine(), own_versions(record().key.family), provenance(TASK)])
    assert "/" not in text
    assert set(describe_machine(num_threads=1, gpu="H200")) == {
        "processor",
        "cores",
        "threads",
        "load",
        "gpu",
    }
    assert (
        without_paths("Error in /home/me/bench/envs/hebo/.venv/lib/x.py line 3, ratio a/b")
        == "Error in x.py line 3, ratio a/b"
    )


def test_a_study_that_is_no_run_says_where_when_and_by_what_it_was_made():
    origin = provenance("bbob/f15/20d", gpu="H200")
    assert set(origin) == {"machine", "versions", "started"}
    assert origin["machine"]["gpu"] == "H200" and origin["started"].endswith("Z")
    assert {"photinus", "engine", "jax", "ioh"} < set(origin["versions"])
    assert "ioh" not in provenance("rastrigin/8d")["versions"]
