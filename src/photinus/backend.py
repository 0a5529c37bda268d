"""What a `Study` stands on: studies, trials and suggestions, wherever they live.

`local.py` puts a store and the engine behind this; a client of a server implements the same. Values are
canonical when they get here: `Study` has validated them against the problem. What `Storage` promises about
trials holds here too, and what it says about a request's `key`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from photinus.problem import Problem
from photinus.record import NewTrial, StudyProgress, StudyRecord, StudyState
from photinus.space import Value
from photinus.trial import Measurement, Trial, TrialState


@dataclass(frozen=True, slots=True)
class AskRequest:
    """What one ask of several at once wants; see `Backend.ask`."""

    count: int = 1
    worker: str | None = None
    lease_s: float | None = None
    key: str | None = None


class Backend(Protocol):
    """Studies with an algorithm that suggests."""

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
    ) -> StudyRecord:
        """A new study, or the stored one."""
        ...

    def restore_study(
        self, record: StudyRecord, trials: Sequence[Trial], *, key: str | None = None
    ) -> StudyRecord:
        """A study as it was elsewhere, with all its trials; only its id is new."""
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

    def progress(
        self, project: str | None = None, *, study_ids: Collection[int] | None = None
    ) -> list[StudyProgress]:
        """How far studies are, oldest first: those of one project or of all, and only some of them by id."""
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
        """Trials changed after that event, by number."""
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
        """At most `limit` trials in any of `states` and of `worker`, where given, by number, from `after` on."""
        ...

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """How many trials there are, and how many of them are finished."""
        ...

    def ask(
        self,
        study_id: int,
        count: int,
        *,
        worker: str | None = None,
        lease_s: float | None = None,
        key: str | None = None,
    ) -> list[Trial]:
        """Exactly `count` trials: what is there to claim first, then new suggestions.

        Raises `SuggestionError` if the algorithm cannot suggest.
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
        """Add all of the trials, measured or QUEUED, under numbers in their order."""
        ...

    def tell(
        self, study_id: int, number: int, measurement: Measurement, *, worker: str | None = None
    ) -> Trial:
        """Give a trial its outcome."""
        ...

    def tell_all(
        self, study_id: int, results: Sequence[tuple[int, Measurement]], *, worker: str | None = None
    ) -> list[Trial]:
        """Give each of several trials, by number, its outcome: all of them or, if one is refused, none."""
        ...

    def amend(self, study_id: int, number: int, values: Mapping[str, float]) -> Trial:
        """Correct a completed trial."""
        ...

    def report(self, study_id: int, number: int, values: Mapping[str, float], step: int) -> None:
        """Keep intermediate values of a trial."""
        ...

    def extend_lease(
        self, study_id: int, number: int, *, worker: str | None, lease_s: float, attempt: int | None = None
    ) -> Trial:
        """Let a running trial's lease end `lease_s` from now."""
        ...

    def release(self, study_id: int, number: int, *, worker: str | None, attempt: int | None = None) -> Trial:
        """Hand a running trial back."""
        ...

    def request_stop(self, study_id: int, number: int) -> Trial:
        """Mark a running trial as STOPPING, for its worker to see."""
        ...

    def update_trial_metadata(self, study_id: int, number: int, changes: Mapping[str, str | None]) -> Trial:
        """Set notes by name, and remove those that are None."""
        ...

    def predict(
        self, study_id: int, points: Sequence[Mapping[str, Value]], *, max_trials: int | None = None
    ) -> list[dict[str, dict[str, float | None]]]:
        """What the model expects at each point: per objective its quantiles and warped mean and deviation.

        With `max_trials`, of a model fitted to at most so many of the trials.
        """
        ...

    def describe_model(self, study_id: int, *, max_trials: int | None = None) -> dict[str, Any]:
        """What the model believes beyond predictions, as plain JSON values; see `Study.describe_model`."""
        ...
