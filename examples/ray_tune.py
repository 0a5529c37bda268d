"""Ray Tune with Photinus as its search algorithm, and ASHA to stop what does not look good.

pip install "photinus[ray]"
RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 python examples/ray_tune.py   # the variable keeps Ray's ports on this machine
"""

import tempfile
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import ASHAScheduler

from photinus.integrations.ray_search import PhotinusSearch


def train(config: dict[str, Any]) -> None:
    """Stands for a training run that gets better from epoch to epoch."""
    for epoch in range(1, 10):
        error = (config["x"] - 0.3) ** 2 + abs(config["model"]["width"] - 64) / 640
        tune.report({"error": error + 1 / epoch})


def main() -> None:
    """Tune, then ask the study what it has learned."""
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    search = PhotinusSearch(
        points_to_evaluate=[{"x": 0.5, "model": {"width": 32, "kind": "conv"}}],
        seed=0,
    )
    with tempfile.TemporaryDirectory() as directory:
        tuner = tune.Tuner(
            train,
            param_space={
                "x": tune.uniform(0, 1),
                "model": {"width": tune.qrandint(16, 128, 16), "kind": tune.choice(["conv", "dense"])},
            },
            tune_config=tune.TuneConfig(
                metric="error",
                mode="min",
                search_alg=search,
                scheduler=ASHAScheduler(max_t=9, grace_period=3),
                num_samples=10,
                max_concurrent_trials=2,
            ),
            run_config=tune.RunConfig(name="example", storage_path=directory, verbose=0),
        )
        best = tuner.fit().get_best_result()
    print(f"error {best.metrics['error']:.3f} with {best.config}" if best.metrics else "nothing was measured")

    # Behind the search is a study like any other.
    point = {"x": 0.4, "model/width": 64, "model/kind": "dense"}
    [expected] = search.study.predict([point])
    print(f"at {point} the model expects {expected['error']['q50']:.3f}")
    ray.shutdown()


if __name__ == "__main__":
    main()
