import jax
import numpy as np
import pytest
import twins
from designs import pad
from golden import TOLERANCE, cases, numbers
from hypothesis import given
from hypothesis import strategies as st

from photinus.engine import warping

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 32
warp_padded = jax.jit(warping.warp)
scale_linearly = jax.jit(warping.scale_linearly)
warp_half_rank = jax.jit(warping.warp_half_rank)
warp_log = jax.jit(warping.warp_log)
replace_infeasible = jax.jit(warping.replace_infeasible)

# Sixteenths: sums, differences and products with small whole numbers are exact, so that laws hold to the last digit.
sixteenths = st.integers(-(2**20), 2**20).map(lambda k: k / 16)
ordinary = st.floats(-1e6, 1e6)
# Down to the smallest normal float: the compiler flushes smaller ones to zero.
extreme = st.floats(-1.7e308, 1.7e308, allow_subnormal=False)
some_infeasible = st.lists(st.none() | sixteenths, min_size=1, max_size=20)


def warp(labels, size: int = SIZE, garbage: float = np.nan):
    """Warp labels of completed trials, None for infeasible; infeasible and padding rows hold garbage."""
    is_feasible = pad(np.array([v is not None for v in labels], bool), size)
    is_completed = np.arange(size) < len(labels)
    y = pad(np.array([garbage if v is None else v for v in labels], float), size, garbage)
    warped, how = jax.device_get(warp_padded(y, is_feasible, is_completed))
    assert not warped[len(labels) :].any()
    return warped[: len(labels)], how


def masked(labels) -> tuple[np.ndarray, np.ndarray]:
    """Feasible labels alone, padded, with their mask."""
    return pad(np.array(labels, float), SIZE), np.arange(SIZE) < len(labels)


def by_label(labels) -> tuple[list[int], np.ndarray]:
    """Rows of feasible labels in ascending order, and where neighbours in that order are equal."""
    rows = sorted((i for i, v in enumerate(labels) if v is not None), key=lambda i: labels[i])
    ascending = np.array([labels[i] for i in rows], float)
    return rows, ascending[1:] == ascending[:-1]


@given(st.lists(ordinary, min_size=1, max_size=20))
def test_linear_scaling_is_equation_5(labels):
    y, is_feasible = masked(labels)
    z, _, _ = scale_linearly(y, is_feasible)
    np.testing.assert_allclose(z[: len(labels)], twins.scale_linearly(labels), rtol=1e-12, atol=1e-12)


def test_the_deviation_is_that_of_all_labels_where_the_better_half_has_none():
    z, median, deviation = scale_linearly(*masked([-4.0, 1.0, 1.0, 1.0]))
    assert (median, deviation) == (1.0, 2.5)
    np.testing.assert_array_equal(z[:4], [-2.0, 0.0, 0.0, 0.0])


@given(st.lists(sixteenths, min_size=1, max_size=20))
def test_half_rank_is_equation_6(labels):
    z = twins.scale_linearly(labels)
    warped, knots, _, num_knots = warp_half_rank(*masked(z))
    np.testing.assert_allclose(warped[: len(z)], twins.warp_half_rank(z), rtol=1e-12)
    np.testing.assert_array_equal(knots[:num_knots], sorted(set(z)))


@given(st.lists(ordinary, min_size=1, max_size=20))
def test_log_warping_is_equation_7(z):
    y, _ = masked(z)
    warped = warp_log(y, np.min(z), np.max(z))[: len(z)]
    np.testing.assert_allclose(warped, twins.warp_log(z), rtol=1e-12, atol=1e-12)


@given(some_infeasible)
def test_the_whole_pipeline_is_equations_5_to_9(labels):
    np.testing.assert_allclose(warp(labels)[0], twins.warp(labels), atol=1e-12)


@given(some_infeasible)
def test_a_better_label_is_a_better_warped_label(labels):
    warped, _ = warp(labels)
    rows, is_tie = by_label(labels)
    rise = np.diff(warped[rows])
    assert np.all(rise[is_tie] == 0)
    assert np.all(rise[~is_tie] > 0)


@given(some_infeasible, st.integers(-(2**20), 2**20))
def test_a_shift_of_all_labels_changes_nothing(labels, shift):
    shifted = [None if v is None else v + shift for v in labels]
    np.testing.assert_allclose(warp(shifted)[0], warp(labels)[0], atol=1e-12)


@given(some_infeasible, st.integers(1, 2**20) | st.sampled_from([2.0**-900, 2.0**900]))
def test_a_positive_factor_on_all_labels_changes_nothing(labels, factor):
    multiplied = [None if v is None else v * factor for v in labels]
    np.testing.assert_allclose(warp(multiplied)[0], warp(labels)[0], atol=1e-12)


@given(st.lists(st.none() | extreme, min_size=1, max_size=20))
def test_warped_labels_are_bounded_ordered_and_have_zero_mean_whatever_the_labels(labels):
    warped, _ = warp(labels)
    assert np.all(np.abs(warped) <= 1.5)
    assert abs(np.mean(warped)) < 1e-14
    rows, _ = by_label(labels)
    assert np.all(np.diff(warped[rows]) >= 0)


@given(st.lists(st.none() | extreme, min_size=1, max_size=20))
def test_infeasible_is_strictly_worse_than_every_feasible_label(labels):
    warped, _ = warp(labels)
    is_feasible = np.array([v is not None for v in labels])
    if is_feasible.any() and not is_feasible.all():
        assert np.all(warped[~is_feasible] == warped[~is_feasible][0])
        span = np.ptp(warped[is_feasible]) or 1.0
        assert warped[~is_feasible][0] == pytest.approx(warped[is_feasible].min() - 0.5 * span, abs=1e-12)


@given(some_infeasible, st.permutations(range(20)))
def test_the_order_of_trials_does_not_matter(labels, order):
    order = [i for i in order if i < len(labels)]
    permuted, _ = warp([labels[i] for i in order])
    np.testing.assert_allclose(permuted, warp(labels)[0][order], atol=1e-14)


@given(some_infeasible, st.sampled_from([0.0, np.inf, -1e300]))
def test_padding_and_what_stands_in_unlabelled_rows_does_not_matter(labels, garbage):
    expected, _ = warp(labels)
    np.testing.assert_allclose(warp(labels, garbage=garbage)[0], expected, atol=1e-14)
    np.testing.assert_allclose(warp(labels, size=2 * SIZE)[0], expected, atol=1e-14)


@given(st.lists(st.none() | ordinary, min_size=1, max_size=20) | st.lists(extreme, min_size=1, max_size=20))
def test_unwarping_gives_the_labels_back(labels):
    warped, how = warp(labels)
    feasible = np.array([v is not None for v in labels])
    if feasible.any():
        expected = np.array(labels, float)[feasible]
        # Halved first: the range of labels near the largest float is no float.
        span = np.ptp(expected / 2)
        returned = warping.unwarp(warped[feasible], how)
        error = np.abs(returned / 2 - expected / 2)
        assert np.all(error <= 1e-9 * span + 1e-14 * np.abs(expected / 2))


@given(st.lists(sixteenths, min_size=2, max_size=20), st.lists(st.floats(-2, 2), min_size=2, max_size=10))
def test_unwarping_is_monotone_between_and_beyond_the_labels(labels, queries):
    _, how = warp(labels)
    values = warping.unwarp(np.sort(queries), how)
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) >= -1e-9 * (1.0 + np.ptp(labels)))


def test_half_rank_is_undone_by_straight_lines_between_labels():
    labels = [-7.0, -2.0, 0.0, 1.0, 3.0]
    _, how = warp(labels)
    _, _, ranked, _ = warp_half_rank(*masked(twins.scale_linearly(labels)))
    middle = 0.5 * (ranked[0] + ranked[1])
    z = warp_log(np.array([middle]), ranked[0], ranked[4]) - how.shift
    np.testing.assert_allclose(warping.unwarp(np.asarray(z), how), [-4.5], rtol=1e-12)


@pytest.mark.parametrize(
    "labels",
    [[], [5.0], [None], [3.0, 3.0], [None, None, None], [1e300] * 4, [1e-300] * 4, [0.0] * 20],
    ids=lambda labels: f"{labels[:1]}*{len(labels)}",
)
def test_labels_that_say_nothing_become_zero(labels):
    warped, how = warp(labels)
    np.testing.assert_array_equal(warped, np.zeros(len(labels)))
    if any(v is not None for v in labels):
        assert all(np.all(np.isfinite(part)) for part in how)


def test_equal_labels_stay_above_infeasible_ones():
    warped, _ = warp([2.0, None, 2.0, 2.0])
    np.testing.assert_allclose(warped, [0.125, -0.375, 0.125, 0.125], atol=1e-15)


@pytest.mark.parametrize("unit", [1e300, 1e-300, 1e-305], ids="{:g}".format)
def test_huge_and_tiny_labels_keep_their_differences(unit):
    labels = np.array([0.2, 0.9, -0.4, 0.5, 0.1, -1.0])
    np.testing.assert_allclose(warp(unit * labels)[0], twins.warp(labels.tolist()), atol=1e-12)


def recorded(case) -> tuple[list, np.ndarray, np.ndarray]:
    labels = numbers(case["labels"])
    return [None if np.isnan(v) else v for v in labels], labels, ~np.isnan(labels)


STAGES = [case for case in cases("warping") if "log" in case.values[0]]
UNTIED = [case for case in STAGES if not case.values[0]["ties"]]
TIED = [case for case in STAGES if case.values[0]["ties"]]
MIXED = [case for case in UNTIED if None in case.values[0]["labels"]]


@pytest.mark.parametrize("case", STAGES)
def test_golden_log_stage(case):
    _, labels, is_feasible = recorded(case)
    y = labels[is_feasible]
    expected = numbers(case["log"])[is_feasible]
    np.testing.assert_allclose(warp_log(y, y.min(), y.max()), expected, atol=TOLERANCE)


@pytest.mark.parametrize("case", UNTIED)
def test_golden_half_rank_stage(case):
    # The reference warps in the labels' own units, so ours are taken back from units of the deviation.
    _, labels, is_feasible = recorded(case)
    z, median, deviation = scale_linearly(*masked(labels[is_feasible]))
    warped, _, _, _ = warp_half_rank(z, np.arange(SIZE) < is_feasible.sum())
    ours = warped[: is_feasible.sum()] * deviation + median
    expected = numbers(case["half_rank"])[is_feasible]
    np.testing.assert_allclose(ours, expected, rtol=TOLERANCE, atol=TOLERANCE * np.ptp(expected))


@pytest.mark.parametrize("case", UNTIED)
def test_golden_pipeline_up_to_the_mean(case):
    labels, _, is_feasible = recorded(case)
    ours, theirs = warp(labels)[0][is_feasible], numbers(case["pipeline"])[is_feasible]
    np.testing.assert_allclose(ours - ours.mean(), theirs - theirs.mean(), atol=TOLERANCE)


@pytest.mark.parametrize("case", MIXED)
def test_difference_to_golden_infeasible_lies_one_higher(case):
    labels, _, is_feasible = recorded(case)
    ours, theirs = warp(labels)[0], numbers(case["pipeline"])

    def gap(z: np.ndarray) -> float:
        return z[is_feasible].min() - z[~is_feasible][0]

    assert gap(ours) == pytest.approx(gap(theirs) - 1.0, abs=TOLERANCE)


def test_difference_to_golden_our_mean_is_zero():
    stored = [case.values[0] for case in MIXED]
    assert max(abs(warp(recorded(case)[0])[0].mean()) for case in stored) < 1e-14
    assert max(abs(numbers(case["pipeline"]).mean()) for case in stored) > 0.05


@pytest.mark.parametrize("case", TIED)
def test_difference_to_golden_ties_count_as_often_as_they_occur(case):
    # The reference's deviation is over distinct labels. With that deviation in place of ours everything agrees.
    _, labels, is_feasible = recorded(case)
    y = labels[is_feasible]
    z, median, deviation = (np.asarray(v) for v in scale_linearly(*masked(y)))
    distinct = np.unique(y)
    better = distinct[distinct >= median]
    theirs = np.sqrt(np.mean((better - median) ** 2)) or np.sqrt(np.mean((distinct - median) ** 2))
    warped, _, _, _ = warp_half_rank(z * deviation / theirs, np.arange(SIZE) < len(y))
    expected = numbers(case["half_rank"])[is_feasible]
    assert theirs != pytest.approx(float(deviation), rel=1e-6)
    np.testing.assert_allclose(
        warped[: len(y)] * theirs + median, expected, rtol=TOLERANCE, atol=TOLERANCE * np.ptp(expected)
    )


def test_golden_one_label_or_equal_ones_become_zero():
    by_name = {case.values[0]["name"]: case.values[0] for case in cases("warping")}
    for name in ("one label", "constant"):
        labels, _, _ = recorded(by_name[name])
        np.testing.assert_allclose(warp(labels)[0], by_name[name]["pipeline"], atol=TOLERANCE)


def test_difference_to_golden_only_infeasible_is_zero_and_not_minus_one():
    (case,) = (case.values[0] for case in cases("warping") if case.values[0]["name"] == "all infeasible")
    np.testing.assert_array_equal(case["pipeline"], [-1.0] * 3)
    np.testing.assert_array_equal(warp([None] * 3)[0], [0.0] * 3)
