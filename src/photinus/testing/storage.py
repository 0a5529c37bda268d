"""What every store must do, as tests: subclass `StorageContract` and give it a `make_storage` fixture."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from photinus.errors import (
    AlreadyTold,
    ArgumentError,
    DuplicateStudy,
    InvalidState,
    LockLost,
    StudyMismatch,
    UnknownStudy,
    UnknownTrial,
)
from photinus.problem import Problem
from photinus.record import NewTrial, StudyState
from photinus.space import Float
from photinus.storage import Storage
from photinus.testing.store_requests import RequestContract
from photinus.testing.store_scenes import DONE as DONE
from photinus.testing.store_scenes import PROBLEM as PROBLEM
from photinus.testing.store_scenes import MakeStorage as MakeStorage
from photinus.testing.store_scenes import ManualClock as ManualClock
from photinus.testing.store_scenes import busy as busy
from photinus.testing.store_scenes import claim as claim
from photinus.testing.store_scenes import create as create
from photinus.testing.store_scenes import draw as draw
from photinus.testing.store_scenes import run_threads as run_threads
from photinus.testing.store_scenes import suggest as suggest
from photinus.testing.store_views import ViewContract
from photinus.trial import Measurement, Report, Suggestion, Trial, TrialState


class StorageContract(RequestContract, ViewContract):
    """Tests for every store; time passes only when the test says so."""

    @pytest.fixture
    def make_storage(self) -> MakeStorage:
        """How to make an empty store with a given clock."""
        raise NotImplementedError("a contract needs the fixture `make_storage`")

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The store's clock."""
        return ManualClock()

    @pytest.fixture
    def storage(self, make_storage: MakeStorage, clock: ManualClock) -> Storage:
        """An empty store."""
        return make_storage(clock)

    @pytest.fixture
    def study(self, storage: Storage) -> int:
        """The id of an empty study."""
        return create(storage).id

    # Studies.

    def test_a_created_study_is_found_again(self, storage: Storage, clock: ManualClock) -> None:
        """By id, by name and in lists."""
        record = create(storage, metadata={"team": "blue"})
        assert (record.project, record.name, record.algorithm, record.seed) == ("default", "s", "random", 7)
        assert record.problem == PROBLEM
        assert record.state == StudyState.ACTIVE
        assert record.created_at == clock.now
        assert record.metadata == {"team": "blue"}
        assert storage.get_study(record.id) == record
        assert storage.find_study("default", "s") == record
        assert storage.list_studies() == [record]

    def test_studies_are_unique_by_project_and_name(self, storage: Storage) -> None:
        """The same name in another project is another study."""
        first = create(storage)
        second = create(storage, project="other")
        assert first.id != second.id
        assert storage.list_studies("other") == [second]
        with pytest.raises(DuplicateStudy, match="load_if_exists=True"):
            create(storage)
        assert storage.list_studies() == [first, second]

    def test_loading_returns_the_stored_study(self, storage: Storage) -> None:
        """Seed and metadata stay as they were; the order of parameters does not matter."""
        first = create(storage, metadata={"a": "b"})
        turned = Problem.define(dict(reversed(list(PROBLEM.space.parameters.items()))), {"loss": "minimize"})
        assert create(storage, problem=turned, seed=8, load_if_exists=True) == first

    def test_loading_under_another_definition_shows_the_differences(self, storage: Storage) -> None:
        """All of them, and nothing changes."""
        first = create(storage)
        other = Problem.define({"x": Float(0, 2), "y": Float(0, 1)}, {"loss": "maximize"})
        with pytest.raises(StudyMismatch) as caught:
            create(storage, problem=other, algorithm="paper", load_if_exists=True)
        for part in ("'x'", "high=2.0", "'flag'", "'y': absent", "minimize, now maximize", "'paper'"):
            assert part in str(caught.value)
        assert storage.list_studies() == [first]

    def test_a_deleted_study_is_gone(self, storage: Storage) -> None:
        """Its name is free again, its id is not used again."""
        record = create(storage)
        suggest(storage, record.id)
        storage.delete_study(record.id)
        with pytest.raises(UnknownStudy, match="'s'"):
            storage.find_study("default", "s")
        again = create(storage)
        assert again.id != record.id
        assert storage.get_trials(again.id) == []

    def test_a_study_is_stopped_and_started(self, storage: Storage, study: int) -> None:
        """The state is kept."""
        assert storage.set_study_state(study, StudyState.STOPPED).state == StudyState.STOPPED
        assert storage.get_study(study).state == StudyState.STOPPED
        storage.set_study_state(study, StudyState.ACTIVE)
        assert storage.get_study(study).state == StudyState.ACTIVE

    def test_every_method_knows_unknown_studies_and_trials(self, storage: Storage, study: int) -> None:
        """By number: also negative ones."""
        by_number: list[Callable[[int, int], object]] = [
            storage.get_trial,
            lambda s, n: storage.tell(s, n, DONE),
            lambda s, n: storage.amend(s, n, {"loss": 1.0}),
            lambda s, n: storage.report(s, n, {"loss": 1.0}, 0),
            lambda s, n: storage.extend_lease(s, n, worker=None, lease_s=1),
            lambda s, n: storage.release(s, n, worker=None),
            storage.request_stop,
            lambda s, n: storage.tell_all(s, [(0, DONE), (n, DONE)]),
            lambda s, n: storage.update_trial_metadata(s, n, {"a": "b"}),
        ]
        by_study: list[Callable[[int], object]] = [
            storage.get_study,
            storage.delete_study,
            lambda s: storage.set_study_state(s, StudyState.STOPPED),
            storage.get_trials,
            storage.count_trials,
            storage.engine_versions,
            lambda s: storage.claim_trials(s, 1),
            lambda s: draw(storage, s, 1),
            lambda s: suggest(storage, s),
            lambda s: storage.enqueue(s, {"x": 0.1, "flag": True}),
            lambda s: storage.add_trial(s, {"x": 0.1, "flag": True}, DONE),
            lambda s: storage.add_trials(s, [NewTrial({"x": 0.1, "flag": True})]),
            lambda s: storage.tell_all(s, []),
            lambda s: storage.update_study_metadata(s, {"a": "b"}),
            lambda s: storage.find_trials(s, limit=1),
            lambda s: storage.acquire_suggest_lock(s, "me", 1),
            lambda s: storage.renew_suggest_lock(s, "me", 1),
            lambda s: storage.release_suggest_lock(s, "me"),
            *(lambda s, method=method: method(s, 0) for method in by_number),
        ]
        for method in by_study:
            with pytest.raises(UnknownStudy, match="999"):
                method(999)
        suggest(storage, study)
        for method in by_number:
            for number in (1, -1):
                with pytest.raises(UnknownTrial, match="1 trials"):
                    method(study, number)
        assert len(storage.get_trials(study)) == 1

    # New trials.

    def test_suggestions_are_stored_active(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """Under the next numbers, with all that is known about them."""
        first, second = suggest(storage, study, 2, worker="w", lease_s=60)
        assert (first.number, second.number) == (0, 1)
        assert first.state == TrialState.ACTIVE
        assert first.params == {"x": 0.5, "flag": True}
        assert first.params["flag"] is True
        assert (first.worker, first.attempts) == ("w", 1)
        assert first.created_at == first.started_at == clock.now
        assert first.lease_expires_at == clock.now + timedelta(seconds=60)
        assert (first.algorithm, first.engine_version) == ("random", "1")
        assert second.reason == {"why": 1}
        assert first.asked_event == first.created_event == first.updated_event
        assert second.created_event > first.created_event
        assert storage.get_trials(study) == [first, second]
        assert storage.get_trial(study, 1) == second

    def test_an_enqueued_trial_waits(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """It belongs to nobody and was not asked for."""
        trial = storage.enqueue(study, {"x": 0.1, "flag": False}, metadata={"from": "me"})
        assert (trial.number, trial.state, trial.attempts) == (0, TrialState.QUEUED, 0)
        assert trial.params == {"x": 0.1, "flag": False}
        assert trial.metadata == {"from": "me"}
        assert trial.created_at == clock.now
        assert trial.started_at is None
        assert trial.asked_event is None
        assert storage.get_trials(study) == [trial]

    @pytest.mark.parametrize("measurement", [DONE, Measurement.infeasible("no"), Measurement.failed("lost")])
    def test_an_added_trial_is_finished(self, storage: Storage, study: int, measurement: Measurement) -> None:
        """With any outcome, without ever having been asked for."""
        trial = storage.add_trial(study, {"x": 0.1, "flag": False}, measurement, metadata={"k": "v"})
        assert trial.measurement == measurement
        assert trial.completed_event == trial.created_event
        assert trial.asked_event is None
        assert trial.metadata == {"k": "v"}
        assert storage.get_trials(study) == [trial]
        assert claim(storage, study, 1) == []

    def test_what_the_caller_does_to_its_dicts_later_does_not_matter(
        self, storage: Storage, study: int
    ) -> None:
        """A store copies what it is given."""
        params = {"x": 0.1, "flag": False}
        storage.enqueue(study, params)
        params["x"] = 0.9
        assert storage.get_trial(study, 0).params["x"] == 0.1

    def test_counting(self, storage: Storage, study: int) -> None:
        """All trials, and those with an outcome."""
        assert storage.count_trials(study) == (0, 0)
        suggest(storage, study, 3)
        storage.enqueue(study, {"x": 0.1, "flag": False})
        storage.tell(study, 1, Measurement.failed("lost"))
        storage.add_trial(study, {"x": 0.1, "flag": False}, DONE)
        assert storage.count_trials(study) == (5, 2)

    # Handing out.

    def test_an_anonymous_claim_leaves_running_trials_alone(self, storage: Storage, study: int) -> None:
        """Whoever has them."""
        suggest(storage, study)
        suggest(storage, study, worker="w")
        assert claim(storage, study, 5) == []

    def test_a_named_worker_is_given_its_own_trials_first(self, storage: Storage, study: int) -> None:
        """Then expired ones, then queued ones."""
        for _ in range(2):
            storage.enqueue(study, {"x": 0.1, "flag": False})
        suggest(storage, study, 2, worker="other")
        suggest(storage, study, 2, worker="w")
        storage.release(study, 3, worker="other")
        assert [t.number for t in claim(storage, study, 1, worker="w")] == [4]
        assert [t.number for t in claim(storage, study, 4, worker="w")] == [4, 5, 3, 0]
        assert [t.number for t in claim(storage, study, 9, worker="w")] == [0, 3, 4, 5, 1]
        assert storage.get_trial(study, 2).worker == "other"

    def test_a_claimed_trial_is_its_workers(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """With a lease from now on, and another attempt counted."""
        storage.enqueue(study, {"x": 0.1, "flag": False})
        clock.advance(5)
        [trial] = claim(storage, study, 1, worker="w", lease_s=10)
        assert (trial.state, trial.worker, trial.attempts) == (TrialState.ACTIVE, "w", 1)
        assert trial.started_at == clock.now
        assert trial.lease_expires_at == clock.now + timedelta(seconds=10)
        assert trial.asked_event == trial.updated_event
        assert storage.get_trials(study) == [trial]

    def test_leases_run_out_by_the_stores_clock(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """The same number is handed out again, and keeps the event of its first handing out."""
        [trial] = suggest(storage, study, worker="w", lease_s=60)
        clock.advance(59)
        assert claim(storage, study, 1) == []
        clock.advance(1)
        [again] = claim(storage, study, 1, worker="other", lease_s=60)
        assert (again.number, again.worker, again.attempts) == (trial.number, "other", 2)
        assert again.asked_event == trial.asked_event
        assert again.updated_event > trial.updated_event

    def test_all_leases_are_judged_even_if_fewer_trials_are_claimed(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """A trial that nobody took is EXPIRED, not ACTIVE."""
        suggest(storage, study, 2, lease_s=60)
        clock.advance(61)
        assert [t.number for t in claim(storage, study, 1)] == [0]
        assert storage.get_trial(study, 1).state == TrialState.EXPIRED
        assert storage.get_trial(study, 1).lease_expires_at is None

    def test_trials_without_a_lease_never_run_out(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """A person may take a week."""
        suggest(storage, study)
        clock.advance(10**7)
        assert claim(storage, study, 1) == []

    def test_a_lease_is_extended(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """By its holder only, while the trial runs."""
        suggest(storage, study, worker="w", lease_s=60)
        clock.advance(40)
        storage.extend_lease(study, 0, worker="w", lease_s=60)
        clock.advance(40)
        assert claim(storage, study, 1) == []
        before = storage.get_trials(study)
        with pytest.raises(InvalidState, match="held by other"):
            storage.extend_lease(study, 0, worker="other", lease_s=60)
        assert storage.get_trials(study) == before
        clock.advance(20)
        claim(storage, study, 0)
        with pytest.raises(InvalidState, match="it is expired"):
            storage.extend_lease(study, 0, worker="w", lease_s=60)

    def test_an_anonymous_worker_that_lost_its_trial_cannot_touch_the_next_ones_lease(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """Nothing but the attempt tells the two apart; a worker with a name may have asked several times."""
        [lost] = suggest(storage, study, lease_s=60)
        clock.advance(61)
        [held] = claim(storage, study, 1, lease_s=60)
        assert (lost.number, lost.attempts, held.attempts) == (held.number, 1, 2)
        for change in (
            lambda: storage.extend_lease(study, 0, worker=None, lease_s=1, attempt=lost.attempts),
            lambda: storage.release(study, 0, worker=None, attempt=lost.attempts),
        ):
            with pytest.raises(InvalidState, match="must be running and held by an anonymous worker"):
                change()
        assert storage.get_trial(study, 0) == held
        storage.extend_lease(study, 0, worker=None, lease_s=100, attempt=held.attempts)
        assert storage.release(study, 0, worker=None, attempt=held.attempts).state == TrialState.EXPIRED
        [first] = claim(storage, study, 1, worker="w")
        claim(storage, study, 1, worker="w")
        storage.extend_lease(study, 0, worker="w", lease_s=60, attempt=first.attempts)

    def test_a_released_trial_goes_out_next(self, storage: Storage, study: int) -> None:
        """EXPIRED at once, before queued ones; only its holder may release it."""
        storage.enqueue(study, {"x": 0.1, "flag": False})
        suggest(storage, study)
        with pytest.raises(InvalidState, match="held by w"):
            storage.release(study, 1, worker="w")
        assert storage.release(study, 1, worker=None).state == TrialState.EXPIRED
        with pytest.raises(InvalidState, match="it is expired"):
            storage.release(study, 1, worker=None)
        assert [t.number for t in claim(storage, study, 1)] == [1]

    def test_a_stop_request_is_seen_by_the_worker(self, storage: Storage, study: int) -> None:
        """Also by one that comes back; the trial can still be told, or lost."""
        storage.enqueue(study, {"x": 0.1, "flag": False})
        with pytest.raises(InvalidState, match="is queued"):
            storage.request_stop(study, 0)
        suggest(storage, study, 2, worker="w")
        assert storage.request_stop(study, 1).state == TrialState.STOPPING
        [back] = claim(storage, study, 1, worker="w")
        assert (back.number, back.state) == (1, TrialState.STOPPING)
        assert storage.tell(study, 1, DONE).state == TrialState.COMPLETED
        storage.request_stop(study, 2)
        assert storage.release(study, 2, worker="w").state == TrialState.EXPIRED
        assert claim(storage, study, 1)[0].state == TrialState.ACTIVE

    def test_what_is_missing_is_drawn_by_number(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """After what there is to claim, in one go, with all that is known about a suggestion."""
        first, second = draw(storage, study, 2, worker="w", lease_s=60)
        assert (first.number, first.state, first.worker) == (0, TrialState.ACTIVE, "w")
        assert (first.algorithm, first.engine_version, first.attempts) == ("random", "1", 1)
        assert first.lease_expires_at == clock.now + timedelta(seconds=60)
        assert second.reason == {"number": 1}
        storage.enqueue(study, {"x": 0.1, "flag": False})
        storage.release(study, 1, worker="w")
        assert [t.number for t in draw(storage, study, 4)] == [1, 2, 3, 4]
        assert [t.number for t in draw(storage, study, 2, worker="w")] == [0, 5]
        events = [trial.updated_event for trial in storage.get_trials(study)]
        assert len(set(events)) == 6
        assert storage.count_trials(study) == (6, 0)

    def test_a_draw_that_fails_changes_nothing(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """Neither what it claimed nor what ran out meanwhile."""
        suggest(storage, study, lease_s=60)
        storage.enqueue(study, {"x": 0.1, "flag": False})
        clock.advance(61)
        before = storage.get_trials(study)

        def broken(first: int, count: int) -> list[Suggestion]:
            raise FloatingPointError("no luck")

        with pytest.raises(FloatingPointError):
            storage.claim_or_draw(study, 3, broken, algorithm="random", engine_version="1")
        assert storage.get_trials(study) == before
        assert draw(storage, study, 1)[0].updated_event == max(t.updated_event for t in before) + 2

    # Outcomes.

    @pytest.mark.parametrize("measurement", [DONE, Measurement.infeasible("no"), Measurement.failed("lost")])
    def test_a_told_trial_is_finished(
        self, storage: Storage, study: int, clock: ManualClock, measurement: Measurement
    ) -> None:
        """It is not handed out any more."""
        [trial] = suggest(storage, study, worker="w", lease_s=60)
        clock.advance(5)
        told = storage.tell(study, 0, measurement)
        assert told.measurement == measurement
        assert told.completed_at == clock.now
        assert told.lease_expires_at is None
        assert told.worker == "w"
        assert told.completed_event == told.updated_event
        assert told.updated_event > trial.updated_event
        assert storage.get_trials(study) == [told]
        clock.advance(100)
        assert claim(storage, study, 1, worker="w") == []

    def test_the_same_outcome_again_changes_nothing(self, storage: Storage, study: int) -> None:
        """For values and for messages, and also after an amendment."""
        suggest(storage, study, 2)
        told = storage.tell(study, 0, DONE)
        assert storage.tell(study, 0, DONE) == told
        failed = storage.tell(study, 1, Measurement.failed("lost"))
        assert storage.tell(study, 1, Measurement.failed("lost")) == failed
        amended = storage.amend(study, 0, {"loss": 2.0})
        assert storage.tell(study, 0, DONE) == amended
        assert storage.tell(study, 0, Measurement.completed({"loss": 2.0})) == amended
        assert storage.get_trials(study) == [amended, failed]

    @pytest.mark.parametrize("first", [DONE, Measurement.infeasible("no"), Measurement.failed("lost")])
    def test_another_outcome_is_refused(self, storage: Storage, study: int, first: Measurement) -> None:
        """The first one counts."""
        suggest(storage, study)
        told = storage.tell(study, 0, first)
        others = [Measurement.completed({"loss": 3.0}), Measurement.infeasible("x"), Measurement.failed("x")]
        for other in others:
            with pytest.raises(AlreadyTold, match=r"trial 0 is .* already"):
                storage.tell(study, 0, other)
        assert storage.get_trials(study) == [told]

    def test_a_queued_trial_cannot_be_told(self, storage: Storage, study: int) -> None:
        """Nobody can have measured it."""
        trial = storage.enqueue(study, {"x": 0.1, "flag": False})
        with pytest.raises(InvalidState, match="queued"):
            storage.tell(study, 0, DONE)
        assert storage.get_trials(study) == [trial]

    def test_a_late_result_is_accepted(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """If nobody re-took the trial."""
        suggest(storage, study, worker="w", lease_s=60)
        clock.advance(61)
        claim(storage, study, 0)
        assert storage.get_trial(study, 0).state == TrialState.EXPIRED
        assert storage.tell(study, 0, DONE, worker="w").state == TrialState.COMPLETED
        assert claim(storage, study, 1) == []

    @pytest.mark.parametrize("winner", ["first", "second"])
    def test_of_two_results_the_first_wins(
        self, storage: Storage, study: int, clock: ManualClock, winner: str
    ) -> None:
        """Whether it comes from the old worker or from the one that re-took the trial."""
        suggest(storage, study, worker="first", lease_s=60)
        clock.advance(61)
        claim(storage, study, 1, worker="second", lease_s=60)
        told = storage.tell(study, 0, DONE, worker=winner)
        assert told.worker == winner
        with pytest.raises(AlreadyTold, match="first outcome counts"):
            storage.tell(study, 0, Measurement.completed({"loss": 9.0}), worker="x")
        assert storage.get_trials(study) == [told]

    def test_an_amendment_is_on_record(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """Old and new values, when, and which event; when it was completed stays."""
        suggest(storage, study)
        told = storage.tell(study, 0, DONE)
        clock.advance(5)
        amended = storage.amend(study, 0, {"loss": 2.0})
        assert amended.values == {"loss": 2.0}
        [amendment] = amended.amendments
        assert (amendment.old_values, amendment.new_values) == ({"loss": 1.0}, {"loss": 2.0})
        assert amendment.at == clock.now
        assert amendment.event == amended.updated_event
        assert amendment.event > told.updated_event
        assert (amended.completed_at, amended.completed_event) == (told.completed_at, told.completed_event)
        assert storage.amend(study, 0, {"loss": 2.0}) == amended
        assert len(storage.amend(study, 0, {"loss": 3.0}).amendments) == 2

    def test_only_completed_trials_are_amended(self, storage: Storage, study: int) -> None:
        """The rest have no values to correct."""
        suggest(storage, study, 2)
        storage.tell(study, 1, Measurement.infeasible("no"))
        before = storage.get_trials(study)
        for number in (0, 1):
            with pytest.raises(InvalidState, match="only completed trials"):
                storage.amend(study, number, {"loss": 2.0})
        assert storage.get_trials(study) == before

    def test_reports_are_kept_by_step(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """In order of steps, the last word for each; infinities and NaN included."""
        storage.enqueue(study, {"x": 0.1, "flag": False})
        with pytest.raises(InvalidState, match="handed out"):
            storage.report(study, 0, {"loss": 1.0}, 0)
        suggest(storage, study)
        storage.report(study, 1, {"loss": float("inf")}, 5)
        storage.report(study, 1, {"loss": 3.0}, 2)
        clock.advance(1)
        storage.report(study, 1, {"loss": 4.0}, 2)
        trial = storage.get_trial(study, 1)
        assert [(r.step, r.values) for r in trial.reports] == [
            (2, {"loss": 4.0}),
            (5, {"loss": float("inf")}),
        ]
        assert trial.reports[0].at == clock.now
        told = storage.tell(study, 1, DONE)
        assert told.reports == trial.reports
        with pytest.raises(AlreadyTold, match="until they are told"):
            storage.report(study, 1, {"loss": 1.0}, 9)
        assert storage.get_trial(study, 1) == told

    # Events.

    def test_every_change_of_a_trial_is_an_event(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """So a reader who remembers the last event misses nothing."""
        suggest(storage, study, 3, worker="w", lease_s=60)
        changes: list[tuple[int, Callable[[], object]]] = [
            (0, lambda: storage.report(study, 0, {"loss": 1.0}, 0)),
            (1, lambda: storage.extend_lease(study, 1, worker="w", lease_s=99)),
            (2, lambda: storage.request_stop(study, 2)),
            (2, lambda: storage.release(study, 2, worker="w")),
            (2, lambda: claim(storage, study, 1)),
            (0, lambda: storage.tell(study, 0, DONE)),
            (0, lambda: storage.amend(study, 0, {"loss": 5.0})),
            (3, lambda: storage.enqueue(study, {"x": 0.1, "flag": False})),
            (4, lambda: storage.add_trial(study, {"x": 0.1, "flag": False}, DONE)),
            (4, lambda: storage.update_trial_metadata(study, 4, {"note": "odd"})),
            (2, lambda: storage.tell_all(study, [(2, Measurement.failed("lost"))])),
            (5, lambda: storage.add_trials(study, [NewTrial({"x": 0.1, "flag": False}, DONE)])),
        ]
        for number, change in changes:
            last = max(trial.updated_event for trial in storage.get_trials(study))
            change()
            [changed] = storage.get_trials(study, since_event=last)
            assert changed.number == number
            assert changed.updated_event > last
        clock.advance(1000)
        last = max(trial.updated_event for trial in storage.get_trials(study))
        claim(storage, study, 0)
        assert [t.number for t in storage.get_trials(study, since_event=last)] == [1]

    # The suggest lock.

    def test_the_suggest_lock_has_one_owner(self, storage: Storage, study: int) -> None:
        """Until it is released, by its owner; another study has another lock."""
        assert storage.acquire_suggest_lock(study, "a", 60)
        assert not storage.acquire_suggest_lock(study, "b", 60)
        assert storage.acquire_suggest_lock(create(storage, "other").id, "b", 60)
        storage.release_suggest_lock(study, "b")
        assert not storage.acquire_suggest_lock(study, "b", 60)
        storage.release_suggest_lock(study, "a")
        assert storage.acquire_suggest_lock(study, "b", 60)

    def test_a_lock_is_renewed_by_its_owner_alone(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """Also late, but never after somebody else had it."""
        assert not storage.renew_suggest_lock(study, "a", 60)
        storage.acquire_suggest_lock(study, "a", 60)
        clock.advance(61)
        assert storage.renew_suggest_lock(study, "a", 60)
        assert not storage.renew_suggest_lock(study, "b", 60)
        assert not storage.acquire_suggest_lock(study, "b", 60)
        clock.advance(61)
        assert storage.acquire_suggest_lock(study, "b", 60)
        storage.release_suggest_lock(study, "b")
        assert not storage.renew_suggest_lock(study, "a", 60)
        assert storage.acquire_suggest_lock(study, "c", 60)

    def test_the_suggest_lock_runs_out(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """Unless its owner takes it again in time."""
        storage.acquire_suggest_lock(study, "a", 60)
        clock.advance(40)
        assert storage.acquire_suggest_lock(study, "a", 60)
        clock.advance(40)
        assert not storage.acquire_suggest_lock(study, "b", 60)
        clock.advance(20)
        assert storage.acquire_suggest_lock(study, "b", 60)
        assert not storage.acquire_suggest_lock(study, "a", 60)

    def test_suggestions_without_the_lock_are_refused(
        self, storage: Storage, study: int, clock: ManualClock
    ) -> None:
        """The owner of yesterday may have suggested what another one has suggested since."""

        def add(owner: str) -> list[Trial]:
            point = Suggestion({"x": 0.5, "flag": True}, {})
            return storage.add_suggestions(
                study, [point], lock_owner=owner, algorithm="random", engine_version="1"
            )

        with pytest.raises(LockLost, match="must hold the suggest lock"):
            add("a")
        storage.acquire_suggest_lock(study, "a", 60)
        clock.advance(61)
        storage.acquire_suggest_lock(study, "b", 60)
        with pytest.raises(LockLost, match="'a' must hold"):
            add("a")
        assert storage.get_trials(study) == []
        assert len(add("b")) == 1

    def test_a_claim_that_falls_short_brings_the_lock(self, storage: Storage, study: int) -> None:
        """If it is free; a claim that has all it wants leaves it alone."""
        storage.enqueue(study, {"x": 0.1, "flag": False})
        enough = storage.claim_trials(study, 1, lock_owner="a", lock_s=60)
        assert (len(enough.trials), enough.has_lock) == (1, False)
        short = storage.claim_trials(study, 1, lock_owner="a", lock_s=60)
        assert (short.trials, short.has_lock) == ([], True)
        assert not storage.claim_trials(study, 1, lock_owner="b", lock_s=60).has_lock
        assert not storage.acquire_suggest_lock(study, "b", 60)
        assert storage.claim_trials(study, 1, lock_owner="a", lock_s=60).has_lock
        assert not storage.claim_trials(study, 1).has_lock

    def test_storing_suggestions_gives_the_lock_back(self, storage: Storage, study: int) -> None:
        """So that the next one need not wait."""
        suggest(storage, study)
        assert storage.acquire_suggest_lock(study, "b", 60)

    # From store to store.

    def test_a_study_moves_to_another_store(self, storage: Storage, study: int, clock: ManualClock) -> None:
        """With every field of every trial, and goes on with the next number and the next event."""
        busy(storage, study)
        storage.set_study_state(study, StudyState.STOPPED)
        record, trials = storage.get_study(study), storage.get_trials(study)
        copy = storage.restore_study(replace(record, name="copy"), trials)
        assert copy == replace(record, name="copy", id=copy.id)
        assert copy.id != record.id
        assert storage.get_trials(copy.id) == trials
        assert storage.count_trials(copy.id) == storage.count_trials(study)
        last = max(trial.updated_event for trial in trials)
        for original, restored in zip(draw(storage, study, 5), draw(storage, copy.id, 5), strict=True):
            assert original == restored
        assert storage.get_trials(copy.id, since_event=last) == storage.get_trials(study, since_event=last)

    def test_what_cannot_be_a_study_is_not_restored(self, storage: Storage, study: int) -> None:
        """A name that is taken, a number that is missing, an event that was used twice."""
        suggest(storage, study, 2)
        record, (first, second) = storage.get_study(study), storage.get_trials(study)
        with pytest.raises(DuplicateStudy, match="'s' exists"):
            storage.restore_study(record, [first])
        for trials in ([second], [second, first], [first, replace(second, updated_event=1)]):
            with pytest.raises(ArgumentError, match="numbered from 0 without gaps"):
                storage.restore_study(replace(record, name="copy"), trials)
        assert storage.list_studies() == [record]

    def test_what_a_store_could_not_go_on_with_is_not_restored(self, storage: Storage, study: int) -> None:
        """Counts without room for more, reports that would take each other's place, times beyond the calendar."""
        [trial] = suggest(storage, study, 1)
        record = replace(storage.get_study(study), name="copy")
        name, beyond = record.problem.metric_names[0], timezone(timedelta(hours=14))
        report = Report(1, {name: 1.0}, datetime(2030, 1, 1, tzinfo=UTC))
        for change, message in (
            ({"updated_event": 2**63 - 1}, "events and attempts must be at most"),
            ({"attempts": 2**63 - 1}, "events and attempts must be at most"),
            ({"reports": (report, report)}, "distinct steps"),
            ({"reports": (replace(report, values={"other": 1.0}),)}, "must be of .*, got 'other'"),
            ({"created_at": datetime.min.replace(tzinfo=beyond)}, "times must be between"),
            (
                {"reports": (replace(report, at=datetime.min.replace(tzinfo=beyond)),)},
                "times must be between",
            ),
        ):
            with pytest.raises(ArgumentError, match=message):
                storage.restore_study(record, [replace(trial, **change)])
        with pytest.raises(ArgumentError, match=r"times must be between .* for the study"):
            storage.restore_study(replace(record, created_at=datetime.min.replace(tzinfo=beyond)), [])
        assert len(storage.list_studies()) == 1

    def test_a_study_with_a_long_past_goes_on(self, storage: Storage, study: int) -> None:
        """However many events it has had, a store keeps no more than the trials."""
        first, second = suggest(storage, study, 2)
        trials = [replace(first, updated_event=2**60), replace(second, updated_event=7)]
        copy = storage.restore_study(replace(storage.get_study(study), name="copy"), trials).id
        assert [t.number for t in storage.get_trials(copy, since_event=6)] == [0, 1]
        assert [t.number for t in storage.get_trials(copy, since_event=7)] == [0]
        told = storage.tell(copy, 1, Measurement.failed("why"))
        assert told.updated_event == 2**60 + 1
        assert storage.get_trials(copy, since_event=2**60) == [told]
        assert [progress.last_event for progress in storage.progress(study_ids=[copy])] == [2**60 + 1]

    def test_engine_versions_are_known(self, storage: Storage, study: int) -> None:
        """Of those trials that an engine suggested."""
        assert storage.engine_versions(study) == set()
        suggest(storage, study, 2)
        storage.enqueue(study, {"x": 0.1, "flag": False})
        assert storage.engine_versions(study) == {"1"}

    # Threads.

    def test_threads_never_share_a_trial(self, storage: Storage, study: int) -> None:
        """However many claim at once."""
        for _ in range(60):
            storage.enqueue(study, {"x": 0.1, "flag": False})
        claimed: list[int] = []

        def work() -> None:
            while trials := claim(storage, study, 1):
                claimed.append(trials[0].number)
                storage.tell(study, trials[0].number, DONE)

        run_threads(work, 6)
        assert sorted(claimed) == list(range(60))
        assert storage.count_trials(study) == (60, 60)

    def test_of_many_threads_one_tells(self, storage: Storage, study: int) -> None:
        """The others are refused, and the trial has one outcome."""
        suggest(storage, study)
        told: list[float] = []
        numbers = iter(range(8))

        def work() -> None:
            value = float(next(numbers))
            try:
                storage.tell(study, 0, Measurement.completed({"loss": value}))
                told.append(value)
            except AlreadyTold:
                pass

        run_threads(work, 8)
        assert len(told) == 1
        assert storage.get_trial(study, 0).values == {"loss": told[0]}

    def test_trials_are_values(self, storage: Storage, study: int) -> None:
        """A trial once read stays as it was."""
        suggest(storage, study)
        before = storage.get_trial(study, 0)
        copy = replace(before)
        storage.tell(study, 0, DONE)
        assert before == copy
        assert before.state == TrialState.ACTIVE
