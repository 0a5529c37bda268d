"""The bandit for many studies at once: one program over a leading axis of studies, made for a GPU.

Studies that share a padded shape go through the engine together. The scores are those of single studies up to
rounding, but a greedy search amplifies rounding: runs agree in distribution, not bit by bit.
"""

import functools
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import jax
import numpy as np

from photinus.engine.bandit import Model, ModelSettings
from photinus.engine.cache import Program
from photinus.engine.designers import gp_bandit, long_study
from photinus.engine.designers.constants import PAPER, Preset
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.padding import padded_size
from photinus.problem import Problem
from photinus.trial import Suggestion, Trial

MAX_STUDIES = 512  # ours: studies in one call; a larger group is cut into equal pieces
# Ours: a program serves one number of studies, so groups are filled up to one of these.
WIDTHS = (1, 4, 16, 64, 256, MAX_STUDIES)


def suggest_many(
    studies: Sequence[tuple[Problem, Sequence[Trial], int]],
    count: int | Sequence[int] = 1,
    *,
    preset: Preset = PAPER,
    device: str = "cpu",
) -> list[list[Suggestion]]:
    """Suggest `count` points for each (problem, trials, seed), in the order given.

    With a count of its own for each study, those of one shape and count go together.
    """
    counts = [count] * len(studies) if isinstance(count, int) else list(count)
    if len(counts) != len(studies):
        raise ValueError(f"`count` must be one number or one for each of {len(studies)} studies, got {count}")
    snapshots = [Snapshot(problem, trials, seed, preset) for problem, trials, seed in studies]
    suggestions = [s.take_seeds(n) for s, n in zip(snapshots, counts, strict=True)]
    groups: dict[tuple[Hashable, int, int], list[int]] = defaultdict(list)
    for i, snapshot in enumerate(snapshots):
        num_picks = counts[i] - len(suggestions[i])
        if num_picks:
            size = padded_size(snapshot.num_rows + num_picks)
            groups[(shape(snapshot), size, num_picks)].append(i)
    for (_, size, num_picks), members in groups.items():
        for piece in np.array_split(members, -(-len(members) // MAX_STUDIES)):
            found = _suggest_alike([snapshots[i] for i in piece], size, num_picks, device)
            for i, more in zip(piece, found, strict=True):
                suggestions[i].extend(more)
    return suggestions


def _suggest_alike(
    snapshots: list[Snapshot], size: int, num_picks: int, device: str
) -> list[list[Suggestion]]:
    """Fit and pick for studies of one shape."""
    settings = snapshots[0].preset.settings
    pick = pick_program(snapshots[0].max_categories, settings)
    models = _fit_alike(snapshots, size, device)
    suggestions: list[list[Suggestion]] = [[] for _ in snapshots]
    for _ in range(num_picks):
        explores = [s.explores() for s in snapshots]
        arguments = [
            gp_bandit.pick_arguments(s, model, e, size)
            for s, model, e in zip(snapshots, models, explores, strict=True)
        ]
        found = unstack(pick(*stack(filled(arguments)), device=device), len(snapshots))
        for i, s in enumerate(snapshots):
            suggestions[i].append(gp_bandit.accept(s, models[i], found[i], explores[i]))
    return suggestions


def _fit_alike(snapshots: list[Snapshot], size: int, device: str) -> list[Model]:
    """Models of the labels, and of feasibility for all where one study needs it: to others it makes no difference."""
    models = _fit_objectives(snapshots, size, device)
    if not any(snapshot.has_infeasible_apart for snapshot in snapshots):
        return models
    others = _fit_objectives([snapshot.feasibility() for snapshot in snapshots], size, device)
    return [model._replace(feasibility=other) for model, other in zip(models, others, strict=True)]


def _fit_objectives(snapshots: list[Snapshot], size: int, device: str) -> list[Model]:
    settings = snapshots[0].preset.settings.model
    keys = [s.key(gp_bandit.FIT) for s in snapshots]
    if not long_study.is_beyond(snapshots[0].preset.fit_limit, size):
        arguments = [(key, s.observations(size)) for key, s in zip(keys, snapshots, strict=True)]
        return unstack(fit_program(settings)(*stack(filled(arguments)), device=device), len(snapshots))
    warped = [long_study.warp_all(s, size) for s in snapshots]
    arguments = [long_study.sample(s, k, y) for s, k, (y, _) in zip(snapshots, keys, warped, strict=True)]
    program = fit_sample_program(settings)
    fits = unstack(program(*stack(filled(arguments)), device=device), len(snapshots))
    return [Model(found, y, warping) for found, (y, warping) in zip(fits, warped, strict=True)]


def shape(snapshot: Snapshot) -> Hashable:
    """Everything but the number of trials that decides which program a study needs."""
    domain = tuple(np.shape(v) for v in snapshot.encoder.domain)
    return domain, snapshot.max_categories, len(snapshot.problem.metrics)


@functools.cache
def fit_program(settings: ModelSettings) -> Program:
    """Fit of studies side by side."""
    one = functools.partial(gp_bandit.fit_arrays, settings=settings)
    return Program("fit_many", jax.vmap(one), settings)


@functools.cache
def fit_sample_program(settings: ModelSettings) -> Program:
    """Fit of long studies side by side."""
    one = functools.partial(long_study.fit_sample, settings=settings)
    return Program("fit_sample_many", jax.vmap(one), settings)


@functools.cache
def pick_program(max_categories: int, settings: Any) -> Program:
    """Search of studies side by side."""
    one = functools.partial(gp_bandit.pick_arrays, max_categories=max_categories, settings=settings)
    return Program("pick_many", jax.vmap(one), (max_categories, settings))


def filled(arguments: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Arguments of so many studies that there is a program for them: the first once more, and not looked at."""
    width = next(width for width in (*WIDTHS, len(arguments)) if width >= len(arguments))
    return arguments + arguments[:1] * (width - len(arguments))


def stack(arguments: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Arguments of single studies as those of all of them."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *arguments)


def unstack(stacked: Any, count: int) -> list[Any]:
    """Results of all studies as those of single ones, on the host."""
    host = jax.device_get(stacked)
    return [jax.tree.map(lambda v, i=i: v[i], host) for i in range(count)]
