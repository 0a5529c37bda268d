"""Winsorised labels against the textbook, and what must not change them."""

import jax
import numpy as np
import pytest
from designs import pad
from hypothesis import given
from hypothesis import strategies as st

from photinus.engine import winsorising

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 32
winsorise_padded = jax.jit(winsorising.winsorise)

sixteenths = st.integers(-(2**20), 2**20).map(lambda k: k / 16)
extreme = st.floats(-1.7e308, 1.7e308, allow_subnormal=False)
some_infeasible = st.lists(st.none() | sixteenths, min_size=1, max_size=20)


def winsorise(labels, size: int = SIZE, garbage: float = np.nan):
    """Labels of completed trials, None for infeasible; infeasible and padding rows hold garbage."""
    is_feasible = pad(np.array([v is not None for v in labels], bool), size)
    y = pad(np.array([garbage if v is None else v for v in labels], float), size, garbage)
    z, how = jax.device_get(winsorise_padded(y, is_feasible, np.arange(size) < len(labels)))
    assert not z[len(labels) :].any()
    return z[: len(labels)], how


def textbook(labels) -> list[float]:
    """NumPy's quantiles, no masks."""
    known = np.array([v for v in labels if v is not None])
    if not len(known):
        return [0.0] * len(labels)
    low = -np.inf
    if len(known) >= 4:
        q1, q3 = np.quantile(known, [0.25, 0.75])
        low = q1 - 1.5 * (q3 - q1) if q3 > q1 else -np.inf
    raised = np.maximum(known, low)
    deviation = raised.std() if len(set(raised)) > 1 else 0.0
    z = (raised - raised.mean()) / deviation if deviation else np.zeros(len(known))
    values = iter(z)
    return [z.min() - 0.5 if v is None else next(values) for v in labels]


@given(some_infeasible)
def test_it_is_the_textbooks(labels):
    np.testing.assert_allclose(winsorise(labels)[0], textbook(labels), atol=1e-9)


def test_an_outlier_is_raised_to_the_fence_and_the_others_keep_their_distances():
    z, how = winsorise([1.0, 2.0, 3.0, 4.0, 5.0, -1e9])
    fence = 1.25 - 1.5 * (3.75 - 1.25)
    np.testing.assert_allclose(np.diff(z[:5]), z[1] - z[0])
    np.testing.assert_allclose(how.undo(z), [1.0, 2.0, 3.0, 4.0, 5.0, fence], atol=1e-6)
    # What was raised says no more than "at most": its true label is below what comes back.
    assert how.undo(z)[5] > -1e9


def test_good_values_are_never_touched():
    labels = [0.0, 1.0, 2.0, 3.0, 4.0, 1e6]
    z, how = winsorise(labels)
    np.testing.assert_allclose(how.undo(z), labels, atol=1e-6)


def test_three_labels_have_no_fence_and_four_do():
    few, _ = winsorise([0.0, 0.1, -1e6])
    assert few.min() == pytest.approx(-np.sqrt(2), rel=1e-3)
    _, how = winsorise([0.0, 0.1, 0.2, -1e6])
    assert how.deviation * how.unit < 1e6


def test_labels_of_which_half_are_equal_keep_their_outliers():
    """Both quartiles are 1 here; with a fence there nothing would be left to learn from."""
    z, how = winsorise([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -3.0, 2.0])
    np.testing.assert_allclose(how.undo(z)[6:], [-3.0, 2.0], atol=1e-12)
    assert z[6] < z[0] < z[7]


@given(some_infeasible)
def test_feasible_labels_have_mean_0_and_deviation_1_and_infeasible_ones_lie_half_of_it_below(labels):
    z, _ = winsorise(labels)
    is_feasible = np.array([v is not None for v in labels])
    known = z[is_feasible]
    if len(known):
        assert abs(known.mean()) < 1e-12
        assert known.std() == pytest.approx(1.0, rel=1e-9) or not known.any()
        np.testing.assert_allclose(z[~is_feasible], known.min() - 0.5, atol=1e-12)
    else:
        assert not z.any()


@given(some_infeasible)
def test_a_better_label_is_never_a_worse_winsorised_one(labels):
    z, _ = winsorise(labels)
    rows = sorted((i for i, v in enumerate(labels) if v is not None), key=lambda i: labels[i])
    assert np.all(np.diff(z[rows]) >= 0)
    if rows:  # and the best ones stay apart
        top = [i for i in rows if labels[i] == labels[rows[-1]]]
        assert all(z[i] < z[top[0]] for i in rows if i not in top) or not z[rows].any()


@given(some_infeasible, st.integers(1, 2**20) | st.sampled_from([2.0**-900, 2.0**900]))
def test_a_positive_factor_on_all_labels_changes_nothing(labels, factor):
    multiplied = [None if v is None else v * factor for v in labels]
    np.testing.assert_allclose(winsorise(multiplied)[0], winsorise(labels)[0], atol=1e-9)


@given(some_infeasible, st.integers(-(2**20), 2**20))
def test_a_shift_of_all_labels_changes_nothing(labels, shift):
    shifted = [None if v is None else v + shift for v in labels]
    np.testing.assert_allclose(winsorise(shifted)[0], winsorise(labels)[0], atol=1e-9)


@given(st.lists(st.none() | extreme, min_size=1, max_size=20))
def test_whatever_the_labels_the_result_is_finite_and_ordered(labels):
    z, how = winsorise(labels)
    assert np.all(np.isfinite(z))
    rows = sorted((i for i, v in enumerate(labels) if v is not None), key=lambda i: labels[i])
    assert np.all(np.diff(z[rows]) >= 0)
    assert all(np.isfinite(part) for part in how)


@given(some_infeasible, st.permutations(range(20)))
def test_the_order_of_trials_does_not_matter(labels, order):
    order = [i for i in order if i < len(labels)]
    permuted, _ = winsorise([labels[i] for i in order])
    np.testing.assert_allclose(permuted, winsorise(labels)[0][order], atol=1e-12)


@given(some_infeasible, st.sampled_from([0.0, np.inf, -1e300]))
def test_padding_and_what_stands_in_unlabelled_rows_does_not_matter(labels, garbage):
    expected, _ = winsorise(labels)
    np.testing.assert_allclose(winsorise(labels, garbage=garbage)[0], expected, atol=1e-12)
    np.testing.assert_allclose(winsorise(labels, size=2 * SIZE)[0], expected, atol=1e-12)


@given(some_infeasible)
def test_undoing_gives_labels_back_and_never_less_than_they_were(labels):
    z, how = winsorise(labels)
    is_feasible = np.array([v is not None for v in labels])
    known = np.array([v for v in labels if v is not None])
    if len(known):
        returned, slack = how.undo(z[is_feasible]), 1e-9 * (1.0 + np.abs(known).max())
        assert np.all(returned >= known - slack)
        assert returned.max() == pytest.approx(known.max(), abs=slack)


@pytest.mark.parametrize(
    "labels", [[5.0], [0.1] * 7, [None], [None, None], [1e9] * 4, [1e-9] * 3, []], ids=str
)
def test_labels_that_say_nothing_become_zero(labels):
    z, how = winsorise(labels)
    np.testing.assert_array_equal(z, np.zeros(len(labels)))
    assert all(np.isfinite(part) for part in how)


def test_equal_labels_stay_above_infeasible_ones():
    np.testing.assert_array_equal(winsorise([0.1, None, 0.1, 0.1])[0], [0.0, -0.5, 0.0, 0.0])
