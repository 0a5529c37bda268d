"""COMBO's two problems on a chain of 25 stages (Oh et al. 2019), both to be minimised.

A share z of something unwanted grows from stage to stage unless it is treated:

    z_i = (1 - rate_i) z_{i-1} if treated, else z_{i-1} + spread_i (1 - z_{i-1}),

with random rates, averaged over 100 simulations. Their draws belong to the problem, so that its values are exact.

Contamination control (Hu et al. 2010, in the form of BOCS): a treatment costs 1, and a share above 0.1 after a stage
is to be rare: Σ x - Σ_i (mean[z_i < 0.1] - 0.95) + λ Σ x.

Pest control: five choices, none or one of four pesticides; each use of one makes the pest more tolerant of it and its
price falls with the number of uses; Σ prices + Σ_i mean[z_{i-1} > 0.1].
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from photinus.problem import Problem
from photinus.space import Categorical
from photinus_bench.problem import Experimenter, Params

NUM_STAGES, NUM_SIMULATIONS = 25, 100
THRESHOLD = 0.1
# Every rate is Beta(1, b): 1 - (1 - U)^(1/b) of a uniform U.
INITIAL, SPREAD, RESTORE = 30.0, 17.0 / 3.0, 3.0 / 7.0
CONFIDENCE = 0.95  # share of simulations to be below the threshold
PENALTY = 0.01  # COMBO: λ

Control = Callable[[int, float], np.ndarray]  # (stage, b) -> rates, (simulations,)


@dataclass(frozen=True)
class Chain:
    """The draws of a problem: what there is at first, and how it spreads."""

    initial: np.ndarray  # (simulations,)
    spread: np.ndarray  # (stages, simulations)

    def grow(self, z: np.ndarray, stage: int) -> np.ndarray:
        """After a stage without treatment."""
        return z + self.spread[stage] * (1 - z)


@dataclass(frozen=True)
class Pesticide:
    """COMBO's constants of one."""

    price: float
    discount: float  # at most, if it is used in all stages
    b: float  # of its first use; the larger, the weaker
    tolerance: float  # what b has gained after all stages


PESTICIDES = {
    1: Pesticide(price=1.0, discount=0.2, b=2.0 / 7.0, tolerance=1.0 / 7.0),
    2: Pesticide(price=0.8, discount=0.3, b=3.0 / 7.0, tolerance=2.5 / 7.0),
    3: Pesticide(price=0.7, discount=0.3, b=3.0 / 7.0, tolerance=2.0 / 7.0),
    4: Pesticide(price=0.5, discount=0.0, b=5.0 / 7.0, tolerance=0.5 / 7.0),
}


def contamination(chain: Chain, restore: np.ndarray) -> Experimenter:
    """Which stages to treat; `restore` holds the rates of treatment, (stages, simulations)."""
    names = stage_names()

    def truth(params: Params) -> dict[str, float]:
        x = [int(params[name]) for name in names]
        z, satisfied = chain.initial, 0.0
        for stage, is_treated in enumerate(x):
            z = (1 - restore[stage]) * z if is_treated else chain.grow(z, stage)
            satisfied += np.mean(z < THRESHOLD) - CONFIDENCE
        return {"value": float((1 + PENALTY) * sum(x) - satisfied)}

    problem = Problem.define({name: Categorical(("0", "1")) for name in names})
    return Experimenter(name="combo/contamination", problem=problem, truth=truth)


def pest_control(chain: Chain, control: Control) -> Experimenter:
    """Which pesticide to use at each stage, "0" for none; `control` gives the rates, Beta(1, b), of a stage."""
    names = stage_names()

    def truth(params: Params) -> dict[str, float]:
        x = [int(params[name]) for name in names]
        z, above, price = chain.initial, 0.0, 0.0
        b = {kind: pesticide.b for kind, pesticide in PESTICIDES.items()}
        for stage, kind in enumerate(x):
            above += np.mean(z > THRESHOLD)
            if kind == 0:
                z = chain.grow(z, stage)
                continue
            pesticide = PESTICIDES[kind]
            z = (1 - control(stage, b[kind])) * z
            b[kind] += pesticide.tolerance / len(x)
            price += pesticide.price * (1 - pesticide.discount * x.count(kind) / len(x))
        return {"value": float(price + above)}

    choices = Categorical(map(str, range(len(PESTICIDES) + 1)))
    return Experimenter(
        name="combo/pestcontrol", problem=Problem.define(dict.fromkeys(names, choices)), truth=truth
    )


def draw_contamination(rng: np.random.Generator) -> Experimenter:
    """The problem with random draws, independent between stages."""
    return contamination(draw_chain(rng), beta(RESTORE, rng.random((NUM_STAGES, NUM_SIMULATIONS))))


def draw_pest_control(rng: np.random.Generator) -> Experimenter:
    """The problem with random draws, independent between stages.

    One uniform per stage and simulation decides how well treatment works, whichever pesticide and however tolerant
    the pest is by then: so a stronger one is never worse by chance.
    """
    chain, uniforms = draw_chain(rng), rng.random((NUM_STAGES, NUM_SIMULATIONS))
    return pest_control(chain, lambda stage, b: beta(b, uniforms[stage]))


def draw_chain(rng: np.random.Generator) -> Chain:
    """Random first shares and rates of spread."""
    return Chain(
        beta(INITIAL, rng.random(NUM_SIMULATIONS)), beta(SPREAD, rng.random((NUM_STAGES, NUM_SIMULATIONS)))
    )


def beta(b: float, uniforms: np.ndarray) -> np.ndarray:
    """Beta(1, b) by its inverse distribution function."""
    return 1 - (1 - uniforms) ** (1 / b)


def stage_names() -> list[str]:
    return [f"x{i}" for i in range(NUM_STAGES)]
