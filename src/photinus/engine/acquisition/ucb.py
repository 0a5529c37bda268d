"""Upper confidence bound (docs/algorithm.md §4)."""

from photinus.engine.arrays import Array, Float


def upper_confidence_bound(
    mu: Float[Array, "T M"], sigma: Float[Array, " T #M"], ucb_coefficient: float
) -> Float[Array, "T M"]:
    """What could plausibly be reached: μ + √β·σ, where σ may know more places than μ knows labels."""
    return mu + ucb_coefficient * sigma  # (17), and (25) with σ given visited trials
