"""Studies beyond the limits of a preset, with limits so low that few trials are beyond them."""

import jax
import numpy as np
import pytest

import photinus as ph
from photinus.engine import cache, many
from photinus.engine.acquisition.trust_region import radius, trust_region
from photinus.engine.bandit import BanditSettings, ModelSettings, warp_metrics
from photinus.engine.cache import engine_context
from photinus.engine.designers import beliefs, gp_bandit, long_study
from photinus.engine.designers.constants import DEFAULT, PAPER, Preset
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.firefly import FireflySettings
from photinus.engine.padding import padded_size
from photinus.problem import Problem
from photinus.trial import Trial, TrialState

MIXED = Problem.define(
    {"x": ph.Float(0, 1), "n": ph.Int(1, 30), "c": ph.Categorical(["a", "b", "c"])}, "minimize"
)
SEARCH = FireflySettings(max_evaluations=1000)
MODEL = ModelSettings(labels="winsorised", length_scales="joint")
BOXED = BanditSettings(MODEL, acquisition="log_ei", region="box", search=SEARCH)
UNLIMITED = Preset(BOXED, overwrite_probability=0.0)
LIMITED = UNLIMITED._replace(fit_limit=16, posterior_limit=32)


@pytest.fixture(autouse=True)
def nothing_compiled_ahead(monkeypatch):
    monkeypatch.setattr(gp_bandit, "PREPARE_AHEAD", 0)
    monkeypatch.setattr(gp_bandit, "prepare", lambda *_: None)


def bowl(params: dict) -> float:
    return (params["x"] - 0.3) ** 2 + (params["n"] / 30 - 0.6) ** 2 + 0.3 * (params["c"] != "b")


def completed(number: int, params: dict, values: dict[str, float] | None) -> Trial:
    return Trial(
        number=number,
        params=params,
        state=TrialState.INFEASIBLE if values is None else TrialState.COMPLETED,
        values=values,
        created_event=2 * number + 1,
        completed_event=2 * number + 2,
        updated_event=2 * number + 2,
        algorithm="default",
    )


def pending(trial: Trial) -> Trial:
    return Trial(
        number=trial.number, params=trial.params, state=TrialState.ACTIVE, created_event=trial.created_event,
        updated_event=trial.created_event, algorithm="default",
    )  # fmt: skip


def history(num_trials: int, every_infeasible: int = 10**6) -> list[Trial]:
    rng = np.random.default_rng(0)
    trials = []
    for number in range(num_trials):
        params = {"x": rng.random(), "n": int(rng.integers(1, 31)), "c": "abc"[rng.integers(3)]}
        value = None if number % every_infeasible == every_infeasible - 1 else {"value": bowl(params)}
        trials.append(completed(number, params, value))
    return trials


def snapshot(trials: list[Trial], preset: Preset = LIMITED, problem: Problem = MIXED) -> Snapshot:
    return Snapshot(problem, trials, 5, preset)


def test_the_papers_preset_has_no_limits():
    assert PAPER.fit_limit is None
    assert PAPER.posterior_limit is None


def test_up_to_the_limits_nothing_changes():
    trials = history(14)
    assert gp_bandit.suggest(MIXED, trials, 2, 5, preset=LIMITED) == gp_bandit.suggest(
        MIXED, trials, 2, 5, preset=UNLIMITED
    )
    wide = LIMITED._replace(fit_limit=64, posterior_limit=64)
    longer = history(60)
    assert gp_bandit.suggest(MIXED, longer, 2, 5, preset=wide) == gp_bandit.suggest(
        MIXED, longer, 2, 5, preset=UNLIMITED
    )


def test_labels_are_those_of_all_trials():
    trials = history(50, every_infeasible=7)
    study, size = snapshot(trials), padded_size(51)
    y, warping = long_study.warp_all(study, size)
    with engine_context():
        expected, way_back = jax.device_get(
            jax.jit(warp_metrics, static_argnums=1)(study.observations(size), "winsorised")
        )
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(warping.undo(y[:5, 0]), way_back.undo(y[:5, 0]))


def test_a_fit_to_all_trials_is_the_usual_one_but_for_rounding():
    trials = [*history(15), *(pending(t) for t in history(20)[15:])]  # 15 labels in more than 16 rows
    limited, usual = (gp_bandit.fit(snapshot(trials, p), padded_size(21)) for p in (LIMITED, UNLIMITED))
    np.testing.assert_allclose(limited.fit.loss, usual.fit.loss, rtol=1e-6)
    np.testing.assert_allclose(limited.y, usual.y, atol=1e-12)


def test_what_is_conditioned_on_are_rows_of_the_study():
    trials = [*history(50), *(pending(t) for t in history(53)[50:])]
    study, size = snapshot(trials), padded_size(54)
    model = gp_bandit.fit(study, size)
    observations, y, _ = long_study.active(study, model, size)
    rows = long_study.rows_for_posterior(model.y[:50], study.features, study.is_pending, model.fit.hyper, 32)
    assert observations.is_real.sum() == 32
    assert observations.is_completed.sum() == 29
    np.testing.assert_array_equal(observations.features.continuous, study.features.continuous[rows])
    np.testing.assert_array_equal(y[:29], model.y[rows[:29]])
    np.testing.assert_array_equal(observations.labels[:29], study.labels[rows[:29]])
    assert study.past().num_completed == 50
    study.add(trials[0].params)  # as if picked
    newest = long_study.active(study, model, size)[0].features.continuous[31]
    np.testing.assert_array_equal(newest, study.features.continuous[-1])


def test_an_old_trial_that_could_not_be_measured_beside_the_best_is_not_forgotten():
    trials = history(80, every_infeasible=2)
    best = min((t for t in trials if t.values), key=lambda t: t.values["value"])
    trials[1] = completed(1, best.params | {"x": best.params["x"] + 1e-3}, None)
    trials += [pending(t) for t in history(83)[80:]]
    apart = LIMITED._replace(settings=BOXED._replace(model=MODEL._replace(infeasible="apart")))
    study, size = snapshot(trials, apart), padded_size(84)
    observations, _, told = long_study.active(study, gp_bandit.fit(study, size), size)
    assert observations.is_completed.sum() == 16
    assert told.is_told.sum() == 29
    beside = study.encoder.encode([trials[1].params]).continuous
    assert np.any(np.all(observations.features.continuous[16:29] == beside, axis=1))
    np.testing.assert_array_equal(observations.features.continuous[29:], study.features.continuous[-3:])


def test_the_box_is_that_of_all_trials():
    trials = history(44)
    limited, usual = (gp_bandit.suggest(MIXED, trials, 1, 5, preset=p) for p in (LIMITED, UNLIMITED))
    assert limited[0].reason["trust_region"] == usual[0].reason["trust_region"]
    shuffled = [
        completed(i, t.params, t.values) for i, t in enumerate(sorted(trials, key=lambda t: t.params["x"]))
    ]
    [other] = gp_bandit.suggest(MIXED, shuffled, 1, 5, preset=LIMITED)
    assert other.reason["trust_region"] != limited[0].reason["trust_region"]  # it has its reasons


def test_the_balls_grow_with_all_trials():
    study = snapshot(history(20))
    with engine_context():
        region = trust_region(study.observations(32), study.encoder.domain, True, jax.numpy.asarray(11))
        expected = radius(jax.numpy.asarray(11), jax.numpy.asarray(3))
    assert float(region.radius) == float(expected) > 0.2


def test_suggestions_are_repeatable_and_go_on_in_batches():
    trials = history(60, every_infeasible=9)
    batch = gp_bandit.suggest(MIXED, trials, 3, 5, preset=LIMITED)
    assert batch == gp_bandit.suggest(MIXED, trials, 3, 5, preset=LIMITED)
    assert len({tuple(s.params.values()) for s in batch}) == 3
    assert [s.reason["method"] for s in batch] == ["log_ei", "pure_exploration", "pure_exploration"]


def test_predictions_know_the_best_and_what_is_around_it():
    trials = history(90)
    best = min(trials, key=lambda t: t.values["value"])
    near = best.params | {"x": best.params["x"] + 0.01}
    rows = gp_bandit.predict(MIXED, trials, [best.params, near], 5, preset=LIMITED)
    for row, params in zip(rows, (best.params, near), strict=True):
        assert row["value"]["q50"] == pytest.approx(bowl(params), abs=0.02)
    described = beliefs.describe(MIXED, trials, 5, preset=LIMITED)
    assert described["num_completed"] == 90


def test_studies_side_by_side_have_the_same_models():
    studies = [(MIXED, history(n), 5) for n in (60, 62)]
    together = many.suggest_many(studies, preset=LIMITED)
    for (problem, trials, seed), [found] in zip(studies, together, strict=True):
        [alone] = gp_bandit.suggest(problem, trials, 1, seed, preset=LIMITED)
        for reason in (found.reason, alone.reason):
            assert reason["trust_region"] == alone.reason["trust_region"]
        scales = [s.reason["hyperparameters"]["length_scales"] for s in (found, alone)]
        assert scales[0] == pytest.approx(scales[1], rel=1e-3)


def test_several_objectives():
    problem = Problem.define(
        {"x": ph.Float(0, 1), "z": ph.Float(0, 1)}, {"left": "minimize", "right": "maximize"}
    )
    rng = np.random.default_rng(0)
    points = [{"x": rng.random(), "z": rng.random()} for _ in range(60)]
    trials = [
        completed(i, p, {"left": p["x"] ** 2 + p["z"], "right": -((p["x"] - 1) ** 2)})
        for i, p in enumerate(points)
    ]
    [found] = gp_bandit.suggest(problem, trials, 1, 5, preset=LIMITED)
    assert found.reason["method"] == "hypervolume_ucb"


def test_a_study_that_grows_beyond_the_limits_compiles_no_further_search():
    program = gp_bandit.pick_program(snapshot([]))
    gp_bandit.suggest(MIXED, history(40), 1, 5, preset=LIMITED)
    known = cache._loaded.of(program)
    for num_trials in (60, 130, 300):
        gp_bandit.suggest(MIXED, history(num_trials), 1, 5, preset=LIMITED)
    assert cache._loaded.of(program) == known


def test_what_is_compiled_ahead_is_what_is_needed(monkeypatch):
    monkeypatch.undo()
    wanted, settings = {}, LIMITED.settings.model
    study = snapshot(history(44))
    programs = (
        long_study.fit_sample_program(settings),
        long_study.warp_program(settings.labels),
        gp_bandit.pick_program(study),
    )
    for program in programs:
        monkeypatch.setattr(
            program, "prepare", lambda *args, program=program: wanted.update({program.name: _shapes(args)})
        )
    gp_bandit.prepare(study, padded_size(45))
    model = gp_bandit.fit(study, padded_size(45))
    sampled = (*long_study.sample(study, study.key(gp_bandit.FIT), np.asarray(model.y)), np.int32(0))
    assert wanted["fit_sample"] == _shapes(sampled)
    assert wanted["pick"] == _shapes(gp_bandit.pick_arguments(study, model, False, padded_size(45)))
    assert wanted["warp"] == _shapes((long_study.history(study, 44),))


def test_small_programs_are_compiled_quickly_where_the_preset_says_so():
    quick = UNLIMITED._replace(quick_size=16)
    trials = history(9)
    assert PAPER.quick_size == 0
    assert gp_bandit.fit_program(MODEL, True) is not gp_bandit.fit_program(MODEL)
    study = snapshot(trials, quick)
    assert gp_bandit.pick_program(study, 16) is not gp_bandit.pick_program(study, 32)
    assert gp_bandit.pick_program(study, 32) is gp_bandit.pick_program(snapshot(trials, UNLIMITED), 16)
    usual, other = (gp_bandit.fit(snapshot(trials, p), 16) for p in (UNLIMITED, quick))
    np.testing.assert_allclose(other.fit.loss, usual.fit.loss, rtol=1e-6)
    [found] = gp_bandit.suggest(MIXED, trials, 1, 5, preset=quick)
    assert found.reason["method"] == "log_ei"


def _shapes(arguments: tuple) -> list:
    return [(np.shape(v), np.asarray(v).dtype) for v in jax.tree.leaves(arguments)]


@pytest.mark.parametrize("preset", [DEFAULT._replace(overwrite_probability=0.0), LIMITED])
def test_two_hundred_parameters(preset):
    space = {f"x{d}": ph.Float(0, 1) for d in range(200)}
    problem = Problem.define(space, "minimize")
    rng = np.random.default_rng(0)
    trials = [
        completed(i, dict(zip(space, x.tolist(), strict=True)), {"value": float(np.sum((x[:5] - 0.4) ** 2))})
        for i, x in enumerate(rng.random((40, 200)))
    ]
    [found] = gp_bandit.suggest(problem, trials, 1, 5, preset=preset)
    assert found.params.keys() == space.keys()
    assert found.reason["method"] == "log_ei"


@pytest.mark.long
def test_ten_thousand_trials():
    trials = history(10_000)
    [found] = gp_bandit.suggest(MIXED, trials, 1, 5, preset=DEFAULT)
    assert bowl(found.params) < 0.1
    assert found.reason["jitter"] < 1e-4
