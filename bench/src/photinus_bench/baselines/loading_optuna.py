"""Optuna's gRPC proxy storage, each worker with Optuna's RandomSampler."""

from collections.abc import Sequence

import optuna

from photinus_bench.baselines.storing_optuna import DISTRIBUTIONS
from photinus_bench.loading import serve


class OptunaWorker:
    """See `Worker`."""

    def __init__(self, study: optuna.Study) -> None:
        self._study = study

    def ask(self) -> optuna.Trial:
        return self._study.ask(DISTRIBUTIONS)

    def tell(self, trial: optuna.Trial, value: float) -> int:
        return self._study.tell(trial, value).number


class OptunaLoad:
    """See `Load`."""

    def __init__(self) -> None:
        self._storages: dict[str, optuna.storages.GrpcStorageProxy] = {}

    def create(self, addresses: Sequence[str], studies: dict[str, str]) -> None:
        for name in studies:
            optuna.create_study(storage=self._storage(addresses[0]), study_name=name)

    def open(self, addresses: Sequence[str], worker: str, study: str) -> OptunaWorker:
        sampler = optuna.samplers.RandomSampler()
        storage = self._storage(addresses[0])
        return OptunaWorker(optuna.load_study(study_name=study, storage=storage, sampler=sampler))

    def count(self, study: str) -> int:
        [storage, *_] = self._storages.values()
        trials = optuna.load_study(study_name=study, storage=storage).get_trials(deepcopy=False)
        return sum(trial.state == optuna.trial.TrialState.COMPLETE for trial in trials)

    def _storage(self, address: str) -> optuna.storages.GrpcStorageProxy:
        if address not in self._storages:
            host, _, port = address.rpartition(":")
            self._storages[address] = optuna.storages.GrpcStorageProxy(host=host, port=int(port))
        return self._storages[address]


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    serve(OptunaLoad(), packages=("optuna", "grpcio"))
