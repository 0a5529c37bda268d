"""What was measured: Vizier's measurements as reports and outcomes, and back.

A measurement there has a step, seconds, and metrics of any names, and the same step may come twice. A report here has a
step of its own and exactly the objectives; NaN stands for one that was not measured. What does not fit into a report is
kept in a note beside it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from photinus.arguments import MAX_COUNT
from photinus.errors import ArgumentError
from photinus.problem import Problem
from photinus.service.vizier.messages import Measurement
from photinus.service.vizier.notes import own_note, read_own
from photinus.trial import Report, Trial, values_from_json, values_to_json

FINAL = "final"
NANOS = 1_000_000_000
MAX_ELAPSED_S = 315_576_000_000  # ten thousand years, the longest duration of protobuf


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement."""

    step: int = 0
    elapsed_s: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, message: Any) -> "Measured":
        """The measurement of a message."""
        if not 0 <= message.step_count <= MAX_COUNT:
            raise ArgumentError(f"the step of a measurement must be >= 0, got {message.step_count}")
        elapsed_s = message.elapsed_duration.seconds + message.elapsed_duration.nanos / NANOS
        if not 0 <= elapsed_s <= MAX_ELAPSED_S:
            raise ArgumentError(
                f"the elapsed seconds of a measurement must be >= 0 and at most {MAX_ELAPSED_S}, got {elapsed_s:g}"
            )
        return cls(
            message.step_count, elapsed_s, {metric.metric_id: metric.value for metric in message.metrics}
        )

    def write(self) -> Any:
        """The measurement as a message; what is NaN was not measured."""
        message = Measurement(step_count=self.step)
        seconds, rest = divmod(round(self.elapsed_s * NANOS), NANOS)
        message.elapsed_duration.seconds, message.elapsed_duration.nanos = seconds, rest
        for name, value in self.metrics.items():
            if not math.isnan(value):
                message.metrics.add(metric_id=name, value=value)
        return message

    def values(self, problem: Problem) -> dict[str, float]:
        """The objectives among the metrics; NaN for those that are missing."""
        return {name: self.metrics.get(name, math.nan) for name in problem.metric_names}

    def objectives(self, problem: Problem) -> dict[str, float]:
        """The values of a result: all objectives, and finite."""
        return problem.validate_values({n: v for n, v in self.metrics.items() if n in problem.metric_names})

    def note(self, key: str, *, kept: Mapping[str, float], step: int) -> dict[str, str]:
        """What is lost where the values `kept` are stored under `step`, as a note; nothing if all is there."""
        extras = {name: value for name, value in self.metrics.items() if name not in kept}
        content: dict[str, Any] = {}
        if self.elapsed_s:
            content["elapsed_s"] = self.elapsed_s
        if extras:
            content["metrics"] = values_to_json(extras)
        if self.step != step:
            content["step"] = self.step
        return own_note(key, content)


def completed(content: Mapping[str, Any], values: Mapping[str, float], step: int) -> Measured:
    """What is stored, together with what its note says."""
    metrics = {**values, **values_from_json(content.get("metrics", {}))}
    return Measured(content.get("step", step), content.get("elapsed_s", 0.0), metrics)


def curve(trial: Trial) -> list[Measured]:
    """All intermediate measurements of a trial, the first one first."""
    given = [
        completed(content, {}, 0)
        for number in range(len(trial.metadata))
        if (content := read_own(trial.metadata, given_key(number)))
    ]
    reports = sorted(trial.reports, key=lambda report: (report.at, report.step))
    return [*given, *(_reported(trial, report) for report in reports)]


def final(trial: Trial) -> Measured | None:
    """The result of a trial; None if there is none."""
    content = read_own(trial.metadata, FINAL)
    if trial.values is None and not (trial.state.is_finished and content):
        return None
    return completed(content, trial.values or {}, 0)


def free_step(trial: Trial, step: int) -> int:
    """Where a measurement at a step is kept: there, or after all others if that is taken."""
    taken = {report.step for report in trial.reports}
    if step not in taken:
        return step
    if max(taken) == MAX_COUNT:
        raise ArgumentError(
            f"trial {trial.number + 1} has measurements at step {step} and at the last one, {MAX_COUNT}"
        )
    return max(taken) + 1


def report_key(step: int) -> str:
    """The note beside the report of a step."""
    return f"measurement {step}"


def given_key(number: int) -> str:
    """The note that is a measurement which came with a new trial, which takes no reports yet."""
    return f"given measurement {number}"


def _reported(trial: Trial, report: Report) -> Measured:
    return completed(read_own(trial.metadata, report_key(report.step)), report.values, report.step)
