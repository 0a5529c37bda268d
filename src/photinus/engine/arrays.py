"""Array types of the engine, and the one form in which numerics see a study's trials.

Shapes: N padded trials, M metrics, Dc numeric and Dk categorical features, T query points, P flies, W weights.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from jax import Array

from photinus.engine.features import Features

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, UInt
else:
    try:
        from jaxtyping import Bool, Float, Int, UInt
    except ModuleNotFoundError:  # annotations only: the engine runs with jax, numpy and scipy alone

        class _Anything:
            def __getitem__(self, _: Any) -> Any:
                return Any

        Bool = Float = Int = UInt = _Anything()

Scalar = Float[Array, ""]
Key = Array
KeyData = UInt[Array, " 2"]  # what a key is made of


class Observations(NamedTuple):
    """A study's trials, padded. Rows: completed in order of completion, then visited, then padding.

    A *completed* trial has labels or is infeasible. A *visited* one (pending, failed, expired; infeasible where that is
    judged apart, and then the first of these) has a place but no label: it tells the model where, not what.
    """

    features: Features  # (N, Dc), (N, Dk)
    labels: Float[Array, "N M"]  # larger is better; anything where not feasible
    is_completed: Bool[Array, " N"]
    is_feasible: Bool[Array, " N"]
    is_real: Bool[Array, " N"]  # completed or visited, that is: not padding


__all__ = ["Array", "Bool", "Features", "Float", "Int", "Key", "KeyData", "Observations", "Scalar", "UInt"]
