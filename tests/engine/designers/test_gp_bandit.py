"""The bandit as a whole, for one study: what it suggests first, next, in batches and under odd conditions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import photinus as ph
from photinus.engine import bandit, designers
from photinus.engine.cache import engine_context
from photinus.engine.designers import gp_bandit
from photinus.engine.designers.constants import PAPER
from photinus.engine.designers.quasi_random import halton
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.encoding import Encoder
from photinus.engine.features import Features
from photinus.problem import ALGORITHMS, Problem
from photinus.testing import DesignerContract
from photinus.testing.designer import ONE_GOAL, TWO_GOALS, measured, record
from photinus.trial import Measurement, Suggestion, Trial, TrialState

PAIR = Problem.define({"x": ph.Float(0, 1), "y": ph.Float(-5, 10)}, "maximize")
CALM = PAPER._replace(overwrite_probability=0.0)  # never explores by chance


@pytest.fixture(autouse=True)
def nothing_compiled_ahead(monkeypatch):
    """Compiling for sizes that no test here reaches would only take time; test_cache.py looks at it."""
    monkeypatch.setattr(gp_bandit, "PREPARE_AHEAD", 0)


@pytest.mark.parametrize("algorithm", ["paper", "default"])
class TestGPBandit(DesignerContract):
    @pytest.fixture
    def suggest(self, algorithm):
        return lambda *arguments: designers.suggest(*arguments, algorithm=algorithm)


def hill(params: dict) -> float:
    return -((params["x"] - 0.3) ** 2) - ((params["y"] - 2) / 15) ** 2


def design(count: int, problem: Problem = PAIR, seed: int = 2) -> list[dict]:
    encoder = Encoder(problem.space)
    return encoder.spread(np.random.default_rng(seed).random((count, encoder.num_features)))


def hilly(count: int = 8) -> list[tuple[dict, Measurement]]:
    return [(p, measured(PAIR, hill(p))) for p in design(count)]


def features(problem: Problem, suggestions: list[Suggestion]) -> np.ndarray:
    return Encoder(problem.space).encode([s.params for s in suggestions]).continuous


def methods(suggestions: list[Suggestion]) -> list[str]:
    return [s.reason["method"] for s in suggestions]


def run(problem: Problem, objective, count: int, seed: int = 0) -> list[Trial]:
    """A study, one trial after another."""
    outcomes = []
    for _ in range(count):
        [suggestion] = gp_bandit.suggest(problem, record(outcomes), 1, seed)
        problem.space.validate(suggestion.params)
        outcomes.append((suggestion.params, measured(problem, objective(suggestion.params))))
    return record(outcomes)


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(ValueError, match=r"`algorithm` must be one of ALGORITHMS, got 'magic'"):
        designers.suggest(PAIR, [], 1, 0, algorithm="magic")


# First trials.


def test_the_centre_then_halton_points_while_nothing_is_finished():
    suggestions = gp_bandit.suggest(PAIR, [], 4, 7)
    assert methods(suggestions) == ["centre", "quasi_random", "quasi_random", "quasi_random"]
    assert suggestions[0].params == {"x": 0.5, "y": 2.5}
    assert [s.params for s in suggestions[1:]] == halton(Encoder(PAIR.space), 7, 1, 3)


def test_eight_at_once_on_an_empty_study_are_eight_one_by_one():
    together = gp_bandit.suggest(ONE_GOAL, [], 8, 7)
    for i, expected in enumerate(together):
        pending = record((s.params, TrialState.ACTIVE) for s in together[:i])
        assert gp_bandit.suggest(ONE_GOAL, pending, 1, 7) == [expected]


def test_results_measured_elsewhere_make_seeds_unnecessary():
    assert methods(gp_bandit.suggest(PAIR, record(hilly(1)), 1, 0)) == ["ucb"]


def test_several_objectives_are_modelled_after_ten_seeds():
    outcomes = [(p, measured(TWO_GOALS, float(i))) for i, p in enumerate(design(9, TWO_GOALS))]
    suggestions = gp_bandit.suggest(TWO_GOALS, record(outcomes), 3, 0, preset=CALM)
    assert methods(suggestions) == ["quasi_random", "pure_exploration", "pure_exploration"]
    outcomes.append((suggestions[0].params, measured(TWO_GOALS, 1.0)))
    [suggestion] = gp_bandit.suggest(TWO_GOALS, record(outcomes), 1, 0, preset=CALM)
    assert suggestion.reason["method"] == "hypervolume_ucb"
    assert suggestion.reason["trust_region"] == {"radius": None}
    assert set(suggestion.reason["predicted"]) == {"loss", "accuracy"}


# Batches and pending trials.


def test_new_data_are_followed_by_the_upper_confidence_bound_and_no_new_data_by_exploration():
    pending = [*hilly(), ({"x": 0.5, "y": 0.0}, TrialState.ACTIVE)]
    assert methods(gp_bandit.suggest(PAIR, record(hilly()), 1, 0, preset=CALM)) == ["ucb"]
    assert methods(gp_bandit.suggest(PAIR, record(pending), 1, 0, preset=CALM)) == ["pure_exploration"]


def test_now_and_then_a_pick_explores_although_there_is_new_data():
    bold = PAPER._replace(overwrite_probability=1.0)
    assert methods(gp_bandit.suggest(PAIR, record(hilly()), 1, 0, preset=bold)) == ["pure_exploration"]


@pytest.mark.parametrize(("num_trials", "distance"), [(2, 0.02), (8, 0.0)])
def test_a_batch_begins_with_the_bound_and_goes_on_exploring_elsewhere(num_trials: int, distance: float):
    """Far apart while little is known; what is still promising later may be a small place."""
    suggestions = gp_bandit.suggest(PAIR, record(hilly(num_trials)), 5, 0, preset=CALM)
    assert methods(suggestions) == ["ucb"] + 4 * ["pure_exploration"]
    x = features(PAIR, suggestions)
    apart = np.abs(x[:, None] - x[None, :]).max(axis=2) + np.eye(5)
    assert apart.min() > distance


def test_the_first_of_a_batch_is_the_one_that_comes_alone():
    alone, together = (gp_bandit.suggest(PAIR, record(hilly()), count, 0)[0] for count in (1, 3))
    assert alone == together


@pytest.mark.parametrize(
    "outcome", [TrialState.ACTIVE, TrialState.EXPIRED, Measurement.failed("lost")], ids=str
)
def test_visited_points_shape_the_deviation_and_never_the_mean(outcome):
    place = {"x": 0.8, "y": 8.0}
    query = Encoder(PAIR.space).encode([place, *design(20, seed=5)])
    model = None
    moments = []
    for outcomes in (hilly(), [*hilly(), (place, outcome)]):
        study = Snapshot(PAIR, record(outcomes), 0, PAPER)
        model = model or gp_bandit.fit(study, 16)
        padded = Features(*(_pad(v) for v in query))
        moments.append(
            jax.device_get(
                gp_bandit.predict_program()(study.observations(16), model.y, model.fit.hyper, padded)
            )
        )
    before, after = moments
    assert np.allclose(after.mu, before.mu, rtol=0, atol=1e-12)
    assert np.allclose(after.sigma, before.sigma, rtol=0, atol=1e-12)
    assert np.allclose(before.sigma_visited, before.sigma, rtol=0, atol=1e-12)
    assert (after.sigma_visited <= before.sigma + 1e-12).all()
    assert after.sigma_visited[0] < 0.9 * before.sigma[0]


def _pad(values: np.ndarray) -> np.ndarray:
    """To the batch of the program that other tests have compiled already."""
    return np.resize(values, (gp_bandit.QUERY_BATCH, values.shape[1]))


def test_a_crashing_point_is_not_proposed_for_ever():
    outcomes = hilly()
    [first] = gp_bandit.suggest(PAIR, record(outcomes), 1, 0, preset=CALM)
    crashed = [*outcomes, *[(first.params, Measurement.failed("crash"))] * 4]
    [second] = gp_bandit.suggest(PAIR, record(crashed), 1, 0, preset=CALM)
    x = features(PAIR, [first, second])
    assert np.abs(x[0] - x[1]).max() > 0.02


def test_infeasible_regions_are_avoided():
    """The objective gets better towards the left, so that only what happened there can keep a search out."""
    grid = [{"x": x, "y": y} for x in (0.2, 0.4, 0.55, 0.75, 0.9) for y in (-4.0, 2.5, 9.0)]
    right = [(p, measured(PAIR, -p["x"])) for p in grid if p["x"] > 0.5]
    left = [(p, Measurement.infeasible("diverged")) for p in grid if p["x"] < 0.5]
    known = record(right), record(right + left)
    [drawn], [warned] = (gp_bandit.suggest(PAIR, trials, 1, 0, preset=CALM) for trials in known)
    assert drawn.params["x"] < 0.5 < warned.params["x"]


def test_the_search_starts_from_the_latest_completed_trials_newest_first():
    outcomes = [*hilly(30), (design(31)[-1], TrialState.ACTIVE)]
    study = Snapshot(PAIR, record(outcomes), 0, PAPER)
    with engine_context():
        rows = jax.tree.map(jnp.asarray, study.observations(32))
        seeds, is_seed = jax.device_get(bandit._latest(rows, PAPER.settings.search))
    assert is_seed.tolist() == [True] * 24  # 0.96 of a pool of 25
    assert (seeds.continuous == study.features.continuous[29:5:-1]).all()


# Spaces.


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_space_of_one_point_gives_that_point(algorithm: str):
    problem = Problem.define({"a": ph.Float(2, 2), "b": ph.Categorical(["only"]), "c": ph.Discrete([5])})
    only = {"a": 2.0, "b": "only", "c": 5}
    for trials in ([], record([(only, measured(problem, 1.0))] * 3)):
        suggestions = designers.suggest(problem, trials, 2, 0, algorithm=algorithm)
        assert [s.params for s in suggestions] == [only, only]


def test_fixed_parameters_change_nothing_but_are_there():
    fixed = Problem.define(
        {"a": ph.Int(7, 7), "x": ph.Float(0, 1), "b": ph.Categorical([None]), "y": ph.Float(-5, 10)},
        "maximize",
    )
    outcomes = [({"a": 7, "x": p["x"], "b": None, "y": p["y"]}, m) for p, m in hilly()]
    [with_fixed] = gp_bandit.suggest(fixed, record(outcomes), 1, 3)
    [without] = gp_bandit.suggest(PAIR, record(hilly()), 1, 3)
    assert with_fixed.params == {"a": 7, "x": without.params["x"], "b": None, "y": without.params["y"]}
    assert with_fixed.reason == without.reason


@pytest.mark.parametrize("goal", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_integers_of_two_values_can_leave_the_centre(goal: tuple[int, int]):
    problem = Problem.define({"a": ph.Int(0, 1), "b": ph.Discrete([3, 10])}, "maximize")
    trials = run(problem, lambda p: (p["a"] == goal[0]) + (p["b"] == (3, 10)[goal[1]]), 7)
    assert {"a": goal[0], "b": (3, 10)[goal[1]]} in [t.params for t in trials]


@pytest.mark.long
@pytest.mark.parametrize(
    ("space", "objective"),
    [
        ({"x": ph.Float(1e-4, 1e4, "log")}, lambda p: -abs(math.log10(p["x"]) - 2)),
        ({f"x{i}": ph.Float(0, 1) for i in range(200)}, lambda p: p["x0"] - p["x199"]),
        (
            {"c": ph.Categorical([f"choice {i}" for i in range(200)])},
            lambda p: (37 * int(p["c"][7:]) + 11) % 200,
        ),
    ],
    ids=["one parameter", "200 parameters", "200 categories"],
)
def test_spaces_may_be_narrow_and_wide(space: dict, objective):
    trials = run(Problem.define(space, "maximize"), objective, 8)
    values = [t.values["value"] for t in trials]
    assert len(set(values)) >= 5
    assert max(values[1:]) > values[0]


# Units.


def mirrored(direction: str, sign: float, problem: Problem = PAIR, shift: float = 0.0) -> list[Suggestion]:
    problem = Problem.define(problem.space, direction)
    outcomes = [(p, measured(problem, sign * round(4096 * hill(p)) / 4096 + shift)) for p in design(8)]
    return gp_bandit.suggest(
        problem, record([*outcomes, (design(9)[-1], Measurement.infeasible("no"))]), 3, 4
    )


def test_minimising_is_maximising_the_negative():
    up, down = mirrored("maximize", 1.0), mirrored("minimize", -1.0)
    for a, b in zip(up, down, strict=True):
        assert a.params == b.params
        assert a.reason["acquisition"] == b.reason["acquisition"]
        high, low = a.reason["predicted"]["value"], b.reason["predicted"]["value"]
        expected = [-high[q] for q in ("q95", "q50", "q05")]
        assert [low[q] for q in ("q05", "q50", "q95")] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("factor", "shift"), [(2.0**40, 0.0), (2.0**-60, 0.0), (1.0, 64.0), (2.0, -3.0)])
def test_units_of_the_objective_do_not_matter(factor: float, shift: float):
    """Powers of two and few digits, so that the change of units itself is exact."""
    assert [s.params for s in mirrored("maximize", factor, shift=shift)] == [
        s.params for s in mirrored("maximize", 1.0)
    ]


@pytest.mark.parametrize(("factor", "shift"), [(2.0**30, 0.0), (2.0**-50, 0.0), (1.0, 16.0), (4.0, -32.0)])
def test_units_of_a_parameter_do_not_matter(factor: float, shift: float):
    def suggest(factor: float, shift: float) -> np.ndarray:
        problem = Problem.define({"x": ph.Float(shift, shift + factor), "y": ph.Float(-5, 10)}, "maximize")
        # Positions of few binary digits: their features are then the same to the last bit.
        points = [{"x": round(1024 * p["x"]) / 1024, "y": p["y"]} for p in design(8)]
        outcomes = [(p | {"x": shift + factor * p["x"]}, measured(problem, hill(p))) for p in points]
        return features(problem, gp_bandit.suggest(problem, record(outcomes), 3, 4))

    assert np.allclose(suggest(factor, shift), suggest(1.0, 0.0), rtol=0, atol=1e-13)


def test_a_model_is_the_best_of_all_starts_however_many_threads_look_for_it(monkeypatch):
    study = Snapshot(PAIR, record(hilly(20)), 3, CALM)
    model = gp_bandit.fit(study, 32)
    program = gp_bandit.fit_program(CALM.settings.model)
    starts = [
        program(study.key(gp_bandit.FIT), study.observations(32), np.int32(which)).fit for which in range(4)
    ]
    losses = [float(start.loss) for start in starts]
    assert len(set(losses)) > 1
    assert model.fit.loss == min(losses)
    assert model.fit.num_evaluations == sum(int(start.num_evaluations) for start in starts)
    monkeypatch.setattr(gp_bandit.os, "cpu_count", lambda: 1)
    jax.tree.map(np.testing.assert_array_equal, gp_bandit.fit(study, 32), model)
