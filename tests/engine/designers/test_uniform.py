import numpy as np
import pytest

import photinus as ph
from photinus.engine.designers import uniform
from photinus.problem import Problem
from photinus.testing import DesignerContract
from photinus.testing.designer import POINTS, SPACE, measured, record


class TestUniform(DesignerContract):
    @pytest.fixture
    def suggest(self):
        return uniform.suggest


def draw(space, count=4000, seed=3):
    problem = Problem.define(space)
    return [s.params for s in uniform.suggest(problem, [], count, seed)]


def test_a_point_depends_on_its_number_alone():
    problem = Problem.define({"x": ph.Float(0, 1), "c": ph.Categorical(list("abc"))})
    together = uniform.suggest(problem, [], 4, 9)
    trials = []
    for expected in together:
        [suggestion] = uniform.suggest(problem, trials, 1, 9)
        assert suggestion == expected
        trials = record([(s.params, measured(problem, 1.0)) for s in together[: len(trials) + 1]])


def test_results_do_not_matter():
    problem = Problem.define(SPACE)
    bad, good = (record([(POINTS[0], measured(problem, value))]) for value in (1.0, -1e9))
    assert uniform.suggest(problem, bad, 3, 1) == uniform.suggest(problem, good, 3, 1)


def test_every_value_gets_its_fair_share():
    points = draw({"n": ph.Int(1, 4), "d": ph.Discrete([1, 2, 50]), "c": ph.Categorical(list("abcde"))})
    for name, share in {"n": 1 / 4, "d": 1 / 3, "c": 1 / 5}.items():
        _, counts = np.unique([p[name] for p in points], return_counts=True)
        # Five standard deviations of a count.
        assert np.abs(counts - share * 4000).max() < 5 * np.sqrt(4000 * share)


@pytest.mark.parametrize("scale", ["linear", "log", "reverse_log"])
def test_floats_are_uniform_on_their_own_scale(scale: str):
    x = np.array([p["x"] for p in draw({"x": ph.Float(1, 1000, scale)})])
    u = {
        "linear": (x - 1) / 999,
        "log": np.log(x) / np.log(1000),
        "reverse_log": 1 - np.log(1001 - x) / np.log(1000),
    }[scale]
    # Kolmogorov's distance, which exceeds 1.95/√n once in a thousand.
    assert np.abs(np.sort(u) - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / np.sqrt(4000)


def test_parameters_are_independent():
    points = draw({"x": ph.Float(0, 1), "y": ph.Float(0, 1)})
    x, y = ([p[name] for p in points] for name in "xy")
    assert abs(np.corrcoef(x, y)[0, 1]) < 5 / np.sqrt(4000)
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 5 / np.sqrt(4000)


def test_a_space_of_one_point_gives_that_point():
    assert draw({"a": ph.Int(3, 3), "b": ph.Categorical(["only"])}, count=2) == [{"a": 3, "b": "only"}] * 2
