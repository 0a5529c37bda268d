"""An Optuna program with Photinus as its sampler, and the finished study as a study of Photinus.

pip install "photinus[optuna]"
python examples/optuna_sampler.py
"""

import math
import tempfile
from pathlib import Path

import optuna

from photinus.integrations.optuna_import import import_optuna_study
from photinus.integrations.optuna_sampler import PhotinusSampler


def train(trial: optuna.Trial) -> float:
    """Stands for a training run."""
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    width = trial.suggest_int("width", 16, 256)
    error = 0.05 + 0.03 * (math.log10(rate) + 2.5) ** 2 + 1e-4 * abs(width - 128)
    return error if trial.suggest_categorical("optimizer", ["adam", "sgd"]) == "adam" else 1.2 * error


def main() -> None:
    """Run a small study in a file, then take it over."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with tempfile.TemporaryDirectory() as directory:
        storage = optuna.storages.RDBStorage(f"sqlite:///{Path(directory, 'optuna.db')}")
        study = optuna.create_study(study_name="net", storage=storage, sampler=PhotinusSampler(seed=0))
        study.optimize(train, n_trials=7)
        print(f"Optuna: error {study.best_value:.3f} with {study.best_params}")
        reason = PhotinusSampler.reason(study.trials[-1])
        if reason is not None:
            print(
                f"the last trial was to {reason['intent']}, expected {reason['predicted']['value']['q50']:.3f}"
            )

        ours = import_optuna_study(storage, "net", into=str(Path(directory, "studies.db")), seed=0)
        storage.remove_session()
        storage.engine.dispose()
        [trial] = ours.ask()
        print(f"Photinus: {len(ours.trials) - 1} trials taken over, the next point is {trial.params}")


if __name__ == "__main__":
    main()
