"""Many studies at once against the same studies one by one."""

import jax
import numpy as np
import pytest

import photinus as ph
from photinus.engine import cache, many
from photinus.engine.acquisition.trust_region import constrain
from photinus.engine.bandit import acquisition
from photinus.engine.cache import engine_context
from photinus.engine.designers import gp_bandit
from photinus.engine.designers.constants import PAPER
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.encoding import Encoder
from photinus.engine.features import Features
from photinus.problem import Problem
from photinus.testing.designer import ONE_GOAL, POINTS, measured, record
from photinus.trial import Measurement, Suggestion, Trial, TrialState

PAIR = Problem.define({"x": ph.Float(0, 1), "y": ph.Float(-5, 10)}, "maximize")
CALM = PAPER._replace(overwrite_probability=0.0)


@pytest.fixture(autouse=True)
def nothing_compiled_ahead(monkeypatch):
    monkeypatch.setattr(gp_bandit, "PREPARE_AHEAD", 0)


def study(count: int, seed: int, pending: int = 0) -> tuple[Problem, list[Trial], int]:
    points = Encoder(PAIR.space).spread(np.random.default_rng(seed).random((count + pending, 2)))
    outcomes: list[Measurement | TrialState] = [
        measured(PAIR, np.sin(5 * p["x"]) - (p["y"] / 10) ** 2) for p in points[:count]
    ]
    outcomes += [TrialState.ACTIVE] * pending
    return PAIR, record(zip(points, outcomes, strict=True)), seed


STUDIES = [study(6, 0), study(9, 1), study(4, 2, pending=2), study(7, 3)]
SIZE = 16


@jax.jit
def score(key, observations, y, domain, hyper, explores, point) -> jax.Array:
    """Acquisition inside the trust region, from the arguments of the pick program."""
    key_weights = jax.random.split(jax.random.wrap_key_data(key))[1]
    found = acquisition(key_weights, observations, y, domain, hyper, explores, CALM.settings)
    return constrain(found.region, point.continuous, found.score(point))


def value(case: tuple[Problem, list[Trial], int], suggestion: Suggestion) -> float:
    """Acquisition of a suggested point, by the model of the study alone."""
    snapshot = Snapshot(*case, CALM)
    arguments = gp_bandit.pick_arguments(snapshot, gp_bandit.fit(snapshot, SIZE), snapshot.explores(), SIZE)
    with engine_context():
        return float(score(*arguments, snapshot.encoder.encode([suggestion.params]))[0])


def assert_equally_good(case: tuple[Problem, list[Trial], int], found: Suggestion, alone: Suggestion) -> None:
    """Where the points lie may differ, since a greedy search amplifies rounding."""
    case[0].space.validate(found.params)
    assert found.reason["method"] == alone.reason["method"]
    if "acquisition" in alone.reason:
        assert value(case, found) == pytest.approx(value(case, alone), abs=1e-6)
        assert found.reason["evaluations"] == 75_000
        assert found.reason["trust_region"] == pytest.approx(alone.reason["trust_region"])


@pytest.fixture(scope="module")
def together() -> list[list[Suggestion]]:
    return many.suggest_many(STUDIES, preset=CALM)


def test_suggestions_are_as_good_as_those_of_single_studies(together):
    assert [len(s) for s in together] == [1] * 4
    for case, [found] in zip(STUDIES, together, strict=True):
        [alone] = gp_bandit.suggest(*case[:2], 1, case[2], preset=CALM)
        assert_equally_good(case, found, alone)


def test_fits_side_by_side_are_as_good_as_alone():
    """To the precision at which the optimiser stops."""
    snapshots = [Snapshot(*case, CALM) for case in STUDIES]
    arguments = many.stack([(s.key(gp_bandit.FIT), s.observations(SIZE)) for s in snapshots])
    side_by_side = many.unstack(many.fit_program(CALM.settings.model)(*arguments), len(snapshots))
    for snapshot, found in zip(snapshots, side_by_side, strict=True):
        alone = gp_bandit.fit(snapshot, SIZE)
        assert np.allclose(found.y, alone.y, rtol=0, atol=1e-12)
        assert float(found.fit.loss) == pytest.approx(float(alone.fit.loss), rel=1e-5, abs=1e-5)


def test_picks_from_one_model_have_the_same_score_and_moments():
    snapshots = [Snapshot(*case, CALM) for case in STUDIES]
    arguments = [gp_bandit.pick_arguments(s, gp_bandit.fit(s, SIZE), s.explores(), SIZE) for s in snapshots]
    program = many.pick_program(0, CALM.settings)
    side_by_side = many.unstack(program(*many.stack(arguments)), len(snapshots))
    for snapshot, given, found in zip(snapshots, arguments, side_by_side, strict=True):
        alone = jax.device_get(gp_bandit.pick_program(snapshot)(*given))
        assert float(found.score) == pytest.approx(float(alone.score), abs=1e-6)
        _, observations, y, _, hyper, _ = given
        query = Features(*(np.resize(v, (gp_bandit.QUERY_BATCH, v.shape[1])) for v in found.features))
        at = jax.device_get(gp_bandit.predict_program()(observations, y, hyper, query))
        assert np.allclose(found.mu, at.mu[0], rtol=0, atol=1e-9)
        assert found.sigma == pytest.approx(at.sigma[0], abs=1e-9)


def test_the_order_of_studies_does_not_matter(together):
    backwards = many.suggest_many(STUDIES[::-1], preset=CALM)[::-1]
    for case, [a], [b] in zip(STUDIES, together, backwards, strict=True):
        assert_equally_good(case, a, b)


def test_studies_of_different_shapes_and_stages_go_in_one_call():
    mixed = record((p, measured(ONE_GOAL, float(i))) for i, p in enumerate(POINTS))
    studies = [(PAIR, [], 5), STUDIES[0], (ONE_GOAL, mixed, 6), STUDIES[1], (ONE_GOAL, [], 7)]
    found = many.suggest_many(studies, preset=CALM)
    assert [s.reason["method"] for [s] in found] == ["centre", "ucb", "ucb", "ucb", "centre"]
    for case, [suggestion] in zip(studies, found, strict=True):
        [alone] = gp_bandit.suggest(*case[:2], 1, case[2], preset=CALM)
        assert_equally_good(case, suggestion, alone)


def test_seeds_are_those_of_single_studies():
    studies = [(PAIR, [], 5), (ONE_GOAL, [], 6)]
    assert many.suggest_many(studies, 4) == [gp_bandit.suggest(p, t, 4, seed) for p, t, seed in studies]


def test_several_picks_go_on_exploring():
    studies = STUDIES[:1] + STUDIES[3:]
    for case, found in zip(studies, many.suggest_many(studies, 3, preset=CALM), strict=True):
        assert [s.reason["method"] for s in found] == ["ucb", "pure_exploration", "pure_exploration"]
        assert len({tuple(s.params.values()) for s in found}) == 3
        alone = gp_bandit.suggest(*case[:2], 3, case[2], preset=CALM)
        assert_equally_good(case, found[0], alone[0])


def test_every_study_may_have_a_count_of_its_own():
    studies = [STUDIES[0], (PAIR, [], 5), STUDIES[3]]
    found = many.suggest_many(studies, [1, 2, 3], preset=CALM)
    assert [[s.reason["method"] for s in each] for each in found] == [
        ["ucb"],
        ["centre", "quasi_random"],
        ["ucb", "pure_exploration", "pure_exploration"],
    ]
    for case, [first, *_] in zip(studies, found, strict=True):
        [alone] = gp_bandit.suggest(*case[:2], 1, case[2], preset=CALM)
        assert_equally_good(case, first, alone)


def test_counts_must_be_as_many_as_studies():
    with pytest.raises(ValueError, match="one for each of 4 studies"):
        many.suggest_many(STUDIES, [1, 1])


def test_groups_of_several_sizes_share_one_program(together):
    """Traffic decides how many studies wait together, and must not decide how often the compiler runs."""
    program = many.pick_program(0, CALM.settings)
    many.suggest_many(STUDIES[:2], preset=CALM)
    loaded = cache._loaded.of(program)
    for case, [found], [alone] in zip(
        STUDIES[:3], many.suggest_many(STUDIES[:3], preset=CALM), together, strict=False
    ):
        assert_equally_good(case, found, alone)
    assert cache._loaded.of(program) == loaded


def test_a_large_group_is_cut_into_pieces(monkeypatch, together):
    monkeypatch.setattr(many, "MAX_STUDIES", 2)
    sizes = []
    original = many._suggest_alike

    def spy(snapshots, *rest):
        sizes.append(len(snapshots))
        return original(snapshots, *rest)

    monkeypatch.setattr(many, "_suggest_alike", spy)
    pieces = many.suggest_many(STUDIES, preset=CALM)
    assert sizes == [2, 2]
    for case, [a], [b] in zip(STUDIES, pieces, together, strict=True):
        assert_equally_good(case, a, b)


def test_no_studies_is_no_work():
    assert many.suggest_many([]) == []


def test_studies_together_on_a_gpu_are_as_good_as_alone(together):
    try:
        jax.devices("gpu")
    except RuntimeError:
        pytest.skip("needs a GPU")
    on_gpu = many.suggest_many(STUDIES, preset=CALM, device="gpu")
    for case, [a], [b] in zip(STUDIES, on_gpu, together, strict=True):
        assert_equally_good(case, a, b)
