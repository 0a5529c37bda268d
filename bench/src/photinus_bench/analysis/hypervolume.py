"""Dominated hypervolume after each trial, by random scalarisations (paper, section 3.7 and App. D).

M objectives, T trials, W directions w, spread evenly over the positive part of the unit sphere. With y the
objective vectors turned upwards, seen from the reference point r:

    HV = c_M mean over w of  max over y of  (min over m of max(0, (y_m - r_m) / w_m)) ^ M
    c_M = π^(M/2) / (2^M Γ(M/2 + 1)),  the volume of the unit ball's positive part

A new trial can only raise the maximum along each direction, so the curve over trials costs one pass over the
trials. Objectives are first divided by the extent of their box (reference to ideal) and volumes are given as a share of
that box: the expectation is the same up to this constant, and an objective in large units does not spoil the
spread of the directions over what matters.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.stats import qmc

from photinus.problem import Goal
from photinus_bench.analysis.convergence import sign

NUM_DIRECTIONS = 10_000  # paper, App. D


@dataclass(frozen=True)
class Box:
    """What hypervolumes are measured in: from the reference point to the ideal one, in the objectives' units."""

    reference: np.ndarray  # (M,)
    ideal: np.ndarray  # (M,)

    @property
    def volume(self) -> float:
        return float(np.prod(np.abs(self.ideal - self.reference)))


def common_box(points: Sequence[np.ndarray], goals: Sequence[Goal]) -> Box:
    """From the worst to the best of each objective over all points (..., M) of all algorithms and repeats of a task.

    The reference point is the paper's. It depends on every algorithm that was run, so curves made with it may only
    be compared when made from the same records.
    """
    everything = np.concatenate([_upwards(array, goals).reshape(-1, len(goals)) for array in points])
    finite = everything[np.all(np.isfinite(everything), axis=1)]
    if not len(finite):
        raise ValueError("there must be at least one point with all objectives measured")
    signs = _signs(goals)
    return Box(signs * finite.min(axis=0), signs * finite.max(axis=0))


def directions(num_objectives: int, num_directions: int = NUM_DIRECTIONS, seed: int = 0) -> np.ndarray:
    """Unit vectors with positive coordinates, (W, M): the same for all curves that are to be compared.

    Scrambled Halton points instead of independent draws. With 10,000 independent ones the volume under points near a
    sphere has a standard error of 0.1 % for two objectives and 3 % for eight; with Halton points the error is two to
    ten times smaller, which the paper's 1e-4 needs.
    """
    cube = qmc.Halton(num_objectives, rng=np.random.default_rng(seed)).random(num_directions)
    # Absolute values of normal variates, by the inverse of their distribution.
    normal = special.ndtri((1 + cube) / 2)
    normal = np.maximum(normal, np.finfo(float).tiny)  # a zero would be divided by
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def hypervolume_curves(
    runs: Sequence[np.ndarray], budget: int, goals: Sequence[Goal], box: Box, directions: np.ndarray
) -> np.ndarray:
    """Hypervolume after each trial as a share of the box, (R, budget), from objective vectors (trials, M) by run.

    Points that are missing (not finite) or not better than the reference in every objective add nothing; a run that
    stopped early keeps its last volume to the end.
    """
    signs = _signs(goals)
    extent = signs * (box.ideal - box.reference)
    if np.any(extent < 0):
        raise ValueError(f"the ideal point must not be worse than the reference, got {box}")
    curves = np.zeros((len(runs), budget))
    if np.any(extent == 0):
        return curves  # a box without volume: nothing can be better than the reference
    for row, run in zip(curves, runs, strict=True):
        y = (_upwards(run, goals)[:budget] - signs * box.reference) / extent
        row[: len(y)] = _curve(y, directions)
        row[len(y) :] = row[len(y) - 1] if len(y) else 0.0
    return curves


def _curve(y: np.ndarray, directions: np.ndarray) -> np.ndarray:
    num_objectives = y.shape[1]
    y = np.where(np.all(np.isfinite(y), axis=1, keepdims=True), y, 0.0)  # at the reference: adds nothing
    unit = math.pi ** (num_objectives / 2) / (2**num_objectives * math.gamma(num_objectives / 2 + 1))
    inverse = np.ascontiguousarray(1 / directions.T)  # (M, W)
    reach = np.zeros(len(directions))  # farthest dominated point along each direction
    curve = np.zeros(len(y))
    for t, point in enumerate(y):
        if np.all(point > 0) and not np.any(np.all(y[:t] >= point, axis=1)):
            length = point[0] * inverse[0]
            for m in range(1, num_objectives):
                np.minimum(length, point[m] * inverse[m], out=length)
            np.maximum(reach, length, out=reach)
            curve[t] = unit * np.mean(reach**num_objectives)
        elif t:
            curve[t] = curve[t - 1]
    return curve


def _upwards(points: np.ndarray, goals: Sequence[Goal]) -> np.ndarray:
    points = np.asarray(points, float)
    if points.shape[-1:] != (len(goals),):
        raise ValueError(
            f"points must have {len(goals)} objectives in their last axis, got shape {points.shape}"
        )
    return _signs(goals) * points


def _signs(goals: Sequence[Goal]) -> np.ndarray:
    return np.array([sign(goal) for goal in goals])
