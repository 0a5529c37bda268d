"""Posteriors on which the acquisition search is judged, and how good a score can be found on each.

A posterior is defined by its class and index alone: trials drawn from NumPy's generator, hyperparameters recorded.
The reference is the best of a million random points and of many SciPy L-BFGS-B and exchange searches. Recorded in
tests/golden/search.json by `python tests/engine/search_reference.py`, which takes long; `main` can make parts.
"""

import json
import pathlib
import sys
import zlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

import photinus as ph
from photinus.engine.acquisition import trust_region
from photinus.engine.bandit import BanditSettings, acquisition
from photinus.engine.cache import engine_context
from photinus.engine.designers import gp_bandit
from photinus.engine.designers.constants import PAPER
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.features import Features
from photinus.engine.gp.kernel import Hyperparameters
from photinus.engine.padding import padded_size
from photinus.problem import Problem
from photinus.trial import Trial, TrialState

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "search.json"
CLASSES = ("5d", "20d", "50d", "mixed", "integer", "categorical")
NUM_POSTERIORS = 30
NUM_TRIALS = (10, 25, 60, 100)
NUM_PENDING = 3
NUM_RANDOM = 1_000_000
BATCH = 5_000
NUM_STARTS = 40
NUM_ROUNDS = 20


class Case(NamedTuple):
    """One posterior, as the arguments of the pick program."""

    snapshot: Snapshot
    explores: bool
    size: int


def make_case(kind: str, index: int) -> Case:
    """Trials of a study half-way: some spread out, some around the best of those."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), index])
    problem = Problem.define(_space(kind, rng), "maximize")
    num_trials, explores = NUM_TRIALS[index % len(NUM_TRIALS)], index % 5 == 4
    empty = Snapshot(problem, [], 0, PAPER)
    encoder, domain = empty.encoder, empty.encoder.domain
    num_numeric, num_features = len(encoder.axes), encoder.num_features
    optimum, weights = rng.uniform(size=num_numeric), 10.0 ** rng.uniform(-1.5, 1, num_numeric)
    tables = [rng.normal(size=size) for size in domain.num_categories]
    pairs = rng.normal(size=(num_features, num_features)) * (rng.random((num_features, num_features)) < 0.3)

    def value(params: dict[str, Any]) -> float:
        x, c = (np.asarray(v)[0] for v in encoder.encode([params]))
        bowl = -np.sum(weights * (x - optimum) ** 2) + 0.3 * np.sum(np.cos(9 * (x - optimum)))
        effects = np.array([table[i] for table, i in zip(tables, c, strict=True)])
        z = np.concatenate([x - optimum, effects])
        return float(bowl + np.sum(effects) + 0.5 * z @ pairs @ z / max(num_features, 1))

    points = encoder.spread(rng.random((num_trials // 2, num_features)))
    best = encoder.encode([max(points, key=value)])
    for _ in range(num_trials - len(points) + NUM_PENDING):
        x = np.clip(best.continuous + rng.laplace(scale=0.08, size=best.continuous.shape), 0, 1)
        fresh = encoder.encode(encoder.spread(rng.random((1, num_features)))).categorical
        c = np.where(rng.random(best.categorical.shape) < 0.2, fresh, best.categorical)
        points += encoder.decode(Features(x, c))
    completed, pending = points[:num_trials], points[num_trials:] if explores else []
    trials = [
        Trial(number=i, params=p, state=TrialState.COMPLETED, values={"value": value(p)}, completed_event=i)
        for i, p in enumerate(completed)
    ]
    trials += [
        Trial(number=num_trials + i, params=p, state=TrialState.ACTIVE, created_event=num_trials + i)
        for i, p in enumerate(pending)
    ]
    return Case(Snapshot(problem, trials, index, PAPER), explores, padded_size(len(trials) + 1))


def hyperparameters(record: dict[str, Any]) -> Hyperparameters:
    """Hyperparameters from their recorded form."""
    return Hyperparameters(*(np.asarray(record[name], dtype=np.float64) for name in Hyperparameters._fields))


def _space(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    floats = {"5d": 5, "20d": 20, "50d": 50, "mixed": 6}.get(kind, 0)
    ints = {"mixed": 4, "integer": 10}.get(kind, 0)
    categoricals = {"mixed": 5, "categorical": 15}.get(kind, 0)
    space: dict[str, Any] = {f"x{i}": ph.Float(0.0, 1.0) for i in range(floats)}
    space |= {f"n{i}": ph.Int(0, int(rng.integers(1, 16))) for i in range(ints)}
    return space | {f"c{i}": ph.Categorical(list(range(rng.integers(2, 7)))) for i in range(categoricals)}


class _Search:
    """The searches behind a reference, on one posterior."""

    def __init__(self, case: Case, hyper: Hyperparameters, y: np.ndarray) -> None:
        self.rng = np.random.default_rng(case.snapshot.seed)
        self.domain = case.snapshot.encoder.domain
        observations = case.snapshot.observations(case.size)
        self.arguments = (observations, y, self.domain, hyper, np.bool_(case.explores))
        self.region = _region(*self.arguments)
        count = len(case.snapshot.told)
        self.trials = Features(*(v[:count] for v in case.snapshot.features))

    def score(self, x: Features) -> np.ndarray:
        """Scores inside the trust region, minus infinity outside."""
        parts = []
        for start in range(0, len(x.continuous), BATCH):
            part = Features(*(v[start : start + BATCH] for v in x))
            short = BATCH - len(part.continuous)
            padded = Features(*(np.concatenate([v, np.repeat(v[:1], short, axis=0)]) for v in part))
            parts.append(np.asarray(_score(*self.arguments, padded))[: BATCH - short])
        return np.concatenate(parts)

    def random(self, count: int) -> Features:
        """Feasible points inside the trust region."""
        u = self.rng.random((count, len(self.domain.steps)))
        if self.region.is_active:
            centre = self.trials.continuous[self.rng.integers(len(self.trials.continuous), size=count)]
            around = np.clip(centre + (2 * u - 1) * float(self.region.radius), 0, 1)
            u = np.where(self.domain.is_trusted, around, u)
        steps = self.domain.steps
        u = np.where(steps > 0, np.round(u * steps) / np.maximum(steps, 1), u)
        c = (self.rng.random((count, len(self.domain.num_categories))) * self.domain.num_categories).astype(
            np.int32
        )
        return Features(u, c)

    def climb(self, x: Features) -> tuple[Features, float]:
        """Alternate L-BFGS-B in the free dimensions and single exchanges in the others until nothing improves."""
        best = float(self.score(x)[0])
        for _ in range(NUM_ROUNDS):
            before = best
            x, best = self._slide(x, best)
            x, best = self._exchange(x, best)
            if best - before <= 1e-10:
                break
        return x, best

    def _slide(self, x: Features, best: float) -> tuple[Features, float]:
        free = self.domain.steps == 0
        if not free.any():
            return x, best
        start = x.continuous[0]
        low, high = np.zeros(len(start)), np.ones(len(start))
        if self.region.is_active:
            gaps = np.where(self.domain.is_trusted, np.abs(self.trials.continuous - start), 0).max(axis=1)
            centre, radius = self.trials.continuous[gaps.argmin()], float(self.region.radius)
            low = np.where(self.domain.is_trusted, np.clip(centre - radius, 0, 1), low)
            high = np.where(self.domain.is_trusted, np.clip(centre + radius, 0, 1), high)
        low, high = np.where(free, low, start), np.where(free, high, start)

        def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = _slope(*self.arguments, z, x.categorical)
            return -float(value), -np.asarray(gradient)

        bounds = optimize.Bounds(low, high)
        found = optimize.minimize(loss, np.clip(start, low, high), jac=True, method="L-BFGS-B", bounds=bounds)
        candidate = Features(np.clip(found.x, low, high)[None], x.categorical)
        score = float(self.score(candidate)[0])
        return (candidate, score) if score > best else (x, best)

    def _exchange(self, x: Features, best: float) -> tuple[Features, float]:
        while True:
            points = []
            for d, steps in enumerate(self.domain.steps.astype(int)):
                for level in range(steps + 1 if steps else 0):
                    z = x.continuous.copy()
                    z[0, d] = level / steps
                    points.append(Features(z, x.categorical))
            for d, size in enumerate(self.domain.num_categories):
                for level in range(size):
                    z = x.categorical.copy()
                    z[0, d] = level
                    points.append(Features(x.continuous, z))
            if not points:
                return x, best
            scores = self.score(Features(*(np.concatenate(v) for v in zip(*points, strict=True))))
            if scores.max() <= best + 1e-12:
                return x, best
            x, best = points[int(scores.argmax())], float(scores.max())


def _acquisition(*arguments: Any) -> Any:
    return acquisition(jax.random.key(0), *arguments, settings=BanditSettings())


@jax.jit
def _score(*arguments: Any) -> Any:
    *model, x = arguments
    found = _acquisition(*model)
    scores = trust_region.constrain(found.region, x.continuous, found.score(x))
    return jnp.where(scores <= -trust_region.PENALTY, -jnp.inf, scores)


@jax.jit
def _slope(*arguments: Any) -> Any:
    *model, z, c = arguments
    score = _acquisition(*model).score
    return jax.value_and_grad(lambda z: score(Features(z[None], c))[0])(z)


@jax.jit
def _region(*arguments: Any) -> Any:
    return _acquisition(*arguments).region


def make_record(kind: str, index: int) -> dict[str, Any]:
    """Fit, search for a long time, and write down what was found."""
    case = make_case(kind, index)
    model = gp_bandit.fit(case.snapshot, case.size)
    with engine_context():
        search = _Search(case, model.fit.hyper, model.y)
        x = search.random(NUM_RANDOM)
        scores = search.score(x)
        order = np.argsort(-scores)[: NUM_STARTS // 2]
        trial_order = np.argsort(-search.score(search.trials))[: NUM_STARTS // 2]
        starts = [Features(*(v[i : i + 1] for v in x)) for i in order]
        starts += [Features(*(v[i : i + 1] for v in search.trials)) for i in trial_order]
        best = max(search.climb(start)[1] for start in starts)
    return {
        "class": kind,
        "index": index,
        "hyper": {name: np.asarray(v).tolist() for name, v in model.fit.hyper._asdict().items()},
        "reference": max(best, float(scores.max())),
        "median_random": float(np.median(scores[np.isfinite(scores)])),
    }


def main(path: pathlib.Path, part: int = 0, parts: int = 1) -> None:
    """Record all classes, or every `parts`-th posterior from `part` on."""
    cases = [(kind, index) for kind in CLASSES for index in range(NUM_POSTERIORS)][part::parts]
    records = []
    for kind, index in cases:
        records.append(make_record(kind, index))
        print(json.dumps(records[-1] | {"hyper": None}), flush=True)
    lines = ",\n".join(map(json.dumps, records))
    path.write_text(f'{{"made_by": "python tests/engine/search_reference.py", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN, *map(int, sys.argv[2:]))
