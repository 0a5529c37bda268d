"""Optuna's RDBStorage with its RandomSampler, SQLite set to write as Photinus does."""

from typing import Any

import optuna
from sqlalchemy import Engine, event

from photinus_bench.storing import BUSY_TIMEOUT_S, CHOICES, FLOATS, INTEGERS, LOG_FLOATS, serve

DISTRIBUTIONS: dict[str, optuna.distributions.BaseDistribution] = {
    **{name: optuna.distributions.FloatDistribution(*bounds) for name, bounds in FLOATS.items()},
    **{
        name: optuna.distributions.FloatDistribution(*bounds, log=True) for name, bounds in LOG_FLOATS.items()
    },
    **{name: optuna.distributions.IntDistribution(*bounds) for name, bounds in INTEGERS.items()},
    **{name: optuna.distributions.CategoricalDistribution(choices) for name, choices in CHOICES.items()},
}


class OptunaStore:
    """See `Store`."""

    def __init__(self) -> None:
        self._storage: optuna.storages.RDBStorage | None = None

    def create(self, address: str, study: str) -> None:
        optuna.create_study(storage=open_storage(address), study_name=study)

    def open(self, address: str, study: str) -> None:
        if self._storage is not None:
            self._storage.engine.dispose()
        self._storage = open_storage(address)
        sampler = optuna.samplers.RandomSampler()
        self._study = optuna.load_study(study_name=study, storage=self._storage, sampler=sampler)

    def work(self, num_trials: int) -> None:
        for _ in range(num_trials):
            trial = self._study.ask(DISTRIBUTIONS)
            self._study.tell(trial, trial.params["momentum"])


def open_storage(address: str) -> optuna.storages.RDBStorage:
    if not address.startswith("sqlite"):
        return optuna.storages.RDBStorage(address.replace("postgresql://", "postgresql+psycopg://"))
    return optuna.storages.RDBStorage(address, engine_kwargs={"connect_args": {"timeout": BUSY_TIMEOUT_S}})


@event.listens_for(Engine, "connect")
def configure(connection: Any, record: object) -> None:
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    serve(OptunaStore(), packages=("optuna", "sqlalchemy", "psycopg"))
