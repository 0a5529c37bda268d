import threading

import pytest

from photinus.errors import UnknownStudy
from photinus.storage import MemoryStorage
from photinus.testing.storage import DONE, create, draw
from photinus.trial import TrialState
from photinus.trial_cache import TrialCache

LIMIT_S = 60.0


class Counting(MemoryStorage):
    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[int, int]] = []  # study, and how many trials of it

    def get_trials(self, study_id, *, since_event=0):
        trials = super().get_trials(study_id, since_event=since_event)
        self.read.append((study_id, len(trials)))
        return trials


def test_only_what_changed_is_read():
    storage = Counting()
    study = create(storage).id
    cache = TrialCache.of_storage(storage)
    draw(storage, study, 3)
    assert cache.read(study) == MemoryStorage.get_trials(storage, study)
    storage.tell(study, 1, DONE)
    draw(storage, study, 1)
    trials = cache.read(study)
    assert [trial.state for trial in trials][1] == TrialState.COMPLETED
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    assert storage.read == [(study, 3), (study, 2)]


def test_what_was_read_is_the_readers_own():
    storage = MemoryStorage()
    study = create(storage).id
    cache = TrialCache.of_storage(storage)
    draw(storage, study, 2)
    cache.read(study).clear()
    assert len(cache.read(study)) == 2


def test_studies_that_were_not_read_for_long_are_forgotten():
    storage = Counting()
    first, second, third = (create(storage, name).id for name in "abc")
    for study in (first, second, third):
        draw(storage, study, 4)
    cache = TrialCache.of_storage(storage, max_trials=8)
    for study in (first, second, first, third, first, second):
        cache.read(study)
    assert storage.read == [(first, 4), (second, 4), (first, 0), (third, 4), (first, 0), (second, 4)]


def test_a_study_longer_than_the_limit_is_kept_while_it_is_read():
    storage = Counting()
    long = create(storage).id
    draw(storage, long, 20)
    cache = TrialCache.of_storage(storage, max_trials=5)
    assert len(cache.read(long)) == len(cache.read(long)) == 20
    assert storage.read == [(long, 20), (long, 0)]


def test_a_deleted_study_is_forgotten():
    storage = MemoryStorage()
    study = create(storage).id
    cache = TrialCache.of_storage(storage)
    draw(storage, study, 2)
    cache.read(study)
    storage.delete_study(study)
    for _ in range(2):
        with pytest.raises(UnknownStudy):
            cache.read(study)


def test_a_slow_study_does_not_hold_up_another():
    class Slow(MemoryStorage):
        is_reading, may_go_on = threading.Event(), threading.Event()

        def get_trials(self, study_id, *, since_event=0):
            if study_id == slow:
                self.is_reading.set()
                assert self.may_go_on.wait(LIMIT_S)
            return super().get_trials(study_id, since_event=since_event)

    storage = Slow()
    slow, quick = create(storage, "slow").id, create(storage, "quick").id
    draw(storage, quick, 2)
    cache = TrialCache.of_storage(storage)
    thread = threading.Thread(target=cache.read, args=(slow,), daemon=True)
    thread.start()
    assert storage.is_reading.wait(LIMIT_S)
    assert len(cache.read(quick)) == 2
    storage.may_go_on.set()
    thread.join(LIMIT_S)
    assert not thread.is_alive()
