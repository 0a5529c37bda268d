"""Photinus' own runs in lock-step: studies of one shape go forward together, every step one program for all.

On a GPU a step of hundreds of studies takes hardly longer than a step of one. On a CPU studies side by side are
slower than one after another, so there each goes through the programs of a single study: the same suggestions as a
user gets, bit for bit. Between steps everything stays in arrays; no trial is read twice.

Needs nothing but JAX, NumPy and SciPy, so that it runs wherever there is a GPU.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from photinus.engine import many
from photinus.engine.acquisition.feasibility import Feasibility
from photinus.engine.designers import gp_bandit
from photinus.engine.designers.constants import Preset
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.features import Features
from photinus.engine.padding import padded_size
from photinus_bench.ablations import Ablation
from photinus_bench.lane import Lane


def run(
    lanes: Sequence[Lane],
    *,
    num_trials: int,
    batch_size: int,
    preset: Preset,
    device: str = "cpu",
    ablation: Ablation | None = None,
) -> Iterator[float]:
    """Bring all lanes, of one shape and equally far, to `num_trials`; yields the seconds of every batch.

    Leave it after any batch: lanes given again with what they have done go on as if they had never stopped.
    """
    snapshots = [resume(lane, batch_size, preset) for lane in lanes]
    _check_alike(lanes, snapshots, batch_size)
    while lanes and len(lanes[0].done) < num_trials:
        count = min(batch_size, num_trials - len(lanes[0].done))
        started = time.perf_counter()
        batches = suggest(snapshots, count, device, ablation)
        seconds = time.perf_counter() - started
        for lane, snapshot, batch in zip(lanes, snapshots, batches, strict=True):
            snapshot.learn([lane.measure(params).told.values for params in batch])
        yield seconds


def suggest(
    snapshots: Sequence[Snapshot], count: int, device: str, ablation: Ablation | None = None
) -> list[list[dict[str, Any]]]:
    """A batch of points for each study, counted as visited there."""
    batches = [[seed.params for seed in snapshot.take_seeds(count)] for snapshot in snapshots]
    num_picks = count - len(batches[0])  # all are equally far
    if num_picks:
        size = size_on(device, snapshots[0].num_rows + num_picks)
        if device == "cpu" and ablation is None:
            picked = [_pick_alone(snapshot, num_picks, size) for snapshot in snapshots]
        else:
            picked = _pick_side_by_side(snapshots, num_picks, size, device, ablation)
        for batch, more in zip(batches, picked, strict=True):
            batch += more
    return batches


def size_on(device: str, num_rows: int) -> int:
    """Rows to pad to: on a GPU in doublings, since compiling there takes longer than rows of zeros cost."""
    return padded_size(num_rows) if device == "cpu" else max(32, 1 << (num_rows - 1).bit_length())


def _pick_alone(snapshot: Snapshot, num_picks: int, size: int) -> list[dict[str, Any]]:
    model, program = gp_bandit.fit(snapshot, size), gp_bandit.pick_program(snapshot, size)
    batch = []
    for _ in range(num_picks):
        arguments = gp_bandit.pick_arguments(snapshot, model, snapshot.explores(), size)
        batch.append(_accept(snapshot, jax.device_get(program(*arguments).features)))
    return batch


def _pick_side_by_side(
    snapshots: Sequence[Snapshot], num_picks: int, size: int, device: str, ablation: Ablation | None
) -> list[list[dict[str, Any]]]:
    """All studies in one call, in pieces of at most `many.MAX_STUDIES` (1 on a CPU); models never leave the device."""
    if len(snapshots) > (1 if device == "cpu" else many.MAX_STUDIES):
        half = len(snapshots) // 2
        return [
            batch
            for piece in (snapshots[:half], snapshots[half:])
            for batch in _pick_side_by_side(piece, num_picks, size, device, ablation)
        ]
    first, programs = snapshots[0], ablation or many
    observations = [s.observations(size) for s in snapshots]
    keys = [s.key(gp_bandit.FIT) for s in snapshots]
    settings = first.preset.settings
    fit = programs.fit_program(settings.model)
    model = fit(*many.stack(list(zip(keys, observations, strict=True))), device=device)
    program = programs.pick_program(first.max_categories, settings)
    is_apart = any(snapshot.has_infeasible_apart for snapshot in snapshots)
    past = many.stack([(s.past(),) for s in snapshots]) if settings.needs_past or is_apart else ()
    if is_apart:
        told = [snapshot.feasibility().observations(size) for snapshot in snapshots]
        other = fit(*many.stack(list(zip(keys, told, strict=True))), device=device)
        past = (*past, Feasibility(other.y, np.stack([t.is_completed for t in told]), other.fit.hyper))  # pyright: ignore
    batches: list[list[dict[str, Any]]] = [[] for _ in snapshots]
    for _ in range(num_picks):
        keys = [s.key(gp_bandit.PICK) for s in snapshots]
        observations = [s.observations(size) for s in snapshots]
        domains = [ablation.domain(s.encoder.domain) if ablation else s.encoder.domain for s in snapshots]
        key, seen, domain = many.stack(list(zip(keys, observations, domains, strict=True)))
        explores = np.array([s.explores() for s in snapshots])
        found = program(key, seen, model.y, domain, model.fit.hyper, explores, *past, device=device)
        features = many.unstack(found.features, len(snapshots))
        for snapshot, batch, point in zip(snapshots, batches, features, strict=True):
            batch.append(_accept(snapshot, point))
    return batches


def _accept(snapshot: Snapshot, point: Features) -> dict[str, Any]:
    params = snapshot.new_point(snapshot.encoder.decode(point)[0])
    snapshot.add(params)
    return params


def resume(lane: Lane, batch_size: int, preset: Preset) -> Snapshot:
    """The study of a lane as it stands."""
    snapshot = Snapshot(lane.experimenter.problem, [], lane.seed, preset)
    for start in range(0, len(lane.done), batch_size):
        batch = lane.done[start : start + batch_size]
        for evaluation in batch:
            snapshot.add(evaluation.params)
        snapshot.learn([evaluation.told.values for evaluation in batch])
    return snapshot


def _check_alike(lanes: Sequence[Lane], snapshots: Sequence[Snapshot], batch_size: int) -> None:
    stages = {(many.shape(s), len(lane.done)) for lane, s in zip(lanes, snapshots, strict=True)}
    if len(stages) > 1:
        raise ValueError(f"lanes must share shape and number of trials, got {len(stages)} kinds: group them")
    if lanes and len(lanes[0].done) % batch_size:
        raise ValueError(
            f"lanes must have done whole batches of {batch_size}, got {len(lanes[0].done)} trials"
        )
