"""What numerics know of a point: numeric coordinates in the unit cube and categories as indices."""

from typing import Any, NamedTuple


class Features(NamedTuple):
    """Encoded points, NumPy or JAX arrays alike (a NamedTuple is a pytree without importing JAX).

    `continuous` is (..., Dc) float in [0, 1]; `categorical` is (..., Dk) int, the index of the category.
    """

    continuous: Any
    categorical: Any


class Domain(NamedTuple):
    """Which features are feasible: everything the search needs to know of a space, as arrays.

    A numeric dimension is either free (`steps` 0, no grid), evenly spaced (`steps` = number of values - 1) or
    listed in `grid` (rows sorted, padded with +inf). A listed dimension is not rounded from `fine_low` up nor
    from `fine_high` down, where feasible values lie closer than the search can tell apart.
    """

    steps: Any  # (Dc,)
    grid: Any  # (Dc, G), G = 0 when no dimension is listed
    fine_low: Any  # (Dc,)
    fine_high: Any  # (Dc,)
    is_trusted: Any  # (Dc,) whether the trust region looks at this dimension
    num_categories: Any  # (Dk,)
