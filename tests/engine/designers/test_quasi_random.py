import itertools

import numpy as np
import pytest
from scipy.stats import qmc

import photinus as ph
from photinus.engine.designers import quasi_random
from photinus.engine.encoding import Encoder
from photinus.problem import Problem
from photinus.testing import DesignerContract
from photinus.testing.designer import measured, record

CUBE = Problem.define({name: ph.Float(0, 1) for name in "abcde"})


class TestQuasiRandom(DesignerContract):
    @pytest.fixture
    def suggest(self):
        return quasi_random.suggest


def points(count: int, seed: int = 0, problem: Problem = CUBE) -> np.ndarray:
    suggestions = quasi_random.suggest(problem, [], count, seed)
    return np.array([list(s.params.values()) for s in suggestions])


def digits(number: int, base: int) -> list[int]:
    found = []
    while number:
        number, digit = divmod(number, base)
        found.append(digit)
    return found


def test_a_point_depends_on_its_number_alone():
    together = quasi_random.suggest(CUBE, [], 5, 9)
    trials = record([(s.params, measured(CUBE, 1.0)) for s in together])
    for i, expected in enumerate(together):
        assert quasi_random.suggest(CUBE, trials[:i], 1, 9) == [expected]


def test_the_sequence_is_the_radical_inverse_with_permuted_digits():
    """(32): points whose indices share their last k digits in base b share the first k digits of u, and only they."""
    found = points(250)
    for d, base in enumerate([2, 3, 5, 7, 11]):
        for k in (1, 2):
            last = [tuple([*digits(1000 + i, base), 0, 0][:k]) for i in range(250)]
            first = [int(u * base**k) for u in found[:, d]]
            pairs = set(zip(last, first, strict=True))
            assert len(pairs) == len(set(last)) == len(set(first))


def test_holes_are_smaller_than_those_of_random_points():
    random = np.random.default_rng(0)
    chance = np.median([qmc.discrepancy(random.random((64, 5))) for _ in range(20)])
    assert all(qmc.discrepancy(points(64, seed)) < 0.6 * chance for seed in range(10))


def test_seeds_are_different_sequences():
    starts = [points(8, seed) for seed in range(6)]
    assert all(np.abs(a - b).max() > 0.1 for a, b in itertools.combinations(starts, 2))


def test_a_fixed_parameter_takes_no_place_in_the_sequence():
    with_fixed = Problem.define({"a": ph.Float(0, 1), "fixed": ph.Int(7, 7), "b": ph.Float(0, 1)})
    without = Problem.define({"a": ph.Float(0, 1), "b": ph.Float(0, 1)})
    assert (points(20, 1, with_fixed)[:, [0, 2]] == points(20, 1, without)).all()


def test_a_space_of_one_point_gives_that_point():
    problem = Problem.define({"a": ph.Int(3, 3), "b": ph.Categorical(["only"])})
    assert quasi_random.halton(Encoder(problem.space), 0, 5, 2) == [{"a": 3, "b": "only"}] * 2
