"""Searches of one acquisition at equal time (the paper's figure "Firefly vs. L-BFGS-B on UCB(x)", and our own search).

    python -m photinus_bench.acquisition_study --out bench/records/acquisition.json

A study of `paper` is brought to some trials, its model is fitted once, and all searches then maximise the same upper
confidence bound with budgets from tiny to full, several seeds each. Time is counted as the paper does: the firefly
search by the clock, as is our local search; L-BFGS by what one evaluation of value and gradient at all its restarts
costs, times the number of its steps, as if all else were free. What its program really took stands beside it.
"""

import argparse
import functools
import hashlib
import json
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from photinus.engine.acquisition.trust_region import constrain
from photinus.engine.ascent import AscentSettings
from photinus.engine.bandit import BanditSettings, acquisition
from photinus.engine.cache import Program
from photinus.engine.designers import gp_bandit
from photinus.engine.designers.constants import PAPER
from photinus.engine.designers.snapshot import Snapshot
from photinus.engine.features import Features
from photinus.engine.firefly import FireflySettings
from photinus.engine.padding import padded_size
from photinus_bench import ablations, lockstep
from photinus_bench.lane import Lane
from photinus_bench.machine import provenance
from photinus_bench.tasks import Task, build

TASK = "bbob/f15/20d"  # Rastrigin: many local maxima
NUM_TRIALS = 40  # the trust region is still on
EVALUATIONS = (250, 500, 1000, 2500, 5000, 10_000, 25_000, 75_000)
STEPS = (1, 2, 5, 10, 20, 50, 100)
ASCENT_STEPS = (1, 2, 5, 10, 20, 40, 100, 300)  # in every round; 40 of them are usual
NUM_SEEDS = 10
NUM_TIMINGS = 20


# As in `ablations`: the key of compiled programs on disk does not cover this file.
SOURCE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest() + ablations.SOURCE


Search = Literal["firefly", "lbfgs", "ascent"]


class Variant(NamedTuple):
    """Which search, how long, and whether the trust region holds."""

    search: Search
    has_trust_region: bool
    num_restarts: int = ablations.NUM_STARTS  # of L-BFGS
    max_steps: int = ablations.MAX_STEPS  # of L-BFGS, or of the local search in a round
    max_evaluations: int = 75_000  # of the firefly search

    @property
    def budget(self) -> int:
        """How long it may search, in the search's own unit."""
        return self.max_evaluations if self.search == "firefly" else self.max_steps


@functools.cache
def search_program(variant: Variant, settings: BanditSettings) -> Program:
    """The search as a program of (key, observations, y, domain, hyper, explores), for one study."""
    if variant.search == "lbfgs":
        budget = {"num_starts": variant.num_restarts, "max_steps": variant.max_steps}
        climb = functools.partial(ablations.climb, settings=settings, **budget)
        return Program("climb_once", climb, (variant, settings, SOURCE))
    search = FireflySettings(max_evaluations=variant.max_evaluations)
    if variant.search == "ascent":
        search = AscentSettings(num_steps=variant.max_steps)
    settings = settings._replace(search=search)
    return Program(
        "pick", functools.partial(gp_bandit.pick_arrays, max_categories=0, settings=settings), (0, settings)
    )


@functools.cache
def gradient_program(settings: BanditSettings) -> Program:
    """One evaluation of values and gradients at given points."""
    return Program("gradients", functools.partial(_gradients, settings=settings), (settings, SOURCE))


def _gradients(
    key: Any,
    observations: Any,
    y: Any,
    domain: Any,
    hyper: Any,
    explores: Any,
    x: Any,
    *,
    settings: BanditSettings,
) -> tuple[Any, Any]:
    key = jax.random.wrap_key_data(key, impl="threefry2x32")
    found = acquisition(key, observations, y, domain, hyper, explores, settings)

    def total(x: Any) -> tuple[Any, Any]:
        point = Features(x, jnp.zeros((x.shape[0], 0), jnp.int32))
        scores = constrain(found.region, x, found.score(point))
        return jnp.sum(scores), scores

    gradient, scores = jax.grad(total, has_aux=True)(x)
    return scores, gradient


def arguments_of(study: Snapshot, model: Any, size: int, variant: Variant) -> list[Any]:
    """Arguments of the programs after the key; without a trust region, the domain has no trusted dimension."""
    _, observations, y, domain, hyper, explores = gp_bandit.pick_arguments(study, model, False, size)
    domain = ablations.Ablation(has_trust_region=variant.has_trust_region).domain(domain)
    return [observations, y, domain, hyper, explores]


def fitted_study(task: str, num_trials: int, seed: int) -> tuple[Snapshot, Any, int]:
    """A study of `paper` after so many trials, with its model and padded size."""
    lane = Lane(build(Task.parse(task), seed), seed)
    for _ in lockstep.run([lane], num_trials=num_trials, batch_size=1, preset=PAPER):
        pass
    study = lockstep.resume(lane, 1, PAPER)
    size = padded_size(num_trials + 1)
    return study, gp_bandit.fit(study, size), size


def measure(
    study: Snapshot, model: Any, size: int, variant: Variant, seed: int, step_s: float
) -> dict[str, Any]:
    """One search with one budget and one seed; `step_s` is what a step of L-BFGS counts."""
    program = search_program(variant, study.preset.settings)
    rest = arguments_of(study, model, size, variant)
    key = np.random.SeedSequence([seed, 99]).generate_state(2)
    jax.block_until_ready(program(key, *rest))  # compiled, and its caches warm
    began = time.perf_counter()
    found = jax.block_until_ready(program(key, *rest))
    seconds = time.perf_counter() - began
    row: dict[str, Any] = {
        "search": variant.search,
        "trust_region": variant.has_trust_region,
        "budget": variant.budget,
        "seed": seed,
        "score": float(found.score),
        "clock_s": seconds,
        "counted_s": seconds,
    }
    if variant.search == "lbfgs":
        row["counted_s"] = variant.max_steps * step_s
    return row


def gradient_seconds(study: Snapshot, rest: list[Any], variant: Variant) -> float:
    """What one evaluation at all restarts costs: the median of a few."""
    program = gradient_program(study.preset.settings)
    x = np.random.default_rng(0).random((variant.num_restarts, study.features.continuous.shape[1]))
    key = np.zeros(2, np.uint32)
    jax.block_until_ready(program(key, *rest, x))
    seconds = []
    for _ in range(NUM_TIMINGS):
        began = time.perf_counter()
        jax.block_until_ready(program(key, *rest, x))
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def study_searches(
    task: str = TASK, num_trials: int = NUM_TRIALS, num_seeds: int = NUM_SEEDS
) -> dict[str, Any]:
    """Every search, with and without the trust region, with every budget and seed."""
    origin = provenance(task)  # of now: the load at the end would be the study's own
    study, model, size = fitted_study(task, num_trials, 0)
    rows = []
    for has_trust_region in (False, True):
        variants = [Variant("firefly", has_trust_region, max_evaluations=budget) for budget in EVALUATIONS]
        variants += [Variant("ascent", has_trust_region, max_steps=budget) for budget in ASCENT_STEPS]
        variants += [Variant("lbfgs", has_trust_region, max_steps=budget) for budget in STEPS]
        step_s = gradient_seconds(study, arguments_of(study, model, size, variants[-1]), variants[-1])
        rows += [measure(study, model, size, v, seed, step_s) for v in variants for seed in range(num_seeds)]
    return {"task": task, "num_trials": num_trials, **origin, "rows": rows}


def main() -> None:
    """Write the figures' numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS)
    arguments = parser.parse_args()
    result = study_searches(num_seeds=arguments.seeds)
    arguments.out.write_text(json.dumps(result) + "\n")
    for search in get_args(Search):
        for has_trust_region in (False, True):
            rows = [
                r for r in result["rows"] if (r["search"], r["trust_region"]) == (search, has_trust_region)
            ]
            for budget in sorted({row["budget"] for row in rows}):
                those = [row for row in rows if row["budget"] == budget]
                score, seconds = (np.median([row[key] for row in those]) for key in ("score", "counted_s"))
                print(
                    f"{search:8} trust region {has_trust_region!s:5} {budget:6} {seconds:.4f} s {score:.6g}"
                )


if __name__ == "__main__":
    main()
