"""Machine parts that are as light or cheap as they can be and still hold: classics of design under constraints.

A design that breaks a limit cannot be measured, and the best one lies where several limits meet. So these show what
is made of infeasible trials, which are most of the space. Formulas as in the literature that collects them (Coello
2000, "Use of a self-adaptive penalty approach for engineering optimization problems"; Golinski 1970 for the speed
reducer; Rao, "Engineering Optimization", for the column); tests compare with the best designs known.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from photinus.problem import Problem
from photinus.space import Float, Int, Parameter
from photinus_bench.problem import Experimenter, Params

Design = Callable[
    ..., tuple[float, tuple[float, ...]]
]  # what it costs, and its limits, kept where they are not above 0


def spring(d: float, D: float, n: float) -> tuple[float, tuple[float, ...]]:
    """Weight of a spring: wire, coil, number of active coils."""
    limits = (
        1 - D**3 * n / (71785 * d**4),
        (4 * D**2 - d * D) / (12566 * (D * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
        1 - 140.45 * d / (D**2 * n),
        (d + D) / 1.5 - 1,
    )
    return (n + 2) * D * d**2, limits


def vessel(shell: int, head: int, r: float, length: float) -> tuple[float, tuple[float, ...]]:
    """Cost of a pressure vessel of plates that come in sixteenths of an inch."""
    s, h = 0.0625 * shell, 0.0625 * head
    cost = 0.6224 * s * r * length + 1.7781 * h * r**2 + 3.1661 * s**2 * length + 19.84 * s**2 * r
    volume = math.pi * r**2 * length + 4 / 3 * math.pi * r**3
    return cost, (0.0193 * r - s, 0.00954 * r - h, 1296000 - volume)


def truss(a: float, b: float) -> tuple[float, tuple[float, ...]]:
    """Volume of three bars, the outer ones alike."""
    root = math.sqrt(2)
    under = root * a**2 + 2 * a * b
    limits = (2 * (root * a + b) / under - 2, 2 * b / under - 2, 2 / (a + root * b) - 2)
    return 100 * (2 * root * a + b), limits


def beam(h: float, l: float, t: float, b: float) -> tuple[float, tuple[float, ...]]:  # noqa: E741
    """Cost of a welded beam: weld, its length, height and width of the beam."""
    load, reach, elasticity, shear = 6000.0, 14.0, 30e6, 12e6
    arm = math.hypot(l / 2, (h + t) / 2)
    inertia = 2 * math.sqrt(2) * h * l * (l**2 / 12 + ((h + t) / 2) ** 2)
    along, around = load / (math.sqrt(2) * h * l), load * (reach + l / 2) * arm / inertia
    stress = math.sqrt(along**2 + along * around * l / arm + around**2)
    slender = 1 - t / (2 * reach) * math.sqrt(elasticity / (4 * shear))
    buckling = 4.013 * elasticity * t * b**3 / (6 * reach**2) * slender
    limits = (
        stress - 13600,
        6 * load * reach / (b * t**2) - 30000,
        h - b,
        4 * load * reach**3 / (elasticity * t**3 * b) - 0.25,
        load - buckling,
    )
    return 1.10471 * h**2 * l + 0.04811 * t * b * (14 + l), limits


def column(d: float, t: float) -> tuple[float, tuple[float, ...]]:
    """Cost of a tubular column under a load: diameter and wall."""
    load, strength, elasticity, height = 2500.0, 500.0, 0.85e6, 250.0
    buckling = 8 * load * height**2 / (math.pi**3 * elasticity * d * t * (d**2 + t**2))
    return 9.8 * d * t + 2 * d, (load / (math.pi * d * t * strength) - 1, buckling - 1)


def reducer(
    b: float, m: float, z: int, l1: float, l2: float, d1: float, d2: float
) -> tuple[float, tuple[float, ...]]:
    """Weight of a gear box: width, module and teeth, two shafts between their bearings."""
    weight = 0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
    weight += -1.508 * b * (d1**2 + d2**2) + 7.4777 * (d1**3 + d2**3) + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    limits = (
        27 / (b * m**2 * z) - 1,
        397.5 / (b * m**2 * z**2) - 1,
        1.93 * l1**3 / (m * z * d1**4) - 1,
        1.93 * l2**3 / (m * z * d2**4) - 1,
        math.sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / (110 * d1**3) - 1,
        math.sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / (85 * d2**3) - 1,
        m * z / 40 - 1,
        5 * m / b - 1,
        b / (12 * m) - 1,
        (1.5 * d1 + 1.9) / l1 - 1,
        (1.1 * d2 + 1.9) / l2 - 1,
    )
    return weight, limits


class Part(NamedTuple):
    """A design and the ranges of its parameters, by their names."""

    design: Design
    ranges: dict[str, Parameter]


PARTS = {
    "spring": Part(spring, {"d": Float(0.05, 0.2), "D": Float(0.25, 1.3), "n": Float(2, 15)}),
    "vessel": Part(
        vessel, {"shell": Int(1, 40), "head": Int(1, 40), "r": Float(10, 100), "length": Float(10, 200)}
    ),
    "truss": Part(truss, {"a": Float(0.1, 1), "b": Float(0.1, 1)}),
    "beam": Part(beam, {"h": Float(0.1, 2), "l": Float(0.1, 10), "t": Float(0.1, 10), "b": Float(0.1, 2)}),
    "column": Part(column, {"d": Float(2, 14), "t": Float(0.2, 0.8)}),
    "reducer": Part(
        reducer,
        {
            "b": Float(2.6, 3.6),
            "m": Float(0.7, 0.8),
            "z": Int(17, 28),
            "l1": Float(7.3, 8.3),
            "l2": Float(7.3, 8.3),
            "d1": Float(2.9, 3.9),
            "d2": Float(5.0, 5.5),
        },
    ),
}


def engineering(name: str) -> Experimenter:
    """One of the parts; a design that breaks a limit is infeasible."""
    design, ranges = PARTS[name]

    def truth(params: Params) -> dict[str, float]:
        cost, limits = design(**params)
        return {"value": cost if max(limits) <= 0 else math.nan}

    return Experimenter(name=f"engineering/{name}", problem=Problem.define(ranges, "minimize"), truth=truth)
