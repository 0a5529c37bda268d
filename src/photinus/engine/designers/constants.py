"""Presets: every constant of an algorithm that is a choice, with its source."""

from typing import NamedTuple

from photinus.engine.bandit import BanditSettings


class Preset(NamedTuple):
    """Constants of the Gaussian-process bandit above the numerics."""

    settings: BanditSettings = BanditSettings()
    overwrite_probability: float = 0.1  # paper, App. B: q, explore although there is new data
    num_seeds: int = 1  # paper, §3.8: the centre
    num_seeds_multi_objective: int = 10  # paper, App. B; the centre is one of them
    # Rows at most, one of the padded sizes; see `active_set.py`. None: all, whatever that costs.
    fit_limit: int | None = None  # completed trials that hyperparameters are fitted to
    posterior_limit: int | None = None  # trials of any kind that the posterior is conditioned on
    quick_size: int = 0  # up to so many padded rows programs are compiled quickly rather than well


PAPER = Preset()
DEFAULT = PAPER  # until something better is measured


def preset(algorithm: str) -> Preset:
    """Constants of an algorithm that is a preset of the bandit."""
    presets = {"paper": PAPER, "default": DEFAULT}
    if algorithm not in presets:
        raise ValueError(f"`algorithm` must be one of ALGORITHMS, got {algorithm!r}")
    return presets[algorithm]
