import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from photinus_bench.problem import Experimenter
from photinus_bench.problems import combo_chains as chains
from photinus_bench.problems import combo_ising as grids
from photinus_bench.tasks import Task, build

CASES = json.loads((Path(__file__).parent / "golden" / "combo.json").read_text())["cases"]
SHAPE = (chains.NUM_STAGES, chains.NUM_SIMULATIONS)


def legacy_beta(seed: int, b: float, size: tuple[int, ...]) -> np.ndarray:
    """As the reference draws: a new generator of the same seed each time."""
    return np.random.RandomState(seed).beta(1.0, b, size=size)


def like_the_reference(case: dict) -> Experimenter:
    if case["problem"] == "ising":
        return grids.ising(np.array(case["weights"]))
    if case["problem"] == "centroid":
        return grids.centroid([np.array(weights) for weights in case["models"]])
    seed = case["seed"]
    initial = legacy_beta(seed, chains.INITIAL, SHAPE[1:])
    if case["problem"] == "contamination":
        spread, restore = (legacy_beta(seed, b, SHAPE) for b in (chains.SPREAD, chains.RESTORE))
        return chains.contamination(chains.Chain(initial, spread), restore)
    spread = np.tile(legacy_beta(seed, chains.SPREAD, SHAPE[1:]), (SHAPE[0], 1))
    return chains.pest_control(
        chains.Chain(initial, spread), lambda stage, b: legacy_beta(seed, b, SHAPE[1:])
    )


def value(experimenter: Experimenter, point: str) -> float:
    return experimenter.truth(dict(zip(experimenter.problem.space, point, strict=True)))["value"]


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case['problem']}" for i, case in enumerate(CASES)])
def test_values_are_those_of_the_reference(case: dict) -> None:
    experimenter = like_the_reference(case)
    values = [value(experimenter, point) for point in case["points"]]
    tolerance = 1e-9 if case["problem"] in ("ising", "centroid") else 1e-12
    np.testing.assert_allclose(values, case["values"], rtol=tolerance, atol=tolerance)


def test_divergence_is_the_sum_over_all_states() -> None:
    rng = np.random.default_rng(0)
    p_weights, q_weights = (0.2 * grids.draw_weights(rng) for _ in range(2))
    spins = np.array(list(itertools.product([-1, 1], repeat=16)))
    products = np.stack([spins[:, i] * spins[:, j] for i, j in grids.EDGES], axis=1)
    p, q = (np.exp(2 * products @ weights) for weights in (p_weights, q_weights))
    p, q = p / p.sum(), q / q.sum()
    log_partition = float(np.log(np.exp(grids.energies_of(q_weights)).sum()))
    divergence = grids.IsingModel.of(p_weights).divergence(q_weights, log_partition)
    assert divergence == pytest.approx(np.sum(p * np.log(p / q)), rel=1e-10)


def test_keeping_every_edge_costs_the_penalty_alone() -> None:
    model = grids.ising(grids.draw_weights(np.random.default_rng(0)))
    assert value(model, "1" * 24) == pytest.approx(24 * grids.PENALTY, abs=1e-9)


def test_the_centroid_of_equal_models_is_free() -> None:
    weights = grids.draw_weights(np.random.default_rng(0))
    assert value(grids.centroid([weights] * 3), "012" * 8) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("b", [30.0, 17 / 3, 3 / 7])
def test_rates_are_beta_distributed(b: float) -> None:
    rates = chains.beta(b, np.random.default_rng(0).random(2000))
    assert stats.kstest(rates, stats.beta(1, b).cdf).pvalue > 0.01


def test_without_treatment_nothing_is_paid_and_the_pest_takes_over() -> None:
    experimenter = chains.draw_pest_control(np.random.default_rng(0))
    assert 15 < value(experimenter, "0" * 25) < 25
    # The price of the fourth has no discount: 25 times 0.5 and whatever pest is left.
    assert 12.5 < value(experimenter, "4" * 25) < 12.5 + 10


@pytest.mark.parametrize(
    ("name", "num_parameters", "num_choices"),
    [("centroid", 24, 3), ("contamination", 25, 2), ("ising", 24, 2), ("pestcontrol", 25, 5)],
)
def test_each_edge_or_stage_is_a_parameter_and_repeats_rename_the_categories(
    name: str, num_parameters: int, num_choices: int
) -> None:
    first, again, other = (build(Task(family="combo", name=name), repeat) for repeat in (0, 0, 1))
    assert [p.num_values for p in first.problem.space.parameters.values()] == [num_choices] * num_parameters
    points = ["".join(row) for row in np.random.default_rng(0).choice(list("01"), size=(8, num_parameters))]
    values = [value(first, point) for point in points]
    assert values == [value(again, point) for point in points]
    assert values != [value(other, point) for point in points]
