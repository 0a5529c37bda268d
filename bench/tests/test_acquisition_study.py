import jax
import numpy as np
import pytest

from photinus.engine.designers import gp_bandit
from photinus.engine.designers.constants import PAPER
from photinus_bench import acquisition_study
from photinus_bench.acquisition_study import Variant, arguments_of, gradient_program, search_program
from photinus_bench.report import sections_parts

BRIEF = {"num_restarts": 4, "max_steps": 10, "max_evaluations": 500}


@pytest.fixture(scope="module")
def fitted():
    return acquisition_study.fitted_study("bbob/f01/3d", 6, seed=1)


FREE = Variant("lbfgs", False)
KEY = np.zeros(2, np.uint32)


def test_the_unchanged_variant_is_the_papers_own_search(fitted):
    study, model, size = fitted
    own = gp_bandit.pick_program(study)(*gp_bandit.pick_arguments(study, model, False, size))
    variant = Variant("firefly", True)
    ours = search_program(variant, PAPER.settings)(study.key(gp_bandit.PICK), *arguments_of(*fitted, variant))
    np.testing.assert_array_equal(ours.features.continuous, own.features.continuous)


def test_gradients_agree_with_differences(fitted):
    program = gradient_program(PAPER.settings)
    x = np.random.default_rng(0).random((4, 3))
    rest = arguments_of(*fitted, FREE)
    _, gradient = jax.device_get(program(KEY, *rest, x))
    step = 1e-6
    for d in range(3):
        up, down = x.copy(), x.copy()
        up[:, d] += step
        down[:, d] -= step
        difference = (np.asarray(program(KEY, *rest, up)[0]) - np.asarray(program(KEY, *rest, down)[0])) / (
            2 * step
        )
        np.testing.assert_allclose(gradient[:, d], difference, rtol=1e-4, atol=1e-6)


@pytest.mark.long
def test_more_steps_climb_higher_and_all_searches_agree_on_an_easy_acquisition(fitted):
    rest = arguments_of(*fitted, FREE)
    few, many = (
        float(search_program(FREE._replace(max_steps=steps), PAPER.settings)(KEY, *rest).score)
        for steps in (1, 100)
    )
    flies = float(search_program(Variant("firefly", False), PAPER.settings)(KEY, *rest).score)
    local = float(search_program(Variant("ascent", False, max_steps=40), PAPER.settings)(KEY, *rest).score)
    assert few < many
    assert local == pytest.approx(many, abs=0.002)
    assert flies == pytest.approx(many, abs=0.02)


@pytest.mark.long
def test_a_measurement_counts_gradients_times_steps(fitted):
    row = acquisition_study.measure(*fitted, Variant("lbfgs", True, **BRIEF), seed=3, step_s=0.5)
    assert row["counted_s"] == 10 * 0.5 and row["clock_s"] > 0 and row["budget"] == 10
    row = acquisition_study.measure(*fitted, Variant("firefly", True, **BRIEF), seed=3, step_s=0.5)
    assert row["counted_s"] == row["clock_s"] and row["budget"] == 500
    row = acquisition_study.measure(*fitted, Variant("ascent", True, **BRIEF), seed=3, step_s=0.5)
    assert row["counted_s"] == row["clock_s"] and row["budget"] == 10


def test_a_study_says_on_which_machine_it_was_timed(fitted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(acquisition_study, "fitted_study", lambda *_: fitted)
    monkeypatch.setattr(acquisition_study, "gradient_seconds", lambda *_: 0.5)
    monkeypatch.setattr(acquisition_study, "measure", lambda *_: {"search": "firefly"})
    study = acquisition_study.study_searches(num_seeds=1)
    assert set(study) == {"task", "num_trials", "machine", "versions", "started", "rows"}
    assert {"photinus", "engine", "jax", "ioh"} < set(study["versions"])


def study_of(searches: list[str]) -> dict:
    rows = [
        {"search": s, "trust_region": t, "budget": b, "seed": seed, "score": b + seed, "clock_s": b, "counted_s": b}
        for s in searches for t in (False, True) for b in (1, 2) for seed in (0, 1)
    ]  # fmt: skip
    return {"acquisition": {"task": "bbob/f15/20d", "num_trials": 40, "rows": rows}}


def test_the_report_shows_the_searches_that_were_recorded():
    for searches in (["firefly", "lbfgs"], ["firefly", "lbfgs", "ascent"]):
        section = sections_parts.acquisition(study_of(searches))
        table = "\n".join(section.text)
        assert [f"| {s} | yes | 2 " in table for s in ("firefly", "lbfgs", "ascent")] == [
            True,
            True,
            len(searches) == 3,
        ]
