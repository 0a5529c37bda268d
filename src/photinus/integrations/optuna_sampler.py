"""Photinus as a sampler for Optuna: `optuna.create_study(sampler=PhotinusSampler(seed=0))`.

The space is learned from the trials seen, for Optuna's programs define it while they run. What all completed trials had
in common, with the same distribution, is suggested together by Photinus; everything else is drawn by itself, each
parameter of each trial from a random stream of its own. The very first trial is the middle of the space, as in every
study of Photinus.

The sampler keeps nothing but its seed. A suggestion follows from the seed, the trial's number and the trials in
Optuna's store, so that a study goes on in another process as it would have in this one.
"""

import logging
import math
import threading
import zlib
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np

from photinus.arguments import check_algorithm, check_seed
from photinus.errors import ArgumentError, SpaceError, SuggestionError
from photinus.integrations.optuna_space import Axis
from photinus.integrations.optuna_trials import FIXED_KEY, History, Note, Pruned, metric_names
from photinus.integrations.packages import OPTUNA
from photinus.local import suggest
from photinus.problem import Goal, Metric, Problem
from photinus.space import Categorical, SearchSpace, middle
from photinus.trial import Suggestion

with OPTUNA:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial
    from optuna.trial import TrialState as OptunaState

CONSTRAINTS_KEY = "constraints"  # where Optuna keeps what a constraints function returns
WITHOUT_MODEL = ("quasi_random", "random")

logger = logging.getLogger("photinus")


class PhotinusSampler(BaseSampler):
    """Suggests by Photinus what all completed trials had in common, and draws the rest at random.

    Safe for threads (`n_jobs`) and for several processes on one Optuna store: what runs elsewhere counts as pending.

    Args:
        seed: of all randomness, 0 <= seed < 2**32; drawn if left out.
        algorithm: "default", "paper", "quasi_random" or "random"; see `photinus.create_study`.
        independent_sampler: an Optuna sampler for parameters outside the common space, in place of ours.
        constraints_func: called with every completed or pruned trial; returns numbers, and one greater than 0 makes the
            trial infeasible. `trial.set_constraint` of Optuna 5 does the same.
        pruned: what a pruned trial counts as: its "last_value" reported, "infeasible", or "failed", which says nothing
            about its point. Without a finite value, the last one.
        warn_independent_sampling: whether to log, once, that a parameter is outside the common space.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        algorithm: str = "default",
        independent_sampler: BaseSampler | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        pruned: Pruned = "last_value",
        warn_independent_sampling: bool = True,
    ) -> None:
        if pruned not in get_args(Pruned):
            raise ArgumentError(f"`pruned` must be one of {', '.join(get_args(Pruned))}, got {pruned!r}")
        self._seed = check_seed(seed)
        self._algorithm = check_algorithm(algorithm)
        self._independent_sampler = independent_sampler
        self._constraints_func = constraints_func
        self._pruned: Pruned = pruned
        self._warns = warn_independent_sampling
        self._warned: set[str] = set()
        self._mutex = threading.Lock()

    def __repr__(self) -> str:
        return f"PhotinusSampler(seed={self._seed}, algorithm={self._algorithm!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_mutex"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _mutex=threading.Lock())

    @staticmethod
    def reason(trial: FrozenTrial) -> dict[str, Any] | None:
        """Why a trial was suggested, as data; None for one that was not, and for independent draws."""
        note = Note.of(trial)
        return None if note is None else note.reason

    def reseed_rng(self) -> None:
        """Nothing to do for our own part: a random stream belongs to a trial's number."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """What all completed trials had in common, less what cannot vary or cannot be modelled."""
        completed = study.get_trials(deepcopy=False, states=(OptunaState.COMPLETE,))
        common = intersection_search_space(completed)
        return {name: d for name, d in common.items() if not d.single() and _can_be_modelled(name, d)}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """One suggestion in the common space, noted with the trial."""
        axes = {name: Axis.of(distribution) for name, distribution in search_space.items()}
        # From looking at the trials to noting the suggestion: another thread has to see it as pending.
        with self._mutex:
            history = History.before(
                trial.number,
                study.get_trials(deepcopy=False),
                axes,
                num_objectives=len(study.directions),
                pruned=self._pruned,
            )
            internal: dict[str, float] = {}
            reason = None
            if (
                not axes.keys() <= trial.system_attrs.get(FIXED_KEY, {}).keys()
            ):  # something is left to suggest
                suggestion = self._suggest(_problem(axes, study.directions), history, trial.number)
                internal = {name: axis.decode(suggestion.params[name]) for name, axis in axes.items()}
                reason = history.explain(suggestion.reason)
            Note(history.num_results, internal, reason).write(study, trial)
        return {name: search_space[name].to_external_repr(value) for name, value in internal.items()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """One value by itself: the middle in the first trial, drawn at random in the others."""
        self._warn_once(study, trial, param_name)
        if self._independent_sampler is not None:
            return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)
        entropy = [self._seed, trial.number, zlib.crc32(param_name.encode())]
        seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
        if not _can_be_modelled(param_name, param_distribution):
            return RandomSampler(seed).sample_independent(study, trial, param_name, param_distribution)
        axis = Axis.of(param_distribution)
        is_first = trial.number == 0 and self._algorithm not in WITHOUT_MODEL
        if is_first and not isinstance(axis.parameter, Categorical):
            value = middle(axis.parameter)
        else:
            [drawn] = suggest(_problem({param_name: axis}), seed=seed, algorithm="random")
            value = drawn.params[param_name]
        return param_distribution.to_external_repr(axis.decode(value))

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Only a given independent sampler may want to know."""
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: OptunaState, values: Sequence[float] | None
    ) -> None:
        """Evaluate the constraints."""
        if self._constraints_func is not None and state in (OptunaState.COMPLETE, OptunaState.PRUNED):
            constraints = [float(value) for value in self._constraints_func(trial)]
            if any(math.isnan(value) for value in constraints):
                raise ArgumentError(f"`constraints_func` must return numbers, got {constraints}")
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS_KEY, constraints)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    def _suggest(self, problem: Problem, history: History, number: int) -> Suggestion:
        try:
            [suggestion] = suggest(problem, history.trials, seed=self._seed, algorithm=self._algorithm)
        except Exception as error:
            raise SuggestionError(
                f"algorithm {self._algorithm!r} could not suggest for Optuna's trial {number} with "
                f"{len(history.trials)} trials ({type(error).__name__}: {error})"
            ) from error
        return suggestion

    def _warn_once(self, study: Study, trial: FrozenTrial, name: str) -> None:
        if not self._warns or name in self._warned or trial.number == 0:
            return
        if not study.get_trials(deepcopy=False, states=(OptunaState.COMPLETE,)):
            return  # there is no common space yet
        self._warned.add(name)
        logger.warning(
            "parameter %r is drawn by itself: not all completed trials had it with the same range, so the model "
            "does not know it. PhotinusSampler(warn_independent_sampling=False) does not say so",
            name,
        )


def _problem(
    axes: dict[str, Axis], directions: Sequence[StudyDirection] = (StudyDirection.MINIMIZE,)
) -> Problem:
    goals = [Goal.MAXIMIZE if d == StudyDirection.MAXIMIZE else Goal.MINIMIZE for d in directions]
    metrics = tuple(map(Metric, metric_names(len(goals)), goals))
    return Problem(SearchSpace({name: axis.parameter for name, axis in axes.items()}), metrics)


def _can_be_modelled(name: str, distribution: BaseDistribution) -> bool:
    try:
        _problem({name: Axis.of(distribution)})
    except SpaceError:
        return False
    return True
