"""COMBO's four problems (Oh et al. 2019, sizes as in the paper's figure) with what is random in them drawn."""

import numpy as np

from photinus_bench.problem import Experimenter
from photinus_bench.problems.combo_chains import draw_contamination, draw_pest_control
from photinus_bench.problems.combo_ising import NUM_MODELS, centroid, draw_weights, ising


def combo(name: str, rng: np.random.Generator) -> Experimenter:
    """The problem of that name; its categories have their original order."""
    match name:
        case "centroid":
            return centroid([draw_weights(rng) for _ in range(NUM_MODELS)])
        case "contamination":
            return draw_contamination(rng)
        case "ising":
            return ising(draw_weights(rng))
        case "pestcontrol":
            return draw_pest_control(rng)
    raise ValueError(f"COMBO has no problem {name!r} here")
