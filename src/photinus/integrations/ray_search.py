"""Ray Tune with suggestions of ours: `tune.TuneConfig(search_alg=PhotinusSearch(metric="loss", mode="min"))`.

Behind it is a study in memory. It is saved with the tuning run, and comes back with it.
"""

import logging
import math
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cloudpickle

from photinus.errors import AlreadyTold, ArgumentError, ParameterError
from photinus.exchange import study_from_dict, study_to_dict
from photinus.integrations.packages import RAY
from photinus.integrations.ray_space import RaySpace, has_domains, nested
from photinus.local import create_study, open_backend
from photinus.reporting import BoundTrial
from photinus.storage import MemoryStorage
from photinus.study import Study
from photinus.trial import TrialState

with RAY:
    from ray.air.constants import TRAINING_ITERATION
    from ray.tune.result import DEFAULT_METRIC
    from ray.tune.search import Searcher

GOALS = {"min": "minimize", "max": "maximize"}
RAY_ID = "ray_trial_id"  # in the metadata of trials that were not asked for

logger = logging.getLogger("photinus")


class PhotinusSearch(Searcher):
    """A `Searcher` for `tune.Tuner`.

    Trials that run are pending for the algorithm. A trial that a scheduler such as ASHA stops counts with its last
    result; one with an error is failed; one whose result is not finite is infeasible. If Ray runs a failed trial again
    (`Tuner.restore(..., restart_errored=True)`) and says what came of it, that is recorded as another trial.

    Args:
        space: domains of Ray Tune's, nested as you like; left out, it is the Tuner's `param_space`.
        metric: what to optimise, a list of names for several objectives; left out, the Tuner's.
        mode: "min" or "max", a list for several objectives.
        points_to_evaluate: configs to try first.
        seed: of all randomness; drawn if left out.
        algorithm: see `photinus.create_study`.
    """

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        metric: str | Sequence[str] | None = None,
        mode: str | Sequence[str] | None = None,
        *,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        seed: int | None = None,
        algorithm: str = "default",
    ) -> None:
        _check_goals(metric, mode)
        super().__init__(metric=_as_listed(metric), mode=_as_listed(mode))  # pyright: ignore[reportArgumentType]
        self._points = [dict(point) for point in points_to_evaluate or ()]
        self._seed = seed
        self._algorithm = algorithm
        self._config: Mapping[str, Any] | None = None
        self._space: RaySpace | None = None
        self._study: Study | None = None
        self._live: dict[str, BoundTrial] = {}  # by Ray's id
        if space is not None:
            self._define(space)

    @property
    def study(self) -> Study:
        """What was tried, with reasons, predictions and pictures."""
        if self._study is None:
            self._study = self._create_study()
        return self._study

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any
    ) -> bool:
        """Called by Ray Tune with what the Tuner was given; False if it contradicts what is known already."""
        space = RaySpace(config) if has_domains(config) else self._space
        if self._space is not None and space is not None and space.space != self._space.space:
            return False
        if (metric and self._metric not in (None, metric)) or (mode and self._mode not in (None, mode)):
            return False
        _check_goals(metric, mode)
        self._metric = self._metric or metric
        self._mode = self._mode or mode
        if self._space is None:
            self._define(config)
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        """The config of a new trial."""
        [trial] = self.study.ask(1, worker=trial_id)
        assert self._space is not None
        self._live[trial_id] = trial
        return self._space.to_config(trial.params)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Keep an intermediate result."""
        values = self._values(result)
        if trial_id in self._live and values is not None and TRAINING_ITERATION in result:
            self._live[trial_id].report(values, int(result[TRAINING_ITERATION]))

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Take the outcome of a trial."""
        self.on_trial_result(trial_id, result or {})  # Ray gives the last one only here
        trial = self._live.pop(trial_id, None)
        if trial is None:
            self._learn_late(trial_id, result, error)
            return
        if result is None and not error:  # Ray stopped it while it was paused
            reports = self.study.trials[trial.number].reports
            result = reports[-1].values if reports else None
        try:
            self.study.tell(trial, **self._outcome(result, error))
        except AlreadyTold:
            logger.info("trial %d was told otherwise before", trial.number)

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: Any,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Record a point that was measured elsewhere; a dict of values by metric for several objectives."""
        study = self.study
        assert self._space is not None
        params = self._space.to_params(parameters)
        given = value if isinstance(value, Mapping) else dict.fromkeys(self._goals(), value)
        values = self._values(given)
        if error or values is None:
            study.add_trial(params, failed="evaluated elsewhere, with an error")
        elif all(map(math.isfinite, values.values())):
            study.add_trial(params, values)
        else:
            study.add_trial(params, infeasible=f"evaluated elsewhere, with {given}")

    def save(self, checkpoint_path: str) -> None:
        """Write everything to a file; Ray Tune calls this now and then."""
        Path(checkpoint_path).write_bytes(cloudpickle.dumps(self.__getstate__()))

    def restore(self, checkpoint_path: str) -> None:
        """Go on from a file of `save`. Trials that were running then are still Ray's to finish."""
        self.__setstate__(cloudpickle.loads(Path(checkpoint_path).read_bytes()))

    def get_state(self) -> dict[str, Any]:
        """Everything, in a form that can be pickled."""
        return self.__getstate__()

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from what `get_state` gave."""
        self.__setstate__(state)

    # Ray pickles searchers, and a store in memory cannot be.
    def __getstate__(self) -> dict[str, Any]:
        document = None if self._study is None else study_to_dict(self._study.record, self._study.trials)
        numbers = {trial_id: trial.number for trial_id, trial in self._live.items()}
        left_out = {"_study": document, "_live": numbers, "_space": None}
        return self.__dict__ | left_out

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._space = None if self._config is None else RaySpace(self._config)
        self._study, self._live = None, {}
        if state["_study"] is None:
            return
        record, trials = study_from_dict(state["_study"], "the saved search")
        backend = open_backend(MemoryStorage())
        self._study = Study(backend, backend.restore_study(record, trials))
        # What was running came back as handed out to nobody, and is claimed again in the order of numbers.
        for trial_id, number in sorted(state["_live"].items(), key=lambda entry: entry[1]):
            [trial] = self._study.ask(1, worker=trial_id)
            assert trial.number == number
            self._live[trial_id] = trial

    def _define(self, config: Mapping[str, Any]) -> None:
        self._config, self._space = config, RaySpace(config)

    def _create_study(self) -> Study:
        if self._space is None:
            raise ArgumentError("the search space is missing: give `space`, or `param_space` to the Tuner")
        if self._mode is None:
            raise ArgumentError('the goal is missing: give `metric` and `mode="min"` or "max"')
        self._metric = self._metric or DEFAULT_METRIC
        study = create_study(
            self._space.space,
            self._goals(),
            name=f"ray-tune-{uuid.uuid4().hex[:8]}",
            seed=self._seed,
            algorithm=self._algorithm,
        )
        study.add_trials([{"params": self._space.to_params(point)} for point in self._points])
        return study

    def _learn_late(self, trial_id: str, result: Mapping[str, Any] | None, error: bool) -> None:
        """Of a trial that was failed before Ray ran it again, or that began after the search was last saved."""
        if error or self._study is None or self._values(result) is None:
            return
        known = [
            trial for trial in self.study.trials if trial_id in (trial.worker, trial.metadata.get(RAY_ID))
        ]
        if any(trial.state != TrialState.FAILED for trial in known):
            return
        assert self._space is not None and result is not None
        try:
            params = known[0].params if known else self._space.to_params(nested(result).get("config", {}))
            self.study.add_trial(params, **self._outcome(result, error), metadata={RAY_ID: trial_id})
        except ParameterError as problem:
            logger.info("nothing is learned from Ray's trial %s: %s", trial_id, problem)

    def _outcome(self, result: Mapping[str, Any] | None, error: bool) -> dict[str, Any]:
        """What a result of Ray's means, as `tell` wants it."""
        values = self._values(result)
        if error:
            return {"failed": "the Ray trial ended with an error"}
        if values is None:
            return {"failed": f"the Ray trial reported no {', '.join(self._goals())}"}
        if all(map(math.isfinite, values.values())):
            return {"values": values}
        shown = ", ".join(f"{name}={value}" for name, value in values.items())
        return {"infeasible": f"the Ray trial reported {shown}"}

    def _goals(self) -> dict[str, str]:
        metric, mode = self._metric, self._mode
        if isinstance(metric, str) and isinstance(mode, str):
            return {metric: GOALS[mode]}
        return {name: GOALS[goal] for name, goal in zip(metric or (), mode or (), strict=True)}

    def _values(self, result: Mapping[str, Any] | None) -> dict[str, float] | None:
        """The objectives in a result of Ray's, if all are there and numbers."""
        try:
            return None if result is None else {name: float(result[name]) for name in self._goals()}
        except (KeyError, TypeError, ValueError):
            return None


def _as_listed(names: str | Sequence[str] | None) -> str | list[str] | None:
    return names if names is None or isinstance(names, str) else list(names)


def _check_goals(metric: Any, mode: Any) -> None:
    modes = [mode] if isinstance(mode, str) else list(mode or ())
    metrics = [metric] if isinstance(metric, str) else list(metric or ())
    if any(goal not in GOALS for goal in modes) or (metrics and modes and len(metrics) != len(modes)):
        raise ArgumentError(
            f'`mode` must be "min" or "max", and for several metrics a list with one for each, got {metric=}, {mode=}'
        )
