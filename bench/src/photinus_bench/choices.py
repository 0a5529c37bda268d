"""Photinus with other choices of the engine's own settings: `photinus-paper/joint/winsorised/ucb-1.0/balls`.

    warped, winsorised     what labels the model is fitted to
    independent, joint     what is believed of length scales beforehand
    shared-metrics, own-metrics
                           whether several metrics have one set of hyperparameters or each its own
    ucb, ucb-1.0, log-ei   what is maximised where there is something to exploit; a number is √β
    balls, box             where the search may go

Words follow each other by slashes and change the preset that is named before them; a later word wins. They are
settings of a user's program too, so these runs take the same way as a preset's. A word that takes a part out is
none of these: see `ablations`.
"""

import math
from collections.abc import Sequence

from photinus.engine.bandit import BanditSettings
from photinus.engine.designers.constants import Preset
from photinus_bench import ablations

UCB = "ucb-"


def choose(preset: Preset, words: Sequence[str]) -> tuple[Preset, tuple[str, ...]]:
    """The preset as the words change it, and the words that are ablations."""
    settings, others = preset.settings, []
    for word in words:
        changed = _change(settings, word)
        if changed is None:
            others.append(word)
        else:
            settings = changed
    return preset._replace(settings=settings), tuple(others)


def _change(settings: BanditSettings, word: str) -> BanditSettings | None:
    """Settings with one choice made; None if the word is an ablation."""
    match word:
        case "warped" | "winsorised":
            return settings._replace(model=settings.model._replace(labels=word))
        case "independent" | "joint":
            return settings._replace(model=settings.model._replace(length_scales=word))
        case "shared-metrics":
            return settings._replace(model=settings.model._replace(metrics="shared"))
        case "own-metrics":
            return settings._replace(model=settings.model._replace(metrics="own"))
        case "ucb":
            return settings._replace(acquisition="ucb")
        case "log-ei":
            return settings._replace(acquisition="log_ei")
        case "balls" | "box":
            return settings._replace(region=word)
        case _ if word.startswith(UCB):
            return settings._replace(acquisition="ucb", ucb_coefficient=_coefficient(word))
        case _ if word in ablations.WORDS:
            return None
    models = ("warped", "winsorised", "independent", "joint", "shared-metrics", "own-metrics")
    known = (*models, "ucb", f"{UCB}NUMBER", "log-ei", "balls", "box")
    raise ValueError(
        f"no part of the algorithm is named {word!r}: there are {', '.join((*known, *sorted(ablations.WORDS)))}"
    )


def _coefficient(word: str) -> float:
    try:
        value = float(word.removeprefix(UCB))
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise ValueError(f"the coefficient of the bound must be a number of at least 0, got {word!r}")
    return value
