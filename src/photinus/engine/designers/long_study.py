"""Where a study is too long for a model of all its trials: fit and posterior of an active set (`active_set.py`).

Labels become the model's over all completed trials, and what counts trials counts all of them. Only then rows are
chosen. So the best value, the scale and the box are those of the whole study.
"""

import functools
from typing import Any

import jax
import numpy as np

from photinus.engine import bandit
from photinus.engine.acquisition.feasibility import Feasibility
from photinus.engine.arrays import Array, Observations
from photinus.engine.bandit import Labels, Model, ModelSettings
from photinus.engine.cache import Program
from photinus.engine.designers import hyperparameters
from photinus.engine.designers.active_set import rows_for_fit, rows_for_posterior
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.features import Features
from photinus.engine.gp.fit import Fit
from photinus.engine.padding import pad_rows


def is_beyond(limit: int | None, size: int) -> bool:
    """Whether so many padded rows are more than there may be."""
    return limit is not None and size > limit


def warp_all(study: Snapshot, size: int) -> tuple[Any, Any]:
    """Labels of all completed trials as the model has them, in so many rows, and the way back."""
    program = warp_program(study.preset.settings.model.labels)
    y, warping = jax.device_get(program(history(study, study.num_completed)))
    return pad_rows(y[: study.num_completed], size), warping


def sample(study: Snapshot, key: np.ndarray, y: Any) -> tuple[Any, ...]:
    """Arguments of a fit to some of the completed trials."""
    limit = study.preset.fit_limit
    assert limit is not None
    rows = rows_for_fit(study.num_completed, limit)
    seen = study.observations(limit, rows)
    return key, seen.features, pad_rows(y[rows], limit), seen.is_completed


def active(study: Snapshot, model: Model, size: int) -> tuple[Observations, Any, Feasibility | None]:
    """Observations and labels to condition on: all, or those that matter most. And which of them could be measured."""
    limit = study.preset.posterior_limit
    rows = np.arange(study.num_rows)
    if limit is not None and size > limit:
        y = np.asarray(model.y)[: study.num_completed]
        hyper = hyperparameters.average(model.fit.hyper)
        rows = rows_for_posterior(y, study.features, study.is_pending, hyper, limit)
        size = limit

    def chosen(model: Model, count: int) -> Any:
        return pad_rows(np.asarray(model.y)[rows[rows < count]], size)

    told = None
    if model.feasibility is not None:
        is_told: Any = np.arange(size) < np.sum(rows < study.num_told)
        told = Feasibility(chosen(model.feasibility, study.num_told), is_told, model.feasibility.fit.hyper)
    return study.observations(size, rows), chosen(model, study.num_completed), told


def history(study: Snapshot, num_rows: int) -> Observations:
    """All completed trials without their places, in so many rows or more: a power of two, for few programs."""
    size = 1 << (num_rows - 1).bit_length()
    seen = study.observations(size, np.arange(study.num_completed))
    return seen._replace(features=Features(*(v[:, :0] for v in seen.features)))


def prepare_fit(study: Snapshot, key: np.ndarray, num_rows: int) -> None:
    """Compile the fit, and the labels of so many rows."""
    settings = study.preset.settings.model
    arguments = sample(study, key, np.zeros((study.num_rows, len(study.problem.metrics))))
    fit_sample_program(settings).prepare(*arguments, np.int32(0))
    warp_program(settings.labels).prepare(history(study, num_rows))


@functools.cache
def warp_program(labels: Labels) -> Program:
    """Labels of one study."""
    return Program("warp", functools.partial(bandit.warp_metrics, labels=labels), labels)


@functools.cache
def fit_sample_program(settings: ModelSettings) -> Program:
    """Fit to labels that are ready, from one start."""
    return Program("fit_sample", functools.partial(fit_sample_from, settings=settings), settings)


def fit_sample(
    key: Array, features: Features, y: Array, is_completed: Array, *, settings: ModelSettings
) -> Fit:
    """`bandit.fit_labels` with a key that is plain data."""
    wrapped = jax.random.wrap_key_data(key, impl="threefry2x32")
    return bandit.fit_labels(wrapped, features, y, is_completed, settings)


def fit_sample_from(
    key: Array, features: Features, y: Array, is_completed: Array, which: Array, *, settings: ModelSettings
) -> Fit:
    """`bandit.fit_labels_from` with a key that is plain data."""
    wrapped = jax.random.wrap_key_data(key, impl="threefry2x32")
    return bandit.fit_labels_from(wrapped, which, features, y, is_completed, settings)
