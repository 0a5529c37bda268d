"""A study on a Dask cluster, one of whose workers dies on the way.

pip install "photinus[dask]"
python examples/dask_cluster.py
"""

import os

import dask
from distributed import Client, LocalCluster

import photinus as ph


def simulate(trial: ph.Trial) -> float:
    """Stands for a simulation; the third one takes its worker down."""
    if trial.number == 2:
        os._exit(1)
    return (trial.params["angle"] - 30) ** 2 / 100 + trial.params["speed"]


def main() -> None:
    """Two workers here; `Client("tcp://scheduler:8786")` would take a cluster of any size."""
    study = ph.create_study({"angle": ph.Float(0, 90), "speed": ph.Float(0.1, 10, scale="log")}, seed=0)
    # A trial whose worker dies is tried once more elsewhere; Dask's own setting is three times.
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        study.optimize(simulate, n_trials=12, executor=client.get_executor())
    num_failed = sum(trial.state == ph.TrialState.FAILED for trial in study.trials)
    print(f"{len(study.trials)} trials, {num_failed} failed; best {study.best_trial.values['value']:.2f}")
    print(f"at {study.best_trial.params}")


if __name__ == "__main__":
    main()
