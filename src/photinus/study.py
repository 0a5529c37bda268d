"""A study as its user sees it: ask, tell, optimize, and what came of it. Works on any `Backend`."""

import contextlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from photinus.arguments import (
    check_algorithm,
    check_exceptions,
    check_integer,
    check_metadata,
    check_name,
    check_seconds,
    check_seed,
    check_text,
)
from photinus.backend import Backend
from photinus.best import BestSoFar, best_trials
from photinus.display import Card, Displayed
from photinus.errors import AlreadyTold, ArgumentError, NoCompletedTrial, PhotinusError, ProblemError
from photinus.executors import Objective, ThisProcess, WorkerProcesses, Workers
from photinus.frame import to_dataframe
from photinus.optimizing import Budget, Loop
from photinus.pools import ExecutorWorkers
from photinus.problem import Problem
from photinus.progress import ProgressBar, log_trial
from photinus.record import DEFAULT_PROJECT, NewTrial, StudyRecord, StudyState
from photinus.reporting import BoundTrial, LiveReporter, TrialList, bind
from photinus.sheets import ToldSheet, handed_back, new_file, read_results, sheet_text
from photinus.trial import Measurement, Trial, TrialState, trial_table

if TYPE_CHECKING:
    import pandas

    from photinus.plots import StudyPlots


Callback = Callable[["Study", BoundTrial], object]
Item = TypeVar("Item")
Checked = TypeVar("Checked")


class Study(Displayed):
    """Trials of one problem and the algorithm that suggests them. Made by `create_study`."""

    def __init__(self, backend: Backend, record: StudyRecord) -> None:
        self._backend = backend
        self._record = record
        self._id = record.id
        self._reporter = LiveReporter(backend, record.id, (record.project, record.name), record.problem)

    @classmethod
    def create(
        cls,
        backend: Backend,
        problem: Problem,
        *,
        name: str | None = None,
        seed: int | None = None,
        load_if_exists: bool = False,
        algorithm: str = "default",
        project: str = DEFAULT_PROJECT,
        metadata: Mapping[str, str] | None = None,
    ) -> "Study":
        """A new study on a back end, or the stored one of that name; see `create_study`."""
        check_algorithm(algorithm)
        if name is None and load_if_exists:
            raise ArgumentError("`load_if_exists=True` needs the `name` of the study to load")
        record = backend.create_study(
            project=check_name("project", project),
            name=f"study-{secrets.token_hex(4)}" if name is None else check_name("name", name),
            problem=problem,
            algorithm=algorithm,
            seed=check_seed(seed),
            metadata=check_metadata(metadata),
            load_if_exists=load_if_exists,
        )
        return cls(backend, record)

    def __repr__(self) -> str:
        num_trials, num_finished = self._backend.count_trials(self._id)
        goals = {metric.name: metric.goal.value for metric in self.problem.metrics}
        return (
            f"Study(name={self.name!r}, parameters={list(self.problem.space)}, objectives={goals}, "
            f"algorithm={self.algorithm!r}, trials={num_trials}, finished={num_finished})"
        )

    def _card(self) -> Card:
        record, trials = self.record, self._backend.get_trials(self._id)
        states = Counter(trial.state for trial in trials)
        counts = ", ".join(f"{states[state]:,} {state.value}" for state in TrialState if states[state])
        goals = ", ".join(f"{metric.goal.value} {metric.name}" for metric in self.problem.metrics)
        lines = [
            f"{goals}; algorithm {self.algorithm}, seed {self.seed}; project {self.project}",
            f"{len(trials):,} trial{'' if len(trials) == 1 else 's'}: {counts}"
            if trials
            else "no trials yet",
            "stopped" if record.state == StudyState.STOPPED else "",
        ]
        best = best_trials(self.problem, trials)
        if best:
            title = "Pareto set" if self.problem.is_multi_objective else "Best trial"
        else:
            best, title = trials, "Trials, none of them completed"
        tables = [trial_table(best, title)] if best else []
        return Card(f"Study {self.name}", lines, [*tables, *self.problem.space._card().tables])

    def __len__(self) -> int:
        return self._backend.count_trials(self._id)[0]

    @property
    def name(self) -> str:
        """Unique within its project."""
        return self._record.name

    @property
    def project(self) -> str:
        """The group of studies it belongs to."""
        return self._record.project

    @property
    def problem(self) -> Problem:
        """Search space and objectives."""
        return self._record.problem

    @property
    def algorithm(self) -> str:
        """What suggests the trials."""
        return self._record.algorithm

    @property
    def seed(self) -> int:
        """Where all randomness comes from."""
        return self._record.seed

    @property
    def metadata(self) -> dict[str, str]:
        """Notes given at creation."""
        return dict(self._record.metadata)

    @property
    def record(self) -> StudyRecord:
        """The study as it is stored now, without its trials."""
        return self._backend.get_study(self._id)

    @property
    def state(self) -> StudyState:
        """STOPPED once `stop` was called, until the next `optimize`."""
        return self._backend.get_study(self._id).state

    @property
    def trials(self) -> TrialList:
        """All trials, by number."""
        return self._bind_all(self._backend.get_trials(self._id))

    @property
    def best_trial(self) -> BoundTrial:
        """The completed trial with the best value, the first of them if there are several."""
        if self.problem.is_multi_objective:
            raise ProblemError(
                f"one best trial needs one objective, but the study has {len(self.problem.metrics)}: "
                "use best_trials, the Pareto set"
            )
        best = self.best_trials
        if not best:
            raise NoCompletedTrial(
                f"study {self.name!r} has no completed trial among its {len(self)}: tell a value first"
            )
        return best[0]

    @property
    def best_trials(self) -> TrialList:
        """The Pareto set, by number; with a single objective a list of the best trial. May be empty."""
        return self._bind_all(best_trials(self.problem, self._backend.get_trials(self._id)))

    def ask(self, n: int = 1, worker: str | None = None, lease: float | None = None) -> TrialList:
        """`n` trials to run: handed back or enqueued ones first, then new suggestions.

        Args:
            n: how many, at least 1.
            worker: a name to come back under: a named worker is given its own unfinished trials first.
                Without one, no trial that somebody is working on is given out.
            lease: seconds after which a trial without outcome may be given to someone else; None for never.
        """
        count = check_integer("n", n, 1)
        name = None if worker is None else check_name("worker", worker)
        lease_s = None if lease is None else check_seconds("lease", lease)
        return self._bind_all(self._backend.ask(self._id, count, worker=name, lease_s=lease_s))

    def tell(
        self,
        trial: Trial | int,
        values: float | Mapping[str, float] | None = None,
        *,
        infeasible: str | None = None,
        failed: str | None = None,
        worker: str | None = None,
    ) -> BoundTrial:
        """Give a trial its outcome, once: the same again changes nothing, another raises `AlreadyTold`.

        Args:
            trial: the trial or its number.
            values: a number for a single objective, or a dict by objective name.
            infeasible: instead of values, why the point cannot be measured; teaches that it is bad.
            failed: instead of values, what broke; says nothing about the point.
            worker: who measured it, if not who asked for it.
        """
        number = self._number(trial)
        measurement = self._measurement(values, infeasible=infeasible, failed=failed)
        name = None if worker is None else check_name("worker", worker)
        if isinstance(trial, BoundTrial):
            name = name or trial.worker  # the one who asked, though another may hold the trial by now
            self._deliver_reports(trial)
        return self._bind(self._backend.tell(self._id, number, measurement, worker=name))

    def tell_all(
        self,
        results: Iterable[tuple[Trial | int, float | Mapping[str, float] | Measurement]],
        *,
        worker: str | None = None,
    ) -> TrialList:
        """Give several trials their outcomes: all of them or, if one is refused, none.

        Args:
            results: pairs of a trial, or its number, and its values as for `tell`; or a
                `photinus.trial.Measurement`, such as `Measurement.failed("worker lost")`.
            worker: who measured them, if not who asked for them.
        """
        pairs = list(results)
        name = None if worker is None else check_name("worker", worker)
        measured = _each("result", pairs, self._result)
        bound = [trial for trial, _ in pairs if isinstance(trial, BoundTrial)]
        if name is None and len(bound) == len(pairs) and len({trial.worker for trial in bound}) == 1:
            name = bound[0].worker  # as in `tell`
        for trial in bound:
            self._deliver_reports(trial)
        return self._bind_all(self._backend.tell_all(self._id, measured, worker=name))

    def ask_sheet(
        self, path: str | Path, n: int = 1, worker: str | None = None, lease: float | None = None
    ) -> TrialList:
        """`ask`, and write the trials to a new CSV file: a sheet for a lab, to be filled in and given to `tell_sheet`.

        A file that exists is refused. If the file cannot be written, no trial stays out: they are handed back.

        Args:
            path: of the file.
            n: as in `ask`.
            worker: as in `ask`.
            lease: as in `ask`.
        """
        write = new_file(Path(path))
        trials = self.ask(n, worker, lease)
        with handed_back(trials, self.release):
            write(sheet_text(self.problem, self.name, trials))
        return trials

    def write_sheet(self, path: str | Path, trials: Iterable[Trial]) -> None:
        """Write a new CSV file of trials as `ask_sheet` does, with the results of those that have one."""
        write = new_file(Path(path))
        write(sheet_text(self.problem, self.name, list(trials)))

    def tell_sheet(self, path: str | Path, *, worker: str | None = None) -> ToldSheet:
        """Tell the results in a sheet that was filled in: all of them or, if anything in it is wrong, none.

        Rows without a result stay pending, and rows that were told before, with that result, are left alone. An error
        names the row and the column of everything that is wrong: what is no number, a parameter, a title or a unit
        that was changed, a trial that is unknown, has two rows, or has another result.

        Args:
            path: of the file.
            worker: who measured them, if not who asked for them.
        """
        name = None if worker is None else check_name("worker", worker)
        trials = self._backend.get_trials(self._id)
        results = read_results(Path(path), self.problem, self.name, trials)
        told = self._backend.tell_all(self._id, list(results.new.items()), worker=name) if results.new else []
        known = {trial.number: trial for trial in trials}
        repeated = self._bind_all(known[number] for number in results.repeated)
        pending = self._bind_all(known[number] for number in results.pending)
        return ToldSheet(self._bind_all(told), repeated, pending, results.unread)

    def enqueue(self, params: Mapping[str, Any], *, metadata: Mapping[str, str] | None = None) -> BoundTrial:
        """Have this point handed out next, after points enqueued before."""
        canonical = self.problem.space.validate(params)
        return self._bind(self._backend.enqueue(self._id, canonical, metadata=check_metadata(metadata)))

    def add_trial(
        self,
        params: Mapping[str, Any],
        values: float | Mapping[str, float] | None = None,
        *,
        infeasible: str | None = None,
        failed: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> BoundTrial:
        """Record a point that was measured elsewhere."""
        canonical = self.problem.space.validate(params)
        measurement = self._measurement(values, infeasible=infeasible, failed=failed)
        notes = check_metadata(metadata)
        return self._bind(self._backend.add_trial(self._id, canonical, measurement, metadata=notes))

    def add_trials(self, entries: Iterable[Mapping[str, Any]]) -> TrialList:
        """Add several points: all of them or, if one is refused, none.

        Each entry has the arguments of `add_trial` by name: `params`, one of `values`, `infeasible` and `failed`, and
        `metadata`. Without an outcome, the point is handed out next, as by `enqueue`.
        """
        new = _each("entry", list(entries), self._new_trial)
        return self._bind_all(self._backend.add_trials(self._id, new))

    def amend(self, trial: Trial | int, values: float | Mapping[str, float]) -> BoundTrial:
        """Correct the values of a completed trial; the old ones stay on record in its `amendments`."""
        canonical = self.problem.validate_values(values)
        return self._bind(self._backend.amend(self._id, self._number(trial), canonical))

    def extend_lease(self, trial: BoundTrial, lease: float) -> BoundTrial:
        """Keep a trial that was asked for with a lease for `lease` more seconds from now."""
        number, lease_s = self._number(trial), check_seconds("lease", lease)
        return self._bind(
            self._backend.extend_lease(
                self._id, number, worker=trial.worker, lease_s=lease_s, attempt=trial.attempts
            )
        )

    def release(self, trial: BoundTrial) -> BoundTrial:
        """Hand a trial back without an outcome; it is the next to be given out."""
        number = self._number(trial)
        return self._bind(
            self._backend.release(self._id, number, worker=trial.worker, attempt=trial.attempts)
        )

    def predict(
        self, points: Sequence[Mapping[str, Any]], *, max_trials: int | None = None
    ) -> list[dict[str, dict[str, float | None]]]:
        """What the model expects at each point, by objective.

        `q05`, `q50` and `q95` are quantiles in the objective's units, None until something was measured;
        `mean_warped` and `std_warped` are what the model computes with.

        Args:
            points: parameters by name.
            max_trials: fit the model to at most so many trials, a quarter of them the best, the others spread over
                the rest: a model of thousands takes minutes.
        """
        canonical = [self.problem.space.validate(point) for point in points]
        return self._backend.predict(self._id, canonical, max_trials=_limit(max_trials))

    def describe_model(self, *, max_trials: int | None = None) -> dict[str, Any]:
        """What the model believes beyond predictions at points.

        `length_scales` tells, by parameter, over which part of its range results stay alike. Each of
        `objectives`, None until something was measured, has the standard deviation of the `noise` near the
        `best` and the `median` value, and the `scale` from what the model computes with to the objective's
        units.

        Args:
            max_trials: as in `predict`.
        """
        return self._backend.describe_model(self._id, max_trials=_limit(max_trials))

    @property
    def plot(self) -> "StudyPlots":
        """Pictures of the study, as Plotly figures: `study.plot.history()` and others."""
        from photinus.plots import StudyPlots

        return StudyPlots(self)

    def optimize(
        self,
        objective: Objective,
        n_trials: int | None = None,
        *,
        until: int | None = None,
        n_jobs: int | None = None,
        executor: Executor | None = None,
        timeout: float | None = None,
        callbacks: Sequence[Callback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        progress: bool | None = None,
    ) -> None:
        """Ask, run `objective(trial)`, tell, until the budget is spent.

        The objective returns a number, or a dict by objective name; NaN or an infinity makes the trial
        infeasible.

        Args:
            objective: called with the trial; `trial.params` is a dict.
            n_trials: finish so many new trials.
            until: finish new trials until the study has so many finished ones, old ones included.
            n_jobs: worker processes to run objectives in; 1, or nothing, runs them in this process, -1 uses every
                core. With an executor: how many trials at a time; left out, as many as it has workers.
            executor: where to run objectives instead: any `concurrent.futures.Executor`. It stays yours: nobody shuts
                it down.
            timeout: seconds after which no new trial is begun; running ones are waited for.
            callbacks: each called with the study and the finished trial.
            catch: exceptions of the objective that fail a trial and let the study go on. Any other one fails
                the trial too, and is raised.
            progress: whether to show a bar; None for only on a terminal.
        """
        workers = _workers(objective, check_exceptions("catch", catch), n_jobs, executor)
        self.optimize_on(
            workers, n_trials, until=until, timeout=timeout, callbacks=callbacks, progress=progress
        )

    def optimize_on(
        self,
        workers: Workers,
        n_trials: int | None = None,
        *,
        until: int | None = None,
        timeout: float | None = None,
        callbacks: Sequence[Callback] = (),
        progress: bool | None = None,
    ) -> None:
        """`optimize` on workers of another kind; they know the objective."""
        budget = _budget(n_trials, until, timeout)
        if self.state == StudyState.STOPPED:
            self._backend.set_study_state(self._id, StudyState.ACTIVE)
        best = BestSoFar(self._backend, self._id, self.problem)
        total = budget.num_new
        if budget.num_total is not None:
            total = max(0, budget.num_total - self._backend.count_trials(self._id)[1])

        with ProgressBar(total=total, wanted=progress) as bar:

            def on_finished(trial: Trial) -> None:
                best.update()
                log_trial(trial, best.trial)
                bar.advance(best.trial)
                for callback in callbacks:
                    callback(self, self._bind(trial))

            loop = Loop(self._backend, self._id, workers, budget, bind=self._bind, on_finished=on_finished)
            loop.run()

    def stop(self) -> None:
        """End every `optimize` of this study, also in other processes, when its running trials are done."""
        self._backend.set_study_state(self._id, StudyState.STOPPED)

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row per trial; parameters in columns `params_...`, objectives in `values_...`."""
        return to_dataframe(self.problem, self._backend.get_trials(self._id))

    def _bind(self, trial: Trial) -> BoundTrial:
        return bind(trial, self._reporter)

    def _bind_all(self, trials: Iterable[Trial]) -> TrialList:
        return TrialList(map(self._bind, trials))

    def _number(self, trial: Trial | int) -> int:
        if isinstance(trial, BoundTrial) and trial.reporter.study_key != self._reporter.study_key:
            raise ArgumentError(
                f"trial {trial.number} belongs to study {trial.reporter.study_key[1]!r}, not to {self.name!r}"
            )
        return trial.number if isinstance(trial, Trial) else check_integer("trial", trial, 0)

    def _measurement(self, values: object, *, infeasible: str | None, failed: str | None) -> Measurement:
        given = [x for x in (values, infeasible, failed) if x is not None]
        if len(given) != 1:
            raise ArgumentError(
                "exactly one of values, infeasible= and failed= must be given, "
                f"got {values=}, {infeasible=}, {failed=}"
            )
        if infeasible is not None:
            return Measurement.infeasible(check_text("infeasible", infeasible))
        if failed is not None:
            return Measurement.failed(check_text("failed", failed))
        return Measurement.completed(self.problem.validate_values(values))

    def _result(self, pair: tuple[Trial | int, Any]) -> tuple[int, Measurement]:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ArgumentError(f"a result must be a pair of a trial and its outcome, got {pair!r}")
        trial, outcome = pair
        if isinstance(outcome, Measurement):
            infeasible = outcome.message if outcome.state == TrialState.INFEASIBLE else None
            failed = outcome.message if outcome.state == TrialState.FAILED else None
            return self._number(trial), self._measurement(
                outcome.values, infeasible=infeasible, failed=failed
            )
        return self._number(trial), self._measurement(outcome, infeasible=None, failed=None)

    def _new_trial(self, entry: Mapping[str, Any]) -> NewTrial:
        known = {"params", "values", "infeasible", "failed", "metadata"}
        if not isinstance(entry, Mapping) or "params" not in entry or not entry.keys() <= known:
            raise ArgumentError(f"must be a dict with params and any of {sorted(known)}, got {entry!r}")
        outcome = {name: entry.get(name) for name in ("values", "infeasible", "failed")}
        is_queued = all(value is None for value in outcome.values())
        return NewTrial(
            self.problem.space.validate(entry["params"]),
            None if is_queued else self._measurement(**outcome),
            check_metadata(entry.get("metadata")),
        )

    def _deliver_reports(self, trial: BoundTrial) -> None:
        """Send what a trial reported in another process."""
        with contextlib.suppress(AlreadyTold):  # `tell` will judge that
            for values, step in trial.reporter.kept:
                self._backend.report(self._id, trial.number, values, step)


def _each(what: str, items: Sequence[Item], check: Callable[[Item], Checked]) -> list[Checked]:
    """All items checked; an error says which one it is about."""
    checked: list[Checked] = []
    for index, item in enumerate(items):
        try:
            checked.append(check(item))
        except PhotinusError as error:
            raise type(error)(f"{what} {index}: {error}") from error
    return checked


def _limit(max_trials: int | None) -> int | None:
    return None if max_trials is None else check_integer("max_trials", max_trials, 2)


def _budget(n_trials: int | None, until: int | None, timeout: float | None) -> Budget:
    if n_trials is not None and until is not None:
        raise ArgumentError(f"only one of n_trials and until may be given, got {n_trials=}, {until=}")
    if n_trials is None and until is None and timeout is None:
        raise ArgumentError("one of n_trials, until and timeout must be given, or optimize would never end")
    return Budget(
        num_new=None if n_trials is None else check_integer("n_trials", n_trials, 0),
        num_total=None if until is None else check_integer("until", until, 0),
        deadline=None if timeout is None else time.monotonic() + check_seconds("timeout", timeout),
    )


def _workers(
    objective: Objective, catch: tuple[type[Exception], ...], n_jobs: int | None, executor: Executor | None
) -> Workers:
    if not callable(objective):
        raise ArgumentError(f"the objective must be callable with a trial, got {objective!r}")
    if executor is not None:
        if not isinstance(executor, Executor):
            raise ArgumentError(f"`executor` must be a concurrent.futures.Executor, got {executor!r}")
        num_workers = None if n_jobs in (None, -1) else check_integer("n_jobs", n_jobs, 1)
        return ExecutorWorkers(objective, catch, executor, num_workers)
    if n_jobs == -1:
        import loky

        n_jobs = loky.cpu_count()
    if n_jobs is None or check_integer("n_jobs", n_jobs, 1) == 1:
        return ThisProcess(objective, catch)
    return WorkerProcesses(objective, catch, n_jobs)
