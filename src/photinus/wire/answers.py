"""What the server sends: written by the library's own `to_dict`, described here."""

from typing import Any, Literal

from pydantic import Field

from photinus.arguments import MAX_SEED
from photinus.wire.fields import Answer, Count, Metadata, Name, Number, Params, State, Time, Values
from photinus.wire.problems import ProblemBody


class ErrorDetail(Answer):
    """What went wrong."""

    kind: str = Field(description="name of the exception class", examples=["UnknownStudy"])
    message: str = Field(description="what is wrong and what to do", examples=["no study with id 7"])
    request_id: str = Field(description="as in the header X-Request-Id and in the server's log")


class ErrorBody(Answer):
    """Every answer that is not a success."""

    error: ErrorDetail = Field(description="what went wrong")


class BestBody(Answer):
    """The best completed trial."""

    number: Number
    values: Values


class StudyBody(Answer):
    """A study with its progress, without its trials."""

    id: int = Field(description="unique within the server; never used again")
    project: str = Field(description="group of studies that it belongs to")
    name: str = Field(description="unique within the project")
    algorithm: str = Field(description="what suggests the trials")
    seed: int = Field(description="of all randomness")
    state: Literal["active", "stopped"] = Field(description="whether loops that work on it should go on")
    created_at: Time = Field(description="by the store's clock")
    metadata: Metadata
    problem: ProblemBody = Field(description="what is to be optimised")
    last_event: int = Field(description="every change of a trial takes the next one")
    counts: dict[str, int] = Field(description="trials by state", examples=[{"completed": 12, "active": 2}])
    last_change_at: Time | None = Field(description="of any trial; null: there is none yet")
    num_workers: int = Field(description="workers that hold a trial now")
    best: BestBody | None = Field(description="null: nothing completed, or several objectives")
    pareto_size: int | None = Field(description="trials of the Pareto set; null: a single objective")


class StudyPage(Answer):
    """Some of the studies."""

    studies: list[StudyBody] = Field(description="by id")
    next: int | None = Field(description="`after` of the next page; null: this was the last")


class ReportBody(Answer):
    """Intermediate values."""

    step: Count = Field(description="as reported")
    values: dict[str, float | str] = Field(description="by objective; what is not finite is text")
    at: Time = Field(description="by the store's clock")


class AmendmentBody(Answer):
    """A correction."""

    old_values: Values
    new_values: Values
    at: Time = Field(description="by the store's clock")
    event: Count = Field(description="of the study's events, the one that this was")


class TrialBody(Answer):
    """One point of the search space and all that happened to it."""

    number: Number
    params: Params
    state: State = Field(description="where it is in its life")
    values: Values | None = Field(description="null unless completed")
    message: str | None = Field(description="why infeasible or failed")
    worker: str | None = Field(description="who holds or measured it; null: an anonymous worker")
    created_at: Time | None = Field(description="by the store's clock, as are all times")
    started_at: Time | None = Field(description="last handed out")
    completed_at: Time | None = Field(description="when it got its outcome")
    lease_expires_at: Time | None = Field(description="when it may go to someone else; null: never")
    attempts: Count = Field(description="times handed out")
    created_event: Count = Field(description="of the study's events, the one that created it")
    asked_event: Count | None = Field(description="first handed out")
    completed_event: Count | None = Field(description="got its outcome")
    updated_event: Count = Field(description="last change of any kind")
    reason: dict[str, Any] | None = Field(description="why it was suggested")
    algorithm: str | None = Field(description="null: not suggested by an algorithm")
    engine_version: str | None = Field(description="of the program that suggested it")
    reports: list[ReportBody] = Field(description="intermediate values, by step")
    amendments: list[AmendmentBody] = Field(description="corrections, in order")
    metadata: Metadata


class TrialList(Answer):
    """Trials."""

    trials: list[TrialBody] = Field(description="in the order asked for")


class TrialPage(TrialList):
    """Some of the trials."""

    next: int | None = Field(description="`after` of the next page; null: this was the last")
    last_event: int = Field(description="the next `since_event`: nothing after it is in this answer")


class CountBody(Answer):
    """How many trials there are."""

    total: int = Field(description="in any state")
    finished: int = Field(description="completed, infeasible or failed")


class PredictionList(Answer):
    """What the model expects at each point."""

    predictions: list[dict[str, dict[str, float | None]]] = Field(
        description="per objective `q05`, `q50`, `q95` in its units, `mean_warped` and `std_warped`"
    )


class StudyDocument(Answer):
    """A study without its trials, as it is exported."""

    project: Name = Field(description="group of studies that it belongs to")
    name: Name = Field(description="unique within the project")
    algorithm: str = Field(description="what suggests the trials", examples=["default"])
    seed: int = Field(ge=0, lt=MAX_SEED, description="of all randomness")
    state: Literal["active", "stopped"] = Field(description="whether loops that work on it should go on")
    created_at: Time = Field(description="by the clock of the store it was in")
    metadata: Metadata
    problem: ProblemBody = Field(description="what is to be optimised")


class ExportedStudy(Answer):
    """A whole study, as `photinus export` writes it."""

    kind: Literal["photinus-study"] = Field(description="what the document is")
    format: int = Field(description="version of this form", examples=[1])
    study: StudyDocument = Field(description="its definition")
    trials: list[TrialBody] = Field(description="all of them, by number")


class WhoAmI(Answer):
    """Who the server takes the caller for."""

    role: Literal["read", "write", "admin"] = Field(description="what it may do")
    project: str | None = Field(description="the only project it sees; null: all")
    name: str = Field(description="of the token")
    tokens_required: bool = Field(description="whether the server needs tokens at all")


class Health(Answer):
    """The server answers."""

    status: Literal["ok"] = Field(description="always this")
