import moocore
import numpy as np
import pytest

from photinus_bench.problems.fronts import front_extent, nadir_box
from photinus_bench.problems.multi_objective import make, scale_of

PROBLEMS = [
    *[("dtlz", number, m) for number in range(1, 8) for m in (2, 3)],
    *[("wfg", number, m) for number in range(1, 10) for m in (2, 3)],
    *[("zdt", number, 2) for number in (1, 2, 3, 4, 6)],
]


def optimal_points(family: str, number: int, m: int) -> np.ndarray:
    """Points of the front from what is known to be optimal: distance parameters at their best, the rest on a grid."""
    problem = make(family, number, m + 3, m)
    if family == "wfg":
        rest = [2 * i * 0.35 for i in range(m, m + 4)]
    else:
        rest = [0.0] * 4 if family == "zdt" or number in (6, 7) else [0.5] * 4
    ends = np.array(problem.max_bounds[: m - 1])
    grid = np.append(np.linspace(0, 1, 2000 if m == 2 else 80), 0.35)  # where deceptive parameters are best
    position = np.stack(np.meshgrid(*[grid] * (m - 1)), axis=-1).reshape(-1, m - 1)
    points = [[*(x * ends), *rest] for x in position]
    return np.array([problem.objective_function(list(map(float, x))) for x in points])


@pytest.mark.parametrize(("family", "number", "m"), PROBLEMS)
def test_nadir_and_ideal_are_those_of_optimal_points(family, number, m):
    if family == "wfg" and number in (1, 8, 9):
        pytest.skip("optimal distance parameters depend on the others, or hang on the last bit")
    y = optimal_points(family, number, m)
    y = y[moocore.is_nondominated(y, keep_weakly=True)]
    nadir, ideal = front_extent(family, number, m)
    np.testing.assert_allclose(y.max(axis=0) / nadir, 1, atol=0.02)
    np.testing.assert_allclose(y.min(axis=0) / nadir, ideal / nadir, atol=0.02)


def test_known_values():
    np.testing.assert_allclose(front_extent("dtlz", 5, 4)[0], [0.5, 0.5, np.sqrt(0.5), 1])
    np.testing.assert_allclose(front_extent("dtlz", 7, 2)[0], [0.859401, 4], rtol=1e-6)
    np.testing.assert_allclose(front_extent("wfg", 3, 4)[0], [0.5, 1, 3, 8])
    np.testing.assert_allclose(front_extent("zdt", 3, 2), [[0.8518328654, 1], [0, -0.7733690]], atol=1e-7)
    np.testing.assert_allclose(front_extent("zdt", 6, 2), [[1, 0.9211652], [0.2807753191, 0]], atol=1e-7)


def test_the_box_is_in_units_of_the_normalised_problem():
    box = nadir_box("wfg", 4, 5, 2)
    np.testing.assert_allclose(box.reference * scale_of("wfg", 4, 5, 2), [2, 4])
