"""A server's studies for coroutines: ask, tell and look.

The rest of what a `Study` does (loops, plots, predictions) is for threads: see `connect`.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from photinus.arguments import (
    MAX_COUNT,
    check_integer,
    check_metadata,
    check_name,
    check_seconds,
    check_seed,
    check_text,
)
from photinus.client import calls
from photinus.client.address import make_address
from photinus.client.connection import AsyncConnection
from photinus.client.server import RETRY_S, TIMEOUT_S
from photinus.errors import ArgumentError, NoCompletedTrial, ProblemError
from photinus.problem import Problem
from photinus.record import DEFAULT_PROJECT, NewTrial, StudyRecord
from photinus.space import Parameter, SearchSpace
from photinus.storage import lifecycle
from photinus.trial import Measurement, Trial


class AsyncServer:
    """Studies on a server, for the coroutines of one event loop. The arguments are those of `connect`."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        project: str | None = None,
        retry_s: float = RETRY_S,
        timeout_s: float = TIMEOUT_S,
        verify: bool | str = True,
    ) -> None:
        address = make_address(url, token, retry_s=retry_s, timeout_s=timeout_s, verify=verify)
        self._connection = AsyncConnection(address)
        self._project = None if project is None else check_name("project", project)

    def __repr__(self) -> str:
        return f"AsyncServer({self._connection.address.url!r})"

    async def __aenter__(self) -> "AsyncServer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, for good."""
        await self._connection.close()

    async def whoami(self) -> dict[str, Any]:
        """What the server knows of the token; see `Server.whoami`."""
        return await self._connection.run(calls.whoami())

    async def create_study(
        self,
        space: SearchSpace | Mapping[str, Parameter],
        objectives: str | Mapping[str, str] = "minimize",
        *,
        name: str | None = None,
        seed: int | None = None,
        load_if_exists: bool = False,
        algorithm: str = "default",
        project: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> "AsyncStudy":
        """A new study on the server, or the stored one; see `photinus.create_study`."""
        call = calls.create_study(
            project=await self._in_project(project),
            name=None if name is None else check_name("name", name),
            problem=Problem.define(space, objectives),
            algorithm=algorithm,
            seed=None if seed is None else check_seed(seed),
            metadata=check_metadata(metadata),
            load_if_exists=load_if_exists,
            key=None,
        )
        return AsyncStudy(self._connection, await self._connection.run(call))

    async def load_study(self, name: str, *, project: str | None = None) -> "AsyncStudy":
        """The study of that name."""
        where = await self._in_project(project)
        page = await self._connection.run(calls.find_studies(project=where, name=check_name("name", name)))
        for entry in page.entries:
            return AsyncStudy(self._connection, entry.record)
        raise lifecycle.unknown_name(where, name)

    async def _in_project(self, project: str | None) -> str:
        if project is not None:
            return check_name("project", project)
        if self._project is None:
            self._project = (await self.whoami())["project"] or DEFAULT_PROJECT
        return self._project


class AsyncStudy:
    """A study on a server. Made by `AsyncServer`."""

    def __init__(self, connection: AsyncConnection, record: StudyRecord) -> None:
        self._connection = connection
        self._record = record

    def __repr__(self) -> str:
        return f"AsyncStudy(name={self.name!r}, algorithm={self._record.algorithm!r})"

    @property
    def name(self) -> str:
        """Unique within its project."""
        return self._record.name

    @property
    def problem(self) -> Problem:
        """Search space and objectives."""
        return self._record.problem

    @property
    def record(self) -> StudyRecord:
        """The study as it was when it was opened, without its trials."""
        return self._record

    async def ask(self, n: int = 1, worker: str | None = None, lease: float | None = None) -> list[Trial]:
        """`n` trials to run; see `Study.ask`."""
        call = calls.ask(
            self._record.id,
            check_integer("n", n, 1),
            worker=None if worker is None else check_name("worker", worker),
            lease_s=None if lease is None else check_seconds("lease", lease),
            key=None,
        )
        return await self._connection.run(call)

    async def tell(
        self,
        trial: Trial | int,
        values: float | Mapping[str, float] | None = None,
        *,
        infeasible: str | None = None,
        failed: str | None = None,
        worker: str | None = None,
    ) -> Trial:
        """Give a trial its outcome, once; see `Study.tell`."""
        if worker is None and isinstance(trial, Trial):
            worker = trial.worker
        call = calls.tell(
            self._record.id,
            _number(trial),
            self._measurement(values, infeasible, failed),
            worker=None if worker is None else check_name("worker", worker),
        )
        return await self._connection.run(call)

    async def report(self, trial: Trial | int, value: float | Mapping[str, float], step: int) -> None:
        """Record an intermediate value; the same step again replaces it."""
        position = check_integer("step", step, 0, MAX_COUNT)
        values = self.problem.parse_values(value)
        await self._connection.run(calls.report(self._record.id, _number(trial), values, position))

    async def enqueue(self, params: Mapping[str, Any], *, metadata: Mapping[str, str] | None = None) -> Trial:
        """Have this point handed out next, after points enqueued before."""
        entry = NewTrial(self.problem.space.validate(params), None, check_metadata(metadata))
        [trial] = await self._connection.run(calls.add_trials(self._record.id, [entry], key=None))
        return trial

    async def extend_lease(self, trial: Trial, lease: float) -> Trial:
        """Keep a trial that was asked for with a lease for `lease` more seconds from now."""
        call = calls.extend_lease(
            self._record.id,
            trial.number,
            worker=trial.worker,
            lease_s=check_seconds("lease", lease),
            attempt=trial.attempts,
        )
        return await self._connection.run(call)

    async def trials(self) -> list[Trial]:
        """All trials, by number."""
        page = await self._connection.run(calls.get_changes(self._record.id, 0))
        return page.trials

    async def best_trial(self) -> Trial:
        """The completed trial with the best value, the first of them if there are several."""
        if self.problem.is_multi_objective:
            raise ProblemError(
                f"one best trial needs one objective, but the study has {len(self.problem.metrics)}: "
                "use best_trials, the Pareto set"
            )
        best = await self.best_trials()
        if not best:
            raise NoCompletedTrial(f"study {self.name!r} has no completed trial: tell a value first")
        return best[0]

    async def best_trials(self) -> list[Trial]:
        """The Pareto set, by number; with a single objective a list of the best trial. May be empty."""
        return await self._connection.run(calls.best_trials(self._record.id))

    def _measurement(self, values: object, infeasible: str | None, failed: str | None) -> Measurement:
        if [values, infeasible, failed].count(None) != 2:
            raise ArgumentError(
                "exactly one of values, infeasible= and failed= must be given, "
                f"got {values=}, {infeasible=}, {failed=}"
            )
        if infeasible is not None:
            return Measurement.infeasible(check_text("infeasible", infeasible))
        if failed is not None:
            return Measurement.failed(check_text("failed", failed))
        return Measurement.completed(self.problem.validate_values(values))


def _number(trial: Trial | int) -> int:
    return trial.number if isinstance(trial, Trial) else check_integer("trial", trial, 0)
