"""Optuna's gRPC proxy server over a database: `python -m photinus_bench.baselines.serving_optuna ADDRESS PORT`."""

import sys

import optuna

from photinus_bench.baselines.storing_optuna import open_storage

if __name__ == "__main__":
    # Importing `storing_optuna` has set SQLite to write as Photinus does.
    storage = optuna.storages.get_storage(open_storage(sys.argv[1]))
    optuna.storages.run_grpc_proxy_server(storage, host="127.0.0.1", port=int(sys.argv[2]))
