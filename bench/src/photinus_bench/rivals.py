"""Everyone who searches, by name, and how to talk to them (see `searching` for the protocol).

Each runs in a process of its own, rivals in environments of their own (`make bench-env NAME=...`); who has no model
is asked right here.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from photinus.engine.encoding import Encoder
from photinus.problem import Problem
from photinus_bench import envs
from photinus_bench.baselines.searching_photinus import PACKAGES, PhotinusRival
from photinus_bench.pipe import Contestant
from photinus_bench.searching import Desk

Params = dict[str, Any]


class UnsupportedProblemError(Exception):
    """The rival cannot search this problem; its reason."""


class NoEnvironmentError(Exception):
    """The rival's environment was not made."""


@dataclass(frozen=True)
class Answer:
    """Points to measure, and what they cost."""

    points: list[Params]
    seconds: float
    peak_mb: float


class Search:
    """One search by one algorithm. Errors of `pipe` mean that it failed or was too slow: then it is over."""

    def __init__(self, command: list[str], log: Path, limit_s: float, *, takes_first: bool = True) -> None:
        self._contestant = Contestant(command, log)
        self._limit_s = limit_s
        self._takes_first = takes_first

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(
        self, problem: Problem, *, seed: int, first: Params | None, batch_size: int = 1, num_trials: int = 100
    ) -> dict[str, str]:
        """Begin, and return the versions of the packages at work; a search before this one is forgotten."""
        answer = self._request(
            do="start",
            problem=problem.to_dict(),
            seed=seed,
            first=first if self._takes_first else None,
            batch_size=batch_size,
            num_trials=num_trials,
        )
        if "unsupported" in answer:
            raise UnsupportedProblemError(answer["unsupported"])
        return answer["packages"]

    def ask(self, count: int = 1) -> Answer:
        """One to `count` new points."""
        answer = self._request(do="ask", count=count)
        return Answer(answer["points"], answer["seconds"], answer["peak_mb"])

    def tell(self, points: Sequence[Params], values: Sequence[Mapping[str, float] | None]) -> None:
        """Values by objective of points that were asked for; None where a point is infeasible."""
        self._request(do="tell", points=list(points), values=[v if v is None else dict(v) for v in values])

    def bring(self, points: Sequence[Params], values: Sequence[Mapping[str, float] | None]) -> None:
        """Trials of before the search, one after another."""
        self._request(do="bring", points=list(points), values=[v if v is None else dict(v) for v in values])

    def stop(self) -> None:
        """End the process."""
        self._contestant.stop()

    def _request(self, **request: Any) -> dict[str, Any]:
        return self._contestant.ask(request, self._limit_s)


class SearchHere(Search):
    """A search by Photinus in this process."""

    def __init__(self, algorithm: str, *, takes_first: bool) -> None:
        self._desk = Desk(lambda start: PhotinusRival(start, algorithm))
        self._takes_first = takes_first
        self._versions = {name: version(name) for name in PACKAGES}

    def stop(self) -> None:
        """Nothing to end."""

    def _request(self, **request: Any) -> dict[str, Any]:
        return self._desk.answer(request) | {"packages": self._versions, "peak_mb": 0.0}


@dataclass(frozen=True)
class Rival:
    """Where an algorithm lives: a module of `baselines` with an argument, and an environment."""

    name: str
    module: str
    argument: str = ""
    environment: str | None = None  # None: Photinus' own
    takes_first: bool = True  # begins with the point that everyone begins with
    has_model: bool = True  # without one, a process of its own would cost more than the search

    @property
    def python(self) -> Path | None:
        """Its interpreter; None where its environment was not made."""
        return Path(sys.executable) if self.environment is None else envs.python_of(self.environment)

    def search(self, log: Path, limit_s: float = 600.0) -> Search:
        """A process that searches; it starts with the first request and may take `limit_s` for an answer."""
        if self.python is None:
            raise NoEnvironmentError(
                f"{self.name} has no environment: make one with `make bench-env NAME={self.environment}`"
            )
        if not self.has_model:
            return SearchHere(self.argument, takes_first=self.takes_first)
        # SMAC goes through sets of texts, whose order Python draws anew for every process unless told not to.
        python = ["env", "PYTHONHASHSEED=0", str(self.python)]
        command = [*python, "-m", f"photinus_bench.baselines.{self.module}", self.argument]
        return Search(command, log, limit_s, takes_first=self.takes_first)


RIVALS = {
    rival.name: rival
    for rival in (
        # Without the centre, as in the paper: it shows what the centre is worth.
        Rival("random", "searching_photinus", "random", takes_first=False, has_model=False),
        Rival("quasi-random", "searching_photinus", "quasi_random", has_model=False),
        Rival("photinus-paper", "searching_photinus", "paper"),
        Rival("photinus-default", "searching_photinus", "default"),
        Rival("ax", "searching_ax", "default", "ax"),
        Rival("ax-ucb", "searching_ax", "ucb", "ax"),
        Rival("bayesopt", "searching_bayesopt", "", "bayesopt"),
        Rival("cma", "searching_cma", "", "cma"),
        Rival("hebo", "searching_hebo", "", "hebo"),
        Rival("hyperopt", "searching_hyperopt", "", "hyperopt"),
        Rival("optuna-gp", "searching_optuna", "gp", "optuna"),
        Rival("optuna-tpe", "searching_optuna", "tpe", "optuna"),
        Rival("skopt", "searching_skopt", "", "skopt"),
        Rival("smac", "searching_smac", "hpo", "smac"),
        Rival("smac-black-box", "searching_smac", "black-box", "smac"),  # for suites of one's own
        Rival("vizier", "searching_vizier", "default", "vizier"),
        Rival("vizier-gp-bandit", "searching_vizier", "gp-bandit", "vizier"),
    )
}


def first_point(problem: Problem, rng: np.random.Generator) -> Params:
    """What everyone begins with: the centre on the parameters' scales, categories drawn."""
    return Encoder(problem.space).centre(rng)
