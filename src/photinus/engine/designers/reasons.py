"""Why a point was suggested, as plain JSON data for people, dashboards and agents (docs/algorithm.md §9)."""

import math
from statistics import NormalDist
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from photinus.engine.bandit import Model, Pick
from photinus.engine.designers import hyperparameters
from photinus.engine.designers.snapshot import Snapshot

QUANTILES = {"q05": 0.05, "q50": 0.5, "q95": 0.95}
NUM_NEAREST = 3
STANDARD = NormalDist()


def explain(study: Snapshot, model: Model, found: Pick, explores: bool) -> dict[str, Any]:
    """Acquisition, prediction, trust region, hyperparameters and the nearest completed trials."""
    hyper = model.fit.hyper
    predicted = quantiles(study, model, found.mu, found.sigma)
    own = hyperparameters.tell_own(study, hyper)
    single = study.preset.settings.acquisition
    promise = "hypervolume_ucb" if study.problem.is_multi_objective else single
    return {
        "method": "pure_exploration" if explores else promise,
        "intent": "explore" if explores or not _beats_the_best(study, predicted) else "exploit",
        "acquisition": float(found.score),
        "predicted": {name: {q: p[q] for q in QUANTILES} for name, p in predicted.items()},
        "warped": {name: {"mean": p["mean_warped"], "std": p["std_warped"]} for name, p in predicted.items()},
        **({} if found.feasible is None else {"feasible": float(found.feasible)}),
        "trust_region": {"radius": float(found.radius) if found.has_trust_region else None},
        "hyperparameters": hyperparameters.tell(study, hyper) | ({"objectives": own} if own else {}),
        "nearest": nearest(study, found),
        "evaluations": int(found.num_evaluations),
        "jitter": float(found.jitter),
    }


def quantiles(
    study: Snapshot, model: Model, mu: ArrayLike, sigma: ArrayLike
) -> dict[str, dict[str, float | None]]:
    """Quantiles of a measurement in the user's units (None without a feasible trial), and warped moments."""
    return quantile_rows(study, model, np.asarray(mu)[None, :], np.asarray(sigma)[None, :])[0]


def quantile_rows(
    study: Snapshot, model: Model, mu: np.ndarray, sigma: np.ndarray
) -> list[dict[str, dict[str, float | None]]]:
    """`quantiles` of many points at once; means are (N, M), deviations too, or (N, 1) where metrics share them."""
    rows: list[dict[str, dict[str, float | None]]] = [{} for _ in mu]
    deviations = np.broadcast_to(sigma, mu.shape)
    has_values = bool(study.is_feasible.any())
    for m, metric in enumerate(study.problem.metrics):
        warping = jax.tree.map(lambda v, m=m: v[m], model.warping)
        columns = {}
        for name, probability in QUANTILES.items():
            # Where less is better the warped axis points the other way, and so do its quantiles.
            z = mu[:, m] + study.signs[m] * deviations[:, m] * STANDARD.inv_cdf(probability)
            with np.errstate(over="ignore"):  # what no float can hold is not known either
                values = study.signs[m] * warping.undo(z) if has_values else np.full(len(z), math.nan)
            columns[name] = [value if math.isfinite(value) else None for value in values.tolist()]
        columns |= {"mean_warped": mu[:, m].tolist(), "std_warped": deviations[:, m].tolist()}
        for i, row in enumerate(rows):
            row[metric.name] = {name: column[i] for name, column in columns.items()}
    return rows


def nearest(study: Snapshot, found: Pick) -> list[dict[str, Any]]:
    """Told trials nearest to the pick in the unit cube; another category counts as distance 1."""
    count = study.num_told
    differs = study.features.categorical[:count] != found.features.categorical
    squares = (study.features.continuous[:count] - found.features.continuous) ** 2
    distance = np.sqrt(np.sum(squares, axis=1) + np.sum(differs, axis=1))
    order = np.argsort(distance, kind="stable")[:NUM_NEAREST]
    return [{"number": study.told[i].number, "distance": float(distance[i])} for i in order]


def _beats_the_best(study: Snapshot, predicted: dict[str, dict[str, float | None]]) -> bool:
    """Whether the median expectation is better than the best value so far in some metric."""
    if not study.is_feasible.any():
        return False
    best = np.max(study.labels[study.is_feasible], axis=0)
    medians = [p["q50"] for p in predicted.values()]
    return any(q is not None and s * q > b for q, s, b in zip(medians, study.signs, best, strict=True))
