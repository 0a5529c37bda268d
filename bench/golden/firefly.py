"""One firefly move without its noise: force weights, the sum of forces, and categorical logits."""

from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from vizier import pyvizier as vz
from vizier._src.algorithms.optimizers import eagle_strategy
from vizier._src.algorithms.optimizers import vectorized_base as vb
from vizier.pyvizier import converters

# (flies, continuous features, sizes of the categorical features)
SHAPES = (
    (6, 1, ()),
    (8, 4, ()),
    (25, 10, ()),
    (6, 2, (3,)),
    (12, 3, (2, 5)),
    (8, 0, (4,)),
    (10, 0, (3, 2, 6)),
)
NOTES = {
    "comparable": [
        "weights, rows moving flies and columns pool: 1.5 e where the pool fly scores at least as well,"
        " -0.008 e otherwise, 0 where its score is missing, e = exp(-4.5 r^2 / D); exactly.",
        "displacement = sum over the pool of weight * (other - self), exactly; not divided by the pool size.",
        "logits: for weights divided by the pool size, before noise; entries past a feature's size are -inf.",
    ],
    "differs": [
        "the reference divides pulls and pushes by how many flies pull or push, the text by the pool size;"
        " these cases leave the division out of the displacement and apply the text's to the logits.",
        "the last fly has no score yet; here such a fly is scored where it stands, so its row means nothing.",
        "its noise is not comparable: in the continuous features it degenerates to plus or minus omega.",
    ],
}


def make(rng: np.random.Generator) -> dict:
    return {"notes": NOTES, "cases": [measure(rng, *shape) for shape in SHAPES]}


def build(
    num_flies: int, num_continuous: int, sizes: tuple[int, ...]
) -> eagle_strategy.VectorizedEagleStrategy:
    problem = vz.ProblemStatement()
    root = problem.search_space.root
    for index in range(num_continuous):
        root.add_float_param(f"x{index}", 0.0, 1.0)
    for index, size in enumerate(sizes):
        root.add_categorical_param(f"c{index}", [f"{value:02d}" for value in range(size)])
    config = eagle_strategy.EagleStrategyConfig(
        pool_size=num_flies,
        mutate_normalization_type=eagle_strategy.MutateNormalizationType.UNNORMALIZED,
    )
    factory = eagle_strategy.VectorizedEagleStrategyFactory(eagle_config=config)
    converter = converters.TrialToModelInputConverter.from_problem(problem)
    return factory(converter, suggestion_batch_size=num_flies)


def measure(rng: np.random.Generator, num_flies: int, num_continuous: int, sizes: tuple[int, ...]) -> dict:
    strategy = build(num_flies, num_continuous, sizes)
    continuous = rng.uniform(size=(num_flies, num_continuous))
    categorical = (
        rng.integers(sizes, size=(num_flies, len(sizes))) if sizes else np.zeros((num_flies, 0), int)
    )
    scores = rng.normal(size=num_flies)
    scores[-1] = -np.inf  # a fly that was replaced and has no score yet
    scores[1] = scores[0]  # equal scores attract
    case = {
        "name": f"{num_flies} flies, {num_continuous} continuous, categories {list(sizes)}",
        "continuous": continuous,
        "categorical": categorical,
        "category_sizes": list(sizes),
        "scores": scores,
        "weights": force_weights(strategy, continuous, scores, categorical),
        "displacement": move(strategy, continuous, categorical, scores) - continuous,
    }
    if sizes:
        pool = jnp.asarray(categorical[:, np.newaxis], np.int32)
        scale = jnp.asarray(case["weights"]) / num_flies
        case["logits"] = strategy._create_categorical_feature_logits(pool, pool, scale)[:, 0]
    return case


def move(
    strategy: eagle_strategy.VectorizedEagleStrategy,
    continuous: np.ndarray,
    categorical: np.ndarray,
    scores: np.ndarray,
) -> np.ndarray:
    """Where all flies go at once, without noise; categorical features are sampled there and left out."""
    num_flies = len(scores)
    flies = vb.VectorizedOptimizerInput(
        jnp.asarray(continuous[:, np.newaxis]), jnp.asarray(categorical[:, np.newaxis], np.int32)
    )
    num_categories = max(strategy.max_categorical_size, 0)
    still = vb.VectorizedOptimizerInput(
        jnp.zeros((num_flies, 1, continuous.shape[1])),
        jnp.zeros((num_flies, 1, categorical.shape[1], num_categories)),
    )
    rewards = jnp.asarray(scores)
    moved = strategy._create_features(flies, rewards, flies, rewards, still, jax.random.PRNGKey(0))
    return np.asarray(moved.continuous[:, 0])


def force_weights(
    strategy: eagle_strategy.VectorizedEagleStrategy,
    continuous: np.ndarray,
    scores: np.ndarray,
    categorical: np.ndarray,
) -> np.ndarray:
    """The weights a move uses. They are local to it, but its last step sees them: every matrix product takes
    them as the left factor."""
    seen = []
    matmul = jnp.matmul

    def record(left: jax.Array, right: jax.Array) -> jax.Array:
        seen.append(np.asarray(left))
        return matmul(left, right)

    with mock.patch.object(eagle_strategy.jnp, "matmul", record):
        move(strategy, continuous, categorical, scores)
    square = [left for left in seen if left.shape == (len(scores), len(scores))]
    return square[-1]
