"""What every store must tell about studies and trials, their notes, and tokens; part of `StorageContract`."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from photinus.errors import ArgumentError, InvalidState, UnknownToken
from photinus.record import Role, TokenRecord
from photinus.storage import Storage
from photinus.testing.store_scenes import DONE, ManualClock, busy, claim, create, draw, suggest
from photinus.trial import Measurement, Trial, TrialState

POINT = {"x": 0.1, "flag": False}


def token_of(clock: ManualClock, token_id: str = "a1", **changes: object) -> TokenRecord:
    """A token's record."""
    settings = {"name": "ci", "role": Role.WRITE, "project": None, "secret_hash": "00ff", **changes}
    return TokenRecord(id=token_id, created_at=clock.now, **settings)  # pyright: ignore[reportArgumentType]


def changed_at(storage: Storage, study_id: int) -> datetime | None:
    """When a trial of the study changed last."""
    [progress] = storage.progress(study_ids=[study_id])
    return progress.last_change_at


class ViewContract:
    """Pages of trials, progress of studies, notes and tokens."""

    # Pages of trials.

    def test_trials_are_read_page_by_page(self, storage: Storage, study: int) -> None:
        """From either end."""
        draw(storage, study, 7)

        def page(after: int, limit: int, *, newest_first: bool = False) -> list[int]:
            found = storage.find_trials(study, after=after, limit=limit, newest_first=newest_first)
            assert found == [storage.get_trial(study, trial.number) for trial in found]
            return [trial.number for trial in found]

        assert page(-1, 3) == [0, 1, 2]
        assert page(2, 3) == [3, 4, 5]
        assert page(5, 3) == [6]
        assert page(6, 3) == page(99, 3) == page(2**70, 3) == []
        assert page(-1, 99) == list(range(7))
        assert page(-1, 0) == []
        assert page(-1, 3, newest_first=True) == [6, 5, 4]
        assert page(4, 3, newest_first=True) == [3, 2, 1]
        assert page(1, 3, newest_first=True) == [0]
        assert page(0, 3, newest_first=True) == []
        assert page(2**70, 2, newest_first=True) == [6, 5]

    def test_trials_are_found_by_state_and_worker(self, storage: Storage, study: int) -> None:
        """Complete with reports and amendments; the limit counts what was found."""
        busy(storage, study)
        trials = storage.get_trials(study)

        def by_hand(states: set[TrialState] | None, worker: str | None) -> list[Trial]:
            return [
                trial
                for trial in trials
                if (states is None or trial.state in states) and worker in (None, trial.worker)
            ]

        for states in (
            None,
            set(),
            {TrialState.QUEUED},
            {TrialState.ACTIVE, TrialState.STOPPING},
            {TrialState.COMPLETED},
            {TrialState.FAILED, TrialState.EXPIRED},
            set(TrialState),
        ):
            for worker in (None, "w", "nobody"):
                expected = by_hand(states, worker)
                found = storage.find_trials(study, states=states, worker=worker, limit=99)
                assert found == expected
                newest = storage.find_trials(study, states=states, worker=worker, limit=2, newest_first=True)
                assert newest == expected[::-1][:2]

    # Progress.

    def test_progress_counts_trials_by_state(self, storage: Storage, study: int) -> None:
        """Every state has its number."""
        other = create(storage, "other").id
        busy(storage, study)
        busied, empty = storage.progress()
        assert busied.record == storage.get_study(study)
        trials = storage.get_trials(study)
        assert busied.counts == {s: sum(trial.state == s for trial in trials) for s in TrialState}
        assert set(busied.counts) == set(TrialState)
        assert busied.last_event == max(trial.updated_event for trial in trials)
        assert (empty.record.id, empty.last_event, empty.num_workers) == (other, 0, 0)
        assert set(empty.counts.values()) == {0}
        assert empty.last_change_at is None

    def test_progress_of_chosen_studies(self, storage: Storage) -> None:
        """By project, by id, or by both; the oldest first."""
        made = [create(storage, f"s{i}", project="ab"[i % 2]).id for i in range(4)]
        for study_id in made:
            draw(storage, study_id, study_id)

        def chosen(project: str | None = None, ids: list[int] | None = None) -> list[int]:
            found = storage.progress(project, study_ids=ids)
            assert all(p.counts[TrialState.ACTIVE] == p.record.id for p in found)
            return [made.index(p.record.id) for p in found]

        assert chosen() == [0, 1, 2, 3]
        assert chosen("b") == [1, 3]
        assert chosen("c") == []
        assert chosen(ids=[made[2], made[0], 999]) == [0, 2]
        assert chosen(ids=list(range(2000))) == [0, 1, 2, 3]
        assert chosen("a", [made[1], made[2]]) == [2]
        assert chosen(ids=[]) == []

    def test_progress_says_when_a_trial_last_changed(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """By any change, and not by a request that changes nothing."""
        suggest(storage, study, 2, worker="w", lease_s=60)
        assert changed_at(storage, study) == clock.now
        for change in (
            lambda: storage.report(study, 0, {"loss": 1.0}, 0),
            lambda: storage.extend_lease(study, 0, worker="w", lease_s=1e6),
            lambda: storage.tell(study, 0, DONE),
            lambda: storage.amend(study, 0, {"loss": 2.0}),
            lambda: storage.request_stop(study, 1),
            lambda: storage.release(study, 1, worker="w"),
            lambda: claim(storage, study, 1),
            lambda: storage.enqueue(study, POINT, key="k"),
            lambda: storage.update_trial_metadata(study, 2, {"a": "b"}),
        ):
            clock.advance(5)
            change()
            assert changed_at(storage, study) == clock.now
        last = clock.now
        clock.advance(5)
        storage.tell(study, 0, DONE)
        storage.enqueue(study, POINT, key="k")
        storage.acquire_suggest_lock(study, "me", 1)
        assert changed_at(storage, study) == last

    def test_a_restored_study_has_progress(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """As far as its trials tell when they changed."""
        suggest(storage, study, 2)
        storage.tell(study, 1, DONE)
        record, trials = storage.get_study(study), storage.get_trials(study)
        told_at = clock.now
        clock.advance(99)
        copy = storage.restore_study(replace(record, name="copy"), trials)
        [original, restored] = storage.progress()
        assert restored == replace(original, record=copy)
        assert restored.last_change_at == told_at

    def test_workers_count_while_they_hold_a_trial(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """Names once; anonymous ones by their trials; none whose lease ran out."""

        def num_workers() -> int:
            return storage.progress(study_ids=[study])[0].num_workers

        draw(storage, study, 3, worker="a")
        assert num_workers() == 1
        draw(storage, study, 2, worker="b", lease_s=60)
        draw(storage, study, 2)
        assert num_workers() == 4
        storage.request_stop(study, 0)
        storage.tell(study, 5, DONE)
        assert num_workers() == 3
        clock.advance(60)
        assert num_workers() == 2
        for number in (0, 1, 2):
            storage.tell(study, number, Measurement.failed("lost"))
        assert num_workers() == 1

    # Notes.

    def test_notes_of_a_study_are_changed(self, storage: Storage) -> None:
        """Set, replaced and removed; the rest stays."""
        record = create(storage, metadata={"a": "1", "b": "2"})
        changed = storage.update_study_metadata(record.id, {"b": "3", "c": "\N{FIRE}", "a": None, "d": None})
        assert changed == replace(record, metadata={"b": "3", "c": "\N{FIRE}"})
        assert storage.get_study(record.id) == changed
        assert storage.update_study_metadata(record.id, {}) == changed

    def test_notes_of_a_trial_are_changed(self, storage: Storage, study: int) -> None:
        """In any state; the same again is no event."""
        storage.enqueue(study, POINT, metadata={"a": "1", "b": "2"})
        noted = storage.update_trial_metadata(study, 0, {"b": None, "c": "3"})
        assert noted.metadata == {"a": "1", "c": "3"}
        assert storage.update_trial_metadata(study, 0, {"b": None, "c": "3"}) == noted
        claim(storage, study, 1)
        told = storage.tell(study, 0, DONE)
        assert told.metadata == {"a": "1", "c": "3"}
        assert storage.update_trial_metadata(study, 0, {"a": None, "c": None}).metadata == {}
        assert storage.get_trial(study, 0).values == told.values
        with pytest.raises(InvalidState):
            storage.request_stop(study, 0)
        assert storage.get_trial(study, 0).metadata == {}

    # Tokens.

    def test_tokens_are_kept(self, storage: Storage, clock: ManualClock) -> None:
        """All that is known of them, the oldest first."""
        limited = token_of(clock, "b2", role=Role.READ, project="p", expires_at=clock.now + timedelta(days=1))
        assert storage.add_token(limited) == limited
        clock.advance(1)
        wide = storage.add_token(token_of(clock, "a1", role=Role.ADMIN))
        assert storage.get_token("b2") == limited
        assert storage.list_tokens() == [limited, wide]
        assert storage.list_tokens()[1].role is Role.ADMIN
        with pytest.raises(ArgumentError, match="'a1'"):
            storage.add_token(token_of(clock, "a1", name="other"))
        assert storage.get_token("a1") == wide

    def test_a_token_is_revoked_once(self, storage: Storage, clock: ManualClock) -> None:
        """When it was stays."""
        token = storage.add_token(token_of(clock))
        clock.advance(5)
        revoked = storage.revoke_token(token.id)
        assert revoked == replace(token, revoked_at=clock.now)
        clock.advance(5)
        assert storage.revoke_token(token.id) == revoked
        assert storage.get_token(token.id) == revoked

    def test_unknown_tokens_are_said_to_be_so(self, storage: Storage) -> None:
        """By whatever they are asked for."""
        for method in (storage.get_token, storage.revoke_token):
            with pytest.raises(UnknownToken, match="'none'"):
                method("none")

    def test_studies_are_counted_by_who_created_them(self, storage: Storage) -> None:
        """However they came to be; those that are deleted do not count."""
        create(storage)
        first = create(storage, "a", creator="t1")
        create(storage, "b", creator="t2")
        create(storage, "a", creator="t2", load_if_exists=True)
        storage.restore_study(replace(first, name="c"), [], creator="t1")
        assert (storage.count_studies("t1"), storage.count_studies("t2")) == (2, 1)
        storage.delete_study(first.id)
        assert storage.count_studies("t1") == 1
        assert storage.count_studies("t3") == 0
