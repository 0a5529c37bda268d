"""What a store keeps and is given beside trials: studies, their progress, trials to add, tokens of a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from photinus.problem import Problem
from photinus.space import Value
from photinus.trial import Measurement, TrialState

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyProgress:
    """How far a study is, without its trials."""

    record: StudyRecord
    last_event: int  # 0: no trial was ever there
    counts: dict[TrialState, int]  # of trials, by every state
    last_change_at: datetime | None  # of any trial; None without trials
    num_workers: int  # that hold a running trial and its lease; one for each trial of an anonymous one


@dataclass(frozen=True, slots=True)
class NewTrial:
    """A point to add to a study: measured elsewhere, or to be handed out next."""

    params: Mapping[str, Value]
    measurement: Measurement | None = None  # None: QUEUED
    metadata: Mapping[str, str] = field(default_factory=dict)


class Role(StrEnum):
    """What a token may do; each role may do what those before it may."""

    READ = "read"  # look
    WRITE = "write"  # change studies and trials
    ADMIN = "admin"  # delete


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """What a store knows of a token that a server accepts; never the token itself."""

    id: str
    name: str
    role: Role
    project: str | None  # None: all projects
    secret_hash: str = field(repr=False)
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
