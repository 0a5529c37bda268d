"""Photinus with other choices of the engine's own settings: `photinus-paper/joint/winsorised/ucb-1.0/balls`.

    warped, winsorised     what labels the model is fitted to
    independent, joint     what is believed of length scales beforehand
    shared-metrics, own-metrics
                           whether several metrics have one set of hyperparameters or each its own
    infeasible-label, infeasible-apart
                           whether trials that cannot be measured have a bad label or a model of their own
    ucb, ucb-1.0, log-ei   what is maximised where there is something to exploit; a number is √β
    balls, box, anywhere   where the search may go
    firefly, ascent        how it is searched
    explore-0.1            how often a point is for exploration alone although there are new results
    wait-1.0               and how often while results are awaited, as within a batch
    seeds-1                how many points come before the model is asked

Words follow each other by slashes and change the preset that is named before them; a later word wins. They are
settings of a user's program too, so these runs take the same way as a preset's. A word that takes a part out is
none of these: see `ablations`.
"""

import math
from collections.abc import Sequence

from photinus.engine.ascent import AscentSettings
from photinus.engine.bandit import BanditSettings
from photinus.engine.designers.constants import Preset
from photinus.engine.firefly import FireflySettings
from photinus_bench import ablations

UCB, EXPLORE, WAIT, SEEDS = "ucb-", "explore-", "wait-", "seeds-"


def choose(preset: Preset, words: Sequence[str]) -> tuple[Preset, tuple[str, ...]]:
    """The preset as the words change it, and the words that are ablations."""
    others = []
    for word in words:
        if word.startswith(EXPLORE):
            preset = preset._replace(overwrite_probability=_number(word, EXPLORE, 1.0))
        elif word.startswith(WAIT):
            preset = preset._replace(waiting_probability=_number(word, WAIT, 1.0))
        elif word.startswith(SEEDS):
            preset = preset._replace(num_seeds=int(_number(word, SEEDS, 1000.0)))
        elif settings := _change(preset.settings, word):
            preset = preset._replace(settings=settings)
        else:
            others.append(word)
    return preset, tuple(others)


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
        case "infeasible-label":
            return settings._replace(model=settings.model._replace(infeasible="label"))
        case "infeasible-apart":
            return settings._replace(model=settings.model._replace(infeasible="apart"))
        case "ucb":
            return settings._replace(acquisition="ucb")
        case "log-ei":
            return settings._replace(acquisition="log_ei")
        case "balls" | "box" | "anywhere":
            return settings._replace(region=word)
        case "firefly":
            return settings._replace(search=FireflySettings())
        case "ascent":
            return settings._replace(search=AscentSettings())
        case _ if word.startswith(UCB):
            return settings._replace(acquisition="ucb", ucb_coefficient=_number(word, UCB, math.inf))
        case _ if word in ablations.WORDS:
            return None
    labels = ("warped", "winsorised", "infeasible-label", "infeasible-apart")
    models = (*labels, "independent", "joint", "shared-metrics", "own-metrics")
    searches = ("ucb", f"{UCB}NUMBER", "log-ei", "balls", "box", "anywhere", "firefly", "ascent")
    known = (*models, *searches, *(f"{word}NUMBER" for word in (EXPLORE, WAIT, SEEDS)))
    raise ValueError(
        f"no part of the algorithm is named {word!r}: there are {', '.join((*known, *sorted(ablations.WORDS)))}"
    )


def _number(word: str, prefix: str, most: float) -> float:
    try:
        value = float(word.removeprefix(prefix))
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= most or math.isinf(value):
        raise ValueError(f"what follows {prefix!r} must be a number from 0 to {most}, got {word!r}")
    return value
