"""Designs of machine parts against the best ones that the literature knows."""

import math

import numpy as np
import pytest

from photinus_bench.lane import Lane
from photinus_bench.problems.engineering import PARTS, engineering
from photinus_bench.tasks import NAMES, Task, build

# Coello (2000) and Coello & Mezura-Montes (2002) for the first four, Rao for the column, Golinski's part as solved
# exactly by Lu & Kim (2010) with l2 from 7.3 on.
BEST = {
    "spring": ({"d": 0.05169, "D": 0.35675, "n": 11.287126}, 0.012665),
    "vessel": ({"shell": 13, "head": 7, "r": 42.0984456, "length": 176.6365958}, 6059.7143),
    "truss": ({"a": 0.78867513, "b": 0.40824829}, 263.8958434),
    "beam": ({"h": 0.20572964, "l": 3.47048867, "t": 9.03662391, "b": 0.20572964}, 1.724852),
    "column": ({"d": 5.4511563, "t": 0.2919655}, 26.4995),
    "reducer": (
        {"b": 3.5, "m": 0.7, "z": 17, "l1": 7.3, "l2": 7.71531991, "d1": 3.35021467, "d2": 5.28665446},
        2994.341316,
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_the_best_design_costs_what_is_known_and_stands_at_its_limits(name):
    params, expected = BEST[name]
    cost, limits = PARTS[name].design(**params)
    assert cost == pytest.approx(expected, rel=2e-3)
    scale = {"beam": 13600.0, "vessel": 1296000.0}.get(name, 1.0)
    assert -2e-3 < max(limits) / scale < 2e-3
    assert PARTS[name].ranges.keys() == params.keys()


@pytest.mark.parametrize("name", NAMES["engineering"])
def test_most_designs_are_infeasible_and_no_feasible_one_is_better_than_the_best(name):
    found = engineering(name)
    assert found.problem == build(Task.parse(f"engineering/{name}"), 3).problem
    rng = np.random.default_rng(0)
    drawn = [
        {key: p.low + (p.high - p.low) * rng.random() for key, p in PARTS[name].ranges.items()}
        for _ in range(4000)
    ]
    values = [found.truth(params)["value"] for params in drawn]
    feasible = [value for value in values if not math.isnan(value)]
    assert 0 < len(feasible) < 4000
    assert min(feasible) > BEST[name][1] * (1 - 1e-3)


def test_what_breaks_is_told_as_infeasible():
    lane = Lane(engineering("column"), 0)
    assert lane.measure({"d": 14.0, "t": 0.8}).told.values is not None
    assert lane.measure({"d": 2.0, "t": 0.2}).told.values is None


def test_a_size_of_its_own_is_no_dimension():
    with pytest.raises(ValueError, match="every family but combo and engineering needs a dimension"):
        Task.parse("engineering/spring/3d")
