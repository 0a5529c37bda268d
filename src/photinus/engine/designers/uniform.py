"""Uniform random search: every value of every parameter with its fair share, on the parameter's own scale."""

from collections.abc import Sequence

import numpy as np

from photinus.engine.encoding import Encoder
from photinus.problem import Problem
from photinus.trial import Suggestion, Trial


def suggest(problem: Problem, trials: Sequence[Trial], count: int, seed: int) -> list[Suggestion]:
    """Draw `count` independent points, each from the stream of its own trial number."""
    return draw(Encoder(problem.space), seed, next_number(trials), count)


def draw(encoder: Encoder, seed: int, first: int, count: int) -> list[Suggestion]:
    """Points for the trials `first` to `first + count - 1`."""
    u = np.stack([generator(seed, first + i).random(encoder.num_features) for i in range(count)])
    return [Suggestion(params=params, reason={"method": "random"}) for params in encoder.spread(u)]


def next_number(trials: Sequence[Trial]) -> int:
    """Number that the next new trial will get."""
    return trials[-1].number + 1 if trials else 0


def generator(seed: int, number: int) -> np.random.Generator:
    """Return the random stream that belongs to one trial of one study."""
    return np.random.default_rng([seed, number])
