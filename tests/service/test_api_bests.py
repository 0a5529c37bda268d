import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from photinus import Float
from photinus.best import best_trials
from photinus.problem import Problem
from photinus.record import NewTrial
from photinus.service.bests import Bests
from photinus.storage import MemoryStorage
from photinus.trial import Measurement, Trial

ONE = Problem.define({"x": Float(0, 1)}, "maximize")
TWO = Problem.define({"x": Float(0, 1)}, {"value": "minimize", "other": "maximize"})


class Watched(MemoryStorage):
    """Counts the trials that are read."""

    num_read = 0

    def get_trials(self, study_id: int, *, since_event: int = 0) -> list[Trial]:
        trials = super().get_trials(study_id, since_event=since_event)
        self.num_read += len(trials)
        return trials


def create(storage: MemoryStorage, problem: Problem, name: str = "a") -> int:
    return storage.create_study(project="p", name=name, problem=problem, algorithm="random", seed=0).id


def outcome(problem: Problem, first: int, second: int) -> Measurement:
    values = dict(zip(problem.metric_names, (float(first), float(second)), strict=False))
    return Measurement.completed(values)


def find(bests: Bests, storage: MemoryStorage, study_id: int) -> list[Trial]:
    [progress] = storage.progress(study_ids=[study_id])
    return bests.find(progress)


small = st.integers(0, 3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), small, small, st.just(0)),
        st.tuples(st.just("amend"), small, small, st.integers(0, 20)),
        st.tuples(st.just("note"), small, small, st.integers(0, 20)),
        st.tuples(st.just("look"), small, small, st.just(0)),
    ),
    max_size=25,
)


@pytest.mark.parametrize("problem", [ONE, TWO], ids=["one", "two"])
@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_what_is_kept_is_what_a_fresh_look_finds(problem: Problem, steps: list[tuple[str, int, int, int]]):
    storage = MemoryStorage()
    study_id, bests = create(storage, problem), Bests(storage)
    for action, first, second, number in [*steps, ("look", 0, 0, 0)]:
        num_trials = storage.count_trials(study_id)[0]
        measured = outcome(problem, first, second)
        if action == "add":
            storage.add_trials(study_id, [NewTrial({"x": 0.5}, measured)])
        elif action == "look":
            expected = best_trials(problem, storage.get_trials(study_id))
            assert find(bests, storage, study_id) == expected
        elif num_trials and action == "amend":
            assert measured.values is not None
            storage.amend(study_id, number % num_trials, measured.values)
        elif num_trials:
            storage.update_trial_metadata(study_id, number % num_trials, {"a": str(first)})


@pytest.mark.parametrize("problem", [ONE, TWO], ids=["one", "two"])
def test_only_what_changed_is_read(problem: Problem):
    storage = Watched()
    study_id, bests = create(storage, problem), Bests(storage)
    storage.add_trials(study_id, [NewTrial({"x": 0.5}, outcome(problem, i % 7, i % 5)) for i in range(500)])
    find(bests, storage, study_id)
    assert storage.num_read == 500
    find(bests, storage, study_id)
    assert storage.num_read == 500
    storage.add_trials(study_id, [NewTrial({"x": 0.5}, outcome(problem, 1, 1))])
    [best, *_] = find(bests, storage, study_id)
    assert storage.num_read == 501
    storage.update_trial_metadata(study_id, best.number, {"a": "1"})
    assert find(bests, storage, study_id)[0].metadata == {"a": "1"}
    assert storage.num_read == 502


def test_only_so_many_studies_are_kept():
    storage = Watched()
    bests, ids = Bests(storage, max_studies=2), [create(storage, ONE, name) for name in "abc"]
    for study_id in ids:
        storage.add_trials(study_id, [NewTrial({"x": 0.5}, outcome(ONE, 1, 1))])
    for study_id in [*ids, *ids[1:], ids[0]]:
        find(bests, storage, study_id)
    assert storage.num_read == 4
