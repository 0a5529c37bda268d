"""What a model of chosen trials loses against one of all of them.

    python -m photinus_bench.active_set_study --out bench/records/active-set.json

A long history as an optimiser leaves it (`histories.py`). Models of it predict new points near the best trial and
anywhere, in the model's own units, where labels have deviation 1. The exact one is fitted to and conditioned on all
trials; the others have limits (`active_set.py`).
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from scipy.stats import spearmanr

from photinus.engine.bandit import BanditSettings, ModelSettings
from photinus.engine.designers import gp_bandit, long_study, uniform
from photinus.engine.designers.constants import Preset
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.padding import padded_size
from photinus.trial import Trial
from photinus_bench.histories import changed, history
from photinus_bench.machine import provenance
from photinus_bench.problem import Experimenter, Params
from photinus_bench.tables import render
from photinus_bench.tasks import Task, build

# Rastrigin, Rosenbrock, an ellipsoid, and Rosenbrock again with half of its parameters categorical.
TASKS = ("rastrigin/8d", "bbob/f08/20d", "bbob/f02/20d", "bbob/f08/20d/categorical50")
NUM_TRIALS = 2000
NUM_QUERIES = 256  # one batch of predictions
MODEL = ModelSettings(labels="winsorised", length_scales="joint")
# Trials fitted to, rows conditioned on.
LIMITS: dict[str, tuple[int | None, int | None]] = {
    "exact": (None, None),
    "fit to 256": (256, None),
    "fit to 256, 1024 rows": (256, 1024),
    "fit to 256, 512 rows": (256, 512),
}


def queries(experimenter: Experimenter, trials: list[Trial], seed: int) -> dict[str, list[Params]]:
    """New points: near the best trial, by 0.003 to 0.1 of each range, and anywhere."""
    problem = experimenter.problem
    snapshot = Snapshot(problem, trials, seed, Preset())
    rng = np.random.default_rng(seed + 1)
    best = snapshot.told[int(np.argmax(snapshot.labels[:, 0]))].params
    x = snapshot.encoder.encode([best])
    scales = 0.1 * 0.03 ** rng.random(NUM_QUERIES)
    near = [changed(x, scale, snapshot.encoder, rng) for scale in scales]
    return {
        "near": near,
        "anywhere": [point.params for point in uniform.suggest(problem, [], NUM_QUERIES, seed + 2)],
    }


def judge(study: Snapshot, model: Any, prediction: Any, truth: np.ndarray) -> dict[str, float]:
    """How predictions compare with the truth, in the model's units."""
    warping = jax.tree.map(lambda v: v[0], model.warping)
    y = np.asarray(model.y)[: study.num_completed, 0]
    z = (study.signs[0] * truth / warping.unit - warping.top - warping.mean) / warping.deviation
    z = np.maximum(z, y.min())  # as winsorised as the labels are
    mu, sigma = prediction.mu[:, 0], prediction.sigma
    error = z - mu
    density = 0.5 * (error / sigma) ** 2 + np.log(sigma) + 0.5 * math.log(2 * math.pi)
    return {
        "rank_correlation": float(spearmanr(mu, z).statistic),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "nlpd": float(np.mean(density)),
    }


def compare(task: str, num_trials: int, num_random: int, seed: int = 0) -> list[dict[str, Any]]:
    """All models of one history."""
    experimenter = build(Task.parse(task), seed)
    trials = history(experimenter, num_trials, num_random, seed)
    asked = queries(experimenter, trials, seed)
    [metric] = experimenter.problem.metric_names
    size = padded_size(num_trials)
    rows, models = [], {}
    for name, (fit_limit, posterior_limit) in LIMITS.items():
        preset = Preset(BanditSettings(MODEL), fit_limit=fit_limit, posterior_limit=posterior_limit)
        study = Snapshot(experimenter.problem, trials, seed, preset)
        began = time.process_time()
        if fit_limit not in models:
            models[fit_limit] = gp_bandit.fit(study, size)
        model = models[fit_limit]
        observations, y, _ = long_study.active(study, model, size)
        row: dict[str, Any] = {"task": task, "model": name, "num_trials": num_trials}
        for where, points in asked.items():
            at = gp_bandit.predict_program()(observations, y, model.fit.hyper, study.encoder.encode(points))
            truth = np.array([experimenter.truth(point)[metric] for point in points])
            row[where] = judge(study, model, jax.device_get(at), truth)
        rows.append(row | {"cpu_s": time.process_time() - began})
        print(table([rows[-1]]).splitlines()[-1], flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """One line for each task and model."""
    head = ["task", "model"]
    head += [f"{what} {where}" for where in ("near", "anywhere") for what in ("rank", "RMSE", "NLPD")]
    lines = [
        [row["task"], row["model"]]
        + [
            row[where][what]
            for where in ("near", "anywhere")
            for what in ("rank_correlation", "rmse", "nlpd")
        ]
        for row in rows
    ]
    return render(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--trials", type=int, default=NUM_TRIALS)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    began = provenance("bbob")
    rows = [row for task in arguments.tasks for row in compare(task, arguments.trials, arguments.trials // 4)]
    record = {**began, "rows": rows}
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
