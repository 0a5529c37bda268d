"""Scores of candidates that come in many small batches.

scikit-learn splits the data anew for every batch, and takes a batch whose fits all fail for a mistake of the user's.
With one or a few candidates to a batch, the splits must stay the same, and such a batch is a place where nothing can be
measured.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from photinus.errors import ArgumentError
from photinus.integrations.packages import SKLEARN

with SKLEARN:
    from sklearn.exceptions import FitFailedWarning

Candidate = dict[str, Any]
Row = dict[str, Any]  # of one fit
Scores = list[dict[str, float]]  # one entry for each candidate, by metric
Results = dict[str, Any]  # as in `cv_results_`

ALL_FAILED = "fits failed"  # in scikit-learn's error where no fit of a batch succeeded
MEAN = "mean_test_"


class FixedSplits:
    """A splitter whose splits are made once: candidates of different batches are compared on the same ones."""

    def __init__(self, splitter: Any) -> None:
        self._splitter = splitter
        self._splits: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> Iterator[Any]:
        """The same splits, whenever it is called."""
        if self._splits is None:
            self._splits = list(self._splitter.split(X, y, **params))
        return iter(self._splits)


class Ledger:
    """The rows behind `cv_results_`, with those of candidates none of whose fits succeeded.

    The lists are scikit-learn's own, one entry for each candidate and one for each of its fits. They are known from the
    first batch that succeeds; what failed before waits for it.
    """

    def __init__(self, error_score: Any) -> None:
        self._error_score = error_score
        self._waiting: list[Candidate] = []
        self.candidates: list[Candidate] | None = None
        self.fits: list[Row] = []
        self.num_splits = 0
        self.num_failed = 0
        self.first_error: ValueError | None = None

    def attach(self, candidates: list[Candidate], num_splits: int, fits: list[Row]) -> None:
        """Take note of scikit-learn's lists, and put what waited in front."""
        if self.candidates is not None:
            return
        self.candidates, self.num_splits, self.fits = candidates, num_splits, fits
        template = self._failed_fit()
        candidates[:0] = self._waiting
        fits[:0] = [dict(template) for _ in range(len(self._waiting) * num_splits)]
        self._waiting = []

    def add_failed(self, candidates: list[Candidate], error: ValueError) -> None:
        """Enter candidates whose fits all failed."""
        self.first_error = self.first_error or error
        self.num_failed += len(candidates)
        if self.candidates is None:
            self._waiting += candidates
            return
        self.candidates += candidates
        template = self._failed_fit()
        self.fits += [dict(template) for _ in range(len(candidates) * self.num_splits)]

    def _failed_fit(self) -> Row:
        """A fit like the others in form, without any result; how long it took is not known."""
        row = dict(self.fits[0])
        for key in ("test_scores", "train_scores"):
            if isinstance(scores := row.get(key), Mapping):
                row[key] = dict.fromkeys(scores, self._error_score)
            elif key in row:
                row[key] = self._error_score
        return row | {"fit_time": float("nan"), "score_time": float("nan")}


class Evaluation:
    """Candidates in, their scores out, whatever happens to their fits."""

    def __init__(
        self,
        evaluate_candidates: Callable[..., Results],
        format_results: Callable[..., Results],
        *,
        cv: Any,
        metrics: list[str],
        error_score: Any,
    ) -> None:
        self._evaluate_candidates = evaluate_candidates
        self._format_results = format_results
        # Anything else that `cv` may be, a number or a list of splits, gives the same ones every time.
        self._splits = FixedSplits(cv) if hasattr(cv, "split") else None
        self._metrics = metrics
        self._error_score = error_score
        self._results: Results = {}
        self._num_candidates = 0
        self._num_infeasible = 0
        self.ledger = Ledger(error_score)

    def run(self, candidates: list[Candidate]) -> Scores:
        """Mean scores of the candidates."""
        scores: Scores
        try:
            self._results = self._evaluate_candidates(candidates, cv=self._splits)
        except ValueError as error:
            if ALL_FAILED not in str(error) or self._error_score == "raise":
                raise
            self._enter_failed(candidates, error)
            scores = [dict.fromkeys(self._metrics, float(self._error_score)) for _ in candidates]
        else:
            columns = {metric: self._column(metric)[-len(candidates) :] for metric in self._metrics}
            scores = [
                {metric: float(column[i]) for metric, column in columns.items()}
                for i in range(len(candidates))
            ]
        self._num_candidates += len(candidates)
        self._num_infeasible += sum(not is_finite(score) for score in scores)
        return scores

    def finish(self) -> None:
        """Say, once, what could not be scored; an error if nothing could."""
        error = self.ledger.first_error
        if error is not None and self.ledger.candidates is None:
            raise error
        num_bad = max(self._num_infeasible, self.ledger.num_failed)
        if num_bad:
            warnings.warn(
                f"{num_bad} of {self._num_candidates} candidates could not be scored, because fits failed or scores "
                f"are not finite: error_score='raise' shows where."
                f"{'' if error is None else f' The first error: {error}'}",
                FitFailedWarning,
                stacklevel=2,
            )

    def _enter_failed(self, candidates: list[Candidate], error: ValueError) -> None:
        ledger = self.ledger
        ledger.add_failed(candidates, error)
        if ledger.candidates is not None:
            # The dict that scikit-learn holds: it becomes `cv_results_`.
            self._results.update(self._format_results(ledger.candidates, ledger.num_splits, ledger.fits))

    def _column(self, metric: str) -> Any:
        if MEAN + metric not in self._results:
            known = [key.removeprefix(MEAN) for key in self._results if key.startswith(MEAN)]
            raise ArgumentError(
                f"`objectives` must name metrics of `scoring`, {', '.join(known)}, got {metric!r}: "
                "give it, or `refit`, the name of one"
            )
        return self._results[MEAN + metric]


def is_finite(score: Mapping[str, float]) -> bool:
    """Whether all metrics of a candidate are."""
    return all(math.isfinite(value) for value in score.values())
