"""Trials as last read: what is read again, what is forgotten, and what is noticed."""

import pytest

from photinus.client.messages import TrialPage
from photinus.client.trial_reading import TrialReading
from photinus.errors import UnknownStudy
from photinus.trial import Trial, TrialState
from photinus.trial_cache import TrialCache


class Shelf:
    """Studies as a server answers for them, in pages of two, with a record of what was asked."""

    def __init__(self, **events):
        self.studies = {int(name[1:]): list(numbers) for name, numbers in events.items()}
        self.asked = []

    def __call__(self, call):
        _, _, study_id, _ = call.request.path.split("/")
        if int(study_id) not in self.studies:
            raise UnknownStudy("gone")
        query = dict(call.request.query)
        self.asked.append((int(study_id), query.get("since_event", "page")))
        trials = [
            Trial(number=number, params={}, state=TrialState.ACTIVE, updated_event=event)
            for number, event in enumerate(self.studies[int(study_id)])
        ]
        last_event = max((trial.updated_event for trial in trials), default=0)
        if "since_event" in query:
            changed = [trial for trial in trials if trial.updated_event > int(query["since_event"])]
            return TrialPage(changed, None, last_event)
        page = trials[int(query.get("after", -1)) + 1 :][:2]
        is_last = not page or page[-1].number == len(trials) - 1
        return TrialPage(page, None if is_last else page[-1].number, last_event)


def events(trials):
    return [trial.updated_event for trial in trials]


def test_a_study_of_one_page_is_read_once_and_then_its_changes():
    shelf = Shelf(s1=[1, 2])
    cache = TrialCache(TrialReading(shelf))
    assert events(cache.read(1)) == [1, 2]
    shelf.studies[1] = [3, 2, 4]
    assert events(cache.read(1)) == [3, 2, 4]
    assert shelf.asked == [(1, "page"), (1, "2")]


def test_an_empty_study_is_looked_at_again():
    shelf = Shelf(s1=[])
    cache = TrialCache(TrialReading(shelf))
    assert cache.read(1) == []
    shelf.studies[1] = [1]
    assert events(cache.read(1)) == [1]


def test_after_several_pages_what_changed_meanwhile_is_read():
    shelf = Shelf(s1=[1, 2, 3, 4, 5])
    assert events(TrialCache(TrialReading(shelf)).read(1)) == [1, 2, 3, 4, 5]
    assert [what for _, what in shelf.asked] == ["page", "page", "page", "5"]


def test_a_store_that_was_put_back_is_read_anew():
    shelf = Shelf(s1=[1, 2, 5])
    cache = TrialCache(TrialReading(shelf))
    cache.read(1)
    shelf.studies[1] = [1, 2]
    assert events(cache.read(1)) == [1, 2]


def test_studies_read_long_ago_are_forgotten():
    shelf = Shelf(s1=[1, 2], s2=[1, 2], s3=[1, 2])
    cache = TrialCache(TrialReading(shelf), max_trials=4)
    for study_id in (1, 2, 1, 3, 1, 2):
        cache.read(study_id)
    pages = [study_id for study_id, what in shelf.asked if what == "page"]
    assert pages == [1, 2, 3, 2]


def test_a_study_that_is_larger_than_the_limit_is_kept_alone():
    shelf = Shelf(s1=[1, 2])
    cache = TrialCache(TrialReading(shelf), max_trials=1)
    assert events(cache.read(1)) == events(cache.read(1)) == [1, 2]
    assert shelf.asked == [(1, "page"), (1, "2")]


def test_a_deleted_study_is_forgotten():
    shelf = Shelf(s1=[1])
    cache = TrialCache(TrialReading(shelf))
    cache.read(1)
    del shelf.studies[1]
    with pytest.raises(UnknownStudy):
        cache.read(1)
    assert not cache._studies
