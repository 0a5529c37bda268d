"""The length of the box by the plain rules, trial by trial and batch by batch."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import photinus as ph
from photinus.engine.designers.box_length import box_length
from photinus.engine.designers.constants import DEFAULT
from photinus.engine.designers.snapshot import Snapshot
from photinus.problem import Problem
from photinus.trial import Trial, TrialState

BOWL = Problem.define({"x": ph.Float(0, 1), "y": ph.Float(0, 1)}, "maximize")


def length(labels, num_features: int = 2, num_known=None, categories=None) -> float:
    """Length after labels, None for infeasible, that came one after another unless said otherwise."""
    values = np.array([-np.inf if v is None else v for v in labels], dtype=float)
    known = np.arange(len(labels)) if num_known is None else np.asarray(num_known, dtype=int)
    rows = (
        np.zeros((len(labels), 0), int) if not categories else np.array(categories).reshape(len(labels), -1)
    )
    return box_length(values, known, rows, num_features)


def in_batches(*batches, num_features: int = 2) -> float:
    starts = np.cumsum([0, *(len(batch) for batch in batches)])
    known = [start for start, batch in zip(starts, batches, strict=False) for _ in batch]
    return length([label for batch in batches for label in batch], num_features, known)


def by_the_rules(labels, num_known, categories, num_features: int) -> float:
    side, wins, losses = 0.4, 0, 0
    for known in sorted(set(num_known)):
        seen = [v for v in labels[:known] if v is not None]
        batch = [v for v, k in zip(labels, num_known, strict=True) if k == known]
        feasible = [v for v in batch if v is not None]
        if not seen:
            continue  # nothing to be compared with
        if feasible and max(feasible) > max(seen):
            wins, losses = wins + 1, 0
        elif len({*seen, *feasible}) == 1:
            wins, losses = 0, 0
        else:
            leader = next(i for i, v in enumerate(labels) if v == max(seen))
            own = [i for i, k in enumerate(num_known) if k == known and labels[i] is not None]
            wins, losses = 0, losses + sum(categories[i] == categories[leader] for i in own)
        if wins == 3:
            side, wins = min(2 * side, 1.6), 0
        if losses >= max(4, num_features / 3):
            side, losses = side / 2, 0
        if side < 2**-7:
            side = 1.6
    return side


@st.composite
def histories(draw):
    """Labels, and what each knew: any number of results before its own; and its category."""
    labels = draw(st.lists(st.none() | st.integers(0, 12).map(float), max_size=60))
    kind = draw(st.sampled_from(["one by one", "any", "fives"]))
    known = {
        "one by one": lambda i: i,
        "any": lambda i: draw(st.integers(0, i)),
        "fives": lambda i: i - i % 5,
    }[kind]
    names = st.integers(0, draw(st.sampled_from([0, 1, 3])))
    return labels, [known(i) for i in range(len(labels))], [draw(names) for _ in labels]


@given(histories(), st.sampled_from([1, 2, 12, 20]))
def test_length_follows_the_rules(history, num_features):
    labels, known, categories = history
    expected = by_the_rules(labels, known, categories, num_features)
    assert length(labels, num_features, known, categories) == expected


def test_failures_halve_successes_double_and_a_tiny_box_opens():
    assert length([]) == length([1.0]) == 0.4
    assert length([1.0, *[0.0] * 3]) == 0.4
    assert length([1.0, *[0.0] * 4]) == 0.2
    assert length([1.0, *[0.0] * 3, *[None] * 9]) == 0.4  # what cannot be measured says nothing about the box
    assert length([1.0, *[0.0] * 3, None, 0.0]) == 0.2
    assert length([1.0, 2.0, 3.0, None, 4.0]) == 0.4  # but is no success
    assert length([0.0, 1.0, *[1.0] * 4]) == 0.2  # as good is not better
    # but on a plateau there is nothing to fail at
    assert length([1.0, *[1.0] * 9, None, None, *[1.0] * 9]) == 0.4
    assert length([1.0, *[1.0] * 9, *[0.0] * 4]) == 0.2
    assert length([1.0, 2.0, 3.0, 4.0]) == 0.8
    assert length([float(i) for i in range(7)]) == 1.6
    assert length([float(i) for i in range(10)]) == 1.6  # at most
    assert length([1.0, 2.0, 3.0, 0.0, 4.0]) == 0.4  # in a row
    assert length([1.0, *[0.0] * 20]) == 0.4 / 32
    assert length([1.0, *[0.0] * 24]) == 1.6
    assert length([1.0, *[0.0] * 28]) == 0.8


def test_a_batch_fails_as_a_whole_or_not_at_all():
    assert in_batches([1.0], [0.0] * 3) == 0.4
    assert in_batches([1.0], [0.0] * 4) == 0.2
    assert in_batches([1.0], [0.0] * 20) == 0.2  # once, however large it is
    assert in_batches([1.0], [2.0, *[0.0] * 20]) == 0.4  # nobody knew of the 2
    assert in_batches([1.0], [*[0.0] * 20, 2.0]) == 0.4
    assert in_batches([1.0], [0.0] * 3, [0.0, 2.0, 0.0], [0.0] * 3) == 0.4  # a success ends a row of failures
    assert in_batches([0.0], *([i, i + 0.5, -1.0] for i in (1.0, 2.0))) == 0.4
    assert in_batches([0.0], *([i, i + 0.5, -1.0] for i in (1.0, 2.0, 3.0))) == 0.8
    assert in_batches([0.0, 5.0, 1.0], [4.0] * 4) == 0.2  # better than some of what was known is not better
    assert in_batches([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]) == 0.4  # the first ones knew nothing


def test_other_categories_than_those_of_the_best_do_not_fail_but_may_succeed():
    labels = [0.0, 1.0, *[0.5] * 8]
    assert length(labels, categories=[0, 1, *[0, 2] * 4]) == 0.4
    assert length(labels, categories=[0, 1, *[0, 1] * 4]) == 0.2
    assert length([0.0, 1.0, 2.0, 3.0], categories=[0, 1, 2, 3]) == 0.8
    # Of several categories all have to be the same.
    assert length(labels, categories=[[0, 0], [1, 1], *[[0, 1], [1, 0]] * 4]) == 0.4


def test_more_features_have_more_patience():
    assert length([1.0, *[0.0] * 6], num_features=20) == 0.4
    assert length([1.0, *[0.0] * 7], num_features=20) == 0.2


def test_before_anything_is_feasible_nothing_fails():
    assert length([None] * 9) == 0.4
    assert length([*[None] * 9, 1.0]) == 0.4


@given(st.lists(st.none() | st.integers(-50, 50).map(float), max_size=30), st.sampled_from([1e-9, 3.0, 1e9]))
@settings(max_examples=40)
def test_units_of_labels_do_not_matter(labels, unit):
    other = [None if v is None else unit * v + 5 * unit for v in labels]
    assert length(other) == length(labels)


# What a study's trials knew.


def trial(number: int, asked: int, completed: int | None, value: float = 0.0) -> Trial:
    return Trial(
        number=number,
        params={"x": number / 100, "y": 0.5},
        state=TrialState.ACTIVE if completed is None else TrialState.COMPLETED,
        values=None if completed is None else {"value": value},
        created_event=asked,
        asked_event=asked,
        completed_event=completed,
        algorithm="default",
    )


def known_by(trials: list[Trial]) -> list[int]:
    return Snapshot(BOWL, trials, 0, DEFAULT)._num_known.tolist()


def test_a_trial_knows_the_results_that_came_before_it_was_handed_out():
    one_by_one = [trial(i, asked=2 * i, completed=2 * i + 1) for i in range(4)]
    assert known_by(one_by_one) == [0, 1, 2, 3]
    batch = [*one_by_one[:2], *(trial(2 + i, asked=4 + i, completed=20 - i) for i in range(3))]
    assert known_by(batch) == [0, 1, 2, 2, 2]
    overlapping = [trial(i, asked=3 * i, completed=3 * i + 7) for i in range(6)]
    assert known_by([*overlapping, trial(6, asked=30, completed=None)]) == [0, 0, 0, 1, 2, 3]


def test_a_trial_that_was_queued_knows_what_was_there_when_it_was_handed_out():
    waited = trial(1, asked=9, completed=10)
    assert known_by([trial(0, 1, 8), waited]) == [0, 1]


def test_trials_without_events_came_one_after_another():
    brought = [
        Trial(number=i, params={"x": 0.1 * i, "y": 0.5}, state=TrialState.COMPLETED, values={"value": 0.0})
        for i in range(4)
    ]
    assert known_by(brought) == [0, 1, 2, 3]


def test_a_study_that_goes_on_knows_what_one_that_is_read_again_knows():
    values = [3.0, 1.0, 2.0, 0.5, 0.1, 0.2, 0.3]
    trials = [trial(0, 0, 1, values[0])]
    trials += [trial(i, asked=2, completed=2 + i, value=values[i]) for i in range(1, 7)]
    whole = Snapshot(BOWL, trials, 0, DEFAULT)
    grown = Snapshot(BOWL, trials[:1], 0, DEFAULT)
    for t in trials[1:]:
        grown.add(t.params)
    grown.learn([{"value": value} for value in values[1:]])
    assert grown.past() == whole.past() == (7, 0.2)
