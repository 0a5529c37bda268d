"""One study of the benchmark on its way: what it has measured so far, and the noise that belongs to each trial.

Nothing here knows who searches: rivals over their pipes and Photinus in lock-step fill the same lanes.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from photinus.trial import Measurement
from photinus_bench.problem import Experimenter


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One trial of a run."""

    params: dict[str, Any]
    truth: dict[str, float]  # what is scored; NaN where the point is infeasible
    told: Measurement  # what the algorithm saw of it


@dataclass(slots=True)
class Lane:
    """One study on its way; what it has done so far may come from an earlier, interrupted run."""

    experimenter: Experimenter
    seed: int
    done: list[Evaluation] = field(default_factory=list)

    def measure(self, params: dict[str, Any]) -> Evaluation:
        """Evaluate a point as the next trial; its noise belongs to the trial's number."""
        truth = self.experimenter.truth(params)
        rng = noise_generator(self.experimenter.name, self.seed, len(self.done))
        evaluation = Evaluation(params, truth, self.experimenter.observe(truth, rng))
        self.done.append(evaluation)
        return evaluation


def noise_generator(name: str, seed: int, number: int) -> np.random.Generator:
    """Where the noise of a trial comes from: the same for every algorithm."""
    digest = hashlib.sha256(f"noise#{name}#{seed}#{number}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))
