"""What a store of studies promises; `photinus.testing.StorageContract` checks it.

Every method is one transaction: it happens as a whole or raises and changes nothing. A store takes and
returns frozen domain values that its caller has validated against the study's problem; it judges states (by
the rules in `lifecycle.py`), not values. Expiry is judged by the store's own clock. Every method with a
`study_id` may raise `UnknownStudy`, every one with a `number` may raise `UnknownTrial`.

A `key` makes a request safe to repeat when its answer was lost. It names the request within its study: the first
request of a key takes effect and leaves the key with what it made or handed out, and each later one is given
that, and changes nothing else.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from photinus.problem import Problem
from photinus.record import NewTrial, StudyProgress, StudyRecord, StudyState, TokenRecord
from photinus.space import Value
from photinus.trial import Measurement, Suggestion, Trial, TrialState

Draw = Callable[[int, int], Sequence[Suggestion]]  # (number of the first, how many) -> suggestions


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim brought: trials, and whether the suggest lock came with them."""

    trials: list[Trial]
    has_lock: bool = False


@runtime_checkable
class Storage(Protocol):
    """Studies, their trials (numbered from 0 without gaps), and the right to suggest for a study."""

    def create_study(
        self,
        *,
        project: str,
        name: str,
        problem: Problem,
        algorithm: str,
        seed: int,
        metadata: Mapping[str, str] | None = None,
        load_if_exists: bool = False,
        key: str | None = None,
        creator: str | None = None,
    ) -> StudyRecord:
        """A new study, or the stored one if `load_if_exists` and problem and algorithm are the same.

        Raises `DuplicateStudy`, or `StudyMismatch` with the differences. A loaded study keeps its seed and
        metadata. A study that was created with the same `key` is loaded as with `load_if_exists`. `creator` is
        the id of the token that it is created with.
        """
        ...

    def restore_study(
        self,
        record: StudyRecord,
        trials: Sequence[Trial],
        *,
        key: str | None = None,
        creator: str | None = None,
    ) -> StudyRecord:
        """A study as it was in another store, with all its trials; only its id is new.

        Raises `DuplicateStudy`, or `ArgumentError` if the trials are not all those of a study, in order.
        """
        ...

    def get_study(self, study_id: int) -> StudyRecord:
        """The study as it is now."""
        ...

    def find_study(self, project: str, name: str) -> StudyRecord:
        """The study of that name."""
        ...

    def list_studies(self, project: str | None = None) -> list[StudyRecord]:
        """Studies of one project, or of all, oldest first."""
        ...

    def count_studies(self, creator: str) -> int:
        """How many of the studies were created with the token of that id."""
        ...

    def progress(
        self, project: str | None = None, *, study_ids: Collection[int] | None = None
    ) -> list[StudyProgress]:
        """How far studies are, oldest first: those of one project or of all, and only some of them by id.

        Databases do it without reading trials. Ids that are not there are left out.
        """
        ...

    def delete_study(self, study_id: int) -> None:
        """Forget the study and its trials."""
        ...

    def set_study_state(self, study_id: int, state: StudyState) -> StudyRecord:
        """Say whether loops that work on the study should go on."""
        ...

    def update_study_metadata(self, study_id: int, changes: Mapping[str, str | None]) -> StudyRecord:
        """Set notes by name, and remove those that are None."""
        ...

    def get_trial(self, study_id: int, number: int) -> Trial:
        """One trial."""
        ...

    def get_trials(self, study_id: int, *, since_event: int = 0) -> list[Trial]:
        """Trials changed after that event, all of them by default, ordered by number."""
        ...

    def find_trials(
        self,
        study_id: int,
        *,
        states: Collection[TrialState] | None = None,
        worker: str | None = None,
        after: int = -1,
        limit: int,
        newest_first: bool = False,
    ) -> list[Trial]:
        """At most `limit` trials in any of `states` and of `worker`, where given, by number.

        From the first one after number `after` on; with `newest_first` from the last one before it, down, and
        -1 means from the end.
        """
        ...

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """How many trials there are, and how many of them are finished; cheap."""
        ...

    def engine_versions(self, study_id: int) -> set[str]:
        """Versions of the engine that suggested the study's trials."""
        ...

    def claim_trials(
        self,
        study_id: int,
        count: int,
        *,
        worker: str | None = None,
        lease_s: float | None = None,
        lock_owner: str | None = None,
        lock_s: float = 0.0,
        key: str | None = None,
    ) -> Claim:
        """Hand out up to `count` existing trials, after expiring those whose lease ran out.

        First the running trials of this worker, if it has a name; then expired ones under their old number;
        then queued ones. Lowest numbers first in each group. Where there are fewer than `count`, take the
        suggest lock for `lock_owner` as well, if one is named and nobody else has it.

        Trials that were last handed out under `key`, by a claim or as suggestions, come before all others and
        as they are, if they are still running or were told since; only what is missing then is claimed.
        """
        ...

    def add_suggestions(
        self,
        study_id: int,
        suggestions: Sequence[Suggestion],
        *,
        lock_owner: str,
        algorithm: str,
        engine_version: str,
        worker: str | None = None,
        lease_s: float | None = None,
        key: str | None = None,
        keep_lock: bool = False,
    ) -> list[Trial]:
        """Store suggestions, hand them out, ACTIVE from the start, and give the suggest lock back.

        Raises `LockLost` if the lock is not `lock_owner`'s any more: someone else may have suggested the same
        meanwhile. With `keep_lock` it stays `lock_owner`'s, for suggestions of the same moment that others are
        waiting for. `key` is only noted here, for `claim_trials` to find.
        """
        ...

    def claim_or_draw(
        self,
        study_id: int,
        count: int,
        draw: Draw,
        *,
        algorithm: str,
        engine_version: str,
        worker: str | None = None,
        lease_s: float | None = None,
        key: str | None = None,
    ) -> list[Trial]:
        """Hand out exactly `count` trials: what `claim_trials` finds, then new ones by `draw`.

        For algorithms that look at nothing but a trial's number: they need no lock. `draw` must be quick and
        pure, for others wait while it runs, and it may run again.
        """
        ...

    def enqueue(
        self,
        study_id: int,
        params: Mapping[str, Value],
        *,
        metadata: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Trial:
        """Add a QUEUED trial."""
        ...

    def add_trial(
        self,
        study_id: int,
        params: Mapping[str, Value],
        measurement: Measurement,
        *,
        metadata: Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Trial:
        """Add a trial that was measured elsewhere."""
        ...

    def add_trials(
        self, study_id: int, entries: Sequence[NewTrial], *, key: str | None = None
    ) -> list[Trial]:
        """Add all of the trials, under numbers in their order."""
        ...

    def tell(
        self, study_id: int, number: int, measurement: Measurement, *, worker: str | None = None
    ) -> Trial:
        """Give a trial its outcome.

        The first outcome wins, whoever holds the trial: also one that comes late for an EXPIRED trial. The
        same outcome again returns the trial as it is; another one raises `AlreadyTold`. A trial that was
        never handed out raises `InvalidState`. `worker`, where given, is recorded as the one who measured it.
        """
        ...

    def tell_all(
        self, study_id: int, results: Sequence[tuple[int, Measurement]], *, worker: str | None = None
    ) -> list[Trial]:
        """Give several trials, by number, their outcomes as `tell` does; none of them if one is refused."""
        ...

    def amend(self, study_id: int, number: int, values: Mapping[str, float]) -> Trial:
        """Correct a COMPLETED trial's values and keep the old ones on record; otherwise `InvalidState`."""
        ...

    def report(self, study_id: int, number: int, values: Mapping[str, float], step: int) -> None:
        """Keep intermediate values of a trial that was handed out; the same step again replaces them.

        Raises `InvalidState` for a QUEUED trial, `AlreadyTold` for a finished one.
        """
        ...

    def extend_lease(
        self, study_id: int, number: int, *, worker: str | None, lease_s: float, attempt: int | None = None
    ) -> Trial:
        """Let a running trial's lease end `lease_s` from now; `InvalidState` if `worker` does not hold it.

        `attempt` is the trial's `attempts` as it was handed out. It tells anonymous workers apart: one whose
        lease ran out must not touch the lease of the next. None for whoever holds it.
        """
        ...

    def release(self, study_id: int, number: int, *, worker: str | None, attempt: int | None = None) -> Trial:
        """Hand a running trial back: EXPIRED, and next to go out; `InvalidState` if `worker` lacks it."""
        ...

    def release_request(self, study_id: int, key: str) -> list[Trial]:
        """Hand back all running trials that a request of that key was given and no named worker holds."""
        ...

    def request_stop(self, study_id: int, number: int) -> Trial:
        """Mark a running trial as STOPPING, for its worker to see; `InvalidState` if it is not running."""
        ...

    def update_trial_metadata(self, study_id: int, number: int, changes: Mapping[str, str | None]) -> Trial:
        """Set notes by name, and remove those that are None; a trial in any state."""
        ...

    def acquire_suggest_lock(self, study_id: int, owner: str, ttl_s: float) -> bool:
        """Take the study's suggest lock for `ttl_s`, or hold it longer if it is `owner`'s; False if taken."""
        ...

    def renew_suggest_lock(self, study_id: int, owner: str, ttl_s: float) -> bool:
        """Hold the lock `ttl_s` from now, if it is `owner`'s still; False if it is not.

        Unlike taking it, this cannot bring back a lock that someone else had meanwhile: what its owner works
        out may be out of date then.
        """
        ...

    def release_suggest_lock(self, study_id: int, owner: str) -> None:
        """Give the lock back, if it is `owner`'s still."""
        ...

    def add_token(self, token: TokenRecord) -> TokenRecord:
        """Keep a token's record; `ArgumentError` if its id is taken."""
        ...

    def get_token(self, token_id: str) -> TokenRecord:
        """The token of that id, whether it is valid or not; or `UnknownToken`."""
        ...

    def list_tokens(self) -> list[TokenRecord]:
        """All tokens, oldest first."""
        ...

    def revoke_token(self, token_id: str) -> TokenRecord:
        """End the token's validity now, if it was not ended before; or `UnknownToken`."""
        ...
