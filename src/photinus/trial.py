"""A trial and its parts, as frozen values.

    QUEUED -> ACTIVE -> (STOPPING) -> COMPLETED | INFEASIBLE | FAILED
              ACTIVE -> EXPIRED -> ACTIVE ...          a lease ran out; the same number is handed out again

Events are the integers of a counter that each study keeps: every change of a trial takes the next one. They
order what happened where the clocks of several machines cannot.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from photinus.display import MAX_PARAMETERS, Card, Displayed, Table, ends, short_text
from photinus.reasons import expectations, why
from photinus.space import Value

UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class TrialState(StrEnum):
    """Where a trial is in its life."""

    QUEUED = "queued"  # enqueued by the user, not handed out yet
    ACTIVE = "active"  # handed out
    STOPPING = "stopping"  # handed out, and its worker is asked to end early
    COMPLETED = "completed"  # measured
    INFEASIBLE = "infeasible"  # cannot be measured at this point: the point is bad
    FAILED = "failed"  # the measurement broke: says nothing about the point
    EXPIRED = "expired"  # its lease ran out, or it was handed back

    @property
    def is_finished(self) -> bool:
        """Whether the trial has its outcome."""
        return self in (TrialState.COMPLETED, TrialState.INFEASIBLE, TrialState.FAILED)

    @property
    def is_running(self) -> bool:
        """Whether somebody is working on the trial."""
        return self in (TrialState.ACTIVE, TrialState.STOPPING)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A point that an algorithm proposes, and why, as data."""

    params: dict[str, Value]
    reason: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The outcome of a trial: values, or why there are none."""

    state: TrialState
    values: dict[str, float] | None = None
    message: str | None = None

    def __post_init__(self) -> None:
        if self.message is not None:
            object.__setattr__(self, "message", storable_text(self.message))

    @classmethod
    def completed(cls, values: dict[str, float]) -> "Measurement":
        """Measured values by objective."""
        return cls(TrialState.COMPLETED, values=values)

    @classmethod
    def infeasible(cls, message: str) -> "Measurement":
        """The point cannot be measured."""
        return cls(TrialState.INFEASIBLE, message=message)

    @classmethod
    def failed(cls, message: str) -> "Measurement":
        """The measurement broke for a reason that says nothing about the point."""
        return cls(TrialState.FAILED, message=message)


@dataclass(frozen=True, slots=True)
class Report:
    """Intermediate values of a running trial; they may be infinite or NaN, as training curves are."""

    step: int
    values: dict[str, float]
    at: datetime


@dataclass(frozen=True, slots=True)
class Amendment:
    """A correction of a completed trial's values."""

    old_values: dict[str, float]
    new_values: dict[str, float]
    at: datetime
    event: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trial(Displayed):
    """One point of the search space and all that happened to it; times in UTC by the store's clock."""

    number: int
    params: dict[str, Value]
    state: TrialState
    values: dict[str, float] | None = None
    message: str | None = None  # why infeasible or failed
    worker: str | None = None  # None: asked for anonymously
    created_at: datetime | None = None
    started_at: datetime | None = None  # last handed out
    completed_at: datetime | None = None
    lease_expires_at: datetime | None = None
    attempts: int = 0  # times handed out
    created_event: int = 0
    asked_event: int | None = None  # first handed out; handing it out again leaves this alone
    completed_event: int | None = None
    updated_event: int = 0  # last change of any kind
    reason: dict[str, Any] | None = None  # why it was suggested
    algorithm: str | None = None  # None: not suggested by an algorithm
    engine_version: str | None = None
    reports: tuple[Report, ...] = ()
    amendments: tuple[Amendment, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        outcome = self.message if self.values is None else self.values
        return f"Trial(number={self.number}, state={self.state}, params={self.params}, outcome={outcome!r})"

    @property
    def measurement(self) -> Measurement | None:
        """The outcome; None until there is one."""
        return Measurement(self.state, self.values, self.message) if self.state.is_finished else None

    @property
    def duration_s(self) -> float | None:
        """Seconds from the last handing out to the outcome."""
        if self.started_at is None or self.completed_at is None:
            return None
        return (self.completed_at - self.started_at).total_seconds()

    def _card(self) -> Card:
        lines = [self.message or "", "; ".join(why(self.reason)), *expectations(self.reason)]
        lines += [
            f"{len(self.reports):,} reports, the last at step {report.step}: {_listing(report.values)}"
            for report in self.reports[-1:]
        ]
        took = "" if self.duration_s is None else f"took {self.duration_s:.3g} s"
        lines += [", ".join(filter(None, [took, f"by {self.worker}" if self.worker else ""]))]
        tables = [
            Table.of(
                [what, "value"],
                list(content.items()),
                lambda pair: [pair[0], short_text(pair[1])],
                max_rows=MAX_PARAMETERS,
            )
            for what, content in (("objective", self.values), ("parameter", self.params))
            if content
        ]
        return Card(f"Trial {self.number}, {self.state.value}", lines, tables)

    def to_dict(self) -> dict[str, Any]:
        """The stored form: plain JSON values."""
        return {
            "number": self.number,
            "params": dict(self.params),
            "state": self.state.value,
            "values": None if self.values is None else dict(self.values),
            "message": self.message,
            "worker": self.worker,
            "created_at": _time_to_text(self.created_at),
            "started_at": _time_to_text(self.started_at),
            "completed_at": _time_to_text(self.completed_at),
            "lease_expires_at": _time_to_text(self.lease_expires_at),
            "attempts": self.attempts,
            "created_event": self.created_event,
            "asked_event": self.asked_event,
            "completed_event": self.completed_event,
            "updated_event": self.updated_event,
            "reason": self.reason,
            "algorithm": self.algorithm,
            "engine_version": self.engine_version,
            "reports": [
                {"step": report.step, "values": values_to_json(report.values), "at": _time_to_text(report.at)}
                for report in self.reports
            ],
            "amendments": [
                {
                    "old_values": dict(amendment.old_values),
                    "new_values": dict(amendment.new_values),
                    "at": _time_to_text(amendment.at),
                    "event": amendment.event,
                }
                for amendment in self.amendments
            ],
            "metadata": dict(self.metadata),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Trial":
        """The trial that `to_dict` described."""
        times = ("created_at", "started_at", "completed_at", "lease_expires_at")
        reports = tuple(
            Report(entry["step"], values_from_json(entry["values"]), datetime.fromisoformat(entry["at"]))
            for entry in data["reports"]
        )
        amendments = tuple(
            Amendment(
                entry["old_values"],
                entry["new_values"],
                datetime.fromisoformat(entry["at"]),
                entry["event"],
            )
            for entry in data["amendments"]
        )
        parsed = {name: _time_from_text(data[name]) for name in times}
        parsed |= {"state": TrialState(data["state"]), "reports": reports, "amendments": amendments}
        return cls(**{**data, **parsed})


def trial_table(trials: Sequence[Trial], title: str = "") -> Table:
    """Trials for people, one row each."""
    shown = ends(trials)
    metrics = list(dict.fromkeys(name for trial in shown for name in trial.values or {}))
    params = list(dict.fromkeys(name for trial in shown for name in trial.params))
    has_messages = any(trial.message for trial in shown)

    def row(trial: Trial) -> list[str]:
        message = [trial.message or ""] if has_messages else []
        values, point = _cells(trial.values or {}, metrics), _cells(trial.params, params)
        return [str(trial.number), trial.state.value, *values, *message, *point]

    header = ["trial", "state", *metrics, *(["message"] if has_messages else []), *params]
    return Table.of(header, trials, row, [0, *range(2, 2 + len(metrics))], title)


def _cells(content: Mapping[str, object], names: Sequence[str]) -> list[str]:
    return [short_text(content[name]) if name in content else "" for name in names]


def _listing(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {short_text(value)}" for name, value in values.items())


def _time_to_text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _time_from_text(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def storable_text(text: str) -> str:
    """The text with a mark in place of what some databases cannot hold: NUL, and halves of characters."""
    return UNSTORABLE.sub("\ufffd", text)


def values_to_json(values: Mapping[str, float]) -> dict[str, float | str]:
    """JSON has neither infinities nor NaN: they travel as text."""
    return {name: value if math.isfinite(value) else str(value) for name, value in values.items()}


def values_from_json(values: Mapping[str, float | str]) -> dict[str, float]:
    """What `values_to_json` described."""
    return {name: float(value) for name, value in values.items()}
