"""Photinus by its own ask and tell; the algorithm is named by the argument."""

import sys

import photinus as ph
from photinus_bench.baselines.photinus_paper import wait_for_compiler
from photinus_bench.searching import Params, Start, Values, serve

PACKAGES = ("photinus", "jax", "jaxlib", "numpy")


class PhotinusRival:
    """A study in memory. The first point is enqueued; later trials go on from its number."""

    def __init__(self, start: Start, algorithm: str) -> None:
        problem = ph.Problem.from_dict(start.problem)
        goals = {metric.name: metric.goal.value for metric in problem.metrics}
        self._study = ph.create_study(problem.space, objectives=goals, algorithm=algorithm, seed=start.seed)

    def attach(self, params: Params) -> int:
        self._study.enqueue(params)
        [trial] = self._study.ask()
        return trial.number

    def ask(self, count: int) -> list[tuple[int, Params]]:
        return [(trial.number, trial.params) for trial in self._study.ask(count)]

    def tell(self, results: list[tuple[int, Params, Values | None]]) -> None:
        for number, _, values in results:
            if values is None:
                self._study.tell(number, infeasible="infeasible")
            else:
                self._study.tell(number, values)


def begin(start: Start) -> PhotinusRival:
    """A search that programs for the one before do not slow down; for a process that does nothing else."""
    wait_for_compiler()
    return PhotinusRival(start, sys.argv[1])


if __name__ == "__main__":
    serve(begin, packages=PACKAGES)
