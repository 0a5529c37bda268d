"""Trust region: radius, distance to the nearest trusted point, and what replaces a score outside."""

import jax.numpy as jnp
import numpy as np
import oracle
from vizier._src.algorithms.designers import gp_ucb_pe
from vizier._src.algorithms.designers.gp import acquisitions

NUM_QUERIES = 6
# (trusted points, continuous features, categorical features): radii below and above the limit of 0.5.
SHAPES = (
    (1, 1, 0),
    (1, 2, 0),
    (3, 2, 0),
    (5, 4, 0),
    (15, 2, 0),
    (16, 2, 0),
    (24, 4, 0),
    (40, 8, 0),
    (7, 20, 0),
    (2, 2, 1),
    (6, 3, 2),
    (9, 1, 4),
    (60, 3, 2),
    (4, 0, 3),
)
NOTES = {
    "comparable": [
        "radius = 0.2 + 0.3 N / (5 (D + 1)) with D counting every parameter, categoricals too, exactly; the"
        " region is off (bounded is false) once the radius passes 0.5.",
        "distance: largest gap over the numeric features to the nearest trusted point, exactly; without"
        " numeric features it is -inf, so the region never binds.",
        "penalised: the score where the point is inside or the region off, otherwise -1e12 - distance.",
    ],
    "differs": [
        "features whose scaled values lie more than 0.2 apart, and single-valued ones, are dropped from"
        " distance and D here but not by 0.1.24; all features in these cases are continuous.",
        "a point exactly on the radius is inside for one of the reference's two designers and outside for"
        " the other; no case has one.",
    ],
}


def make(rng: np.random.Generator) -> dict:
    return {"notes": NOTES, "cases": [measure(rng, *shape) for shape in SHAPES]}


def measure(rng: np.random.Generator, num_points: int, num_continuous: int, num_categorical: int) -> dict:
    continuous = rng.uniform(size=(num_points, num_continuous))
    categorical = rng.integers(3, size=(num_points, num_categorical))
    queries = rng.uniform(size=(NUM_QUERIES, num_continuous))
    # Two queries close to a trusted point, so that each bounded case has points inside.
    near = rng.uniform(-0.1, 0.1, size=(2, num_continuous))
    queries[:2] = np.clip(continuous[:1] + near, 0, 1)
    query_categorical = rng.integers(3, size=(NUM_QUERIES, num_categorical))
    scores = rng.normal(size=NUM_QUERIES)

    region = acquisitions.TrustRegion(oracle.model_input(continuous, categorical))
    points = oracle.model_input(queries, query_categorical)
    penalised = gp_ucb_pe._apply_trust_region(region, points, jnp.asarray(scores))
    return {
        "name": f"{num_points} points, {num_continuous} continuous, {num_categorical} categorical",
        "continuous": continuous,
        "categorical": categorical,
        "query_continuous": queries,
        "query_categorical": query_categorical,
        "scores": scores,
        "radius": float(region.trust_radius),
        "bounded": bool(region.trust_radius <= 0.5),
        "distance": region.min_linf_distance(points),
        "penalised": penalised,
    }
