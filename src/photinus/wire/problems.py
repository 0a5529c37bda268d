"""Problems: search spaces and objectives, in the stored form of `Problem.to_dict`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from photinus.errors import SpaceError
from photinus.problem import Problem
from photinus.wire.fields import Request, Value


class _Numeric(Request):
    name: str = Field(description="unique within the space")
    scale: Literal["linear", "log", "reverse_log"] = Field(
        "linear", description="which differences matter; `reverse_log` is fine near `high`"
    )
    children: list[Any] = Field([], description="always empty so far")


class FloatParameter(_Numeric):
    """A real number between two bounds."""

    type: Literal["float"] = Field(description="which kind of parameter")
    low: int | float = Field(description="smallest value", examples=[1e-5])
    high: int | float = Field(description="largest value", examples=[0.1])


class IntParameter(_Numeric):
    """A whole number between two bounds, both included."""

    type: Literal["int"] = Field(description="which kind of parameter")
    low: int | float = Field(description="smallest value", examples=[1])
    high: int | float = Field(description="largest value", examples=[8])


class DiscreteParameter(_Numeric):
    """One of several numbers whose order and distances mean something."""

    type: Literal["discrete"] = Field(description="which kind of parameter")
    values: list[int | float] = Field(description="distinct numbers", examples=[[16, 32, 64]])


class CategoricalParameter(Request):
    """One of several choices without order."""

    name: str = Field(description="unique within the space")
    type: Literal["categorical"] = Field(description="which kind of parameter")
    values: list[Value] = Field(description="distinct choices; `true` is not `1`", examples=[["adam", "sgd"]])
    children: list[Any] = Field([], description="always empty so far")


Parameter = Annotated[
    FloatParameter | IntParameter | DiscreteParameter | CategoricalParameter, Field(discriminator="type")
]


class SpaceBody(Request):
    """A search space."""

    format: int = Field(1, description="version of this form")
    parameters: list[Parameter] = Field(description="what may be varied, in order")
    constraints: list[Any] = Field([], description="always empty so far")
    context: list[Any] = Field([], description="always empty so far")


class MetricBody(Request):
    """An objective."""

    name: str = Field(description="unique within the problem", examples=["accuracy"])
    goal: Literal["minimize", "maximize"] = Field(description="which way is better")


class ProblemBody(Request):
    """What is to be optimised."""

    format: int = Field(1, description="version of this form")
    space: SpaceBody = Field(description="parameters and their bounds")
    metrics: list[MetricBody] = Field(description="one or several objectives")

    def to_problem(self) -> Problem:
        """The problem itself, checked."""
        names = [parameter.name for parameter in self.space.parameters]
        if len(set(names)) < len(names):
            raise SpaceError(f"parameters must have distinct names, got {names}")
        return Problem.from_dict(self.model_dump())
