"""The reference implementation, set up for calling: float64, its NaN bug fixed, inputs built easily."""

import functools
import logging
import types as python_types

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

jax.config.update("jax_enable_x64", True)

from vizier._src.algorithms.designers.gp import output_warpers  # noqa: E402
from vizier._src.jax import stochastic_process_model as sp  # noqa: E402
from vizier._src.jax import types  # noqa: E402
from vizier._src.jax.models import tuned_gp_models  # noqa: E402

# It warns at every multi-metric loss that padding is not supported there; nothing here is padded.
logging.getLogger("absl").setLevel(logging.ERROR)

# SciPy 1.10 and later let one NaN turn every rank into NaN. Later sources of the reference leave the
# NaNs out; 0.1.24 does not, so infeasible trials break its half-rank stage unless this is done.
output_warpers.stats = python_types.SimpleNamespace(
    norm=stats.norm, rankdata=functools.partial(stats.rankdata, nan_policy="omit")
)

padded = types.PaddedArray.as_padded


def model_input(continuous: np.ndarray, categorical: np.ndarray) -> types.ModelInput:
    return types.ModelInput(
        padded(jnp.asarray(continuous, float)), padded(jnp.asarray(categorical, np.int32))
    )


def model_data(continuous: np.ndarray, categorical: np.ndarray, labels: np.ndarray) -> types.ModelData:
    return types.ModelData(model_input(continuous, categorical), padded(jnp.asarray(labels, float)))


def gp_at(data: types.ModelData, hyperparameters: dict) -> sp.StochasticProcessWithCoroutine:
    """The GP model with given hyperparameters instead of fitted ones."""
    coroutine = tuned_gp_models.VizierGaussianProcess.build_model(data).coroutine
    parameters = {name: jnp.asarray(value, float) for name, value in hyperparameters.items()}
    return sp.StochasticProcessWithCoroutine(coroutine, parameters)


def predictive(
    model: sp.StochasticProcessWithCoroutine, data: types.ModelData
) -> sp.UniformEnsemblePredictive:
    return sp.UniformEnsemblePredictive(model.precompute_predictive(data))
