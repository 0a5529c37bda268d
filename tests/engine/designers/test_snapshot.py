import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

import photinus as ph
from photinus.engine.designers.constants import DEFAULT, PAPER
from photinus.engine.designers.quasi_random import halton
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.encoding import Encoder
from photinus.problem import Problem
from photinus.testing.designer import ONE_GOAL, POINTS, TWO_GOALS, measured, record
from photinus.trial import Measurement, Trial, TrialState

PAIR = Problem.define({"x": ph.Float(0, 1), "y": ph.Float(-5, 10)}, "maximize")
DONE = measured(PAIR, 1.0)
FAILED, INFEASIBLE = Measurement.failed("broke"), Measurement.infeasible("no")


def snapshot(*outcomes, problem: Problem = PAIR, seed: int = 0) -> Snapshot:
    points = Encoder(problem.space).spread(np.random.default_rng(0).random((len(outcomes), 2)))
    return Snapshot(problem, record(zip(points, outcomes, strict=True)), seed, PAPER)


def methods(suggestions) -> list[str]:
    return [s.reason["method"] for s in suggestions]


# Seeds.


@pytest.mark.parametrize("problem", [ONE_GOAL, TWO_GOALS], ids=["one goal", "two goals"])
def test_the_centre_comes_first_and_halton_points_follow(problem: Problem):
    seeds = Snapshot(problem, [], 4, PAPER).take_seeds(8)
    assert methods(seeds) == ["centre"] + 7 * ["quasi_random"]
    centre = seeds[0].params
    assert centre["lr"] == pytest.approx(1e-3)
    assert centre["layers"] in (4, 5)
    assert centre["batch"] in (32, 64)
    assert [s.params for s in seeds[1:]] == halton(Encoder(problem.space), 4, 1, 7)


def test_categories_of_the_centre_are_drawn_uniformly():
    drawn = [Snapshot(ONE_GOAL, [], seed, PAPER).take_seeds(1)[0].params["optimizer"] for seed in range(300)]
    counts = [drawn.count(choice) for choice in ("adam", "sgd", None)]
    assert min(counts) > 60


def test_eight_at_once_are_eight_one_by_one():
    together = Snapshot(ONE_GOAL, [], 4, PAPER).take_seeds(8)
    for i, expected in enumerate(together):
        trials = record((s.params, TrialState.ACTIVE) for s in together[:i])
        assert Snapshot(ONE_GOAL, trials, 4, PAPER).take_seeds(1) == [expected]


def test_one_objective_needs_one_result_to_leave_the_seeds():
    assert len(snapshot().take_seeds(20)) == 20
    assert len(snapshot(FAILED, TrialState.ACTIVE).take_seeds(20)) == 20
    assert snapshot(DONE).take_seeds(3) == []
    assert snapshot(INFEASIBLE).take_seeds(3) == []


def test_several_objectives_take_ten_seeds_the_centre_among_them():
    known = [(p, measured(TWO_GOALS, 1.0)) for p in POINTS]
    seeds = Snapshot(TWO_GOALS, record(known), 4, PAPER).take_seeds(20)
    assert len(known) + len(seeds) == 10
    assert len(Snapshot(TWO_GOALS, [], 4, PAPER).take_seeds(20)) == 20  # nothing to model yet


def test_the_centre_is_suggested_also_after_points_of_the_user():
    trials = record([(POINTS[0], TrialState.QUEUED)])
    assert methods(Snapshot(ONE_GOAL, trials, 0, PAPER).take_seeds(2)) == ["centre", "quasi_random"]


def test_the_centre_is_not_suggested_again_where_the_user_enqueued_it():
    centre = Encoder(ONE_GOAL.space).centre(np.random.default_rng(5))
    trials = record([(centre, TrialState.QUEUED)])
    assert methods(Snapshot(ONE_GOAL, trials, 0, PAPER).take_seeds(2)) == ["quasi_random", "quasi_random"]


def test_a_space_of_one_point_is_all_seeds():
    problem = Problem.define({"a": ph.Int(3, 3)})
    trials = record([({"a": 3}, measured(problem, 1.0))] * 5)
    assert [s.params for s in Snapshot(problem, trials, 0, PAPER).take_seeds(3)] == [{"a": 3}] * 3


SMALL = {
    "categories": {"a": ph.Categorical([1, 2, 3]), "b": ph.Categorical([1, 2, 3, 4])},
    "switches": {f"b{i}": ph.Categorical([False, True]) for i in range(3)},
    "grid": {"n": ph.Int(0, 4), "m": ph.Discrete([1, 2, 4])},
}


@pytest.mark.parametrize(
    "goal", ["maximize", {"gain": "maximize", "cost": "minimize"}], ids=["one goal", "two"]
)
@pytest.mark.parametrize("space", SMALL.values(), ids=SMALL)
def test_seeds_of_the_default_repeat_nothing_that_was_tried(space: dict, goal):
    problem = Problem.define(space, goal)
    size = math.prod(p.num_values if isinstance(p, ph.Int) else len(p.values) for p in space.values())
    for seed in range(10):
        [known] = Encoder(problem.space).spread(np.random.default_rng(seed).random((1, len(space))))
        for state in (TrialState.QUEUED, TrialState.ACTIVE, Measurement.failed("broke")):
            study = Snapshot(problem, record([(known, state)]), seed, DEFAULT)
            seeds = [known, *(s.params for s in study.take_seeds(size - 1))]
            assert len({tuple(params.values()) for params in seeds}) == size
            [again] = study.take_seeds(1)  # nothing new is left
            assert again.params in seeds


def test_seeds_of_the_default_are_those_of_the_paper_where_none_was_tried():
    for seed in range(5):
        assert Snapshot(ONE_GOAL, [], seed, DEFAULT).take_seeds(8) == Snapshot(
            ONE_GOAL, [], seed, PAPER
        ).take_seeds(8)


def test_new_seeds_at_once_are_new_seeds_one_by_one():
    problem = Problem.define(SMALL["categories"], "maximize")
    together = Snapshot(problem, [], 4, DEFAULT).take_seeds(12)
    for i, expected in enumerate(together):
        trials = record((s.params, TrialState.ACTIVE) for s in together[:i])
        assert Snapshot(problem, trials, 4, DEFAULT).take_seeds(1) == [expected]


# UCB or exploration.


def test_without_new_data_the_next_pick_explores():
    assert all(snapshot(DONE, TrialState.ACTIVE, seed=seed).explores() for seed in range(50))


def test_with_new_data_one_pick_in_ten_explores():
    shares = np.mean([snapshot(DONE, seed=seed).explores() for seed in range(2000)])
    assert abs(shares - 0.1) < 5 * np.sqrt(0.09 / 2000)
    # The draw belongs to the trial's number too, not to the study alone.
    numbers = np.mean([snapshot(*[DONE] * n, seed=1).explores() for n in range(1, 300)])
    assert abs(numbers - 0.1) < 5 * np.sqrt(0.09 / 300)


def calm(trials: Sequence[Trial]) -> Snapshot:
    """A snapshot that explores for want of new data and never by chance."""
    return Snapshot(PAIR, trials, 1, PAPER._replace(overwrite_probability=0.0))


def test_data_are_new_if_they_came_after_the_last_pending_suggestion():
    done, active = record([({"x": 0.1, "y": 0.0}, DONE), ({"x": 0.2, "y": 0.0}, TrialState.ACTIVE)])
    before = (
        dataclasses.replace(done, completed_event=4),
        dataclasses.replace(active, created_event=3, asked_event=3),
    )
    after = (
        dataclasses.replace(done, completed_event=2),
        dataclasses.replace(active, created_event=3, asked_event=3),
    )
    assert not calm(before).explores()
    assert calm(after).explores()


def test_a_point_of_the_user_counts_from_when_it_was_handed_out():
    done, active = record([({"x": 0.1, "y": 0.0}, DONE), ({"x": 0.2, "y": 0.0}, TrialState.ACTIVE)])
    late = (
        dataclasses.replace(done, completed_event=4),
        dataclasses.replace(active, created_event=1, asked_event=5),
    )
    assert calm(late).explores()


def test_failures_are_not_waited_for():
    trials = record([({"x": 0.1, "y": 0.0}, DONE), ({"x": 0.2, "y": 0.0}, FAILED)])
    assert not calm(trials).explores()


def without_events(trials: Sequence[Trial]) -> list[Trial]:
    """As tools hand them in that keep trials of their own."""
    fields = {
        "created_event": 0,
        "asked_event": None,
        "completed_event": None,
        "updated_event": 0,
        "algorithm": None,
    }
    return [dataclasses.replace(trial, **fields) for trial in trials]


def test_of_trials_without_events_numbers_tell_whether_data_are_new():
    done, active = ({"x": 0.1, "y": 0.0}, DONE), ({"x": 0.2, "y": 0.0}, TrialState.ACTIVE)
    assert not calm(without_events(record([done]))).explores()
    assert not calm(without_events(record([active, done]))).explores()
    assert calm(without_events(record([done, active]))).explores()


def test_after_trials_without_events_the_centre_is_not_due_again():
    problem = Problem.define({f"k{i}": ph.Categorical(["a", "b", "c"]) for i in range(20)}, "maximize")
    points, methods = [], []
    for _ in range(4):
        trials = without_events(record((point, measured(problem, 1.0)) for point in points))
        [seed] = Snapshot(problem, trials, 0, DEFAULT).take_seeds(1)
        points.append(seed.params)
        methods.append(seed.reason["method"])
    assert methods == ["centre", *["quasi_random"] * 3]


def test_trials_without_events_move_the_box_as_suggested_ones_do():
    points = [({"x": i / 16, "y": 0.0}, measured(PAIR, float(-i))) for i in range(12)]
    suggested = [dataclasses.replace(t, algorithm="default") for t in record(points)]
    assert Snapshot(PAIR, suggested, 0, DEFAULT).past().box_length == 0.1  # (38), 11 failures
    assert Snapshot(PAIR, without_events(suggested), 0, DEFAULT).past().box_length == 0.1
    imported = [dataclasses.replace(t, algorithm=None) for t in suggested]
    assert Snapshot(PAIR, imported, 0, DEFAULT).past().box_length == 0.4


def test_after_a_pick_there_is_no_new_data():
    study = calm(record([({"x": 0.1, "y": 0.0}, DONE)]))
    assert not study.explores()
    study.add({"x": 0.5, "y": 0.5})
    assert study.explores()


# Points that were tried.


FINITE = Problem.define({"n": ph.Int(0, 9), "kind": ph.Categorical(["a", "b"])}, "maximize")


def test_a_tried_point_of_a_finite_space_gives_way_to_its_nearest_new_neighbour():
    tried = [{"n": n, "kind": "a"} for n in (4, 5, 6)]
    study = Snapshot(FINITE, record((p, measured(FINITE, 1.0)) for p in tried), 0, DEFAULT)
    assert study.new_point({"n": 3, "kind": "a"}) == {"n": 3, "kind": "a"}
    assert study.new_point(tried[1]) == {"n": 7, "kind": "a"}
    assert Snapshot(FINITE, study.told, 0, PAPER).new_point(tried[1]) == tried[1]


def test_where_all_neighbours_were_tried_a_point_may_come_again():
    tried = [{"n": n, "kind": "a"} for n in range(10)] + [{"n": 5, "kind": "b"}]
    study = Snapshot(FINITE, record((p, measured(FINITE, 1.0)) for p in tried), 0, DEFAULT)
    assert study.new_point(tried[5]) == tried[5]


def test_true_and_one_are_two_points():
    problem = Problem.define({"k": ph.Categorical([1, True, 0])}, "maximize")
    study = Snapshot(problem, record([({"k": 1}, measured(problem, 1.0))]), 0, DEFAULT)
    assert study.new_point({"k": 1})["k"] is True


def test_with_a_float_a_point_may_come_again():
    study = Snapshot(PAIR, record([({"x": 0.1, "y": 0.0}, DONE)]), 0, DEFAULT)
    assert study.new_point({"x": 0.1, "y": 0.0}) == {"x": 0.1, "y": 0.0}


# Rows and keys.


def test_rows_are_completed_by_completion_then_visited_then_padding():
    points = [{"x": i / 8, "y": 0.0} for i in range(5)]
    outcomes = [measured(PAIR, 10.0), TrialState.ACTIVE, INFEASIBLE, measured(PAIR, 30.0), FAILED]
    trials = record(zip(points, outcomes, strict=True))
    trials[0] = dataclasses.replace(trials[0], completed_event=99)  # told last
    rows = Snapshot(PAIR, trials, 0, PAPER).observations()
    assert rows.features.continuous[:5, 0].tolist() == [2 / 8, 3 / 8, 0 / 8, 1 / 8, 4 / 8]
    assert np.asarray(rows.labels)[:3, 0].tolist() == [0.0, 30.0, 10.0]
    assert np.asarray(rows.is_feasible)[:5].tolist() == [False, True, True, False, False]
    assert np.nonzero(rows.is_completed)[0].tolist() == [0, 1, 2]
    assert np.nonzero(rows.is_real)[0].tolist() == [0, 1, 2, 3, 4]
    assert len(rows.is_real) == 16
    assert np.isfinite(rows.labels).all()


def test_labels_are_turned_so_that_more_is_better():
    trials = record([(POINTS[0], Measurement.completed({"loss": 3.0, "accuracy": 0.5}))])
    assert Snapshot(TWO_GOALS, trials, 0, PAPER).labels.tolist() == [[-3.0, 0.5]]


def test_a_pick_becomes_a_visited_row_and_takes_a_number():
    study = snapshot(DONE, DONE)
    assert (study.number, study.num_rows) == (2, 2)
    study.add({"x": 0.25, "y": -5.0})
    assert (study.number, study.num_rows) == (3, 3)
    rows = study.observations(16)
    assert rows.features.continuous[2].tolist() == [0.25, 0.0]
    assert np.nonzero(rows.is_completed)[0].tolist() == [0, 1]
    assert np.nonzero(rows.is_real)[0].tolist() == [0, 1, 2]


def test_pending_is_what_has_no_outcome_yet():
    outcomes = DONE, TrialState.ACTIVE, FAILED, INFEASIBLE, TrialState.QUEUED, TrialState.EXPIRED, DONE
    points = Encoder(PAIR.space).spread(np.random.default_rng(0).random((7, 2)))
    for preset in (PAPER, DEFAULT):
        study = Snapshot(PAIR, record(zip(points, outcomes, strict=True)), 0, preset)
        assert study.is_pending.tolist() == [False] * 3 + [True, False, True, True]
        study.add({"x": 0.25, "y": -5.0})
        assert study.is_pending.tolist()[7:] == [True]
        assert study.feasibility().is_pending.sum() == 4
        study.learn([{"value": 0.0}] * 5)
        assert study.is_pending.tolist() == [False] * 8


def test_keys_differ_by_seed_number_and_purpose():
    studies = [snapshot(*[DONE] * n, seed=seed) for n in (1, 2, 3) for seed in (0, 1, 2**32 - 1)]
    keys = [tuple(study.key(purpose)) for study in studies for purpose in (0, 1)]
    assert len(set(keys)) == len(keys) == 18
    assert tuple(snapshot(DONE, seed=1).key(0)) == tuple(snapshot(DONE, seed=1).key(0))


def test_spaces_of_similar_size_share_a_program():
    def categories(*sizes: int) -> int:
        space = {f"c{i}": ph.Categorical(list(range(size))) for i, size in enumerate(sizes)}
        return Snapshot(Problem.define(space), [], 0, PAPER).max_categories

    assert [categories(2), categories(3, 4), categories(5), categories(200)] == [2, 4, 8, 256]
    assert snapshot().max_categories == 0
