"""Where the best point probably is, and what another trial can be expected to gain.

Both are searched for among the observed points, quasi-random points, and steps around the most promising of them.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from photinus.engine.encoding import Encoder
from photinus.engine.features import Features
from photinus.plots.source import MODEL_TRIALS, best_in, model_of, ranked, value_of
from photinus.problem import Goal, Metric
from photinus.report.moment import Moment
from photinus.space import Value

NUM_SPREAD = 1024  # quasi-random points
NUM_OBSERVED = 256  # observed points, the best by each objective
NUM_STEPS = 256  # random points around the leaders, in each round
RADII = (0.25, 0.25, 0.12, 0.12, 0.06, 0.03, 0.01, 0.003)  # of the rounds, in parts of a parameter's range
MAX_CHOICES = 16  # of a categorical parameter, tried one by one
NUM_NODES = 127  # of the integral over what the value may be
SEED = 0
LARGEST = np.finfo(np.float64).max
NODES = np.array([NormalDist().inv_cdf((i + 0.5) / NUM_NODES) for i in range(NUM_NODES)])


@dataclass(frozen=True)
class Prospect:
    """What the model makes of one objective: the likely best point, and the most promising one."""

    metric: Metric
    best_value: float  # measured
    likely_params: dict[str, Value]
    likely: dict[str, float]  # q05, q50, q95 of a measurement there; NaN where no float can hold it
    promising_params: dict[str, Value]
    expected_gain: float  # over the best measured value
    chance: float  # that the value there is better than it
    noise: dict[str, float]  # standard deviation of repeated measurements, near the best and the median value


def find_prospects(moment: Moment) -> list[Prospect]:
    """One for each objective; none as long as there is too little to learn from."""
    if not moment.can_learn:
        return []
    described = moment.describe_model(max_trials=MODEL_TRIALS)
    pool = Pool(moment, described)
    pool.add(pool.first_points())
    if pool.encoder.num_features:
        for i, radius in enumerate(RADII):
            pool.climb(radius, np.random.default_rng([SEED, i]))
    return [pool.prospect(metric) for metric in moment.problem.metrics]


class Pool:
    """Points with what the model expects there, and scores of every objective."""

    def __init__(self, moment: Moment, described: Mapping[str, Any]) -> None:
        self.moment = moment
        self.described = described
        self.encoder = Encoder(moment.problem.space)
        self.points: list[dict[str, Any]] = []
        self.rows: list[dict[str, dict[str, float | None]]] = []
        self.means: dict[str, np.ndarray] = {}
        self.gains: dict[str, np.ndarray] = {}
        self.chances: dict[str, np.ndarray] = {}

    def first_points(self) -> list[dict[str, Any]]:
        """Observed and quasi-random points."""
        from scipy.stats import qmc  # takes half a second to import

        metrics = self.moment.problem.metrics
        observed = {
            trial.number: dict(trial.params)
            for metric in metrics
            for trial in ranked(self.moment.problem, self.moment.trials, metric)[
                : max(NUM_OBSERVED // len(metrics), 1)
            ]
        }
        if self.encoder.num_features == 0:
            return list(observed.values())[:1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of points is a power of two
            u = qmc.Sobol(self.encoder.num_features, rng=np.random.default_rng(SEED)).random(NUM_SPREAD)
        return [*observed.values(), *self.encoder.spread(u)]

    def leaders(self) -> list[tuple[int, np.ndarray]]:
        """The best point by each score, and that score of all points."""
        return [(int(np.argmax(s)), s) for s in (*self.means.values(), *self.gains.values())]

    def climb(self, radius: float, rng: np.random.Generator) -> None:
        """Take steps around the leaders: at random, along one parameter, and along all that helped at once."""
        starts = [index for index, _ in self.leaders()]
        features = self.encoder.encode([self.points[index] for index in starts])
        self.add(self._random_steps(features, radius, rng))
        moves = [self._single_moves(features, i, radius) for i in range(len(starts))]
        first = len(self.points)
        self.add([point for points in moves for point in points])
        jumps = []
        for start, (_, score), points in zip(starts, self.leaders(), moves, strict=True):
            gains = score[first : first + len(points)] - score[start]
            first += len(points)
            jumps += _combine(self.points[start], points, gains)
        if jumps:
            self.add(jumps)

    def _random_steps(
        self, centres: Features, radius: float, rng: np.random.Generator
    ) -> list[dict[str, Any]]:
        chosen = np.arange(NUM_STEPS) % len(centres.continuous)
        continuous, categorical = centres.continuous[chosen], centres.categorical[chosen]
        share = (
            min(3.0, self.encoder.num_features) / self.encoder.num_features
        )  # moves about three parameters
        moves = rng.random(continuous.shape) < share
        continuous = np.clip(continuous + moves * rng.normal(0.0, radius, continuous.shape), 0.0, 1.0)
        for d, parameter in enumerate(self.encoder.categoricals.values()):
            drawn = rng.integers(len(parameter.values), size=NUM_STEPS)
            categorical[:, d] = np.where(rng.random(NUM_STEPS) < share / 2, drawn, categorical[:, d])
        return self.encoder.decode(Features(continuous, categorical))

    def _single_moves(self, centres: Features, i: int, radius: float) -> list[dict[str, Any]]:
        """One parameter changed: a step down or up, or another choice."""
        base = Features(centres.continuous[i], centres.categorical[i])
        moves = []
        for d in range(len(base.continuous)):
            for step in (-radius, radius):
                moved = base.continuous.copy()
                moved[d] = min(max(moved[d] + step, 0.0), 1.0)
                moves.append((moved, base.categorical))
        for d, parameter in enumerate(self.encoder.categoricals.values()):
            for choice in range(min(len(parameter.values), MAX_CHOICES)):
                switched = base.categorical.copy()
                switched[d] = choice
                moves.append((base.continuous, switched))
        continuous, categorical = (np.stack(part) for part in zip(*moves, strict=True))
        return self.encoder.decode(Features(continuous, categorical))

    def add(self, points: list[dict[str, Any]]) -> None:
        """Ask the model about more points."""
        self.points += points
        self.rows += self.moment.predict(points, max_trials=MODEL_TRIALS)
        for metric in self.moment.problem.metrics:
            self._score(metric)

    def _score(self, metric: Metric) -> None:
        mean, deviation = (
            np.array([row[metric.name][name] for row in self.rows], dtype=float)
            for name in ("mean_warped", "std_warped")
        )
        noise_variance = model_of(self.described, metric)["noise_variance"]
        # Predictions are of measurements. What counts is the value itself, without the noise on top.
        latent = np.sqrt(np.maximum(deviation**2 - noise_variance, 0.0))
        scale = self.described["objectives"][metric.name]["scale"]
        # In parts of the largest value, because the distance of the largest floats is infinite.
        unit = max(1.0, float(np.max(np.abs(scale["values"]))))
        known = np.array(scale["values"]) / unit
        values = np.interp(mean[:, None] + latent[:, None] * NODES, scale["model"], known)
        sign = 1.0 if metric.goal is Goal.MAXIMIZE else -1.0
        gains = np.maximum(sign * (values - self._best_value(metric) / unit), 0.0)
        self.means[metric.name] = mean
        self.gains[metric.name] = np.minimum(np.mean(gains, axis=1), LARGEST / unit) * unit
        self.chances[metric.name] = np.mean(gains > 0.0, axis=1)

    def _best_value(self, metric: Metric) -> float:
        best = best_in(self.moment.completed, metric)
        assert best is not None
        return value_of(best, metric)

    def prospect(self, metric: Metric) -> Prospect:
        """What was found for one objective."""
        likely = int(np.argmax(self.means[metric.name]))
        promising = int(np.argmax(self.gains[metric.name]))
        row = self.rows[likely][metric.name]
        return Prospect(
            metric=metric,
            best_value=self._best_value(metric),
            likely_params=self.points[likely],
            likely={name: math.nan if (q := row[name]) is None else q for name in ("q05", "q50", "q95")},
            promising_params=self.points[promising],
            expected_gain=float(self.gains[metric.name][promising]),
            chance=float(self.chances[metric.name][promising]),
            noise=self.described["objectives"][metric.name]["noise"],
        )


def _combine(start: dict[str, Any], moves: list[dict[str, Any]], gains: np.ndarray) -> list[dict[str, Any]]:
    """All changes that helped, one per parameter; and the better half of them, should they spoil each other."""
    helpful: dict[str, tuple[float, Any]] = {}
    for point, gain in zip(moves, gains.tolist(), strict=True):
        for name, value in point.items():
            if value != start[name] and gain > helpful.get(name, (0.0, None))[0]:
                helpful[name] = gain, value
    ordered = sorted(helpful, key=lambda name: -helpful[name][0])
    return [
        {**start, **{name: helpful[name][1] for name in ordered[:count]}}
        for count in {len(ordered), (len(ordered) + 1) // 2}
        if count > 1
    ]
