"""What a store of studies promises; `photinus.testing.StorageContract` checks it.

Every method is one transaction: it happens as a whole or raises and changes nothing. A store takes and
returns frozen domain values that its caller has validated against the study's problem; it judges states (by
the rules in `lifecycle.py`), not values. Expiry is judged by the store's own clock. Every method with a
`study_id` may raise `UnknownStudy`, every one with a `number` may raise `UnknownTrial`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from photinus.problem import Problem
from photinus.record import StudyRecord, StudyState
from photinus.space import Value
from photinus.trial import Measurement, Suggestion, Trial

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
    ) -> StudyRecord:
        """A new study, or the stored one if `load_if_exists` and problem and algorithm are the same.

        Raises `DuplicateStudy`, or `StudyMismatch` with the differences. A loaded study keeps its seed and
        metadata.
        """
        ...

    def restore_study(self, record: StudyRecord, trials: Sequence[Trial]) -> StudyRecord:
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

    def delete_study(self, study_id: int) -> None:
        """Forget the study and its trials."""
        ...

    def set_study_state(self, study_id: int, state: StudyState) -> StudyRecord:
        """Say whether loops that work on the study should go on."""
        ...

    def get_trial(self, study_id: int, number: int) -> Trial:
        """One trial."""
        ...

    def get_trials(self, study_id: int, *, since_event: int = 0) -> list[Trial]:
        """Trials changed after that event, all of them by default, ordered by number."""
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
    ) -> Claim:
        """Hand out up to `count` existing trials, after expiring those whose lease ran out.

        First the running trials of this worker, if it has a name; then expired ones under their old number;
        then queued ones. Lowest numbers first in each group. Where there are fewer than `count`, take the
        suggest lock for `lock_owner` as well, if one is named and nobody else has it.
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
    ) -> list[Trial]:
        """Store suggestions, hand them out, ACTIVE from the start, and give the suggest lock back.

        Raises `LockLost` if the lock is not `lock_owner`'s any more: someone else may have suggested the same
        meanwhile.
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
    ) -> list[Trial]:
        """Hand out exactly `count` trials: what `claim_trials` finds, then new ones by `draw`.

        For algorithms that look at nothing but a trial's number: they need no lock. `draw` must be quick and
        pure, for others wait while it runs, and it may run again.
        """
        ...

    def enqueue(
        self, study_id: int, params: Mapping[str, Value], *, metadata: Mapping[str, str] | None = None
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
    ) -> Trial:
        """Add a trial that was measured elsewhere."""
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

    def request_stop(self, study_id: int, number: int) -> Trial:
        """Mark a running trial as STOPPING, for its worker to see; `InvalidState` if it is not running."""
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
