"""Hyperparameter search for scikit-learn: `PhotinusSearchCV(SVC(), {"C": (1e-3, 1e3, "log-uniform")}).fit(X, y)`.

scikit-learn's own `BaseSearchCV` does all but the choice of points: splits, scores, `cv_results_`, refitting.
"""

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

from photinus.arguments import check_integer
from photinus.errors import ArgumentError
from photinus.integrations.packages import SKLEARN
from photinus.integrations.sklearn_callbacks import Watch, read_callbacks
from photinus.integrations.sklearn_evaluation import Evaluation, is_finite
from photinus.integrations.sklearn_space import Space, read_spaces
from photinus.local import create_study, open_backend
from photinus.space import Value
from photinus.storage import MemoryStorage
from photinus.study import Study
from photinus.trial import Trial

with SKLEARN:
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state, metadata_routing

SINGLE_METRIC = "score"  # how scikit-learn calls the only one


class PhotinusSearchCV(BaseSearchCV):
    """A search over hyperparameters with cross-validation, in place of `RandomizedSearchCV` and `BayesSearchCV`.

    What is not listed here is as in `RandomizedSearchCV`. Candidates without a finite score, because a fit failed, are
    infeasible: the model learns to avoid the place.

    Args:
        estimator: what to tune, a pipeline for example.
        param_distributions: lists of choices, ranges, distributions; see `photinus.integrations.sklearn_space`. A list
            of such dicts shares `n_iter`.
        search_spaces: the same under the name it has in `BayesSearchCV`; there, each dict of a list gets `n_iter`
            candidates, or as many as stand with it: `[(space, 20), (other, 10)]`.
        n_iter: how many candidates to try.
        n_points: how many candidates to choose, and fit in parallel, at a time.
        algorithm: see `photinus.create_study`.
        objectives: which metrics to search by, where there are several. Left out, it is the one named by `refit`, or
            else all of them, as a search with several objectives.
        optimizer_kwargs: must be empty: settings of scikit-optimize's model have no meaning here.

    Attributes:
        studies_: the study of every space, with reasons, predictions and pictures.
    """

    # `callback` is no data that scikit-learn could be asked to route.
    __metadata_request__fit: ClassVar = {"callback": metadata_routing.UNUSED}

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any = None,
        *,
        search_spaces: Any = None,
        n_iter: int = 10,
        n_points: int = 1,
        algorithm: str = "default",
        objectives: str | Sequence[str] | None = None,
        optimizer_kwargs: Mapping[str, Any] | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = math.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.search_spaces = search_spaces
        self.n_iter = n_iter
        self.n_points = n_points
        self.algorithm = algorithm
        self.objectives = objectives
        self.optimizer_kwargs = optimizer_kwargs
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    @property
    def study_(self) -> Study:
        """The study of the only space."""
        if len(self.studies_) != 1:
            raise ArgumentError(
                f"there are {len(self.studies_)} search spaces: use `studies_`, one study for each"
            )
        return self.studies_[0]

    def fit(self, X: Any, y: Any = None, *, callback: Any = None, **params: Any) -> "PhotinusSearchCV":
        """Search, and fit the best candidate to all data.

        Args:
            X: the samples, as in `RandomizedSearchCV`.
            y: what they are labelled with.
            callback: called after every batch with the result so far, or a list of such callables: see
                `photinus.integrations.sklearn_callbacks`. If one returns true, the search of that space ends.
            params: handed on to estimator, scorer and splitter.
        """
        if self.optimizer_kwargs:
            raise ArgumentError(
                f"`optimizer_kwargs` must be empty, got {', '.join(map(repr, self.optimizer_kwargs))}: they are "
                "settings of scikit-optimize's model; `algorithm` chooses among ours, and `random_state` is the seed"
            )
        self._callbacks = read_callbacks(callback)
        try:
            return super().fit(X, y, **params)
        finally:
            del self._callbacks

    # scikit-learn 1.9 hands over the context of its callbacks if there is an argument for it; older ones do not.
    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:  # pyright: ignore
        """Called by `BaseSearchCV.fit`."""
        vars(self).pop("studies_", None)  # of an earlier fit; workers would be sent them
        spaces = read_spaces(self.param_distributions, self.search_spaces, self.n_iter)
        batch_size = check_integer("n_points", self.n_points, 1)
        goals = dict.fromkeys(self._metric_names(), "maximize")
        if self._callbacks and len(goals) > 1:
            raise ArgumentError(
                f"`callback` is told the best point so far, but {', '.join(goals)} have no single best: name the one "
                "to go by in `objectives`"
            )
        random = check_random_state(self.random_state)
        studies = [
            create_study(
                space.parameters, goals, seed=int(random.randint(2**31 - 1)), algorithm=self.algorithm
            )
            for space in spaces
        ]
        evaluation = Evaluation(
            evaluate_candidates,
            self._format_results,
            cv=self.cv,
            metrics=list(goals),
            error_score=self.error_score,
        )
        self._ledger = evaluation.ledger
        try:
            with warnings.catch_warnings():
                # scikit-learn would say so again after every batch; once, at the end, will do.
                warnings.filterwarnings("ignore", message="One or more of the t.* scores are non-finite")
                for space, study in zip(spaces, studies, strict=True):
                    watch = Watch(self._callbacks, space)
                    _search(study, space, batch_size, evaluation, watch)
        finally:
            del self._ledger
        evaluation.finish()
        self.studies_ = studies

    def _format_results(
        self, candidate_params: list[dict[str, Any]], n_splits: int, out: list[Any], more_results: Any = None
    ) -> dict[str, Any]:
        """Called by `BaseSearchCV.fit` after every batch with all rows so far."""
        self._ledger.attach(candidate_params, n_splits, out)
        return super()._format_results(candidate_params, n_splits, out, more_results)

    def _metric_names(self) -> list[str]:
        """What the search goes by."""
        if self.objectives is not None:
            return [self.objectives] if isinstance(self.objectives, str) else list(self.objectives)
        if self.scoring is None or isinstance(self.scoring, str):
            return [SINGLE_METRIC]
        if isinstance(self.refit, str):
            return [self.refit]
        return [SINGLE_METRIC] if callable(self.scoring) else list(self.scoring)

    def __sklearn_tags__(self) -> Any:  # since scikit-learn 1.6
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self.estimator).target_tags.multi_output
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**cast(Any, super().__getstate__())}
        for name in ("_callbacks", "_ledger"):  # of a fit that is under way
            state.pop(name, None)
        if "studies_" in state:
            state["studies_"] = [_pack(study) for study in state["studies_"]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "studies_" in state:
            state = {**state, "studies_": [_unpack(*packed) for packed in state["studies_"]]}
        super().__setstate__(state)


def _search(study: Study, space: Space, batch_size: int, evaluation: Evaluation, watch: Watch) -> None:
    num_left = space.num_trials
    points: Iterator[dict[str, Value]] = iter(())
    if space.size <= num_left:  # few enough to try each
        if space.size < num_left:
            warnings.warn(
                f"the search space has {space.size:g} points, fewer than n_iter={num_left}: each is tried once",
                UserWarning,
                stacklevel=2,
            )
        points, num_left = space.points(), int(space.size)
    while num_left:
        count = min(batch_size, num_left)
        for point in itertools.islice(points, count):
            study.enqueue(point)
        trials = study.ask(count)
        num_left -= count
        candidates = [space.decode(trial.params) for trial in trials]
        scores = evaluation.run(candidates)
        for trial, score in zip(trials, scores, strict=True):
            if is_finite(score):
                study.tell(trial, score)
            else:
                study.tell(trial, infeasible="a fit failed, or its score is not finite")
        if watch.is_enough(candidates, [next(iter(score.values())) for score in scores]):
            return


def _pack(study: Study) -> tuple[Any, list[dict[str, Any]]]:
    """A study in memory as plain values, for a store in memory cannot be pickled."""
    return study.record, [trial.to_dict() for trial in study.trials]


def _unpack(record: Any, trials: Iterable[Mapping[str, Any]]) -> Study:
    backend = open_backend(MemoryStorage())
    return Study(backend, backend.restore_study(record, [Trial.from_dict(trial) for trial in trials]))
