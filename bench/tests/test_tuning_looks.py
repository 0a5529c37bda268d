"""Looks at variants: on what, and that they go on where they were."""

from collections import Counter

import pytest

from photinus_bench import suite, tuning
from photinus_bench.tasks import NAMES, Task

ALGORITHMS = ["photinus-paper", "photinus-paper/ascent"]


def tasks(setting: str, half: str) -> list[Task]:
    found = {key.task for key in tuning.runs(setting, half, ALGORITHMS, 2, 10)}
    return [Task.parse(task) for task in sorted(found)]


@pytest.mark.parametrize("setting", tuning.SETTINGS)
def test_every_problem_is_in_exactly_one_half(setting: str):
    found = Counter((task.family, task.name) for half in tuning.HALVES for task in tasks(setting, half))
    families = {family for family, _ in found}
    if families <= {"bbob", "combo"}:
        assert found == Counter((family, name) for family in families for name in NAMES[family])
    else:
        # Some functions have no form with many objectives, so these halves need not be complete.
        assert set(found.values()) == {1}
        assert all(tasks(setting, half) for half in tuning.HALVES)


def test_settings_are_what_their_names_say():
    assert {task.dimension for task in tasks("40d", "tuning")} == {40}
    assert {key.batch_size for key in tuning.runs("batch10", "tuning", ALGORITHMS, 1, 10)} == {10}
    assert {
        key.task.rpartition("/")[2] for key in tuning.runs("infeasible30", "tuning", ALGORITHMS, 1, 10)
    } == {"infeasible30"}
    assert {key.algorithm for key in tuning.runs("5d", "tuning", ALGORITHMS, 1, 10)} == set(ALGORITHMS)


def test_no_repeat_is_the_reports_nor_that_of_the_other_half():
    reported = {key.repeat for name in suite.names() for key in suite.load(name)}
    chosen, validated = (
        {key.repeat for key in tuning.runs("5d", half, ALGORITHMS, tuning.MOST_REPEATS, 10)}
        for half in ("tuning", "validation")
    )
    assert len(chosen) == len(validated) == tuning.MOST_REPEATS
    assert not reported & chosen
    assert not reported & validated
    assert not chosen & validated
    with pytest.raises(ValueError, match="`skip \\+ repeats <= 100` must hold, but got 0 \\+ 101"):
        tuning.runs("5d", "tuning", ALGORITHMS, 101, 10)
    with pytest.raises(ValueError, match="got 99 \\+ 2"):
        tuning.runs("5d", "tuning", ALGORITHMS, 2, 10, skip=99)


def test_repeats_of_earlier_looks_can_be_skipped():
    earlier, later = (
        {key.repeat for key in tuning.runs("5d", "tuning", ALGORITHMS, 12, 10, skip=skip)} for skip in (0, 12)
    )
    assert len(earlier) == len(later) == 12
    assert max(earlier) + 1 == min(later)


def command(monkeypatch, *words: str) -> None:
    monkeypatch.setattr("sys.argv", ["tuning", *words])
    tuning.main()


def test_a_look_is_run_once_and_shown(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(tuning.HALVES["tuning"], "bbob", ["bbob/f02"])
    out = tmp_path / "looks.jsonl"
    run = [
        "run",
        "5d",
        "--repeats",
        "1",
        "--trials",
        "6",
        "--out",
        str(out),
        "--device",
        "cpu",
        "--algorithms",
        *ALGORITHMS,
    ]
    command(monkeypatch, *run)
    written = out.read_text()
    assert len(written.splitlines()) == 2
    assert "2 to run" in "".join(capsys.readouterr())

    command(monkeypatch, *run)
    assert out.read_text() == written
    assert "0 to run" in "".join(capsys.readouterr())

    command(monkeypatch, "show", str(out), "--trials", "6")
    [row] = capsys.readouterr().out.splitlines()
    half, setting, name, *_ = row.split()
    assert (half, setting, name) == ("tuning", "5d", "paper/ascent")
    assert "1 x 1-1" in row
