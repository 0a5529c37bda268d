"""Why a point was chosen, in words; `Trial.reason` has it as data."""

from collections.abc import Mapping
from typing import Any

METHODS = {
    "centre": "the centre of the space, to begin with",
    "quasi_random": "a quasi-random point, to cover the space",
    "random": "a random point",
    "ucb": "the highest upper confidence bound",
    "log_ei": "the largest expected improvement",
    "hypervolume_ucb": "the largest promise to extend the Pareto set",
    "pure_exploration": "pure exploration: where least is known among what may be good",
}


def why(reason: Mapping[str, Any] | None) -> list[str]:
    """The rule that chose the point, then what else is known about the choice; empty without a reason."""
    if not reason:
        return []
    method = str(reason.get("method", "unknown"))
    parts = [METHODS.get(method, method)]
    if "predicted" in reason:
        parts[0] += " (to exploit)" if reason.get("intent") == "exploit" else " (to explore)"
        radius = reason.get("trust_region", {}).get("radius")
        near = reason.get("nearest", [])
        parts += [_region(method, radius)] if radius is not None else []
        parts += [f"nearest trial {near[0]['number']} at {near[0]['distance']:.2g}"] if near else []
        parts += ["beside a point that was tried"] if "instead_of" in reason else []
    return parts


def _region(method: str, radius: float) -> str:
    """The box of expected improvement has sides of several lengths, and stands around one trial."""
    if method == "log_ei":
        return f"about {radius:.2g} of a range around the best trial"
    return f"at most {radius:.2g} of a range away from earlier trials"


def expected(reason: Mapping[str, Any] | None) -> dict[str, tuple[float, float, float]]:
    """By objective, the 5, 50 and 95 % quantiles that the model expected; only those that are known."""
    found: dict[str, tuple[float, float, float]] = {}
    for name, quantiles in (reason or {}).get("predicted", {}).items():
        low, median, high = (quantiles.get(q) for q in ("q05", "q50", "q95"))
        if low is not None and median is not None and high is not None:
            found[name] = low, median, high
    return found


def expectations(reason: Mapping[str, Any] | None) -> list[str]:
    """The same in words, one objective each."""
    return [
        f"expected {name} {median:.6g} ({low:.6g} to {high:.6g})"
        for name, (low, median, high) in expected(reason).items()
    ]
