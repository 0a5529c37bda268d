"""UCB and pure exploration with pending points: scores, and the threshold tau they use."""

import jax
import jax.numpy as jnp
import numpy as np
import oracle
from gaussian_process import Shape, random_case, random_queries
from vizier._src.algorithms.designers import gp_ucb_pe

UCB_COEFFICIENT = 1.8
EXPLORE_COEFFICIENT = 0.5
PENALTY_COEFFICIENT = 10.0
NUM_WEIGHTS = 24
NUM_PENDING = (0, 1, 3)
SHAPES = (
    Shape("continuous 2-D", 8, 2, 0),
    Shape("continuous 6-D", 20, 6, 0),
    Shape("mixed 2+1", 7, 2, 1),
    Shape("categorical 2", 9, 0, 2),
    Shape("continuous 3-D, 2 metrics", 10, 3, 0, num_metrics=2),
    Shape("mixed 2+2, 2 metrics", 9, 2, 2, num_metrics=2),
)
NOTES = {
    "comparable": [
        "mean and stddev condition on the completed points, stddev_all on completed and pending ones (their"
        " labels do not matter); all include the noise. Exactly.",
        "ucb = mean + 1.8 stddev_all with one metric, exactly; with several it is the hypervolume"
        " acquisition of that vector for the weights and labels given, exactly.",
        "tau: per metric, the mean at the largest mean + 1.8 stddev over completed and pending points.",
        "pe = stddev_all + 10 min(mean + 0.5 stddev - tau, 0), averaged over the metrics, exactly.",
        "no trust region in these scores.",
    ],
    "differs": ["labels here are drawn, not warped, so the infeasible and zero-mean rulings do not enter"],
}


def make(rng: np.random.Generator) -> dict:
    cases = []
    for shape in SHAPES:
        for num_pending in NUM_PENDING:
            case = random_case(rng, shape, repeat=0) | {"name": f"{shape.name}, {num_pending} pending"}
            case |= random_queries(rng, shape, case)
            case["pending_continuous"] = rng.uniform(size=(num_pending, shape.num_continuous))
            case["pending_categorical"] = rng.integers(4, size=(num_pending, shape.num_categorical))
            cases.append(case | measure(case, shape.num_metrics))
    return {"notes": NOTES, "cases": cases}


def measure(case: dict, num_metrics: int) -> dict:
    completed = oracle.model_data(case["continuous"], case["categorical"], case["labels"])
    num_pending = len(case["pending_continuous"])
    everything = oracle.model_data(
        np.vstack([case["continuous"], case["pending_continuous"]]),
        np.vstack([case["categorical"], case["pending_categorical"]]),
        np.vstack([case["labels"], np.zeros((num_pending, num_metrics))]),
    )
    model = oracle.gp_at(completed, case["hyperparameters"])
    from_completed = oracle.predictive(model, completed)
    from_all = oracle.predictive(model, everything)
    ucb = gp_ucb_pe.UCBScoreFunction(
        from_completed,
        from_all,
        jnp.asarray(UCB_COEFFICIENT),
        None,
        jax.random.PRNGKey(0),
        completed.labels,
        num_scalarizations=NUM_WEIGHTS,
    )
    pe = gp_ucb_pe.PEScoreFunction(
        from_completed,
        from_all,
        ucb_coefficient=jnp.asarray(UCB_COEFFICIENT),
        explore_ucb_coefficient=jnp.asarray(EXPLORE_COEFFICIENT),
        penalty_coefficient=jnp.asarray(PENALTY_COEFFICIENT),
        trust_region=None,
        multimetric_promising_region_penalty_type=gp_ucb_pe.MultimetricPromisingRegionPenaltyType.AVERAGE,
    )
    tau = gp_ucb_pe._compute_ucb_threshold(
        from_completed.predict(everything.features),
        jnp.zeros(len(case["labels"]) + num_pending, bool),
        jnp.asarray(UCB_COEFFICIENT),
    )
    queries = oracle.model_input(case["query_continuous"], case["query_categorical"])
    ucb_scores, aux = ucb.score_with_aux(queries)
    size = (-1, num_metrics)
    result = {
        "mean": np.reshape(aux["mean"], size),
        "stddev": np.reshape(aux["stddev"], size),
        "stddev_all": np.reshape(aux["stddev_from_all"], size),
        "tau": np.reshape(tau, (num_metrics,)),
        "ucb": ucb_scores,
        "pe": pe.score(queries),
    }
    if num_metrics > 1:
        result["weights"] = ucb.scalarizer.weights
    return result
