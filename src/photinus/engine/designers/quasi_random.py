"""Quasi-random search: a scrambled Halton sequence, which leaves no large holes (docs/algorithm.md §8)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from photinus.engine.designers.uniform import next_number
from photinus.engine.encoding import Encoder
from photinus.problem import Problem
from photinus.trial import Suggestion, Trial

NUM_SKIPPED = 1000  # Vizier quasi_random.py: the sequence's start is correlated across dimensions


def suggest(problem: Problem, trials: Sequence[Trial], count: int, seed: int) -> list[Suggestion]:
    """Take the points of the sequence whose indices are the new trials' numbers."""
    points = halton(Encoder(problem.space), seed, next_number(trials), count)
    return [Suggestion(params=params, reason={"method": "quasi_random"}) for params in points]


def halton(encoder: Encoder, seed: int, first: int, count: int) -> list[dict[str, Any]]:
    """Points `first` to `first + count - 1` of the study's own scrambled sequence, eq. 32."""
    if encoder.num_features == 0:
        return encoder.spread(np.empty((count, 0)))
    from scipy.stats import qmc  # takes half a second to import, and most suggestions do without

    sequence = qmc.Halton(d=encoder.num_features, scramble=True, rng=np.random.default_rng(seed))
    sequence.fast_forward(NUM_SKIPPED + first)
    return encoder.spread(sequence.random(count))  # (32)
