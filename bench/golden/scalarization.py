"""Several objectives: reference point, hypervolume scalarisation and the acquisition value built on it."""

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import tensorflow_probability.substrates.jax as tfp
from vizier._src.algorithms.designers.gp import acquisitions

NUM_WEIGHTS = 24
NUM_QUERIES = 6
SHAPES = ((1, 2), (2, 2), (7, 2), (20, 2), (6, 3), (12, 3), (10, 4))  # (labelled points, metrics)
NOTES = {
    "comparable": [
        "reference_point = worst - 0.01 (best - worst) per metric, exactly.",
        "scalarized, rows weights and columns labels: min over metrics of max(y - reference, 0) / w, to the"
        " power M, exactly.",
        "acquisition: mean over weights of max(scalarized vector, largest scalarized label), exactly.",
    ],
    "differs": [
        "weights are given, so how they are drawn does not matter; the constant of the hypervolume integral"
        " is left out on both sides.",
    ],
}


def make(rng: np.random.Generator) -> dict:
    cases = [measure(rng, index, *shape) for index, shape in enumerate(SHAPES)]
    return {"notes": NOTES, "cases": cases}


def measure(rng: np.random.Generator, index: int, num_points: int, num_metrics: int) -> dict:
    labels = rng.normal(size=(num_points, num_metrics))
    vectors = rng.normal(scale=1.5, size=(NUM_QUERIES, num_metrics))
    vectors[0] = labels.max(axis=0) + 0.5  # certainly an improvement
    vectors[1] = labels.min(axis=0) - 0.5  # certainly none
    padded = oracle.padded(jnp.asarray(labels))
    scalarizer = acquisitions.create_hv_scalarization(NUM_WEIGHTS, padded, jax.random.PRNGKey(index))
    scalarized = scalarizer(jnp.asarray(labels))
    acquisition = acquisitions.ScalarizeOverAcquisitions(
        acquisitions.UCB(coefficient=0.0),
        scalarizer,
        reduction_fn=lambda values: jnp.mean(values, axis=0),
        max_scalarized=jnp.max(scalarized, axis=-1),
    )
    # With coefficient zero the upper bound is the mean: the vectors themselves.
    bounds = tfp.distributions.Normal(jnp.asarray(vectors), jnp.ones_like(vectors))
    return {
        "name": f"{num_points} points, {num_metrics} metrics",
        "labels": labels,
        "weights": scalarizer.weights,
        "reference_point": scalarizer.reference_point,
        "scalarized": scalarized,
        "vectors": vectors,
        "vectors_scalarized": scalarizer(jnp.asarray(vectors)),
        "acquisition": acquisition(bounds),
    }
