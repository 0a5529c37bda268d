"""The 24 functions of BBOB (Hansen et al. 2009) by the package ioh, moved so that the optimum is the origin.

An instance of ioh has an optimum x_opt and a value f_opt of its own. Here g(x) = f(x + x_opt) - f_opt on [-5, 5]^D,
to be minimised; the task shifts it by a random c (paper: each coordinate uniform in [-5, 5]), which makes
f(x - c + x_opt) - f_opt with its minimum 0 at c, inside the box. All repeats share one instance, as the paper shifts
one base function; the paper says that all BBOB functions have their optimum at the origin, which holds for g only.

The argument of f runs through x_opt + [-10, 10]^D, beyond the box of BBOB, where the functions are defined, too.
What that means, by function:

- f5 (linear slope) is flat beyond its optimum, a corner of BBOB's box: g is 0 in the whole orthant beyond c. The
  minimum is still 0 and reached at c, but also everywhere from there to a corner of the search box.
- f16 (Weierstrass) and f23 (Katsuura) are made of periodic terms: they reach 0 at further points.
- f7 (steps) is 0 on a plateau of some hundredths around c: ioh rounds the coordinate, too, that BBOB's definition
  leaves unrounded.
- f4, f7, f16, f17, f18, f21, f22, f23, f24 add a penalty outside [-5, 5]^D of their own coordinates. With the
  shift such places are inside the search box, on one side of c. f20 has one at a similar place. The penalty is
  never negative and 0 at c, so the minimum stays.
- f19 above 64 dimensions: ioh 0.3.22 computes x_opt while it scales the rotation that x_opt depends on, so its x_opt
  is not where the minimum is (value 1.9 at 80-D). 0 is still the least value, some tenths away from c, and may lie
  outside the box by as much. Optimum and place are left unknown there.
"""

import ioh

from photinus.problem import Problem
from photinus.space import Float
from photinus_bench.problem import Experimenter, Params

LOW, HIGH = -5.0, 5.0
INSTANCE = 1
SEVERAL_MINIMISERS = (5, 7, 16, 23)
LARGEST_EXACT = {19: 64}  # dimension up to which x_opt of ioh is the minimiser


def bbob(function: int, dimension: int) -> Experimenter:
    """One of the 24 functions with its optimum at the origin."""
    original = ioh.get_problem(function, INSTANCE, dimension, ioh.ProblemClass.BBOB)
    x_opt, f_opt = original.optimum.x.tolist(), original.optimum.y
    names = [f"x{i}" for i in range(dimension)]

    def truth(params: Params) -> dict[str, float]:
        x = [params[name] + best for name, best in zip(names, x_opt, strict=True)]
        return {"value": original(x) - f_opt}

    is_exact = dimension <= LARGEST_EXACT.get(function, dimension)
    return Experimenter(
        name=f"bbob/f{function:02}/{dimension}d",
        problem=Problem.define({name: Float(LOW, HIGH) for name in names}),
        truth=truth,
        optimum={"value": 0.0} if is_exact else None,
        optimum_at=dict.fromkeys(names, 0.0) if is_exact else None,
    )
