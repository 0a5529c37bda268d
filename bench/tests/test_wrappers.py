import math

import numpy as np
import pytest

from photinus.problem import Goal
from photinus.space import Categorical, Discrete, Float, Int
from photinus.trial import TrialState
from photinus_bench.noise import MODELS
from photinus_bench.problem import Experimenter
from photinus_bench.problems.combo_chains import draw_pest_control
from photinus_bench.problems.rastrigin import rastrigin
from photinus_bench.variants import cut, draw_value, permute
from photinus_bench.wrappers import (
    categorised,
    discretised,
    infeasible,
    integral,
    negated,
    noisy,
    permuted,
    shifted,
)


def draw_points(experimenter: Experimenter, count: int) -> list[dict]:
    rng = np.random.default_rng(0)
    parameters = experimenter.problem.space.parameters
    return [{name: draw_value(p, rng) for name, p in parameters.items()} for _ in range(count)]


def test_shifted_moves_the_optimum_and_nothing_else() -> None:
    base = rastrigin(3)
    moved = shifted(base, {"x0": 2.0, "x2": -1.5})
    assert moved.problem == base.problem
    assert moved.optimum_at == {"x0": 2.0, "x1": 0.0, "x2": -1.5}
    assert moved.truth(moved.optimum_at) == moved.optimum == {"value": 0.0}
    for x in draw_points(base, 10):
        assert moved.truth(x) == base.truth({**x, "x0": x["x0"] - 2.0, "x2": x["x2"] + 1.5})


def test_an_optimum_shifted_out_of_the_box_is_none() -> None:
    moved = shifted(shifted(rastrigin(2), {"x0": 4.0}), {"x0": 4.0})
    assert moved.optimum is None and moved.optimum_at is None


@pytest.mark.parametrize("wrap", ["categorised", "discretised", "integral"])
def test_points_of_a_grid_have_the_values_of_the_real_points(wrap: str) -> None:
    base = shifted(rastrigin(3), {"x0": 1.0, "x1": -2.0, "x2": 0.5})
    grid = np.linspace(-5, 5, 10).tolist()
    if wrap == "categorised":
        wrapped, encode = categorised(base, ["x0", "x2"]), {value: repr(value) for value in grid}
        assert wrapped.problem.space["x0"] == Categorical(encode.values())
    elif wrap == "discretised":
        wrapped, encode = discretised(base, {"x0": 10, "x2": 10}), {value: value for value in grid}
        assert wrapped.problem.space["x0"] == Discrete(grid)
    else:
        wrapped, encode = integral(base, {"x0": 10, "x2": 10}), {value: i for i, value in enumerate(grid)}
        assert wrapped.problem.space["x0"] == Int(0, 9)
    assert wrapped.problem.space["x1"] == Float(-5, 5)
    assert wrapped.optimum is None
    for first in grid:
        for last in grid:
            params = wrapped.problem.space.validate({"x0": encode[first], "x1": 0.3, "x2": encode[last]})
            assert wrapped.truth(params) == base.truth({"x0": first, "x1": 0.3, "x2": last})


def test_grids_refuse_what_is_not_real_or_has_one_level() -> None:
    with pytest.raises(ValueError, match="a grid needs a Float"):
        categorised(categorised(rastrigin(2), ["x0"]), ["x0"])
    with pytest.raises(ValueError, match="num_values=1"):
        discretised(rastrigin(2), {"x0": 1})


def test_a_permutation_renames_the_points_one_to_one() -> None:
    base = categorised(rastrigin(2), ["x0", "x1"], num_values=5)
    renamed = permute(base, np.random.default_rng(1))
    choices = base.problem.space["x0"].values
    assert renamed.problem == base.problem

    def values(experimenter: Experimenter) -> list[float]:
        return [experimenter.truth({"x0": a, "x1": b})["value"] for a in choices for b in choices]

    assert values(renamed) != values(base)
    assert sorted(values(renamed)) == sorted(values(base))
    # Each parameter has a bijection of its own, whatever the other one is.
    table = np.array(values(renamed)).reshape(5, 5)
    assert len({tuple(np.argsort(np.argsort(row, kind="stable"))) for row in np.round(table, 9)}) == 1


def test_a_permutation_and_its_inverse_are_nothing() -> None:
    base = draw_pest_control(np.random.default_rng(0))
    choices = base.problem.space["x3"].values
    images = ("2", "0", "4", "1", "3")
    inverse = [choices[images.index(choice)] for choice in choices]
    back = permuted(permuted(base, {"x3": images}), {"x3": inverse})
    for x in draw_points(base, 10):
        assert back.truth(x) == base.truth(x)


def test_a_permutation_moves_the_optimum_to_its_new_name() -> None:
    base = rastrigin(1)
    grid = categorised(base, ["x0"], num_values=3)
    known = Experimenter(
        name="", problem=grid.problem, truth=grid.truth, optimum={"value": 0.0}, optimum_at={"x0": "0.0"}
    )
    renamed = permuted(known, {"x0": ("0.0", "5.0", "-5.0")})
    assert renamed.optimum_at == {"x0": "-5.0"}
    assert renamed.truth(renamed.optimum_at) == renamed.optimum == {"value": 0.0}


@pytest.mark.parametrize("model", MODELS)
def test_noise_changes_what_is_told_and_not_the_truth(model: str) -> None:
    base = rastrigin(2)
    wrapped = noisy(base, MODELS[model])
    x = {"x0": 1.3, "x1": -2.2}
    assert wrapped.truth(x) == base.truth(x)
    told = wrapped.evaluate(x, np.random.default_rng(0))
    assert told.state is TrialState.COMPLETED
    assert told.values != base.truth(x)
    assert told == wrapped.evaluate(x, np.random.default_rng(0))
    assert len({wrapped.evaluate(x, np.random.default_rng(seed)).values["value"] for seed in range(20)}) > 1


@pytest.mark.parametrize("model", MODELS)
def test_noise_and_negation_commute(model: str) -> None:
    base = rastrigin(2)
    one, other = negated(noisy(base, MODELS[model])), noisy(negated(base), MODELS[model])
    x = {"x0": 1.3, "x1": -2.2}
    plain = noisy(base, MODELS[model]).evaluate(x, np.random.default_rng(0))
    told = one.evaluate(x, np.random.default_rng(0))
    assert told == other.evaluate(x, np.random.default_rng(0))
    assert told.values == {"value": -plain.values["value"]}


def test_negating_twice_is_nothing() -> None:
    base = rastrigin(2)
    once = negated(base)
    assert [metric.goal for metric in once.problem.metrics] == [Goal.MAXIMIZE]
    x = {"x0": 1.3, "x1": -2.2}
    assert once.truth(x) == {"value": -base.truth(x)["value"]}
    assert negated(once).truth(x) == base.truth(x)
    assert negated(once).problem == base.problem
    assert once.truth(once.optimum_at) == once.optimum


def test_infeasible_points_have_no_value_whatever_is_wrapped_around() -> None:
    base = infeasible(rastrigin(2), lambda params: params["x0"] > 1)
    inside, outside = {"x0": 0.5, "x1": 2.0}, {"x0": 1.5, "x1": 2.0}
    assert base.optimum == {"value": 0.0}
    assert base.truth(inside) == rastrigin(2).truth(inside)
    assert math.isnan(base.truth(outside)["value"])
    for wrapped in (base, negated(base), *(noisy(base, model) for model in MODELS.values())):
        assert wrapped.evaluate(outside, np.random.default_rng(0)).state is TrialState.INFEASIBLE
        assert wrapped.evaluate(inside, np.random.default_rng(0)).state is TrialState.COMPLETED


def test_an_infeasible_optimum_is_none() -> None:
    assert infeasible(rastrigin(2), lambda params: params["x0"] == 0).optimum is None


@pytest.mark.parametrize("percent", [10, 50])
@pytest.mark.parametrize("seed", range(4))
def test_a_cut_takes_its_share_and_leaves_the_optimum(percent: int, seed: int) -> None:
    base = shifted(rastrigin(4), dict.fromkeys(["x0", "x1", "x2", "x3"], 4.0))
    wrapped = cut(base, percent, np.random.default_rng(seed))
    assert wrapped.truth(wrapped.optimum_at) == wrapped.optimum == {"value": 0.0}
    values = [wrapped.truth(x)["value"] for x in draw_points(wrapped, 1000)]
    assert np.mean(np.isnan(values)) == pytest.approx(percent / 100, abs=0.05)


def test_wrappers_compose() -> None:
    base = shifted(rastrigin(4), {"x0": 1.0})
    wrapped = categorised(integral(discretised(base, {"x0": 3}), {"x1": 5}), ["x2"], num_values=2)
    wrapped = negated(noisy(cut(wrapped, 20, np.random.default_rng(0)), MODELS["gaussian"]))
    params = wrapped.problem.space.validate({"x0": 5.0, "x1": 4, "x2": "-5.0", "x3": 0.25})
    kinds = [type(p) for p in wrapped.problem.space.parameters.values()]
    assert kinds == [Discrete, Int, Categorical, Float]
    real = base.truth({"x0": 5.0, "x1": 5.0, "x2": -5.0, "x3": 0.25})
    states = {wrapped.evaluate(x, np.random.default_rng(0)).state for x in draw_points(wrapped, 100)}
    assert states == {TrialState.COMPLETED, TrialState.INFEASIBLE}
    value = wrapped.truth(params)["value"]
    assert math.isnan(value) or value == -real["value"]
