from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from photinus.storage import MemoryStorage, Storage
from photinus.testing import StorageContract
from photinus.testing.storage import ManualClock, claim, create, draw, suggest
from photinus.trial import Measurement


class TestMemoryStorage(StorageContract):
    @pytest.fixture
    def make_storage(self) -> Callable[[ManualClock], Storage]:
        return lambda clock: MemoryStorage(clock=clock)


def test_it_is_a_storage():
    assert isinstance(MemoryStorage(), Storage)


def test_its_own_clock_is_the_time_in_utc():
    before = datetime.now(UTC)
    record = create(MemoryStorage())
    assert before <= record.created_at <= datetime.now(UTC)
    assert record.created_at.tzinfo == UTC


def test_repr_counts_studies():
    storage = MemoryStorage()
    create(storage)
    assert repr(storage) == "MemoryStorage(studies=1)"


@pytest.mark.parametrize("step", ["history", "unfinished", "trials"])
def test_an_interrupt_between_two_steps_of_a_change_breaks_nothing(step):
    """Ctrl-C may strike anywhere: each of the three collections is made to fail in turn, once."""

    class Interrupted(list):
        def extend(self, items):
            raise KeyboardInterrupt

        def __setitem__(self, key, item):
            raise KeyboardInterrupt

    class InterruptedSet(set):
        def update(self, items):
            raise KeyboardInterrupt

    storage = MemoryStorage()
    study_id = create(storage).id
    suggest(storage, study_id, 2)
    study = storage._studies[study_id]
    healthy = getattr(study, step)
    broken = InterruptedSet(healthy) if isinstance(healthy, set) else Interrupted(healthy)
    for change in (
        lambda: storage.tell(study_id, 0, Measurement.completed({"loss": 1.0})),
        lambda: storage.enqueue(study_id, {"x": 0.1, "flag": False}),
        lambda: suggest(storage, study_id, 3),
    ):
        setattr(study, step, broken)
        with pytest.raises(KeyboardInterrupt):
            change()
        setattr(study, step, healthy)

    assert [trial.number for trial in storage.get_trials(study_id)] == [0, 1]
    assert storage.count_trials(study_id) == (2, 0)
    last = max(trial.updated_event for trial in storage.get_trials(study_id))
    told = storage.tell(study_id, 0, Measurement.completed({"loss": 1.0}))
    queued = storage.enqueue(study_id, {"x": 0.1, "flag": False})
    assert last < told.updated_event < queued.updated_event
    assert [trial.number for trial in storage.get_trials(study_id, since_event=last)] == [0, 2]
    assert storage.count_trials(study_id) == (3, 1)
    assert [trial.number for trial in claim(storage, study_id, 5)] == [2]


def test_a_request_that_was_interrupted_takes_effect_when_it_is_repeated():
    """Its key may be noted before its trials are in their places."""

    class Interrupted(list):
        def __setitem__(self, key, item):
            raise KeyboardInterrupt

    storage = MemoryStorage()
    study_id = create(storage).id
    study = storage._studies[study_id]

    def interrupt(change: Callable[[], object]) -> None:
        healthy, study.trials = study.trials, Interrupted(study.trials)
        with pytest.raises(KeyboardInterrupt):
            change()
        study.trials = healthy

    interrupt(lambda: storage.enqueue(study_id, {"x": 0.1, "flag": False}, key="k"))
    interrupt(lambda: draw(storage, study_id, 2, key="k"))
    assert storage.count_trials(study_id) == (0, 0)
    storage.enqueue(study_id, {"x": 0.9, "flag": True})  # by somebody else, under the number that was meant
    queued = storage.enqueue(study_id, {"x": 0.1, "flag": False}, key="k")
    assert (queued.number, queued.params["x"]) == (1, 0.1)
    interrupt(lambda: claim(storage, study_id, 2, key="k"))
    assert [trial.state.value for trial in storage.get_trials(study_id)] == ["queued", "queued"]
    assert [trial.number for trial in draw(storage, study_id, 3, key="k")] == [0, 1, 2]
    assert [trial.number for trial in draw(storage, study_id, 3, key="k")] == [0, 1, 2]
    assert [trial.attempts for trial in storage.get_trials(study_id)] == [1, 1, 1]


def test_asking_does_not_slow_down_with_finished_trials():
    storage = MemoryStorage()
    study_id = create(storage).id
    for _ in range(2000):
        storage.add_trial(study_id, {"x": 0.5, "flag": True}, Measurement.failed("old"))
    suggest(storage, study_id)
    assert [trial.number for trial in storage._studies[study_id].open_trials()] == [2000]
    assert storage._studies[study_id].unfinished == {2000}
