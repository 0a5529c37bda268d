"""Designers: trials in, suggestions out. The ones that need JAX import it when they are first used."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from photinus.problem import Problem
from photinus.trial import Suggestion, Trial


def suggest(
    problem: Problem, trials: Sequence[Trial], count: int, seed: int, *, algorithm: str = "default"
) -> list[Suggestion]:
    """Propose the next `count` points. A pure function: the same arguments give the same suggestions."""
    match algorithm:
        case "random":
            from photinus.engine.designers import uniform

            return uniform.suggest(problem, trials, count, seed)
        case "quasi_random":
            from photinus.engine.designers import quasi_random

            return quasi_random.suggest(problem, trials, count, seed)
        case _:
            from photinus.engine.designers import constants, gp_bandit

            preset = constants.preset(algorithm)
            return gp_bandit.suggest(problem, trials, count, seed, preset=preset)


def drawing(problem: Problem, seed: int, *, algorithm: str) -> Callable[[int, int], list[Suggestion]] | None:
    """A quick equivalent of `suggest` for an algorithm that looks at numbers of trials alone, else None.

    It is called with the number of the first new trial and how many there are to be.
    """
    if algorithm != "random":
        return None
    from photinus.engine.designers import uniform
    from photinus.engine.encoding import Encoder

    return functools.partial(uniform.draw, Encoder(problem.space), seed)


def predict(
    problem: Problem,
    trials: Sequence[Trial],
    points: Sequence[Mapping[str, Any]],
    seed: int,
    *,
    algorithm: str = "default",
) -> list[dict[str, dict[str, float | None]]]:
    """What the model expects at `points`, per metric, in the user's units; an algorithm without one has `default`'s."""
    from photinus.engine.designers import constants, gp_bandit

    preset = constants.preset(_with_model(algorithm))
    return gp_bandit.predict(problem, trials, points, seed, preset=preset)


def describe(
    problem: Problem, trials: Sequence[Trial], seed: int, *, algorithm: str = "default"
) -> dict[str, Any]:
    """What the model believes beyond predictions: hyperparameters, noise, scale; see `beliefs.py`."""
    from photinus.engine.designers import beliefs, constants

    return beliefs.describe(problem, trials, seed, preset=constants.preset(_with_model(algorithm)))


def thin(problem: Problem, trials: Sequence[Trial], limit: int) -> list[Trial]:
    """At most `limit` trials with an outcome that stand for all; see `thinning.py`."""
    from photinus.engine.designers import thinning

    return thinning.thin(problem, trials, limit)


def _with_model(algorithm: str) -> str:
    return "default" if algorithm in ("random", "quasi_random") else algorithm
