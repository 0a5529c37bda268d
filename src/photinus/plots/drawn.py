"""Which of many trials are drawn: a browser chokes on ten thousand dots, and nobody sees them apart."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from photinus.trial import Trial


class Drawn(NamedTuple):
    """Trials to draw, by number, and how many are left out."""

    trials: list[Trial]
    num_hidden: int


def draw(trials: Sequence[Trial], limit: int, keep: Collection[int] = ()) -> Drawn:
    """At most `limit` trials: those whose numbers are in `keep` first, then others, evenly spread."""
    if len(trials) <= limit:
        return Drawn(list(trials), 0)
    kept = [i for i, trial in enumerate(trials) if trial.number in keep]
    kept = [kept[i] for i in _spread(len(kept), limit)]
    taken = set(kept)
    others = [i for i in range(len(trials)) if i not in taken]
    chosen = sorted(kept + [others[i] for i in _spread(len(others), limit - len(kept))])
    return Drawn([trials[i] for i in chosen], len(trials) - len(chosen))


def _spread(count: int, limit: int) -> list[int]:
    """At most `limit` of the first `count` integers, the ends included."""
    if count <= limit:
        return list(range(count))
    return sorted(set(np.linspace(0, count - 1, limit).astype(int).tolist()))
