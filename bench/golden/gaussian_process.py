"""The GP at given hyperparameters: loss and its gradient, and the predictive distribution."""

from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
import oracle

NUM_CATEGORIES = 4
NUM_QUERIES = 6
HYPERPARAMETER_NOTE = (
    "hyperparameters are raw values, not logs: variances of signal and noise, squares of length scales"
)
LOSS_NOTES = {
    "comparable": [
        "loss = nll + sum of penalties, exactly; nll includes the constant (N M / 2) ln(2 pi) and is the sum"
        " over the metrics, which share one set of hyperparameters.",
        "gradient: of the loss by each raw hyperparameter; by its logarithm it is hyperparameter * gradient.",
        HYPERPARAMETER_NOTE,
    ],
    "differs": ["nothing: no case is ill-conditioned enough to need jitter on the diagonal"],
}
POSTERIOR_NOTES = {
    "comparable": [
        "mean and stddev at the queries, exactly; stddev includes the observation noise. Rows are queries,"
        " columns metrics. The first query repeats an observed point.",
        HYPERPARAMETER_NOTE,
    ],
    "differs": ["nothing: no case is ill-conditioned enough to need jitter on the diagonal"],
}


@dataclass(frozen=True)
class Shape:
    name: str
    num_points: int
    num_continuous: int
    num_categorical: int
    num_metrics: int = 1


SHAPES = (
    Shape("one point", 1, 2, 0),
    Shape("continuous 1-D", 5, 1, 0),
    Shape("continuous 3-D", 12, 3, 0),
    Shape("continuous 8-D", 30, 8, 0),
    Shape("mixed 2+1", 6, 2, 1),
    Shape("mixed 3+2", 15, 3, 2),
    Shape("categorical 1", 7, 0, 1),
    Shape("categorical 3", 10, 0, 3),
    Shape("continuous 2-D, 2 metrics", 9, 2, 0, num_metrics=2),
    Shape("mixed 2+2, 2 metrics", 11, 2, 2, num_metrics=2),
    Shape("categorical 2, 2 metrics", 8, 0, 2, num_metrics=2),
    Shape("continuous 4-D, 3 metrics", 10, 4, 0, num_metrics=3),
)


def make_losses(rng: np.random.Generator) -> dict:
    cases = []
    for shape in SHAPES:
        for repeat in range(2):
            case = random_case(rng, shape, repeat)
            cases.append(case | measure_loss(case))
    return {"notes": LOSS_NOTES, "cases": cases}


def make_posteriors(rng: np.random.Generator) -> dict:
    cases = []
    for shape in SHAPES:
        for repeat in range(2):
            case = random_case(rng, shape, repeat)
            case |= random_queries(rng, shape, case)
            data = oracle.model_data(case["continuous"], case["categorical"], case["labels"])
            model = oracle.gp_at(data, case["hyperparameters"])
            queries = oracle.model_input(case["query_continuous"], case["query_categorical"])
            prediction = oracle.predictive(model, data).predict(queries)
            size = (-1, shape.num_metrics)
            case["mean"] = np.reshape(prediction.mean(), size)
            case["stddev"] = np.reshape(prediction.stddev(), size)
            cases.append(case)
    return {"notes": POSTERIOR_NOTES, "cases": cases}


def random_case(rng: np.random.Generator, shape: Shape, repeat: int) -> dict:
    """Points and labels; the second repeat of a shape has a duplicated point (with another label)."""
    continuous = rng.uniform(size=(shape.num_points, shape.num_continuous))
    categorical = rng.integers(NUM_CATEGORIES, size=(shape.num_points, shape.num_categorical))
    if repeat and shape.num_points > 1:
        continuous[-1], categorical[-1] = continuous[0], categorical[0]
    return {
        "name": f"{shape.name} ({repeat + 1})",
        "continuous": continuous,
        "categorical": categorical,
        "labels": rng.normal(size=(shape.num_points, shape.num_metrics)),
        "hyperparameters": random_hyperparameters(rng, shape),
    }


def random_hyperparameters(rng: np.random.Generator, shape: Shape) -> dict:
    """Log-uniform within the reference's bounds, but for the noise: above 1e-5, to stay well-conditioned."""
    return {
        "signal_variance": 10 ** rng.uniform(-2, 1),
        "continuous_length_scale_squared": 10 ** rng.uniform(-2, 2, size=shape.num_continuous),
        "categorical_length_scale_squared": 10 ** rng.uniform(-2, 2, size=shape.num_categorical),
        "observation_noise_variance": 10 ** rng.uniform(-5, 0),
    }


def random_queries(rng: np.random.Generator, shape: Shape, case: dict) -> dict:
    continuous = rng.uniform(size=(NUM_QUERIES, shape.num_continuous))
    categorical = rng.integers(NUM_CATEGORIES, size=(NUM_QUERIES, shape.num_categorical))
    continuous[0], categorical[0] = case["continuous"][0], case["categorical"][0]
    return {"query_continuous": continuous, "query_categorical": categorical}


def measure_loss(case: dict) -> dict:
    data = oracle.model_data(case["continuous"], case["categorical"], case["labels"])
    model = oracle.gp_at(data, case["hyperparameters"])

    def loss(hyperparameters: dict) -> tuple[jax.Array, dict]:
        moved = eqx.tree_at(lambda m: m.params, model, hyperparameters)
        return moved.loss_with_aux(data)

    (value, aux), gradient = jax.value_and_grad(loss, has_aux=True)(model.params)
    penalties = {name: float(penalty) for name, penalty in aux["losses"].items()}
    return {
        "loss": float(value),
        "nll": float(value) - sum(penalties.values()),
        "penalties": penalties,
        "gradient": dict(gradient),
    }
