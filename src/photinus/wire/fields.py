"""Fields that several messages have, and what all requests and all answers share."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from photinus.arguments import MAX_COUNT, MAX_NAME

MAX_NOTE = 1_000_000  # characters

State = Literal["queued", "active", "stopping", "completed", "infeasible", "failed", "expired"]
Value = str | bool | int | float | None
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
# A limit has pydantic look at the characters, so that halves of them (surrogates), which no page can show, are refused.
Note = Annotated[str, Field(max_length=MAX_NOTE)]
Metadata = Annotated[dict[Note, Note], Field(description="notes: text by name", examples=[{"owner": "ann"}])]
Params = Annotated[
    dict[str, Value], Field(description="values by parameter", examples=[{"lr": 0.01, "optimizer": "adam"}])
]
Values = Annotated[
    dict[str, float], Field(description="measured values by objective", examples=[{"accuracy": 0.93}])
]
Number = Annotated[int, Field(ge=0, le=MAX_COUNT, description="number of the trial in its study, from 0")]
Worker = Annotated[
    Name | None, Field(description="name of the worker; null: an anonymous one", examples=["node-7"])
]
Time = Annotated[AwareDatetime, Field(examples=["2026-01-31T12:00:00+00:00"])]  # ISO 8601, UTC
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class Request(BaseModel):
    """What a caller sends."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Answer(BaseModel):
    """What the server sends."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
