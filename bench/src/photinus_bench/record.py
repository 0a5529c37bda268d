"""One run as it is kept: which run it is, what it measured, what it cost, and by which versions on which machine.

A record is one line of JSON. Numbers have seven significant digits, which is exact enough for every measure and half
the size; null stands for a value that is not there. Standard library and NumPy only.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

SCHEMA = 1
DIGITS = 7
DIGITS_OF_SECONDS = 3


@dataclass(frozen=True, order=True)
class RunKey:
    """What makes two runs the same run; suites that share it share its record."""

    task: str
    algorithm: str
    repeat: int
    num_trials: int
    batch_size: int

    @property
    def seed(self) -> int:
        """Of everyone who runs this task and repeat: noise and first point follow from it. 31 bits suit all."""
        digest = hashlib.sha256(f"seed#{self.task}#{self.repeat}".encode()).digest()
        return int.from_bytes(digest[:4]) >> 1

    @property
    def family(self) -> str:
        """The first word of the task."""
        return self.task.partition("/")[0]

    def __str__(self) -> str:
        batches = f", batches of {self.batch_size}" if self.batch_size > 1 else ""
        return f"{self.algorithm} on {self.task}, repeat {self.repeat}, {self.num_trials} trials{batches}"


@dataclass(frozen=True, kw_only=True)
class Record:
    """T trials were run of M objectives; fewer than planned where the algorithm stopped, none where it refused."""

    key: RunKey
    goals: dict[str, str]  # by objective, in the order of the columns
    truth: np.ndarray  # (T, M) what is scored: noiseless; NaN where the point was infeasible
    told: np.ndarray  # (T, M) what the algorithm saw
    infeasible: tuple[int, ...]  # numbers of trials
    seconds: np.ndarray  # (T,) of suggesting; a batch's are shared out equally
    wall_s: float  # of the whole run, start of the process included
    versions: dict[str, str]
    machine: dict[str, Any]
    started: str  # UTC, ISO 8601
    stopped: str | None = None  # why there are fewer trials than planned
    unsupported: str | None = None  # why the algorithm would not begin
    side_by_side: int = 1  # studies that the seconds and the machine were shared with
    extra: dict[str, Any] = field(default_factory=dict)  # of no use to measures: memory and the like

    def __post_init__(self) -> None:
        shape = (len(self.seconds), len(self.goals))
        if self.truth.shape != shape or self.told.shape != shape or shape[0] > self.key.num_trials:
            raise ValueError(
                f"truth and told must have a row per second and at most {self.key.num_trials} rows, "
                f"got {self.truth.shape}, {self.told.shape}, {shape} for {self.key}"
            )
        is_whole = shape[0] == self.key.num_trials
        if is_whole == (self.stopped is not None or self.unsupported is not None):
            raise ValueError(f"a run has all of its trials or a reason, got {shape[0]} trials of {self.key}")

    def to_line(self) -> str:
        """The record as text, the same for equal records."""
        truth, told = _numbers(self.truth), _numbers(self.told)
        entry = {
            "schema": SCHEMA,
            **asdict(self.key),
            "goals": self.goals,
            "truth": truth,
            "told": None if told == truth else told,
            "infeasible": list(self.infeasible),
            "seconds": [_round(value, DIGITS_OF_SECONDS) for value in self.seconds.tolist()],
            "wall_s": _round(self.wall_s, DIGITS_OF_SECONDS),
            "side_by_side": self.side_by_side,
            "seed": self.key.seed,
            "versions": self.versions,
            "machine": self.machine,
            "started": self.started,
            "stopped": self.stopped,
            "unsupported": self.unsupported,
            "extra": self.extra,
        }
        return json.dumps(entry, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_line(cls, line: str) -> "Record":
        """The record that a text holds."""
        entry = json.loads(line)
        if entry.get("schema") != SCHEMA:
            raise ValueError(f"records must have schema {SCHEMA}, got {entry.get('schema')!r}")
        key = key_from(entry)
        if entry["seed"] != key.seed:
            raise ValueError(f"the seed of {key} must be {key.seed}, got {entry['seed']}")
        shape = (-1, len(entry["goals"]))
        truth = np.array(entry["truth"], float).reshape(shape)
        same = ("goals", "wall_s", "versions", "machine", "started", "stopped", "unsupported", "side_by_side")
        return cls(
            key=key,
            truth=truth,
            told=truth if entry["told"] is None else np.array(entry["told"], float).reshape(shape),
            infeasible=tuple(entry["infeasible"]),
            seconds=np.array(entry["seconds"], float),
            extra=entry["extra"],
            **{name: entry[name] for name in same},
        )


def key_from(entry: Mapping[str, Any]) -> RunKey:
    """The run that an entry of JSON names."""
    return RunKey(**{name: entry[name] for name in RunKey.__dataclass_fields__})


def _numbers(table: np.ndarray) -> list[Any]:
    """Rows; plain numbers where there is one objective."""
    rows = [[_round(value, DIGITS) for value in row] for row in table.tolist()]
    return [row[0] for row in rows] if table.shape[1] == 1 else rows


def _round(value: float, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None
