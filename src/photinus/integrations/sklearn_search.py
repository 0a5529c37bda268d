"""Hyperparameter search for scikit-learn: `PhotinusSearchCV(SVC(), {"C": (1e-3, 1e3, "log-uniform")}).fit(X, y)`.

scikit-learn's own `BaseSearchCV` does all but the choice of points: splits, scores, `cv_results_`, refitting.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from photinus.arguments import check_integer
from photinus.errors import ArgumentError
from photinus.integrations.packages import SKLEARN
from photinus.integrations.sklearn_evaluation import Evaluation, is_finite
from photinus.integrations.sklearn_space import Space, read_spaces
from photinus.local import create_study, open_backend
from photinus.storage import MemoryStorage
from photinus.study import Study
from photinus.trial import Trial

with SKLEARN:
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state

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

    Attributes:
        studies_: the study of every space, with reasons, predictions and pictures.
    """

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

    # scikit-learn 1.9 hands over the context of its callbacks if there is an argument for it; older ones do not.
    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:  # pyright: ignore
        """Called by `BaseSearchCV.fit`."""
        vars(self).pop("studies_", None)  # of an earlier fit; workers would be sent them
        spaces = read_spaces(self.param_distributions, self.search_spaces, self.n_iter)
        batch_size = check_integer("n_points", self.n_points, 1)
        goals = dict.fromkeys(self._metric_names(), "maximize")
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
                    _search(study, space, batch_size, evaluation)
        finally:
            del self._ledger
        evaluation.finish(sum(len(study) for study in studies))
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
        state.pop("_ledger", None)
        if "studies_" in state:
            state["studies_"] = [_pack(study) for study in state["studies_"]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "studies_" in state:
            state = {**state, "studies_": [_unpack(*packed) for packed in state["studies_"]]}
        super().__setstate__(state)


def _search(study: Study, space: Space, batch_size: int, evaluation: Evaluation) -> None:
    num_left = space.num_trials
    if space.size <= num_left:  # few enough to try each
        if space.size < num_left:
            warnings.warn(
                f"the search space has {space.size:g} points, fewer than n_iter={num_left}: each is tried once",
                UserWarning,
                stacklevel=2,
            )
        for point in space.points():
            study.enqueue(point)
        num_left = int(space.size)
    while num_left:
        trials = study.ask(min(batch_size, num_left))
        num_left -= len(trials)
        scores = evaluation.run([space.decode(trial.params) for trial in trials])
        for trial, score in zip(trials, scores, strict=True):
            if is_finite(score):
                study.tell(trial, score)
            else:
                study.tell(trial, infeasible="a fit failed, or its score is not finite")


def _pack(study: Study) -> tuple[Any, list[dict[str, Any]]]:
    """A study in memory as plain values, for a store in memory cannot be pickled."""
    return study.record, [trial.to_dict() for trial in study.trials]


def _unpack(record: Any, trials: Iterable[Mapping[str, Any]]) -> Study:
    backend = open_backend(MemoryStorage())
    return Study(backend, backend.restore_study(record, [Trial.from_dict(trial) for trial in trials]))
