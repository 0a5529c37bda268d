"""What every store must do with requests that come again, and with many trials in one; part of `StorageContract`."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from photinus.errors import AlreadyTold, DuplicateStudy, InvalidState, StudyMismatch, UnknownTrial
from photinus.problem import Problem
from photinus.record import NewTrial, StudyProgress
from photinus.space import Float
from photinus.storage import Storage
from photinus.testing.store_scenes import DONE, ManualClock, claim, create, draw, run_threads, suggest
from photinus.trial import Measurement, Suggestion, Trial, TrialState

POINT = {"x": 0.1, "flag": False}


def numbers(trials: list[Trial]) -> list[int]:
    """Their numbers."""
    return [trial.number for trial in trials]


def everything(storage: Storage, study_id: int) -> tuple[StudyProgress, list[Trial]]:
    """What a repeated request must leave as it is."""
    [progress] = storage.progress(study_ids=[study_id])
    return progress, storage.get_trials(study_id)


class RequestContract:
    """Keys of requests, and several trials in one transaction."""

    # Studies.

    def test_a_study_is_created_once_for_a_key(self, storage: Storage) -> None:
        """Without that key, or under another definition, the name is taken."""
        first = create(storage, key="k")
        assert create(storage, key="k", seed=8) == first
        for key in (None, "other"):
            with pytest.raises(DuplicateStudy, match="'s' exists"):
                create(storage, key=key)
        other = Problem.define({"x": Float(0, 2)}, {"loss": "minimize"})
        with pytest.raises(StudyMismatch, match="another definition"):
            create(storage, key="k", problem=other)
        assert create(storage, "t", key="k").id != first.id
        create(storage, "u")
        with pytest.raises(DuplicateStudy, match="'u' exists"):
            create(storage, "u", key="k")

    def test_a_study_is_restored_once_for_a_key(self, storage: Storage, study: int) -> None:
        """Also if it went on since."""
        suggest(storage, study, 2)
        record, trials = replace(storage.get_study(study), name="copy"), storage.get_trials(study)
        copy = storage.restore_study(record, trials, key="k")
        storage.tell(copy.id, 0, DONE)
        assert storage.restore_study(record, trials, key="k") == copy
        assert storage.get_trial(copy.id, 0).state == TrialState.COMPLETED
        with pytest.raises(DuplicateStudy, match="'copy' exists"):
            storage.restore_study(record, trials)

    # Asks.

    @pytest.mark.parametrize("worker", [None, "w"])
    def test_a_repeated_claim_gets_what_the_first_one_got(
        self, storage: Storage, study: int, clock: ManualClock, worker: str | None
    ) -> None:
        """As it is now, and nothing changes, though there is more to claim."""
        for _ in range(4):
            storage.enqueue(study, POINT)
        first = claim(storage, study, 2, worker=worker, lease_s=60, key="k")
        assert numbers(first) == [0, 1]
        clock.advance(30)
        before = everything(storage, study)
        assert claim(storage, study, 2, worker=worker, lease_s=60, key="k") == first
        assert claim(storage, study, 1, worker=worker, key="k") == first[:1]
        assert everything(storage, study) == before
        told = storage.tell(study, 0, DONE)
        storage.request_stop(study, 1)
        again = claim(storage, study, 2, worker=worker, lease_s=60, key="k")
        assert again == [told, storage.get_trial(study, 1)]
        assert again[1].state == TrialState.STOPPING

    def test_a_repeated_claim_finds_suggestions_too(self, storage: Storage, study: int) -> None:
        """And leaves the suggest lock alone, as it wants nothing more."""
        storage.enqueue(study, POINT)
        claimed = storage.claim_trials(study, 3, lock_owner="a", lock_s=60, key="k")
        assert (numbers(claimed.trials), claimed.has_lock) == ([0], True)
        point = Suggestion({"x": 0.5, "flag": True}, {})
        made = storage.add_suggestions(
            study, [point] * 2, lock_owner="a", algorithm="random", engine_version="1", key="k"
        )
        again = storage.claim_trials(study, 3, lock_owner="b", lock_s=60, key="k")
        assert (again.trials, again.has_lock) == (claimed.trials + made, False)
        assert storage.acquire_suggest_lock(study, "c", 60)

    @pytest.mark.parametrize("worker", [None, "w"])
    def test_a_request_that_was_cut_short_is_topped_up(
        self, storage: Storage, study: int, worker: str | None
    ) -> None:
        """With what is there, and never with the same trial twice."""
        storage.enqueue(study, POINT)
        first = claim(storage, study, 3, worker=worker, key="k")
        assert numbers(first) == [0]
        storage.enqueue(study, POINT)
        again = claim(storage, study, 3, worker=worker, key="k")
        assert again == [*first, storage.get_trial(study, 1)]
        assert [trial.attempts for trial in again] == [1, 1]
        drawn = draw(storage, study, 3, worker=worker, key="k")
        assert numbers(drawn) == [0, 1, 2]
        assert draw(storage, study, 3, worker=worker, key="k") == drawn
        assert storage.count_trials(study) == (3, 0)

    def test_a_request_that_nobody_will_repeat_gives_its_trials_back(
        self, storage: Storage, study: int
    ) -> None:
        """Those that run and no named worker holds; what others have, and what waits, stays as it is."""
        draw(storage, study, 3, key="k")
        storage.tell(study, 0, DONE)
        storage.release(study, 1, worker=None)
        draw(storage, study, 3, worker="a", key="k")
        draw(storage, study, 1, key="other")
        storage.enqueue(study, storage.get_trial(study, 0).params)
        before = storage.get_trials(study)
        assert numbers(storage.release_request(study, "k")) == [2]
        after = storage.get_trials(study)
        assert [trial.state.value for trial in after] == [
            "completed",
            "active",
            "expired",
            "active",
            "queued",
        ]
        assert [trial for trial in after if trial.number != 2] == [t for t in before if t.number != 2]
        assert storage.release_request(study, "k") == storage.release_request(study, "unknown") == []
        assert storage.get_trials(study) == after

    def test_trials_that_a_request_lost_are_not_its_own_any_more(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """Handed back, run out, or handed out again, with a key or without."""
        first = draw(storage, study, 4, lease_s=60, key="k")
        storage.release(study, 0, worker=None)
        assert numbers(draw(storage, study, 1)) == [0]
        storage.release(study, 1, worker=None)
        assert numbers(draw(storage, study, 1, key="other")) == [1]
        storage.release(study, 2, worker=None)
        again = draw(storage, study, 4, lease_s=60, key="k")
        assert again == [first[3], storage.get_trial(study, 2), *storage.get_trials(study)[4:]]
        assert storage.get_trial(study, 2).attempts == 2
        clock.advance(61)
        late = draw(storage, study, 4, lease_s=60, key="k")
        assert numbers(late) == [2, 3, 4, 5]
        assert [trial.attempts for trial in late] == [3, 2, 2, 2]

    def test_a_repeated_draw_draws_nothing(self, storage: Storage, study: int) -> None:
        """Not even a number or an event is spent."""
        first = draw(storage, study, 2, key="k")
        before = everything(storage, study)
        assert draw(storage, study, 2, key="k") == first
        assert everything(storage, study) == before
        [third] = draw(storage, study, 1, key="other")
        assert (third.number, third.updated_event) == (2, first[1].updated_event + 1)

    def test_keys_are_a_studys_own(self, storage: Storage, study: int) -> None:
        """The same one means another request in another study."""
        other = create(storage, "other").id
        draw(storage, study, 1, key="k")
        assert storage.count_trials(other) == (0, 0)
        storage.enqueue(other, POINT, key="k")
        assert draw(storage, other, 1, key="k")[0].params == POINT
        assert storage.count_trials(other) == (1, 0)

    def test_threads_with_one_key_share_its_trials(self, storage: Storage, study: int) -> None:
        """A request that is repeated while the first is under way takes effect once."""
        results: list[list[int]] = []
        run_threads(lambda: results.append(numbers(draw(storage, study, 2, key="k"))), 6)
        assert results == [[0, 1]] * 6
        assert storage.count_trials(study) == (2, 0)

    def test_the_lock_can_be_kept_for_more_suggestions(self, storage: Storage, study: int) -> None:
        """Until the last of them are stored."""

        def add(*, keep_lock: bool) -> None:
            storage.add_suggestions(
                study,
                [Suggestion({"x": 0.5, "flag": True}, {})],
                lock_owner="a",
                algorithm="random",
                engine_version="1",
                keep_lock=keep_lock,
            )

        assert storage.acquire_suggest_lock(study, "a", 60)
        add(keep_lock=True)
        assert not storage.acquire_suggest_lock(study, "b", 60)
        add(keep_lock=False)
        assert storage.acquire_suggest_lock(study, "b", 60)
        assert storage.count_trials(study) == (2, 0)

    # Adding.

    @pytest.mark.parametrize("measurement", [None, DONE])
    def test_a_point_is_added_once_for_a_key(
        self, storage: Storage, study: int, measurement: Measurement | None
    ) -> None:
        """Also if it was handed out or changed since, under whatever key."""

        def add(key: str | None) -> Trial:
            if measurement is None:
                return storage.enqueue(study, POINT, key=key)
            return storage.add_trial(study, POINT, measurement, key=key)

        first = add("k")
        before = everything(storage, study)
        assert add("k") == first
        assert everything(storage, study) == before
        if measurement is None:
            assert numbers(claim(storage, study, 1, key="k")) == [0]
            assert numbers(claim(storage, study, 1, key="other")) == []
            storage.release(study, 0, worker=None)
            assert numbers(claim(storage, study, 1)) == [0]
            storage.tell(study, 0, DONE)
        else:
            storage.amend(study, 0, {"loss": 2.0})
        assert add("k") == storage.get_trial(study, 0)
        assert (add("other").number, add(None).number, add(None).number) == (1, 2, 3)

    def test_trials_are_added_all_at_once(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """Measured and queued ones, in order, each with an event of its own."""
        suggest(storage, study)
        entries = [
            NewTrial(POINT, DONE, {"from": "a"}),
            NewTrial({"x": 0.2, "flag": True}),
            NewTrial({"x": 0.3, "flag": True}, Measurement.infeasible("no")),
        ]
        trials = storage.add_trials(study, entries, key="k")
        assert storage.get_trials(study)[1:] == trials
        assert numbers(trials) == [1, 2, 3]
        assert [trial.state.value for trial in trials] == ["completed", "queued", "infeasible"]
        assert [trial.params["x"] for trial in trials] == [0.1, 0.2, 0.3]
        assert [trial.metadata for trial in trials] == [{"from": "a"}, {}, {}]
        assert [trial.completed_at for trial in trials] == [clock.now, None, clock.now]
        assert [trial.updated_event for trial in trials] == [2, 3, 4]
        before = everything(storage, study)
        assert storage.add_trials(study, entries, key="k") == trials
        assert storage.add_trials(study, []) == []
        assert everything(storage, study) == before

    # Telling.

    def test_outcomes_are_told_all_at_once(self, storage: Storage, study: int) -> None:
        """In any order; what was told before, here or earlier, is as good."""
        suggest(storage, study, 4, worker="w")
        early = storage.tell(study, 3, DONE)
        results = [(2, DONE), (0, Measurement.failed("lost")), (3, DONE), (2, DONE)]
        told = storage.tell_all(study, results, worker="v")
        trials = storage.get_trials(study)
        assert told == [trials[2], trials[0], early, trials[2]]
        assert [trial.state.value for trial in trials] == ["failed", "active", "completed", "completed"]
        assert [trial.worker for trial in trials] == ["v", "w", "v", "w"]
        assert len({trial.updated_event for trial in trials}) == 4
        before = everything(storage, study)
        assert storage.tell_all(study, results, worker="v") == told
        assert storage.tell_all(study, []) == []
        assert everything(storage, study) == before

    def test_if_one_outcome_is_refused_none_is_kept(self, storage: Storage, study: int) -> None:
        """Whatever is wrong with it, and wherever it stands."""
        suggest(storage, study, 3)
        storage.tell(study, 2, DONE)
        storage.enqueue(study, POINT)
        before = everything(storage, study)
        other = Measurement.completed({"loss": 9.0})
        refused: list[tuple[list[tuple[int, Measurement]], type[Exception]]] = [
            ([(0, DONE), (2, other)], AlreadyTold),
            ([(0, DONE), (1, DONE), (0, other)], AlreadyTold),
            ([(3, DONE), (0, DONE)], InvalidState),
            ([(0, DONE), (4, DONE)], UnknownTrial),
        ]
        for results, error in refused:
            with pytest.raises(error):
                storage.tell_all(study, results)
            assert everything(storage, study) == before

    def test_reports_survive_being_told_with_others(self, storage: Storage, study: int) -> None:
        """What a transaction of many reads and writes is the whole trial."""
        suggest(storage, study, 2)
        storage.report(study, 1, {"loss": 3.0}, 0)
        told = storage.tell_all(study, [(0, DONE), (1, DONE)])
        assert [len(trial.reports) for trial in told] == [0, 1]
        assert storage.get_trials(study) == told

    @pytest.mark.parametrize("num_trials", [1200])
    def test_hundreds_of_trials_are_no_trouble(self, storage: Storage, study: int, num_trials: int) -> None:
        """More than a database takes as arguments of one statement."""
        added = storage.add_trials(study, [NewTrial(POINT)] * num_trials)
        assert numbers(added) == list(range(num_trials))
        assert numbers(claim(storage, study, num_trials)) == list(range(num_trials))
        told = storage.tell_all(study, [(number, DONE) for number in reversed(range(num_trials))])
        assert numbers(told) == list(reversed(range(num_trials)))
        assert storage.count_trials(study) == (num_trials, num_trials)

    def test_a_repeated_request_is_found_among_many(self, storage: Storage, study: int) -> None:
        """Each by its own key."""
        asked: dict[str, Callable[[], list[Trial]]] = {
            f"k{i}": lambda i=i: draw(storage, study, 2, key=f"k{i}") for i in range(20)
        }
        first = {key: ask() for key, ask in asked.items()}
        assert {key: ask() for key, ask in reversed(asked.items())} == first
        assert storage.count_trials(study) == (40, 0)
