"""The firefly search of docs/algorithm.md §5 once more, the plain way: one fly after another, no masks.

A fly is a pair (x, c) of numeric coordinates and category indices. Its random numbers are given: a twin that draws
its own could only be compared in distribution.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Fly = tuple[Sequence[float], Sequence[int]]
UNKNOWN = -math.inf


class Chance(NamedTuple):
    """The random numbers of one fly in one step, uniform in [0, 1)."""

    kick: Sequence[float]
    category_kick: Sequence[Sequence[float]]
    category: Sequence[Sequence[float]]
    place: Sequence[float]


class Space(NamedTuple):
    """Feasible scaled values of each numeric parameter (None for any), and the number of categories of each other."""

    grids: Sequence[Sequence[float] | None]
    sizes: Sequence[int]


def pool_size(D: int) -> int:
    """(20)"""
    return 25 * math.ceil(min(10 + math.floor(D / 2 + D**1.2), 100) / 25)


def weight(a: Fly, b: Fly, score_a: float, score_b: float) -> float:
    """(21), with which b moves a"""
    if score_b == UNKNOWN:
        return 0.0
    (x, c), (x_, c_) = a, b
    r2 = sum((p - q) ** 2 for p, q in zip(x, x_, strict=True)) + sum(
        p != q for p, q in zip(c, c_, strict=True)
    )
    eta = 1.5 if score_b >= score_a else -0.008
    return eta * math.exp(-4.5 / (len(x) + len(c)) * r2)


def displacement(fly: Fly, pool: Sequence[Fly], weights: Sequence[float]) -> list[float]:
    """The sum in (22), times P"""
    return [
        sum(w * (other[0][d] - fly[0][d]) for w, other in zip(weights, pool, strict=True))
        for d in range(len(fly[0]))
    ]


def logits(
    fly: Fly, pool: Sequence[Fly], weights: Sequence[float], sizes: Sequence[int]
) -> list[list[float]]:
    """(23) without its noise"""
    P, p = len(pool), 0.98
    table = []
    for d, size in enumerate(sizes):
        own = fly[1][d]
        row = [
            sum(w for w, other in zip(weights, pool, strict=True) if other[1][d] == k) / P
            for k in range(size)
        ]
        stay = math.log(p) - sum(weights) / P
        table.append([v + (stay if k == own else math.log((1 - p) / (size - 1))) for k, v in enumerate(row)])
    return table


def laplace(u: float) -> float:
    """Standard Laplace noise, from its quantile function"""
    v = 2 * u - 1
    return math.copysign(math.log1p(-min(abs(v), 1 - 2**-24)), v)


def gumbel(u: float) -> float:
    """Standard Gumbel noise: the largest of logit + noise has a probability proportional to exp(logit)"""
    return -math.log(-math.log(max(u, 1e-37)))


def rounded(x: Sequence[float], space: Space) -> list[float]:
    """(4); of two equally near values the lower one"""
    return [v if g is None else min(g, key=lambda u: abs(u - v)) for v, g in zip(x, space.grids, strict=True)]


def moved(
    fly: Fly,
    score: float,
    omega: float,
    pool: Sequence[Fly],
    scores: Sequence[float],
    chance: Chance,
    space: Space,
) -> Fly:
    """(22) and (23)"""
    weights = [weight(fly, other, score, known) for other, known in zip(pool, scores, strict=True)]
    pull = displacement(fly, pool, weights)
    x = [
        min(max(v + d / len(pool) + omega * laplace(u), 0.0), 1.0)
        for v, d, u in zip(fly[0], pull, chance.kick, strict=True)
    ]
    factor = 1.0 if fly[0] else 30.0
    c = []
    for d, row in enumerate(logits(fly, pool, weights, space.sizes)):
        noisy = [
            v + factor * omega * laplace(chance.category_kick[d][k]) + gumbel(chance.category[d][k])
            for k, v in enumerate(row)
        ]
        c.append(int(np.argmax(noisy)))
    return rounded(x, space), c


def placed(u: Sequence[float], space: Space) -> Fly:
    """A random fly: numbers uniform and rounded, categories with equal shares"""
    n = len(space.grids)
    return rounded(u[:n], space), [int(v * size) for v, size in zip(u[n:], space.sizes, strict=True)]


def search(
    pool: list[Fly],
    score: Callable[[Fly], float],
    chances: Callable[[int], Sequence[Chance]],
    space: Space,
    num_steps: int,
    batch: int,
) -> tuple[list[Fly], float]:
    """(24): all points scored, in order, and the best score"""
    size = len(pool)
    scores, omega = [UNKNOWN] * size, [0.16] * size
    scored: list[Fly] = []
    for step in range(num_steps):
        chance = chances(step)
        start = step % (size // batch) * batch
        turn = range(start, start + batch)
        # All flies of a batch move by the pool as it was before the step.
        candidates = [
            (rounded(pool[i][0], space), pool[i][1])
            if scores[i] == UNKNOWN
            else moved(pool[i], scores[i], omega[i], pool, scores, chance[i - start], space)
            for i in turn
        ]
        for i, fly in zip(turn, candidates, strict=True):
            found = score(fly)
            scored.append(fly)
            if found > scores[i]:
                pool[i], scores[i] = fly, found
            else:
                omega[i] *= 0.7
        best = max(scores)
        for i in turn:
            if omega[i] < 7e-5 and scores[i] < best:
                pool[i], scores[i], omega[i] = placed(chance[i - start].place, space), UNKNOWN, 0.16
    return scored, max(scores)
