"""One run, from nothing to its record, in whatever process and on whatever machine the grid puts it."""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from photinus.engine.designers.uniform import generator
from photinus_bench import machine
from photinus_bench.lane import Lane
from photinus_bench.pipe import ContestantError, TimeLimitError
from photinus_bench.record import Record, RunKey
from photinus_bench.rivals import RIVALS, Rival, Search, UnsupportedProblemError, first_point
from photinus_bench.suite import is_ours
from photinus_bench.tasks import Task, build

LIMIT_S = 1800.0  # for one answer of a rival
# Everyone gets one core. Libraries that compute in threads of their own are told so.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
# What a worker is started with for that; JAX sees no GPU there. NPROC: XLA (jaxlib 0.10) still splits products of
# matrices among as many threads as there are cores when its flag above says otherwise.
ONE_CORE = ONE_THREAD | {"NPROC": "1", "JAX_PLATFORMS": "cpu"}


class NotBegunError(Exception):
    """A rival failed before it suggested anything: that says something about its environment, not about it."""


@dataclass(frozen=True)
class Outcome:
    """What comes back from a worker: a record as text, or why there is none."""

    key: RunKey
    line: str | None = None
    failure: str | None = None


@dataclass
class Clock:
    """Times of a run under way."""

    started: str = field(default_factory=machine.now)
    began: float = field(default_factory=time.perf_counter)
    seconds: list[float] = field(default_factory=list)  # of each trial
    # What a rival does since is for its next answer.
    last_told: float = field(default_factory=time.perf_counter)

    @property
    def wall_s(self) -> float:
        return time.perf_counter() - self.began


def execute(key: RunKey, limit_s: float = LIMIT_S) -> Outcome:
    """Run it here, whatever it is; nothing is raised but interrupts."""
    try:
        record = run_lane(key) if is_ours(key.algorithm) else run_rival(key, RIVALS[key.algorithm], limit_s)
        return Outcome(key, line=record.to_line())
    except Exception as error:
        return Outcome(key, failure=f"{type(error).__name__}: {error}")


def new_lane(key: RunKey) -> Lane:
    """The study of a run before its first trial."""
    return Lane(build(Task.parse(key.task), key.repeat), key.seed)


def run_lane(key: RunKey) -> Record:
    """A run of Photinus by itself, on the CPU: the same suggestions as a user gets."""
    from photinus_bench import fleet  # JAX, which workers of rivals do without

    has_one_core = all(os.environ.get(name) == value for name, value in ONE_CORE.items())
    [record] = fleet.run_group([key], "cpu", num_threads=1 if has_one_core else None) or []
    return record


def run_rival(key: RunKey, rival: Rival, limit_s: float = LIMIT_S) -> Record:
    """A run of a rival in a process of its own, over its pipe."""
    lane, clock = new_lane(key), Clock()
    problem = lane.experimenter.problem
    where, packages, peak_mb = machine.describe_machine(num_threads=1), {}, 0.0
    ending: dict[str, str] = {}
    extra: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, environment(ONE_THREAD):
        log = Path(folder) / "log"
        with rival.search(log, limit_s) as search:
            try:
                packages = search.start(
                    problem,
                    seed=key.seed,
                    # What Photinus' own studies begin with: the centre, with categories that the seed draws.
                    first=first_point(problem, generator(key.seed, 0)),
                    batch_size=key.batch_size,
                    num_trials=key.num_trials,
                )
                while len(lane.done) < key.num_trials:
                    peak_mb = max(peak_mb, advance(search, lane, clock, key))
            except UnsupportedProblemError as reason:
                ending = {"unsupported": str(reason)}
            except (ContestantError, TimeLimitError) as error:
                if not lane.done:
                    raise NotBegunError(describe(error, log)) from error
                # Whoever fails while it is told the last result has done all that was asked of it.
                if len(lane.done) < key.num_trials:
                    # Of the answer that never came, counted as those before it: from when the rival was last told.
                    last_ask_s = round(time.perf_counter() - clock.last_told, 3)
                    extra = {"limit_s": limit_s, "last_ask_s": last_ask_s}
                    ending = {"stopped": describe(error, log)}
    versions = machine.rival_versions(key, rival.environment, packages)
    extra["peak_mb"] = round(peak_mb)
    return to_record(key, lane, clock, versions, where, extra=extra, **ending)


def advance(search: Search, lane: Lane, clock: Clock, key: RunKey) -> float:
    """One batch: ask, measure, tell. Returns the rival's peak memory."""
    answer = search.ask(min(key.batch_size, key.num_trials - len(lane.done)))
    done = [lane.measure(params) for params in answer.points]
    clock.seconds += [answer.seconds / len(done)] * len(done)
    clock.last_told = time.perf_counter()
    search.tell(answer.points, [evaluation.told.values for evaluation in done])
    return answer.peak_mb


def to_record(
    key: RunKey, lane: Lane, clock: Clock, versions: dict[str, str], where: dict[str, Any], **more: Any
) -> Record:
    """What a lane has come to."""
    goals = {metric.name: metric.goal.value for metric in lane.experimenter.problem.metrics}
    missing = dict.fromkeys(goals, np.nan)
    told = [evaluation.told.values for evaluation in lane.done]
    rows = {
        "truth": [[evaluation.truth[name] for name in goals] for evaluation in lane.done],
        "told": [[(values or missing)[name] for name in goals] for values in told],
    }
    return Record(
        key=key,
        goals=goals,
        infeasible=tuple(number for number, values in enumerate(told) if values is None),
        seconds=np.array(clock.seconds, float),
        versions=versions,
        machine=where,
        started=clock.started,
        wall_s=more.pop("wall_s", None) or clock.wall_s,
        **{name: np.array(table, float).reshape(-1, len(goals)) for name, table in rows.items()},
        **more,
    )


def describe(error: Exception, log: Path) -> str:
    """Why a rival stopped, in a line; where its process ended without a word, the last one of its log."""
    text = str(error)
    if "process ended" in text:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        text = f"the process ended: {lines[-1].strip()}" if lines else "the process ended"
    return machine.without_paths(" ".join(text.split()))[:300]


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Processes started here have these variables; this one is as before afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
