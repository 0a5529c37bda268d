"""Designers: trials in, suggestions out. The ones that need JAX import it when they are first used."""

from collections.abc import Mapping, Sequence
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

    is_bandit = algorithm not in ("random", "quasi_random")
    preset = constants.preset(algorithm if is_bandit else "default")
    return gp_bandit.predict(problem, trials, points, seed, preset=preset)
