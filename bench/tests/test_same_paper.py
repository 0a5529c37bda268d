"""The comparison of what two commits suggest; what it says about `paper` is what it is run for."""

import copy

import pytest

from photinus_bench.same_paper import (
    CHECKOUT,
    SCENARIOS,
    Comparison,
    Scenario,
    box,
    compare,
    numbers,
    table,
    trace,
    traces_of,
)

SMALL = Scenario(box(2), num_asks=6, batch_size=3, has_troubles=True)


@pytest.fixture(scope="module")
def suggested():
    return trace(SMALL, "random")


def test_a_study_is_the_same_every_time(suggested):
    again = trace(SMALL, "random")
    assert len(suggested) == 18 and compare(suggested, again).is_same
    assert not compare(suggested, trace(SMALL, "quasi_random")).is_same


def test_one_bit_is_a_difference(suggested):
    other = copy.deepcopy(suggested)
    value = float.fromhex(other[7]["params"]["x0"])
    other[7]["params"]["x0"] = (value + abs(value) * 2.0**-52).hex()
    assert not compare(suggested, other).is_same
    assert not compare(suggested, suggested[:-1]).is_same


def test_numbers_of_a_reason_count_where_both_have_them():
    reason = {"ucb": 0.5, "quantiles": {"value": [1, 2.0]}, "rule": "ucb", "is_first": True}
    ours = {"params": {"x": "0x1p+0"}, "numbers": numbers(reason)}
    assert set(ours["numbers"]) == {"reason.ucb", "reason.quantiles.value.0", "reason.quantiles.value.1"}
    newer = {"params": ours["params"], "numbers": numbers(reason | {"log_ei": 3.0})}
    other = {"params": ours["params"], "numbers": numbers(reason | {"ucb": 0.25})}
    assert compare([ours], [newer]) == Comparison(1, 3, *2 * [compare([ours], [newer]).base])
    assert not compare([ours], [other]).is_same


def test_every_study_asks_for_what_it_can_measure():
    for name, scenario in SCENARIOS.items():
        assert scenario.num_asks >= 4 and scenario.space, name


def test_sources_run_in_a_process_of_their_own():
    name = "batches of 3"
    [(found, suggested)] = traces_of(CHECKOUT / "src", "random", [name]).items()
    assert found == name and compare(suggested, trace(SCENARIOS[name], "random")).is_same
    with pytest.raises(RuntimeError, match="must be what is imported"):
        traces_of(CHECKOUT / "docs", "random", [name])
    row = table({name: compare(suggested, suggested)}).splitlines()[-1]
    assert row.endswith("same") and name in row
