"""The length of the box by the plain rules, trial by trial and batch by batch."""

import itertools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import photinus as ph
from photinus.engine.designers.box_length import START, box_length
from photinus.engine.designers.constants import DEFAULT
from photinus.engine.designers.snapshot import Snapshot
from photinus.problem import Problem
from photinus.trial import Trial, TrialState

SPACE = {"x": ph.Float(0, 1), "y": ph.Float(0, 1)}
BOWL = Problem.define(SPACE, "maximize")


def length(labels, num_features: int = 2, num_known=None, categories=None, is_suggested=None) -> float:
    """Length after labels, None for infeasible, that came one after another unless said otherwise."""
    values = np.array([-np.inf if v is None else v for v in labels], dtype=float)
    known = np.arange(len(labels)) if num_known is None else np.asarray(num_known, dtype=int)
    rows = (
        np.zeros((len(labels), 0), int) if not categories else np.array(categories).reshape(len(labels), -1)
    )
    own = np.ones(len(labels), dtype=bool) if is_suggested is None else np.asarray(is_suggested, dtype=bool)
    return box_length(values, known, rows, own, num_features)


def in_batches(*batches, num_features: int = 2) -> float:
    starts = np.cumsum([0, *(len(batch) for batch in batches)])
    known = [start for start, batch in zip(starts, batches, strict=False) for _ in batch]
    return length([label for batch in batches for label in batch], num_features, known)


class History(NamedTuple):
    """Results in their order: label, what was known, category, and whether it was suggested."""

    labels: list[float | None]
    known: list[int]
    categories: list[int]
    is_suggested: list[bool]

    def length(self, num_features: int) -> float:
        return length(self.labels, num_features, *self[1:])

    def seen(self, row: int) -> list[float]:
        return [v for v in self.labels[: self.known[row]] if v is not None]

    def is_better(self, row: int) -> bool:
        label = self.labels[row]
        return label is not None and label > max(self.seen(row))

    def is_telling(self, row: int) -> bool:
        leader = self.labels.index(max(self.seen(row)))
        return self.labels[row] is not None and self.categories[row] == self.categories[leader]


def by_batches(history: History, num_features: int) -> float:
    """What is known to all of a batch, and to nobody else, is judged at once."""
    side, wins, losses = 0.4, 0, 0
    own = [row for row, is_own in enumerate(history.is_suggested) if is_own]
    for known in sorted({history.known[row] for row in own}):
        batch = [row for row in own if history.known[row] == known]
        seen = history.seen(batch[0])
        if not seen:
            continue  # nothing to be compared with
        if any(history.is_better(row) for row in batch):
            wins, losses = wins + 1, 0
        elif len({*seen, *(history.labels[row] for row in batch)} - {None}) == 1:
            wins, losses = 0, 0
        else:
            wins, losses = 0, losses + sum(history.is_telling(row) for row in batch)
        if wins == 3:
            side, wins = min(2 * side, 1.6), 0
        if losses >= max(4, num_features / 3):
            side, losses = side / 2, 0
        if side < 2**-7:
            side = 1.6
    return side


def by_results(history: History, num_features: int) -> float:
    """One result after another, from the boxes after all results before."""
    labels, known = history.labels, history.known
    feasible = [row for row, v in enumerate(labels) if v is not None]
    others = [known[row] for row in feasible if labels[row] != labels[feasible[0]]]
    boxes = [(0.4, 0, 0, 0, others[0] if others else len(labels))]
    for row, is_own in enumerate(history.is_suggested):
        side, wins, losses, won, changed = boxes[-1]
        if is_own and history.seen(row) and history.is_better(row) and known[row] >= won:
            side, wins, *_ = boxes[known[row]]
            side, wins = (min(2 * side, 1.6), 0) if wins == 2 else (side, wins + 1)
            losses, won, changed = 0, row + 1, row + 1
        elif is_own and history.seen(row) and not history.is_better(row) and known[row] >= changed:
            wins, losses = 0, losses + history.is_telling(row)
            if losses >= max(4, num_features / 3):
                side, losses, changed = side / 2, 0, row + 1
            if side < 2**-7:
                side = 1.6
        boxes.append((side, wins, losses, won, changed))
    return boxes[-1][0]


@st.composite
def histories(draw, known) -> History:
    """Whatever was measured; `known` draws what trials knew, given how many there are and which were suggested."""
    labels = draw(st.lists(st.none() | st.integers(0, 12).map(float), max_size=60))
    is_own = st.booleans() if draw(st.booleans()) else st.just(True)
    is_suggested = [draw(is_own) for _ in labels]
    names = st.integers(0, draw(st.sampled_from([0, 1, 3])))
    return History(labels, known(draw, is_suggested), [draw(names) for _ in labels], is_suggested)


def any_known(draw, is_suggested: list[bool]) -> list[int]:
    return [draw(st.integers(0, row)) for row in range(len(is_suggested))]


def known_by_batches(draw, is_suggested: list[bool]) -> list[int]:
    """Batches are cut short by what was not suggested, which is a batch of its own."""
    largest = draw(st.sampled_from([1, 5, 20]))
    known, start, size = [], 0, 0
    for row, is_own in enumerate(is_suggested):
        if row >= start + size or not is_own or not is_suggested[row - 1]:
            start, size = row, draw(st.integers(1, largest)) if is_own else 1
        known.append(start)
    return known


@given(histories(known_by_batches), st.sampled_from([1, 2, 12, 20]))
def test_batches_that_wait_for_each_other_are_judged_as_a_whole(history, num_features):
    assert (
        history.length(num_features) == by_batches(history, num_features) == by_results(history, num_features)
    )


@given(histories(any_known), st.sampled_from([1, 2, 12, 20]))
def test_length_follows_the_rules_whoever_knew_what(history, num_features):
    assert history.length(num_features) == by_results(history, num_features)


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


# Workers that do not wait for each other.


def first_in_first_out(num_results: int, num_workers: int) -> list[int]:
    return [max(0, row - num_workers + 1) for row in range(num_results)]


def changes(labels: list[float], known: list[int], num_features: int = 2) -> list[int]:
    """After how many results the length was another one than before."""
    lengths = [length(labels[:n], num_features, known[:n]) for n in range(len(labels) + 1)]
    return [n for n in range(1, len(lengths)) if lengths[n] != lengths[n - 1]]


@pytest.mark.parametrize("num_features", [2, 30])
@pytest.mark.parametrize("num_workers", [1, 2, 3, 4, 5, 7, 10, 20])
def test_without_improvement_workers_that_do_not_wait_close_in_no_sooner_than_batches(
    num_workers: int, num_features: int
):
    labels = [1.0] + 199 * [0.0]
    waiting = [row - row % num_workers for row in range(200)]
    sooner = changes(labels, waiting, num_features)
    later = changes(labels, first_in_first_out(200, num_workers), num_features)
    assert len(sooner) >= len(later) >= 200 // (max(4, num_features // 3) + num_workers) - 1
    assert all(a <= b for a, b in zip(sooner, later, strict=False))


@st.composite
def knowledge_of_workers(draw) -> list[int]:
    """What trials knew, by the order of their results: some workers ask whenever they are free, for any time."""
    running, known = [0] * draw(st.integers(1, 12)), []
    for num_results in range(1, draw(st.integers(1, 60)) + 1):
        known.append(running.pop(draw(st.integers(0, len(running) - 1))))
        running.append(num_results)
    return known


@given(knowledge_of_workers())
def test_between_changes_lie_enough_failures_of_trials_that_knew_the_last_one(known):
    labels = [1.0] + [0.0] * (len(known) - 1)
    places = [0, *changes(labels, known)]
    for last, now in itertools.pairwise(places):
        assert sum(last <= known[row] for row in range(last, now)) >= 4


def test_successes_at_the_same_time_are_one():
    known = first_in_first_out(60, 20)
    assert length([0.0] * 20 + [float(i) for i in range(1, 21)], num_known=known[:40]) == 0.4
    assert length([float(i) for i in range(60)], num_known=known) == 0.4  # 2 after the first result
    assert length([float(i) for i in range(60)]) == 1.6


def test_a_success_goes_on_from_the_box_that_its_trial_was_placed_in():
    known = [0, *range(1, 9), 1, 1]  # the last two were out all the time
    failures = [1.0, *[0.0] * 8]
    assert length(failures, num_known=known[:9]) == 0.1
    assert length([*failures, 0.5, 0.5], num_known=known) == 0.1  # they know nothing of this box
    assert length([*failures, 2.0], num_known=known[:10]) == 0.4
    assert length([*failures, 2.0, 3.0], num_known=known) == 0.4


def test_what_did_not_know_the_last_success_does_not_fail():
    known = first_in_first_out(40, 8)
    labels = [0.0] * 8 + [1.0] + [0.5] * 31
    assert length(labels[:16], num_known=known[:16]) == 0.4
    assert length(labels[:19], num_known=known[:19]) == 0.4
    assert length(labels[:20], num_known=known[:20]) == 0.2


# What no algorithm placed.


def test_what_was_not_suggested_neither_fails_nor_succeeds_but_is_to_be_better_than():
    worse, better = [5.0, *[0.0] * 30], [float(i) for i in range(30)]
    assert length(worse, is_suggested=[False] * 31) == length(better, is_suggested=[False] * 30) == START
    first = [False] * 31
    assert length([*worse, *[4.0] * 4], is_suggested=[*first, *[True] * 4]) == 0.2
    assert length([*worse, 4.0, 4.0, 4.0, 6.0], is_suggested=[*first, *[True] * 4]) == 0.4
    assert length([*worse, 6.0, 7.0, 8.0], is_suggested=[*first, *[True] * 3]) == 0.8
    # In between it ends no row of its neighbours.
    others = [True, False, True, False, True, True]
    assert length([1.0, *[0.0, 0.5, 0.0, 0.5, 0.0, 0.0]], is_suggested=[True, *others]) == 0.2
    assert length([0.0, 1.0, 0.0, 2.0, 0.0, 3.0], is_suggested=[True, True, False, True, False, True]) == 0.8
    assert length([0.0, 1.0, 2.0, 5.0, 4.0], is_suggested=[True, True, True, False, True]) == 0.4
    # Labels that differ are enough to fail at, whoever brought them.
    assert length([1.0, 1.0, *[1.0] * 4], is_suggested=[True, False, *[True] * 4]) == 0.4
    assert length([1.0, 0.0, *[1.0] * 4], is_suggested=[True, False, *[True] * 4]) == 0.2


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


def study_of(values: list[float], is_suggested: list[bool]) -> ph.Study:
    """Trials one by one, each suggested, or the user's: measured elsewhere or enqueued, by turns."""
    study = ph.create_study(SPACE, objectives="maximize", algorithm="random", seed=0)
    for i, (value, is_own) in enumerate(zip(values, is_suggested, strict=True)):
        params = {"x": i / 100, "y": 0.5}
        if not is_own and i % 2:
            study.add_trial(params, value)
            continue
        if not is_own:
            study.enqueue(params)
        [trial] = study.ask()
        study.tell(trial, value)
    return study


def length_of(study: ph.Study) -> float:
    return float(Snapshot(BOWL, study.trials, 0, DEFAULT).past().box_length)


def test_an_import_leaves_the_length_alone():
    study = ph.create_study(SPACE, objectives="maximize", algorithm="default", seed=0)
    study.add_trials({"params": {"x": i / 100, "y": 0.5}, "values": -abs(i - 70.0)} for i in range(100))
    assert length_of(study) == START
    own = [False] * 5 + [True] * 4
    assert length_of(study_of([9.0, *[0.0] * 4, 8.0, 8.0, 8.0, 10.0], own)) == START
    assert length_of(study_of([9.0, *[0.0] * 4, 8.0, 8.0, 8.0, 8.5], own)) == START / 2


@given(st.lists(st.tuples(st.integers(0, 9).map(float), st.booleans()), max_size=25))
@settings(max_examples=20, deadline=None)
def test_points_of_the_user_are_no_trials_of_the_box(rows):
    values, own = [v for v, _ in rows], [is_own for _, is_own in rows]
    assert length_of(study_of(values, own)) == length(values, is_suggested=own)


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


def test_a_point_of_the_user_stays_one_when_a_study_goes_on():
    theirs = replace(trial(1, asked=2, completed=3), algorithm=None)
    for count, expected in ((3, START), (4, START / 2)):
        told = [trial(0, 0, 1, 5.0), theirs, *(trial(2 + i, 2, completed=4 + i) for i in range(count))]
        awaited = [replace(t, state=TrialState.ACTIVE, values=None, completed_event=None) for t in told[1:]]
        grown = Snapshot(BOWL, [told[0], *awaited], 0, DEFAULT)
        grown.learn([{"value": 0.0}] * len(awaited))
        assert grown.past() == Snapshot(BOWL, told, 0, DEFAULT).past() == (len(told), expected)
