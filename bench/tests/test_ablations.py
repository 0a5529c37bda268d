"""Parts of the algorithm taken out: what is left is the engine's own."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from photinus.engine import many, warping
from photinus.engine.bandit import acquisition
from photinus.engine.cache import engine_context
from photinus.engine.designers import gp_bandit
from photinus.engine.designers.constants import PAPER
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.features import Features
from photinus.engine.gp.fit import loss_and_gradient
from photinus_bench import lockstep
from photinus_bench.ablations import STAGES, Ablation, warp
from photinus_bench.lane import Lane
from photinus_bench.tasks import Task, build

LABELS = np.array([-3.0, 7.0, 1.0, 1.0, -500.0, 6.5, 0.0, 0.0])
IS_COMPLETED = np.arange(8) < 7
IS_FEASIBLE = IS_COMPLETED & (np.arange(8) != 6)


def warped(*stages_off: str) -> np.ndarray:
    with engine_context():
        arrays = map(jnp.asarray, (LABELS, IS_FEASIBLE, IS_COMPLETED))
        return np.asarray(warp(*arrays, stages_off=stages_off))


def test_with_all_stages_on_it_is_the_engines_warping():
    with engine_context():
        expected, _ = warping.warp(*map(jnp.asarray, (LABELS, IS_FEASIBLE, IS_COMPLETED)))
    np.testing.assert_allclose(warped(), expected, atol=1e-14)


def test_without_stages_labels_are_only_moved_and_stretched():
    y, x = warped(*STAGES)[IS_FEASIBLE], LABELS[IS_FEASIBLE]
    slope = (y.max() - y.min()) / (x.max() - x.min())
    np.testing.assert_allclose(y - y.min(), slope * (x - x.min()), atol=1e-14)
    assert y.max() - y.min() == pytest.approx(1.0)


@pytest.mark.parametrize("off", [(stage,) for stage in STAGES])
def test_every_stage_matters_and_keeps_order_range_and_mean(off):
    y = warped(*off)
    assert not np.allclose(y, warped())
    assert np.all(np.diff(y[IS_FEASIBLE][np.argsort(LABELS[IS_FEASIBLE], kind="stable")]) >= 0)
    assert y[IS_FEASIBLE].max() - y[IS_FEASIBLE].min() == pytest.approx(1.0)
    assert y[6] == pytest.approx(y[IS_FEASIBLE].min() - 0.5)  # infeasible
    assert y[IS_COMPLETED].sum() == pytest.approx(0.0, abs=1e-12)
    assert y[7] == 0.0


def test_words_are_parsed():
    assert Ablation.parse(()) is None
    assert Ablation.parse(("no-warping",)) == Ablation(stages_off=STAGES)
    assert Ablation.parse(("raw-fit",)) == Ablation(fits_raw=True)
    assert Ablation.parse(("l-bfgs", "no-trust-region")) == Ablation(has_trust_region=False, climbs=True)


def lane(task: str = "bbob/f01/2d") -> Lane:
    return Lane(build(Task.parse(task), 0), seed=3)


def points(ablation: Ablation | None, num_trials: int = 4) -> list[dict]:
    run = lane()
    for _ in lockstep.run([run], num_trials=num_trials, batch_size=1, preset=PAPER, ablation=ablation):
        pass
    return [evaluation.params for evaluation in run.done]


@pytest.mark.long
def test_without_trust_region_the_second_trial_may_be_far_away():
    """Its radius is a fifth of the range at first, so the second trial is within 2 of the centre."""
    [first, near, *_] = points(None, 2)
    assert set(first.values()) == {0.0}
    assert max(map(abs, near.values())) <= 2.0 + 0.7
    far = points(Ablation(has_trust_region=False), 2)[1]
    assert max(map(abs, far.values())) > 4.0


@pytest.mark.long
def test_climbing_reaches_the_top_of_the_acquisition():
    """No point of many random ones is better than the one that was found."""
    ablation = Ablation(has_trust_region=False, climbs=True)
    run, rng = lane(), np.random.default_rng(1)
    study = Snapshot(run.experimenter.problem, [], run.seed, PAPER)
    for _ in range(6):
        params = {name: float(rng.uniform(-5, 5)) for name in study.problem.space}
        study.add(params)
        study.learn([run.measure(params).told.values])
    size, explores = 8, np.bool_(False)
    [model] = many.unstack(
        ablation.fit_program(PAPER.settings.model)(
            *many.stack([(study.key(gp_bandit.FIT), study.observations(size))])
        ),
        1,
    )
    domain, key = ablation.domain(study.encoder.domain), study.key(gp_bandit.PICK)
    arguments = (key, study.observations(size), model.y, domain, model.fit.hyper, explores)
    [found] = many.unstack(ablation.pick_program(0, PAPER.settings)(*many.stack([arguments])), 1)
    uniform = Features(rng.random((5000, 2)), np.zeros((5000, 0), np.int32))

    def scores(x: Features, key: jax.Array, *rest: Any) -> jax.Array:
        wrapped = jax.random.wrap_key_data(key, impl="threefry2x32")
        return acquisition(wrapped, *rest, PAPER.settings).score(x)

    with engine_context():
        best, top = (float(np.max(jax.jit(scores)(x, *arguments))) for x in (uniform, found.features))
    assert top >= best
    assert top - best < 0.1  # and random ones come close, so they do look at the same function


@pytest.mark.long
def test_a_raw_fit_ends_at_a_loss_that_was_told_truly_and_not_below_that_of_logarithms():
    """It has the engine's loss, but not the coordinates in which fifty steps lead to a minimum of it."""
    run, rng = lane("bbob/f08/5d"), np.random.default_rng(2)
    study = Snapshot(run.experimenter.problem, [], run.seed, PAPER)
    for _ in range(20):
        params = {name: float(rng.uniform(-5, 5)) for name in study.problem.space}
        study.add(params)
        study.learn([run.measure(params).told.values])
    seen, model = study.observations(24), PAPER.settings.model
    arguments = many.stack([(study.key(gp_bandit.FIT), seen)])
    [raw] = many.unstack(Ablation(fits_raw=True).fit_program(model)(*arguments), 1)
    [usual] = many.unstack(many.fit_program(model)(*arguments), 1)
    np.testing.assert_array_equal(raw.y, usual.y)
    theta = np.log(np.concatenate([np.atleast_1d(part) for part in raw.fit.hyper]))
    with engine_context():
        X, y, is_completed = jax.tree.map(jnp.asarray, (seen.features, raw.y, seen.is_completed))
        loss, _ = loss_and_gradient(jnp.asarray(theta), X, y, is_completed)
    assert float(raw.fit.loss) == pytest.approx(float(loss), rel=1e-9)
    assert raw.fit.loss > usual.fit.loss - 1e-6


def test_climbing_needs_gradients():
    with pytest.raises(ValueError, match="no categorical parameters"):
        Ablation(climbs=True).pick_program(2, PAPER.settings)


@pytest.mark.long
@pytest.mark.parametrize("words", [("no-log",), ("l-bfgs",), ("no-trust-region",), ("raw-fit",)])
def test_an_ablation_is_another_run_from_the_same_beginning(words):
    changed = points(Ablation.parse(words))
    assert changed[0] == points(None)[0]
    assert changed != points(None)
    assert changed == points(Ablation.parse(words))
