"""Trials as flat columns, and as a pandas data frame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from photinus.errors import MissingDependency
from photinus.problem import Problem
from photinus.trial import Trial

if TYPE_CHECKING:
    import pandas


def to_dataframe(problem: Problem, trials: Sequence[Trial]) -> "pandas.DataFrame":
    """One row per trial; parameters in columns `params_...`, objectives in `values_...`."""
    try:
        import pandas
    except ImportError as error:
        raise MissingDependency(
            'a data frame needs pandas, which is not installed: pip install "photinus[dataframe]"'
        ) from error
    return pandas.DataFrame(to_columns(problem, trials))


def to_columns(problem: Problem, trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """The data frame's columns by name."""
    nan = float("nan")
    return {
        "number": [trial.number for trial in trials],
        "state": [trial.state.value for trial in trials],
        **{
            f"values_{name}": [nan if trial.values is None else trial.values[name] for trial in trials]
            for name in problem.metric_names
        },
        **{f"params_{name}": [trial.params[name] for trial in trials] for name in problem.space},
        "worker": [trial.worker for trial in trials],
        "started_at": [trial.started_at for trial in trials],
        "completed_at": [trial.completed_at for trial in trials],
        "duration_s": [nan if trial.duration_s is None else trial.duration_s for trial in trials],
        "algorithm": [trial.algorithm for trial in trials],
        "message": [trial.message for trial in trials],
    }
