import jax
import numpy as np
import pytest
import twins
from designs import pad
from golden import TOLERANCE, cases
from hypothesis import given, settings
from hypothesis import strategies as st

from photinus.engine.acquisition.hypervolume import (
    Scalarisation,
    improvement,
    reference_point,
    scalarisation,
    scalarise,
)

pytestmark = pytest.mark.usefixtures("engine")

SIZE = 32
NUM_WEIGHTS = 1000
draw = jax.jit(scalarisation, static_argnums=3)
find_reference = jax.jit(reference_point)
gain = jax.jit(improvement)
scalarise_all = jax.jit(scalarise)


def look(Y: np.ndarray, seed: int = 0) -> Scalarisation:
    """Directions for completed trials with these labels; what stands in the other rows must not matter."""
    is_completed = np.arange(SIZE) < len(Y)
    return draw(jax.random.key(seed), pad(Y, SIZE, 1e6), is_completed, NUM_WEIGHTS)


@pytest.mark.parametrize("num_metrics", [2, 3])
def test_directions_are_uniform_on_the_positive_sphere(num_metrics):
    weights = np.asarray(look(np.zeros((3, num_metrics))).weights)
    assert weights.shape == (NUM_WEIGHTS, num_metrics)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1.0, rtol=1e-12)
    # The mean square of every coordinate is 1/M; five standard errors are less than 0.06.
    np.testing.assert_allclose(np.mean(weights**2, axis=0), 1 / num_metrics, atol=0.06)


def test_every_key_draws_other_directions():
    Y = np.zeros((3, 2))
    assert not np.array_equal(look(Y, seed=0).weights, look(Y, seed=1).weights)
    np.testing.assert_array_equal(look(Y, seed=0).weights, look(Y, seed=0).weights)


@pytest.mark.parametrize("num_metrics", [2, 3])
def test_scalarisation_is_equation_28(num_metrics):
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=(6, num_metrics)), rng.random((5, num_metrics)) + 0.01
    expected = [[twins.scalarised(row, w) for w in weights] for row in y]
    np.testing.assert_allclose(scalarise_all(y, weights), expected, rtol=1e-13)


@pytest.mark.parametrize("num_metrics", [2, 3])
def test_reference_is_equation_29(num_metrics):
    Y = np.random.default_rng(1).normal(size=(9, num_metrics))
    reference = find_reference(pad(Y, SIZE, 1e6), np.arange(SIZE) < 9)
    np.testing.assert_allclose(reference, twins.reference_point(Y), rtol=1e-13)


@pytest.mark.parametrize("num_metrics", [2, 3])
def test_improvement_is_equation_30(num_metrics):
    rng = np.random.default_rng(2)
    Y, bounds = rng.normal(size=(9, num_metrics)), rng.normal(size=(6, num_metrics)) + 0.5
    directions = look(Y)
    expected = [twins.improvement(bound, Y, np.asarray(directions.weights)) for bound in bounds]
    np.testing.assert_allclose(gain(bounds, directions), expected, rtol=1e-10, atol=1e-12)


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_a_dominated_bound_gains_nothing_and_a_better_one_never_less(seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(9, 2))
    directions = look(Y)
    below = Y[rng.integers(9)] - rng.random(2)
    bound = rng.normal(size=2)
    gains = np.asarray(gain(np.stack([below, bound, bound + rng.random(2)]), directions))
    assert gains[0] == pytest.approx(0.0, abs=1e-12)
    assert 0.0 <= gains[1] <= gains[2]


def test_gain_is_the_dominated_volume_up_to_a_constant():
    # Two metrics: the constant is the area of a quarter of the unit disc.
    Y = np.array([[1.0, 0.0], [0.0, 1.0]])
    directions = look(Y)
    low = twins.reference_point(Y)[0]

    def area(corners: list[tuple[float, float]]) -> float:
        corners = sorted(corners, reverse=True)
        steps = zip(corners, [low, *(c[1] for c in corners)], strict=False)
        return sum((x - low) * max(y - floor, 0.0) for (x, y), floor in steps)

    added = area([(1.0, 0.0), (0.8, 0.7), (0.0, 1.0)]) - area([(1.0, 0.0), (0.0, 1.0)])
    (gained,) = gain(np.array([[0.8, 0.7]]), directions)
    assert gained * np.pi / 4 == pytest.approx(added, rel=0.05)


def test_equal_labels_leave_room_for_improvement_and_nothing_infinite():
    directions = look(np.full((4, 2), 0.3))
    gains = np.asarray(gain(np.array([[0.3, 0.3], [0.4, 0.4], [-1.0, 5.0]]), directions))
    assert gains[0] == 0.0
    assert 0.0 < gains[1] < np.inf
    assert gains[2] == 0.0


@pytest.mark.parametrize("case", cases("scalarization"))
def test_golden_reference_and_scalarisation(case):
    Y, weights, vectors = (np.array(case[name]) for name in ("labels", "weights", "vectors"))
    reference = np.asarray(find_reference(pad(Y, SIZE), np.arange(SIZE) < len(Y)))
    np.testing.assert_allclose(reference, case["reference_point"], rtol=TOLERANCE)
    observed = np.asarray(scalarise_all(Y - reference, weights))
    np.testing.assert_allclose(observed.T, case["scalarized"], rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(
        scalarise_all(vectors - reference, weights).T,
        case["vectors_scalarized"],
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )
    # The reference averages the better of vector and best label, we what is gained over the best label.
    best = observed.max(axis=0)
    gains = gain(vectors, Scalarisation(weights, reference, best))
    np.testing.assert_allclose(gains + best.mean(), case["acquisition"], rtol=TOLERANCE)
