"""What a `Study` stands on: studies, trials and suggestions, wherever they live.

`local.py` puts a store and the engine behind this; a client of a server implements the same. Values are
canonical when they get here: `Study` has validated them against the problem. What `Storage` promises about
trials holds here too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from photinus.problem import Problem
from photinus.record import StudyRecord, StudyState
from photinus.space import Value
from photinus.trial import Measurement, Trial


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
    ) -> StudyRecord:
        """A new study, or the stored one."""
        ...

    def restore_study(self, record: StudyRecord, trials: Sequence[Trial]) -> StudyRecord:
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
        """Trials changed after that event, by number."""
        ...

    def count_trials(self, study_id: int) -> tuple[int, int]:
        """How many trials there are, and how many of them are finished."""
        ...

    def ask(
        self, study_id: int, count: int, *, worker: str | None = None, lease_s: float | None = None
    ) -> list[Trial]:
        """Exactly `count` trials: what is there to claim first, then new suggestions.

        Raises `SuggestionError` if the algorithm cannot suggest.
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
        """Give a trial its outcome."""
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
