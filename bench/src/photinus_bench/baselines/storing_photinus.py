"""Photinus' store, with `algorithm="random"`."""

import photinus as ph
from photinus.storage.sql import SqlStorage
from photinus_bench.storing import CHOICES, FLOATS, INTEGERS, LOG_FLOATS, serve

SPACE: dict[str, ph.Float | ph.Int | ph.Categorical] = {
    **{name: ph.Float(*bounds) for name, bounds in FLOATS.items()},
    **{name: ph.Float(*bounds, scale="log") for name, bounds in LOG_FLOATS.items()},
    **{name: ph.Int(*bounds) for name, bounds in INTEGERS.items()},
    **{name: ph.Categorical(choices) for name, choices in CHOICES.items()},
}


class PhotinusStore:
    """See `Store`."""

    def __init__(self) -> None:
        self._storage: SqlStorage | None = None

    def create(self, address: str, study: str) -> None:
        ph.create_study(SPACE, name=study, storage=address, algorithm="random", seed=1)

    def open(self, address: str, study: str) -> None:
        if self._storage is not None:
            self._storage.close()
        self._storage = SqlStorage(address)
        self._study = ph.load_study(study, storage=self._storage)

    def work(self, num_trials: int) -> None:
        for _ in range(num_trials):
            [trial] = self._study.ask()
            self._study.tell(trial, trial.params["momentum"])


if __name__ == "__main__":
    serve(PhotinusStore(), packages=("photinus", "sqlalchemy", "psycopg"))
