"""Log-efficiency: small examples worked out by hand, its text in loops, and its laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from photinus.problem import Goal
from photinus_bench.analysis import log_efficiency as le
from photinus_bench.analysis.convergence import best_so_far

UP, DOWN = Goal.MAXIMIZE, Goal.MINIMIZE
BASELINE = np.array([[0.0, 1.0, 2.0, 4.0], [0.0, 0.0, 2.0, 2.0]])
COMPARED = np.array([[0.0, 2.0, 4.0, 4.0], [0.0, 2.0, 2.0, 6.0]])
NEVER = 4 * math.e


def test_required_budget_by_hand():
    targets = np.array([0.0, 1.25, 2.5, 4.0, 4.1])
    expected = [[1, 3, 4, 4, NEVER], [1, 3, NEVER, NEVER, NEVER]]
    np.testing.assert_allclose(le.required_budget(BASELINE, targets, UP), expected)
    np.testing.assert_allclose(
        le.expected_required_budget(BASELINE, targets, UP), [1, 3, 2 + 2 * math.e, 2 + 2 * math.e, NEVER]
    )
    np.testing.assert_allclose(le.required_budget(-BASELINE, -targets, DOWN), expected)


def test_target_curve_by_hand():
    # Mean curves 0, 0.5, 2, 3 and 0, 2, 3, 5.
    np.testing.assert_allclose(le.target_curve(BASELINE, COMPARED, UP), [0, 1.25, 2.5, 4])
    np.testing.assert_allclose(le.target_curve(-BASELINE, -COMPARED, DOWN), [0, -1.25, -2.5, -4])


def test_score_by_hand():
    # Expected budgets at the targets 0, 1.25, 2.5, 4: baseline 1, 3, 2 + 2e, 2 + 2e; compared 1, 2, 3.5, 3.5.
    late = math.log((2 + 2 * math.e) / 3.5)
    np.testing.assert_allclose(le.by_target(BASELINE, COMPARED, UP), [0, math.log(1.5), late, late])
    assert le.log_efficiency(BASELINE, COMPARED, UP) == pytest.approx((math.log(1.5) + late) / 2)


def test_different_numbers_of_repeats_by_hand():
    # Mean curves 0, 0.5, 2, 3 and 0, 4, 4, 4: targets 0, 2.25, 3, 3.5.
    compared = np.array([[0.0, 4.0, 4.0, 4.0]])
    late = math.log((2 + 2 * math.e) / 2)
    np.testing.assert_allclose(le.by_target(BASELINE, compared, UP), [0, late, late, late])


def test_each_target_is_clipped_before_the_median():
    # Targets 0 and 50, then two that only one side reaches: ln(4e / 1) = 2.39 is clipped to 2.
    baseline, compared = np.array([[0.0, 0.0, 0.0, 0.0]]), np.array([[100.0, 100.0, 100.0, 100.0]])
    np.testing.assert_array_equal(le.by_target(baseline, compared, UP), [2, 2, 2, 2])
    np.testing.assert_array_equal(le.by_target(compared, baseline, UP), [-2, -2, -2, -2])


@pytest.mark.parametrize("num_repeats", [3, 7, 20])
def test_plateau_of_both_counts_as_reached_although_the_mean_is_rounded(num_repeats: int):
    for height in np.linspace(0.1, 0.9, 9):
        baseline = np.tile([0.0, 0.0, 0.0, height, height], (num_repeats, 1))
        compared = np.tile([0.0, height, height, height, height], (num_repeats, 1))
        np.testing.assert_allclose(le.by_target(baseline, compared, UP), [0] + [math.log(2)] * 4)


def test_run_without_a_value_reaches_nothing_and_averages_as_the_worst():
    baseline = best_so_far([[math.nan] * 4, [5.0, 4.0, 2.0, 2.0]], 4, DOWN)
    compared = best_so_far([[math.nan, 3.0, 1.0, 1.0]], 4, DOWN)
    # Mean curves 5, 4.5, 3.5, 3.5 (5 for the run without a value) and 5, 3, 1, 1.
    np.testing.assert_allclose(le.target_curve(baseline, compared, DOWN), [5, 3.75, 2.25, 2.25])
    expected = [
        math.log((NEVER + 1) / 2 / 2),
        math.log((NEVER + 3) / 2 / 2),
        math.log((NEVER + 3) / 2 / 3),
        math.log((NEVER + 3) / 2 / 3),
    ]
    np.testing.assert_allclose(le.by_target(baseline, compared, DOWN), expected)


def test_two_algorithms_without_any_value_are_equal():
    nothing = np.full((3, 5), math.inf)
    assert le.log_efficiency(nothing, nothing, DOWN) == 0


def test_different_budgets_are_refused():
    with pytest.raises(ValueError, match="same budget, got 4 and 3 trials"):
        le.log_efficiency(BASELINE, COMPARED[:, :3], UP)


def in_loops(baseline: np.ndarray, compared: np.ndarray) -> float:
    """The definition, word for word, for curves that go upwards."""
    num_trials = baseline.shape[1]

    def budget(curves: np.ndarray, y: float) -> float:
        total = 0.0
        for curve in curves:
            hits = [t for t in range(1, num_trials + 1) if curve[t - 1] >= y]
            total += min(hits) if hits else math.e * num_trials
        return total / len(curves)

    efficiencies = []
    for t in range(num_trials):
        y = (baseline[:, t].mean() + compared[:, t].mean()) / 2
        y -= 1e-12 * (np.abs(baseline[:, t]).mean() + np.abs(compared[:, t]).mean()) / 2
        ratio = budget(baseline, y) / budget(compared, y)
        efficiencies.append(min(2.0, max(-2.0, math.log(ratio))))
    return float(np.median(efficiencies))


@st.composite
def curve_pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    num_trials = draw(st.integers(1, 30))
    digits = draw(st.integers(0, 6))  # with few digits there are ties
    tables = [
        np.round(
            np.maximum.accumulate(rng.normal(size=(draw(st.integers(1, 6)), num_trials)), axis=1), digits
        )
        for _ in range(2)
    ]
    return tables[0], tables[1] + draw(st.sampled_from([0.0, 0.5, 2.0]))


@given(curve_pairs())
def test_score_is_the_definition_in_loops(pair: tuple[np.ndarray, np.ndarray]):
    assert le.log_efficiency(*pair, UP) == pytest.approx(in_loops(*pair), abs=1e-12)


@given(curve_pairs())
def test_exchanging_the_algorithms_changes_the_sign(pair: tuple[np.ndarray, np.ndarray]):
    assert le.log_efficiency(pair[1], pair[0], UP) == pytest.approx(-le.log_efficiency(*pair, UP), abs=1e-12)


@given(curve_pairs(), st.sampled_from([1e-9, 3.0, 1e9]), st.sampled_from([0.0, -7.0, 100.0]))
def test_units_and_direction_do_not_matter(pair: tuple[np.ndarray, np.ndarray], scale: float, shift: float):
    score = le.log_efficiency(*pair, UP)
    baseline, compared = (-scale * (curves + shift) for curves in pair)
    assert le.log_efficiency(baseline, compared, DOWN) == pytest.approx(score, abs=1e-9)


@given(curve_pairs(), st.integers(0, 1000))
def test_score_of_a_resample_is_that_of_its_rows(pair: tuple[np.ndarray, np.ndarray], seed: int):
    rng = np.random.default_rng(seed)
    rows_base, rows = (rng.integers(len(curves), size=(5, len(curves))) for curves in pair)
    found = le.scores(*pair, UP, rows_base, rows)
    expected = [
        le.log_efficiency(pair[0][drawn_base], pair[1][drawn], UP)
        for drawn_base, drawn in zip(rows_base, rows, strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_twice_as_fast_scores_the_logarithm_of_two():
    trials = np.arange(1, 201)
    baseline = np.log(trials)[None].repeat(3, axis=0)
    compared = np.log(2 * trials)[None].repeat(3, axis=0)
    assert le.log_efficiency(baseline, compared, UP) == pytest.approx(math.log(2), abs=0.02)
