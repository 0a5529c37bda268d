"""Presets: every constant of an algorithm that is a choice, with its source."""

from typing import NamedTuple

from photinus.engine.ascent import AscentSettings
from photinus.engine.bandit import BanditSettings, ModelSettings


class Preset(NamedTuple):
    """Constants of the Gaussian-process bandit above the numerics."""

    settings: BanditSettings = BanditSettings()
    overwrite_probability: float = 0.1  # paper, App. B: q, explore although there is new data
    waiting_probability: float = 1.0  # paper, §3.6: explore while results are awaited
    num_seeds: int = 1  # paper, §3.8: the centre
    num_seeds_multi_objective: int = 10  # paper, App. B; the centre is one of them
    seeds_per_category: float = 0.0  # more of them for every categorical parameter, up to 10 in all
    seeds_are_new: bool = False  # a seed that was tried gives way to the next one that was not
    # Rows at most, one of the padded sizes; see `active_set.py`. None: all, whatever that costs.
    fit_limit: int | None = None  # completed trials that hyperparameters are fitted to
    posterior_limit: int | None = None  # trials of any kind that the posterior is conditioned on
    quick_size: int = 0  # up to so many padded rows programs are compiled quickly rather than well


PAPER = Preset()
# Every choice by measurement: docs/decisions/0010.
DEFAULT = Preset(
    settings=BanditSettings(
        model=ModelSettings(labels="winsorised", length_scales="joint", metrics="own", infeasible="apart"),
        acquisition="log_ei",
        region="box",
        search=AscentSettings(),
    ),
    waiting_probability=0.1,
    seeds_per_category=0.5,
    seeds_are_new=True,
    fit_limit=256,
    posterior_limit=1024,
    quick_size=16,
)


def preset(algorithm: str) -> Preset:
    """Constants of an algorithm that is a preset of the bandit."""
    presets = {"paper": PAPER, "default": DEFAULT}
    if algorithm not in presets:
        raise ValueError(f"`algorithm` must be one of ALGORITHMS, got {algorithm!r}")
    return presets[algorithm]
