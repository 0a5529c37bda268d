"""Importance against functions whose shares are known."""

import math

import numpy as np
import pytest
from pictured import Drawing

import photinus as ph
from photinus.plots.sensitivity import sensitivities


def shares_of(median, space):
    [found] = sensitivities(Drawing(ph.Problem.define(space), median=median)).values()
    assert found is not None
    return found


def test_ishigami():
    a, b = 7.0, 0.1
    space = {name: ph.Float(-math.pi, math.pi) for name in "xyz"}
    found = shares_of(
        lambda p: math.sin(p["x"]) + a * math.sin(p["y"]) ** 2 + b * p["z"] ** 4 * math.sin(p["x"]), space
    )
    v1, v2 = (1 + b * math.pi**4 / 5) ** 2 / 2, a**2 / 8
    v13 = b**2 * math.pi**8 * (1 / 18 - 1 / 50)
    total = v1 + v2 + v13
    assert found.alone == pytest.approx({"x": v1 / total, "y": v2 / total, "z": 0.0}, abs=0.03)
    assert found.total == pytest.approx(
        {"x": (v1 + v13) / total, "y": v2 / total, "z": v13 / total}, abs=0.03
    )
    assert found.deviation == pytest.approx(math.sqrt(total), rel=0.03)
    assert list(found.total) == ["x", "y", "z"]  # most important first


def test_every_value_of_every_kind_has_its_fair_share():
    space = {"i": ph.Int(1, 3), "c": ph.Categorical(["a", "b"]), "l": ph.Float(1e-4, 1, scale="log")}
    found = shares_of(lambda p: 3 * p["i"] + 2 * (p["c"] == "a") + math.log10(p["l"]), space)
    variances = {"i": 9 * 2 / 3, "c": 4 / 4, "l": 16 / 12}
    total = sum(variances.values())
    assert found.alone == pytest.approx({k: v / total for k, v in variances.items()}, abs=0.03)
    assert sum(found.total.values()) == pytest.approx(1.0, abs=0.05)  # nothing acts together


def test_what_only_acts_together_has_no_share_alone():
    space = {"x": ph.Float(-1, 1), "y": ph.Float(-1, 1)}
    found = shares_of(lambda p: p["x"] * p["y"], space)
    assert found.alone == pytest.approx({"x": 0.0, "y": 0.0}, abs=0.05)
    assert found.total == pytest.approx({"x": 1.0, "y": 1.0}, abs=0.05)


def test_shares_do_not_depend_on_the_unit():
    space = {"x": ph.Float(0, 1), "y": ph.Float(0, 1)}
    plain = shares_of(lambda p: 2 * p["x"] + p["y"], space)
    huge = shares_of(lambda p: (2 * p["x"] + p["y"]) * 1e300, space)
    assert huge.total == pytest.approx(plain.total)
    assert huge.deviation == pytest.approx(plain.deviation * 1e300)


def test_a_constant_model_has_no_shares():
    problem = ph.Problem.define({"x": ph.Float(0, 1)})
    assert sensitivities(Drawing(problem, median=lambda p: 5.0)) == {"value": None}


def test_the_model_finds_the_shares_of_a_measured_function():
    study = ph.create_study({name: ph.Float(0, 1) for name in "xyz"}, algorithm="quasi_random", seed=0)
    for trial in study.ask(60):
        study.tell(trial, 3 * trial.params["x"] + 2 * trial.params["y"])
    found = sensitivities(study)["value"]
    assert found is not None
    assert found.alone == pytest.approx({"x": 9 / 13, "y": 4 / 13, "z": 0.0}, abs=0.05)
    bars = study.plot.importance().data
    assert dict(zip(bars[1].y, np.array(bars[1].x), strict=True)) == pytest.approx(found.alone)
    assert [bar.name for bar in bars] == ["with other parameters", "alone"]
