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
            from photinus.engine.designers import uniform as designer
        case "quasi_random":
            from photinus.engine.designers import quasi_random as designer
        case "default" | "paper":
            from photinus.engine.designers import gp_bandit as designer
        case _:
            raise ValueError(f"`algorithm` must be one of ALGORITHMS, got {algorithm!r}")
    return designer.suggest(problem, trials, count, seed)


def predict(
    problem: Problem,
    trials: Sequence[Trial],
    points: Sequence[Mapping[str, Any]],
    seed: int,
    *,
    algorithm: str = "default",
) -> list[dict[str, dict[str, float | None]]]:
    """What the model expects at `points`, per metric, in the user's units; the same for every algorithm."""
    from photinus.engine.designers import gp_bandit

    return gp_bandit.predict(problem, trials, points, seed)
