"""Fitted hyperparameters as plain JSON values that people can read."""

from typing import Any

import numpy as np

from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.gp.kernel import Hyperparameters


def tell(study: Snapshot, hyper: Hyperparameters) -> dict[str, Any]:
    """Variances, and length scales by parameter; where every metric has its own, averages over metrics."""
    hyper = average(hyper)
    names = [axis.name for axis in study.encoder.axes] + list(study.encoder.categoricals)
    length_scales = np.sqrt(np.concatenate([hyper.continuous, hyper.categorical])).tolist()
    return {
        "signal_variance": float(hyper.signal_variance),
        "noise_variance": float(hyper.noise_variance),
        "length_scales": dict(zip(names, length_scales, strict=True)),
    }


def tell_own(study: Snapshot, hyper: Hyperparameters) -> dict[str, dict[str, Any]]:
    """By metric, its own; empty where all share one set."""
    if hyper.num_own is None:
        return {}
    return {metric.name: tell(study, hyper.of_metric(m)) for m, metric in enumerate(study.problem.metrics)}


def average(hyper: Hyperparameters) -> Hyperparameters:
    """Geometric means over metrics where each has its own: the fit finds logarithms."""
    if hyper.num_own is None:
        return hyper
    return Hyperparameters(*(np.exp(np.mean(np.log(v), axis=0)) for v in hyper))  # pyright: ignore
