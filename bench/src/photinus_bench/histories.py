"""Trials as an optimiser leaves them: some random points, then ever other changes of the best so far."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from photinus.engine.designers import uniform
from photinus.engine.encoding import Encoder
from photinus.engine.features import Features
from photinus.problem import Goal, Problem
from photinus.trial import Trial, TrialState
from photinus_bench.problem import Experimenter, Params


def changed(x: Features, scale: float, encoder: Encoder, rng: np.random.Generator) -> Params:
    """A neighbour of a point in the space: numbers move by a normal deviate, few categories are drawn anew."""
    numbers = np.clip(x.continuous + scale * rng.normal(size=x.continuous.shape), 0.0, 1.0)
    counts = encoder.domain.num_categories
    drawn = rng.integers(0, counts, size=x.categorical.shape).astype(np.int32)
    categories = np.where(rng.random(x.categorical.shape) < scale, drawn, x.categorical)
    [point] = encoder.decode(Features(numbers, categories))
    # Once more, as a point is read that was stored: numbers agree to the last bit with those of earlier records.
    return encoder.decode(encoder.encode([point]))[0]


def history(experimenter: Experimenter, num_trials: int, num_random: int, seed: int) -> list[Trial]:
    """Random points, then changes of the best so far by 0.3 to 0.003 of each range, none of them twice.

    With several objectives the best is that of weights drawn for each change.
    """
    problem = experimenter.problem
    encoder = Encoder(problem.space)
    rng = np.random.default_rng(seed)
    points: list[Params] = [point.params for point in uniform.suggest(problem, [], num_random, seed)]
    values = [experimenter.truth(point) for point in points]
    losses = np.full((num_trials, len(problem.metrics)), np.inf)
    losses[:num_random] = losses_of(problem, values)
    tried = {tuple(point.values()) for point in points}
    while len(points) < num_trials:
        weights = rng.dirichlet(np.ones(losses.shape[1])) if problem.is_multi_objective else np.ones(1)
        best = points[int(np.argmin(losses @ weights))]
        scale = 0.3 * 0.01 ** rng.random()
        new = changed(encoder.encode([best]), scale, encoder, rng)
        if tuple(new.values()) not in tried:
            tried.add(tuple(new.values()))
            values.append(experimenter.truth(new))
            losses[len(points)] = losses_of(problem, values[-1:])[0]
            points.append(new)
    return [
        Trial(
            number=number,
            params=dict(point),
            state=TrialState.COMPLETED,
            values=value,
            created_event=2 * number + 1,
            completed_event=2 * number + 2,
            updated_event=2 * number + 2,
            algorithm="random",
        )
        for number, (point, value) in enumerate(zip(points, values, strict=True))
    ]


def losses_of(problem: Problem, values: Sequence[dict[str, float]]) -> np.ndarray:
    """A row for each, a column for each objective; less is better."""
    signs = [-1.0 if metric.goal is Goal.MAXIMIZE else 1.0 for metric in problem.metrics]
    return np.array([[row[name] for name in problem.metric_names] for row in values]) * signs


def beyond_a_plane(problem: Problem, trials: Sequence[Trial], share: float, seed: int) -> list[Trial]:
    """The same trials, a share of them (up to a half), on one side of a random plane, infeasible; the best is not."""
    x = Encoder(problem.space).encode([trial.params for trial in trials]).continuous
    position = x @ np.random.default_rng(seed).normal(size=x.shape[1])
    best = losses_of(problem, [trial.values or {} for trial in trials])[:, 0].argmin()
    side = 1.0 if position[best] <= np.median(position) else -1.0
    beyond = np.argsort(side * position, kind="stable")[len(trials) - round(share * len(trials)) :]
    made = list(trials)
    for row in beyond.tolist():
        made[row] = replace(trials[row], state=TrialState.INFEASIBLE, values=None, message="beyond the plane")
    return made
