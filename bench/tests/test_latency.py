"""The latency benchmark's own machinery; the contestants themselves are what it runs."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from photinus_bench import floor, history_latency, latency
from photinus_bench.design import HIGH, LOW, fixed_design
from photinus_bench.envs import paragraphs
from photinus_bench.pipe import Contestant, ContestantError, TimeLimitError
from photinus_bench.report.drawing import to_svg
from photinus_bench.rivals import UnsupportedProblemError
from photinus_bench.tables import render

CONTESTANT = """
import time
from photinus_bench.pipe import serve

def time_one(X, y, seed):
    print("libraries print things")
    if y[0] < 0:
        raise ValueError("no negative labels")
    time.sleep(y[0])
    return {"seconds": y[0], "seed": seed}

serve(time_one, packages=("pip",))
"""


@pytest.fixture
def contestant(tmp_path: Path):
    script = tmp_path / "contestant.py"
    script.write_text(CONTESTANT)
    process = Contestant([sys.executable, str(script)], tmp_path / "log")
    yield process
    process.stop()


def request(label: float, repeats: int = 3, budget_s: float = 60.0) -> dict:
    return {"X": [[0.0]], "y": [label], "repeats": repeats, "budget_s": budget_s, "seed": 7}


def test_warm_up_is_not_reported_and_every_repeat_has_its_own_seed(contestant: Contestant):
    answer = contestant.ask(request(0.0), limit_s=30)
    assert answer["seed"] == [8, 9, 10]
    assert answer["peak_mb"] > 1
    assert set(answer["packages"]) == {"pip"}


def test_spent_budget_ends_the_repeats_after_one(contestant: Contestant):
    assert contestant.ask(request(0.01, budget_s=0.0), limit_s=30)["seconds"] == [0.01]


def test_failure_is_told_and_the_contestant_goes_on(contestant: Contestant):
    with pytest.raises(ContestantError, match="ValueError: no negative labels"):
        contestant.ask(request(-1.0), limit_s=30)
    assert len(contestant.ask(request(0.0), limit_s=30)["seconds"]) == 3


def test_slow_contestant_is_stopped_and_starts_again(contestant: Contestant):
    with pytest.raises(TimeLimitError, match="no answer within 1 s"):
        contestant.ask(request(30.0), limit_s=1)
    assert len(contestant.ask(request(0.0), limit_s=30)["seconds"]) == 3


def test_dead_contestant_is_an_error(tmp_path: Path):
    dead = Contestant([sys.executable, "-c", "import sys; sys.stdin.readline()"], tmp_path / "log")
    with pytest.raises(ContestantError, match="the process ended; see log"):
        dead.ask(request(0.0), limit_s=30)


def test_smaller_designs_are_the_beginning_of_larger_ones():
    small, large = fixed_design(4, 3, seed=5), fixed_design(9, 3, seed=5)
    np.testing.assert_array_equal(small.X, large.X[:4])
    np.testing.assert_array_equal(small.y, large.y[:4])
    assert np.all((large.X >= LOW) & (large.X <= HIGH))
    assert not np.array_equal(large.y, fixed_design(9, 3, seed=6).y)


def test_floor_counts_a_factorisation_per_evaluation_and_a_product_per_step(monkeypatch: pytest.MonkeyPatch):
    """On a clock by which every piece of work takes half a second."""

    def half_a_second(work: Callable[[], object], repeats: int) -> float:
        work()
        return 0.5

    monkeypatch.setattr(floor, "median_seconds", half_a_second)
    assert floor.measure(64, 10, seed=0) == floor.Floor(fit_s=5.0, search_s=1500.0)


def test_blank_line_starts_another_pip_call():
    assert paragraphs("# why\na==1\n# and\nb\n\n\nc<2  # old\n") == [["a==1", "b"], ["c<2"]]


def test_table_aligns_and_drops_empty_columns():
    text = render(["n", "fit", "none", "total"], [[10, 0.01234, None, 1.5], [1000, None, None, 123.4]])
    assert text.splitlines() == [
        "   n     fit  total",
        "  10  0.0123   1.50",
        "1000       -    123",
    ]


def test_the_picture_has_a_panel_for_every_setting_and_a_curve_for_whoever_answered():
    answers = {
        "default": {"seconds": [0.02, 0.03]},
        "paper": {"seconds": [0.2]},
        "ax": {"outcome": "too slow"},
    }
    cells = [latency.Cell(setting, n, dict(answers)) for setting in ("5 floats", "9 ints") for n in (10, 100)]
    svg = to_svg(latency.draw(cells, ["default", "paper", "ax"]))
    for text in ("5 floats", "9 ints", "default", "paper"):
        assert f">{text}<" in svg
    assert ">ax<" not in svg


def test_whoever_ran_out_of_time_is_not_asked_for_more_trials():
    asked = []

    def ask(name: str, num_trials: int) -> dict:
        asked.append((name, num_trials))
        if name == "ax" and num_trials == 50:
            raise TimeLimitError("no answer within 1 s")
        if name == "hebo":
            raise UnsupportedProblemError("one objective only")
        return {"seconds": [0.1], "packages": {"jax": "1"}}

    cells = latency.measure_column("5 floats", (100, 10, 50), ["default", "ax", "hebo"], ask)
    assert asked == [
        *((name, 10) for name in ("default", "ax", "hebo")),
        *((name, 50) for name in ("default", "ax")),
        ("default", 100),
    ]
    assert [cell.shown("ax") for cell in cells] == [0.1, "too slow", None]
    assert cells[0].shown("hebo") == "unsupported"
    assert latency.packages_of(cells) == {"default": {"jax": "1"}, "ax": {"jax": "1"}}
    assert all("packages" not in answer for cell in cells for answer in cell.answers.values())
    text = latency.describe(cells, [], ["default", "ax", "hebo"])
    assert "unsupported" in text.splitlines()[1] and "too slow" in text.splitlines()[2]


def test_latency_by_history_says_where_when_and_by_what_it_was_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    out = tmp_path / "history.json"
    monkeypatch.setattr(history_latency, "measure", lambda *_: [0.5])
    words = ["--algorithms", "paper", "--lengths", "10", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["history_latency", *words])
    history_latency.main()
    study = json.loads(out.read_text())
    assert set(study) == {"task", "device", "machine", "versions", "started", "jax", "rows"}
    assert {"photinus", "engine"} < set(study["versions"])
    assert study["rows"] == [{"algorithm": "paper", "num_trials": 10, "seconds": [0.5]}]
