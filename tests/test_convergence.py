"""Whole studies, seeded: within sixty trials either bandit is clearly ahead of searches that do not learn."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import photinus as ph
from photinus.study import Study

NUM_TRIALS = 60
REPEATS = 5
D = 20
OPTIMUM = np.random.default_rng(20).uniform(-3, 3, D)
WEIGHTS = 10.0 ** np.linspace(0, 2, D)

pytestmark = pytest.mark.long

CUBE = {f"x{i}": ph.Float(-5, 5) for i in range(D)}
MIXED = {
    "lr": ph.Float(1e-5, 1e-1, "log"),
    "momentum": ph.Float(0.5, 0.999, "reverse_log"),
    "dropout": ph.Float(0, 0.9),
    "layers": ph.Int(1, 12),
    "width": ph.Int(8, 1024, "log"),
    "batch": ph.Discrete([8, 16, 32, 64, 128, 256], "log"),
    "optimizer": ph.Categorical(["sgd", "adam", "rmsprop", "lion"]),
    "norm": ph.Categorical(["none", "batch", "layer"]),
    "warmup": ph.Categorical([False, True]),
}


def shifted(params: dict[str, float]) -> np.ndarray:
    return np.array(list(params.values())) - OPTIMUM


def ellipsoid(params: dict[str, float]) -> float:
    return float(np.sum(WEIGHTS * shifted(params) ** 2))


def rosenbrock(params: dict[str, float]) -> float:
    z = 0.4 * shifted(params) + 1
    return float(np.sum(100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2))


def rastrigin(params: dict[str, float]) -> float:
    z = 0.5 * shifted(params)
    return float(np.sum(z**2 + 2 * (1 - np.cos(2 * math.pi * z))))


def training(params: dict[str, Any]) -> float:
    """A made-up validation error: 0 at best, and what is good in one parameter depends on others."""
    best_lr = {"sgd": -1.5, "adam": -3.0, "rmsprop": -3.5, "lion": -4.0}[params["optimizer"]]
    lr = math.log10(params["lr"]) - best_lr - 0.3 * math.log2(params["batch"] / 64)
    size = math.log2(params["width"] * params["layers"]) - 10
    loss = 0.5 * lr**2 + 0.2 * size**2 + 2 * (params["dropout"] - 0.05 * params["layers"]) ** 2
    loss += 0.2 * abs(math.log10(1 - params["momentum"]) + 1)
    loss += {"sgd": 0.6, "adam": 0.0, "rmsprop": 0.3, "lion": 0.2}[params["optimizer"]]
    loss += {"none": 0.5, "batch": 0.2 * (params["batch"] < 32), "layer": 0.1}[params["norm"]]
    return loss + 0.2 * (params["warmup"] == (params["optimizer"] == "sgd"))


def run(
    space: dict[str, Any], objective: Callable, algorithm: str, seed: int, goals: Any = "minimize"
) -> Study:
    study = ph.create_study(space, goals, algorithm=algorithm, seed=seed)
    study.optimize(lambda trial: objective(trial.params), n_trials=NUM_TRIALS)
    return study


PROBLEMS = {
    "ellipsoid": (CUBE, ellipsoid),
    "rosenbrock": (CUBE, rosenbrock),
    "rastrigin": (CUBE, rastrigin),
    "mixed": (MIXED, training),
}


@pytest.mark.parametrize("bandit", ["default", "paper"])
@pytest.mark.parametrize(("space", "objective"), PROBLEMS.values(), ids=PROBLEMS)
def test_the_bandit_is_clearly_ahead(space: dict[str, Any], objective: Callable, bandit: str):
    best = {
        algorithm: [
            run(space, objective, algorithm, seed).best_trial.values["value"] for seed in range(REPEATS)
        ]
        for algorithm in (bandit, "random", "quasi_random")
    }
    typical = np.median(best[bandit])
    for rival in ("random", "quasi_random"):
        assert typical < min(best[rival]), best
        assert typical < 0.7 * np.median(best[rival]), best


def two_bowls(params: dict[str, float]) -> dict[str, float]:
    x = np.array(list(params.values()))
    return {"near": float(np.sum((x - 0.2) ** 2)), "far": float(np.sum((x - 0.8) ** 2))}


# The best points are x = t for all x, 0.2 <= t <= 0.8. With u = t - 0.2 they leave out of the square of side 3
# the integral of 6 (0.6 - u)² over 6 u², which is 72 * 0.6⁴ / 12.
WHOLE_AREA = 9.0 - 72 * 0.6**4 / 12


def hypervolume(study: Study, reference: float = 3.0) -> float:
    """Area that is dominated, both objectives minimised."""
    front = sorted((t.values["near"], t.values["far"]) for t in study.best_trials)
    area, height = 0.0, reference
    for near, far in front:
        if near < reference and far < height:
            area += (reference - near) * (height - far)
            height = far
    return area


@pytest.mark.parametrize("bandit", ["default", "paper"])
def test_two_objectives_cover_more_than_chance_does(bandit: str):
    space = {f"x{i}": ph.Float(0, 1) for i in range(6)}
    goals = {"near": "minimize", "far": "minimize"}
    area = {
        algorithm: sorted(hypervolume(run(space, two_bowls, algorithm, seed, goals)) for seed in range(3))
        for algorithm in (bandit, "random", "quasi_random")
    }
    for rival in ("random", "quasi_random"):
        assert min(area[bandit]) > max(area[rival]), area
        missing = {algorithm: WHOLE_AREA - np.median(areas) for algorithm, areas in area.items()}
        assert 0 < missing[bandit] < missing[rival] / 3, area
