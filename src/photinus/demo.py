"""`photinus demo`: tunes a small neural network that reads handwritten digits, in about a minute.

The data come with scikit-learn. A quarter of the images are put aside: tuning sees the cross-validated error on the
others, and the images put aside tell whether the gain is real.
"""

import functools
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

import photinus as ph
from photinus.report import write_report

NUM_TRIALS = 30
NUM_EPOCHS = 20  # for the default as well: the budget is the same, the settings differ
NUM_FOLDS = 3
OUTPUT = Path("demo-output") / "demo.html"

SPACE = {
    "lr": ph.Float(1e-4, 1e-1, scale="log"),
    "decay": ph.Float(1e-6, 1.0, scale="log"),
    "layers": ph.Int(1, 3),
    "units": ph.Int(16, 256, scale="log"),
    "batch": ph.Discrete([32, 64, 128, 256], scale="log"),
    "activation": ph.Categorical(["relu", "tanh", "logistic"]),
}
SKLEARN_DEFAULT = {
    "lr": 1e-3,
    "decay": 1e-4,
    "layers": 1,
    "units": 100,
    "batch": 200,
    "activation": "relu",
}


def main(
    num_trials: int = NUM_TRIALS,
    num_jobs: int | None = None,
    output: Path = OUTPUT,
    console: Console | None = None,
) -> ph.Study:
    """Tune, print what came out, and write a page about it."""
    try:
        import plotly  # noqa: F401
        import sklearn  # noqa: F401
    except ModuleNotFoundError as error:
        raise SystemExit(f'The demo needs {error.name}: pip install "photinus[demo]"') from None

    console = console or Console()
    console.print(
        "[bold]Photinus demo[/bold]: a neural network learns to read handwritten digits.\n"
        f"{num_trials} trials over {len(SPACE)} parameters: {', '.join(SPACE)}.\n"
    )
    study = ph.create_study(SPACE, objectives={"error": "minimize"}, name="digits", seed=0)
    num_jobs = num_jobs or min(2, os.cpu_count() or 1)
    study.optimize(cross_validate, n_trials=num_trials, n_jobs=num_jobs, progress=True)

    best = study.best_trial
    assert best.values is not None
    scores = {
        "scikit-learn's defaults": (validation_error(SKLEARN_DEFAULT), unseen_error(SKLEARN_DEFAULT)),
        f"Photinus, trial {best.number}": (best.values["error"], unseen_error(best.params)),
    }
    console.print(_best_trials(study), _comparison(scores))
    write_report(study, output, title="Reading handwritten digits", introduction=_introduction(scores))
    console.print(f"The whole story, to open in a browser: [bold]{output}[/bold]")
    return study


def cross_validate(trial: ph.Trial) -> float:
    """The objective. Training that diverges gives NaN, which marks the trial infeasible."""
    try:
        return validation_error(trial.params)
    except ValueError as error:
        if "non-finite" not in str(error):
            raise
        return math.nan


def validation_error(params: Mapping[str, Any]) -> float:
    """Share of the images for tuning that are misread, by cross-validation."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    (X, _, y, _) = _digits()
    folds = StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # training stops after NUM_EPOCHS on purpose
        accuracies = cross_val_score(_network(params), X, y, cv=folds, error_score="raise")  # pyright: ignore
        return 1.0 - float(accuracies.mean())


def unseen_error(params: Mapping[str, Any]) -> float:
    """Share of the images put aside that are misread, after training on all others."""
    X, X_test, y, y_test = _digits()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 1.0 - float(_network(params).fit(X, y).score(X_test, y_test))


def _network(params: Mapping[str, Any]) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPClassifier(
        hidden_layer_sizes=(params["units"],) * params["layers"],
        activation=params["activation"],
        learning_rate_init=params["lr"],
        alpha=params["decay"],
        batch_size=params["batch"],
        max_iter=NUM_EPOCHS,
        random_state=0,
    )
    return make_pipeline(StandardScaler(), network)


@functools.cache
def _digits() -> Sequence[Any]:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)


def _best_trials(study: ph.Study, count: int = 5) -> Table:
    table = _table("Best trials", "trial", "error", *SPACE, "intent")
    ranked = sorted((trial.values["error"], trial.number) for trial in study.trials if trial.values)
    for error, number in ranked[:count]:
        trial = study.trials[number]
        params = (f"{v:.2g}" if isinstance(v, float) else str(v) for v in trial.params.values())
        table.add_row(str(number), f"{error:.2%}", *params, (trial.reason or {}).get("intent", ""))
    return table


def _comparison(scores: Mapping[str, tuple[float, float]]) -> Table:
    table = _table("Digits misread", "settings", "cross-validated", "images put aside")
    for name, errors in scores.items():
        table.add_row(name, *(f"{error:.2%}" for error in errors))
    return table


def _introduction(scores: Mapping[str, tuple[float, float]]) -> str:
    (before, unseen_before), (after, unseen_after) = scores.values()
    return (
        "A small neural network from scikit-learn; the error is the share of images that it misreads in "
        f"cross-validation. Tuning brought it from {before:.2%} with scikit-learn's defaults to {after:.2%}. Of the "
        f"images that tuning never saw, {unseen_before:.2%} were misread before and {unseen_after:.2%} after."
    )


def _table(title: str, *header: str) -> Table:
    padding = (0, 1, 0, 0)  # a terminal of 80 columns has to do
    return Table(
        *header, title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=padding, pad_edge=False
    )


if __name__ == "__main__":
    # Through the package and not as `__main__`, so that worker processes find the objective by its name.
    from photinus import demo

    demo.main()
