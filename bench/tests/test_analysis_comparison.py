"""Intervals and verdicts: what they cover, what they pair, and that a seed settles them."""

import math

import numpy as np
import pytest

from photinus.problem import Goal
from photinus_bench.analysis import vizier_comparator
from photinus_bench.analysis.bootstrap import (
    Interval,
    Verdict,
    median_interval,
    two_level_interval,
    verdict,
)
from photinus_bench.analysis.comparison import Pair, compare
from photinus_bench.analysis.log_efficiency import log_efficiency

UP = Goal.MAXIMIZE
NUM_TRIALS = 30


def runs(rng: np.random.Generator, gains: np.ndarray, spread: float = 0.3) -> np.ndarray:
    """Curves that need about exp(gain) times fewer trials than ln(t), with noise in every step."""
    steps = np.diff(np.log(np.arange(1, NUM_TRIALS + 2)))
    noise = rng.exponential(size=(len(gains), NUM_TRIALS))
    return gains[:, None] + spread * rng.normal(size=(len(gains), 1)) + np.cumsum(steps * noise, axis=1)


def suite(rng: np.random.Generator, num_problems: int, num_repeats: int, gain: float = 0.0) -> list[Pair]:
    """Problems on which the compared algorithm gains more or less than `gain`, in the median just that."""
    gains = gain + 0.4 * rng.normal(size=num_problems)
    flat = np.zeros(num_repeats)
    return [Pair(runs(rng, flat), runs(rng, flat + g), UP, is_paired=True) for g in gains]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.01, 0.5, Verdict.BETTER),
        (0.0, 0.5, Verdict.NOT_LOSING),
        (-0.09, 0.5, Verdict.NOT_LOSING),
        (-0.09, -0.01, Verdict.NOT_LOSING),
        (-0.1, 0.5, Verdict.UNDECIDED),
        (-0.5, 0.0, Verdict.UNDECIDED),
        (-0.5, -0.01, Verdict.WORSE),
    ],
)
def test_verdict(low: float, high: float, expected: Verdict):
    assert verdict(Interval((low + high) / 2, low, high)) == expected


@pytest.mark.parametrize(("num_problems", "num_repeats"), [(1, 1), (5, 1), (1, 5), (6, 1), (1, 6), (2, 3)])
def test_fewer_than_six_runs_decide_nothing(num_problems: int, num_repeats: int):
    slow = np.log(np.arange(1, NUM_TRIALS + 1))[None].repeat(num_repeats, axis=0)
    quick = np.log(3.0 * np.arange(1, NUM_TRIALS + 1))[None].repeat(num_repeats, axis=0)
    found = compare([Pair(slow, quick, UP, is_paired=True)] * num_problems, seed=0)
    assert found.interval.low == pytest.approx(np.log(3.0))
    is_decided = num_problems * num_repeats >= 6
    assert found.verdict == (Verdict.BETTER if is_decided else Verdict.UNDECIDED)
    one_of_ours = compare([Pair(slow[:1], quick, UP, is_paired=False)] * num_problems, seed=0)
    assert one_of_ours.verdict == (Verdict.BETTER if num_problems >= 6 else Verdict.UNDECIDED)


def test_interval_covers_the_true_median_about_as_often_as_it_says():
    """Two algorithms whose gains are symmetric about zero, so that zero is the median log-efficiency."""
    rng = np.random.default_rng(11)
    covered, replications = 0, 300
    for replication in range(replications):
        swap = rng.random(12) < 0.5  # symmetric to the last digit, whatever log-efficiency makes of the noise
        pairs = [
            Pair(pair.compared, pair.baseline, UP, is_paired=True) if is_swapped else pair
            for pair, is_swapped in zip(suite(rng, 12, 3), swap, strict=True)
        ]
        interval = compare(pairs, seed=replication).interval
        covered += interval.low <= 0 <= interval.high
    assert 0.91 <= covered / replications <= 0.997


def test_interval_of_plain_numbers_covers_their_median():
    rng = np.random.default_rng(12)
    covered, replications = 0, 300
    for replication in range(replications):
        problems = 3 + rng.normal(size=15)
        values = [mean + rng.normal(size=4) for mean in problems]
        interval = median_interval(values, seed=replication)
        covered += interval.low <= 3 <= interval.high
    assert 0.91 <= covered / replications <= 0.997


def test_real_gain_is_found_and_a_real_loss_too():
    rng = np.random.default_rng(1)
    won, lost = compare(suite(rng, 20, 5, gain=0.8), seed=0), compare(suite(rng, 20, 5, gain=-0.8), seed=0)
    assert won.verdict == Verdict.BETTER
    assert lost.verdict == Verdict.WORSE
    assert won.interval.low < won.interval.median < won.interval.high


def test_median_and_scores_are_those_of_all_repeats():
    pairs = suite(np.random.default_rng(2), 7, 4)
    found = compare(pairs, seed=0)
    expected = [log_efficiency(pair.baseline, pair.compared, UP) for pair in pairs]
    np.testing.assert_allclose(found.scores, expected)
    assert found.interval.median == pytest.approx(np.median(expected))
    assert found.num_repeats == (4,) * 7


def test_seed_settles_the_interval_and_another_one_hardly_moves_it():
    pairs = suite(np.random.default_rng(3), 12, 5)
    first, again, other = (compare(pairs, seed=seed).interval for seed in (0, 0, 1))
    assert first == again
    assert first != other
    width = first.high - first.low
    assert abs(first.low - other.low) < 0.15 * width
    assert abs(first.high - other.high) < 0.15 * width


def test_other_measure_has_intervals_too():
    pairs = suite(np.random.default_rng(4), 12, 3, gain=1.0)
    found = compare(pairs, seed=0, measure=vizier_comparator.scores)
    expected = [vizier_comparator.vizier_score(pair.baseline, pair.compared, UP) for pair in pairs]
    np.testing.assert_allclose(found.scores, expected)
    assert found.interval.low < np.median(expected) < found.interval.high


def test_repeats_in_common_are_compared_and_resampled_together():
    """Each repeat is a function of its own scale: against itself shifted by one trial the score never varies."""
    curves = {r: 10.0**r * np.log(np.arange(2, NUM_TRIALS + 2)) for r in range(4)}
    pair = Pair.of(curves | {9: curves[0] + 5}, curves | {7: curves[0] - 5}, UP)
    assert pair.is_paired
    np.testing.assert_array_equal(pair.baseline, np.stack(list(curves.values())))
    interval = compare([pair], seed=0).interval
    assert interval == Interval(0, 0, 0)
    apart = Pair(pair.baseline, pair.compared, UP, is_paired=False)
    assert compare([apart], seed=0).interval.low < -0.5


def test_without_repeats_in_common_all_are_used():
    rng = np.random.default_rng(5)
    one, two = runs(rng, np.zeros(3)), runs(rng, np.zeros(2))
    pair = Pair.of(dict(zip([0, 1, 2], one, strict=True)), dict(zip([8, 5], two, strict=True)), UP)
    assert not pair.is_paired
    np.testing.assert_array_equal(pair.baseline, one)
    np.testing.assert_array_equal(pair.compared, two[::-1])


def test_both_levels_widen_the_interval():
    rng = np.random.default_rng(6)
    between = two_level_interval(np.arange(9.0), np.arange(9.0)[:, None].repeat(5, axis=1), rng)
    assert between.low < 3 < 5 < between.high
    within = median_interval([np.array([1.0, 5.0, 9.0])], seed=0)
    assert (within.median, within.low, within.high) == (5, 1, 9)
    single = median_interval([np.array([2.0]), np.array([2.0])], seed=0)
    assert single == Interval(2, 2, 2)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="at least one problem"):
        compare([], seed=0)
    with pytest.raises(ValueError, match="resamples for each problem"):
        two_level_interval(np.zeros(2), np.zeros((3, 4)), np.random.default_rng(0))


def test_stopped_and_infeasible_runs_are_scored():
    curves = np.full((6, NUM_TRIALS), -math.inf)
    other = np.tile(np.arange(NUM_TRIALS, dtype=float), (6, 1))
    assert compare([Pair(other, curves, UP, is_paired=True)], seed=0).verdict == Verdict.WORSE
