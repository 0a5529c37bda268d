"""A study as a store keeps it: identity, problem and settings, without its trials."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from photinus.problem import Problem

DEFAULT_PROJECT = "default"


class StudyState(StrEnum):
    """Whether loops that work on a study should go on."""

    ACTIVE = "active"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRecord:
    """Settings of one study; unique by project and name, and by id within its store."""

    id: int
    project: str
    name: str
    problem: Problem
    algorithm: str
    seed: int
    state: StudyState
    created_at: datetime
    metadata: dict[str, str] = field(default_factory=dict)

    def differences(self, problem: Problem, algorithm: str) -> list[str]:
        """What tells this study apart from one that is to be opened, one line each."""
        lines = self.problem.differences(problem)
        if self.algorithm != algorithm:
            lines.append(f"algorithm: {self.algorithm!r}, now {algorithm!r}")
        return lines
