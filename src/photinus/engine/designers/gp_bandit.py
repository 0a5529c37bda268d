"""The Gaussian-process bandit for one study: seed, fit, pick, explain (docs/algorithm.md).

A pure function of problem, trials, count and seed. Whatever it knows of the past is in the trials.
"""

import functools
import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from photinus.engine import bandit
from photinus.engine.acquisition.feasibility import Feasibility
from photinus.engine.arrays import Array, Observations
from photinus.engine.bandit import BanditSettings, Model, ModelSettings, Past, Pick
from photinus.engine.cache import Program
from photinus.engine.designers import long_study
from photinus.engine.designers.constants import PAPER, Preset
from photinus.engine.designers.long_study import is_beyond
from photinus.engine.designers.reasons import explain, quantile_rows
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.features import Domain, Features
from photinus.engine.gp.fit import PRIORS, Fit
from photinus.engine.gp.kernel import Hyperparameters
from photinus.engine.gp.posterior import Prediction, condition
from photinus.engine.padding import next_size, pad_rows, padded_size
from photinus.problem import Problem
from photinus.trial import Suggestion, Trial

FIT, PICK = 1, 2  # purposes of random keys; 0 would be lost at the end of a seed sequence
PREPARE_AHEAD = 8  # ours: compile the next padded size when so few rows are left in this one
QUERY_BATCH = 256  # ours: points predicted at once
NUM_REMEMBERED = 8  # ours: models kept for more questions; each is a few vectors

_remembered: dict[bytes, Model] = {}
_remembering = threading.Lock()


def suggest(
    problem: Problem, trials: Sequence[Trial], count: int, seed: int, *, preset: Preset = PAPER
) -> list[Suggestion]:
    """Seeds first; then fit once and pick one point after another, each pending for the next."""
    study = Snapshot(problem, trials, seed, preset)
    suggestions = study.take_seeds(count)
    num_picks = count - len(suggestions)
    size = padded_size(study.num_rows + max(num_picks, 1))
    if num_picks:
        prepare_pick(study, size)
        model = fit(study, size)
        suggestions += [pick(study, model, size) for _ in range(num_picks)]
    if study.encoder.num_features and size - study.num_rows < PREPARE_AHEAD:
        size = next_size(size)
    prepare(study, size)
    return suggestions


def fit(study: Snapshot, size: int) -> Model:
    """Fit the model to the study's completed trials, and one of their feasibility where that is judged apart."""
    model = fit_objective(study, size)
    if not study.has_infeasible_apart:
        return model
    return model._replace(feasibility=fit_objective(study.feasibility(), size))


def fit_objective(study: Snapshot, size: int) -> Model:
    """Fit the model of the labels alone, on the host's side of the fence.

    Every start is a call of its own, from as many threads as there are cores: its matrices are too small for
    several cores to share one well.
    """
    settings = study.preset.settings.model
    if is_beyond(study.preset.fit_limit, size):
        y, warping = long_study.warp_all(study, size)
        arguments = long_study.sample(study, study.key(FIT), y)
        fits = _from_every_start(long_study.fit_sample_program(settings), arguments, settings)
        return Model(_best(fits), y, warping)
    program = fit_program(settings, is_quick=size <= study.preset.quick_size)
    models = _from_every_start(program, (study.key(FIT), study.observations(size)), settings)
    return models[0]._replace(fit=_best([model.fit for model in models]))


def remembered_fit(study: Snapshot, size: int) -> Model:
    """`fit_objective`, for questions about one model one after another: the same arguments, the same model."""
    arguments = (study.key(FIT), study.observations(size))
    digest = hashlib.sha256(repr(study.preset.settings.model).encode())
    for array in jax.tree.leaves(arguments):
        digest.update(repr((array.shape, array.dtype.str)).encode() + np.ascontiguousarray(array).tobytes())
    key = digest.digest()
    with _remembering:
        if key in _remembered:
            return _remembered[key]
    model = fit_objective(study, size)
    with _remembering:
        _remembered[key] = model
        while len(_remembered) > NUM_REMEMBERED:
            del _remembered[next(iter(_remembered))]
    return model


def pick(study: Snapshot, model: Model, size: int) -> Suggestion:
    """Pick one point and count it as visited."""
    explores = study.explores()
    found = jax.device_get(pick_program(study, size)(*pick_arguments(study, model, explores, size)))
    return accept(study, model, found, explores)


def accept(study: Snapshot, model: Model, found: Pick, explores: bool) -> Suggestion:
    """Turn a pick into a suggestion with its reason; the study goes on as if it had been handed out."""
    [picked] = study.encoder.decode(found.features)
    params = study.new_point(picked)
    if params is picked:
        reason = explain(study, model, found, explores)
    else:
        other = found._replace(features=study.encoder.encode([params]))
        reason = explain(study, model, other, explores) | {"instead_of": picked}
    study.add(params)
    return Suggestion(params=params, reason=reason)


def predict(
    problem: Problem,
    trials: Sequence[Trial],
    points: Sequence[Mapping[str, Any]],
    seed: int,
    *,
    preset: Preset = PAPER,
) -> list[dict[str, dict[str, float | None]]]:
    """Quantiles of a measurement at each point, in the user's units, and moments in warped units."""
    study = Snapshot(problem, trials, seed, preset)
    size = padded_size(study.num_rows)
    model = remembered_fit(study, size)
    observations, y, _ = long_study.active(study, model, size)
    features = study.encoder.encode([problem.space.validate(point) for point in points])
    rows: list[dict[str, dict[str, float | None]]] = []
    for start in range(0, len(points), QUERY_BATCH):
        part = Features(*(v[start : start + QUERY_BATCH] for v in features))
        padded = Features(*(pad_rows(v, QUERY_BATCH) for v in part))
        at = jax.device_get(predict_program()(observations, y, model.fit.hyper, padded))
        count = len(part.continuous)
        rows += quantile_rows(study, model, at.mu[:count], at.sigma[:count])
    return rows


def prepare(study: Snapshot, size: int) -> None:
    """Compile what the next suggestion will need, while the user's own trial runs."""
    if not study.encoder.num_features:
        return
    settings, soon = study.preset.settings.model, study.num_rows + PREPARE_AHEAD
    if is_beyond(study.preset.fit_limit, size):
        long_study.prepare_fit(study, study.key(FIT), soon)
    else:
        program = fit_program(settings, is_quick=size <= study.preset.quick_size)
        program.prepare(study.key(FIT), _empty(study, size), np.int32(0))
    prepare_pick(study, size)


def prepare_pick(study: Snapshot, size: int) -> None:
    """Compile the search beside the fit: two cores are quicker than one."""
    pick_program(study, size).prepare(*pick_arguments(study, None, False, size))


def pick_arguments(study: Snapshot, model: Model | None, explores: bool, size: int) -> tuple[Any, ...]:
    """Arguments of the pick program, in order; without a model, of the right shapes only."""
    limit = study.preset.posterior_limit
    if model is None:
        num_rows = size if limit is None else min(size, limit)
        y: Any = np.zeros((num_rows, len(study.problem.metrics)))
        observations = _empty(study, num_rows)
        hyper = study.unfitted
        told = Feasibility(y, observations.is_completed, hyper) if study.has_infeasible_apart else None
    else:
        observations, y, told = long_study.active(study, model, size)
        hyper = model.fit.hyper
    arguments = study.key(PICK), observations, y, study.encoder.domain, hyper, np.bool_(explores)
    if told is not None:
        return (*arguments, study.past(), told)
    needs_past = study.preset.settings.needs_past or is_beyond(limit, size)
    return (*arguments, study.past()) if needs_past else arguments


def fit_program(settings: ModelSettings, is_quick: bool = False) -> Program:
    """Fit of one study from one start."""
    return _fit_program(settings, is_quick)


@functools.cache
def _fit_program(settings: ModelSettings, is_quick: bool) -> Program:
    function = functools.partial(fit_arrays_from, settings=settings)
    return Program("fit", function, settings, is_quick=is_quick)


def pick_program(study: Snapshot, size: int | None = None) -> Program:
    """Search of one study; the settings are compiled in, and how well depends on the size."""
    is_quick = size is not None and size <= study.preset.quick_size
    return _pick_program(study.max_categories, study.preset.settings, is_quick)


@functools.cache
def _pick_program(max_categories: int, settings: BanditSettings, is_quick: bool) -> Program:
    function = functools.partial(pick_arrays, max_categories=max_categories, settings=settings)
    return Program("pick", function, (max_categories, settings), is_quick=is_quick)


@functools.cache
def predict_program() -> Program:
    """Posterior of one study at a batch of points."""
    return Program("predict", predict_arrays)


def fit_arrays(key: Array, observations: Observations, *, settings: ModelSettings) -> Model:
    """`bandit.fit_model` with a key that is plain data, so that it can be stored and stacked."""
    return bandit.fit_model(jax.random.wrap_key_data(key, impl="threefry2x32"), observations, settings)


def fit_arrays_from(
    key: Array, observations: Observations, which: Array, *, settings: ModelSettings
) -> Model:
    """`bandit.fit_model_from` with a key that is plain data."""
    wrapped = jax.random.wrap_key_data(key, impl="threefry2x32")
    return bandit.fit_model_from(wrapped, observations, which, settings)


def pick_arrays(
    key: Array,
    observations: Observations,
    y: Array,
    domain: Domain,
    hyper: Hyperparameters,
    explores: Array,
    past: Past | None = None,
    told: Feasibility | None = None,
    **settings: Any,
) -> Pick:
    """`bandit.pick` with a key that is plain data."""
    return bandit.pick(
        jax.random.wrap_key_data(key, impl="threefry2x32"),
        observations,
        y,
        domain,
        hyper,
        explores,
        past,
        told,
        **settings,
    )


def predict_arrays(
    observations: Observations, y: Array, hyper: Hyperparameters, query: Features
) -> Prediction:
    """Posterior moments at query points."""
    return condition(hyper, observations, y).predict(query)


def _from_every_start(program: Program, arguments: tuple[Any, ...], settings: ModelSettings) -> list[Any]:
    num_starts = PRIORS[settings.length_scales].num_starts

    def fit_from(which: int) -> Any:
        return jax.device_get(program(*arguments, np.int32(which)))

    with ThreadPoolExecutor(min(num_starts, os.cpu_count() or 1)) as threads:
        return list(threads.map(fit_from, range(num_starts)))


def _best(fits: Sequence[Fit]) -> Fit:
    """The fit of least loss, for every metric where each has its own, with the evaluations of all."""
    num_evaluations: Any = sum(found.num_evaluations for found in fits)
    num_own = fits[0].hyper.num_own
    if num_own is None:
        return min(fits, key=lambda found: found.loss)._replace(num_evaluations=num_evaluations)
    best = np.argmin([found.loss for found in fits], axis=0)
    chosen = jax.tree.map(lambda *starts: np.stack(starts)[best, np.arange(num_own)], *fits)
    return chosen._replace(num_evaluations=num_evaluations)


def _empty(study: Snapshot, size: int) -> Observations:
    """Observations of the right shapes, to compile for."""
    return jax.tree.map(lambda v: np.zeros((size, *v.shape[1:]), v.dtype), study.observations())
