"""What callers send."""

from typing import Literal

from pydantic import Field, model_validator

from photinus.arguments import CENTURY_S, MAX_COUNT, MAX_MESSAGE, MAX_SEED
from photinus.errors import ArgumentError
from photinus.problem import ALGORITHMS, Problem
from photinus.record import DEFAULT_PROJECT
from photinus.trial import Measurement, values_from_json
from photinus.wire.fields import Metadata, Name, Note, Number, Params, Request, Worker
from photinus.wire.problems import ProblemBody


class NewStudy(Request):
    """A study to create, or to load if there is one of that name."""

    project: Name | None = Field(
        None, description=f"group of studies that it belongs to; null: the token's, or {DEFAULT_PROJECT!r}"
    )
    name: Name | None = Field(None, description="unique within the project; null: made up by the server")
    problem: ProblemBody = Field(description="what is to be optimised")
    algorithm: Literal[ALGORITHMS] = Field("default", description="what suggests the trials")  # pyright: ignore[reportInvalidTypeForm]
    seed: int | None = Field(
        None, ge=0, lt=MAX_SEED, description="of all randomness; null: drawn by the server"
    )
    metadata: Metadata = Field(default_factory=dict)
    load_if_exists: bool = Field(
        False,
        description="go on with the stored study of that name, if its problem and algorithm are the same",
    )

    @model_validator(mode="after")
    def _is_named_to_be_loaded(self) -> "NewStudy":
        if self.name is None and self.load_if_exists:
            raise ValueError("`load_if_exists` needs the `name` of the study to load")
        return self


class Ask(Request):
    """Trials that a worker wants."""

    count: int = Field(1, ge=1, le=MAX_COUNT, description="how many")
    worker: Worker = None
    lease_s: float | None = Field(
        None,
        gt=0,
        le=CENTURY_S,
        description="seconds after which a trial without outcome may go to someone else; null: never",
    )


class Outcome(Request):
    """What came of a trial: exactly one of values, infeasible and failed."""

    values: float | dict[str, float] | None = Field(
        None,
        description="measured values by objective; a number will do for a single one",
        examples=[{"accuracy": 0.93}],
    )
    infeasible: str | None = Field(
        None, min_length=1, max_length=MAX_MESSAGE, description="why the point cannot be measured: it is bad"
    )
    failed: str | None = Field(
        None, min_length=1, max_length=MAX_MESSAGE, description="what broke; says nothing about the point"
    )

    def to_measurement(self, problem: Problem) -> Measurement:
        """The outcome, checked against the objectives."""
        if [self.values, self.infeasible, self.failed].count(None) != 2:
            raise ArgumentError(
                "exactly one of values, infeasible and failed must be given, got "
                f"values={self.values}, infeasible={self.infeasible!r}, failed={self.failed!r}"
            )
        if self.infeasible is not None:
            return Measurement.infeasible(self.infeasible)
        if self.failed is not None:
            return Measurement.failed(self.failed)
        return Measurement.completed(problem.validate_values(self.values))


class Told(Outcome):
    """The outcome of the trial in the path."""

    worker: Worker = None


class Result(Outcome):
    """The outcome of one of several trials."""

    number: Number


class Results(Request):
    """Outcomes that count all together, or not at all."""

    results: list[Result] = Field(description="at most one per trial")
    worker: Worker = None


class AddedTrial(Outcome):
    """A point that was measured elsewhere; without an outcome, one to be handed out next."""

    params: Params
    metadata: Metadata = Field(default_factory=dict)

    def to_measurement_or_none(self, problem: Problem) -> Measurement | None:
        """The outcome; None if the point is to be enqueued."""
        is_queued = self.values is None and self.infeasible is None and self.failed is None
        return None if is_queued else self.to_measurement(problem)


class AddedTrials(Request):
    """Trials that are added all together, or not at all."""

    trials: list[AddedTrial] = Field(description="in the order of their numbers to be")


class Amended(Request):
    """Corrected values of a completed trial."""

    values: float | dict[str, float] = Field(
        description="by objective; a number will do for a single one", examples=[{"accuracy": 0.92}]
    )


class Reported(Request):
    """Intermediate values of a running trial."""

    values: dict[str, float | Literal["nan", "inf", "-inf"]] = Field(
        description="by objective; what is not finite travels as text", examples=[{"accuracy": 0.71}]
    )
    step: int = Field(ge=0, le=MAX_COUNT, description="when; the same step again replaces its values")

    def to_values(self, problem: Problem) -> dict[str, float]:
        """The values, checked against the objectives."""
        return problem.parse_values(values_from_json(self.values))


class Held(Request):
    """Who holds a running trial."""

    worker: Worker = None
    attempt: int | None = Field(
        None, ge=0, le=MAX_COUNT, description="`attempts` of the trial as handed out; null: whoever holds it"
    )


class Lease(Held):
    """A lease to end later."""

    lease_s: float = Field(gt=0, le=CENTURY_S, description="seconds from now", examples=[60.0])


class Points(Request):
    """Points to predict."""

    points: list[Params] = Field(description="each with a value for every parameter")
    max_trials: int | None = Field(
        None, ge=2, le=MAX_COUNT, description="fit the model to at most so many trials; null: to all"
    )


class Login(Request):
    """A token, in exchange for the dashboard's cookie."""

    token: str = Field(description="`pho_...`", max_length=1000)


MetadataChanges = dict[Note, Note | None]
