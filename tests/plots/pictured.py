"""Studies to draw: one of every kind, small enough for a test."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import photinus as ph

HOSTILE = "a/b <script>alert('x')</script> \"quoted\" & 🔥 ${x} %{y}"
MIXED = {
    "lr": ph.Float(1e-5, 1e-1, scale="log"),
    "layers": ph.Int(1, 8),
    "batch": ph.Discrete([16, 32, 64, 128]),
    "optimizer": ph.Categorical(["adam", "sgd", None]),
    "is_fast": ph.Categorical([False, True]),
    "fixed": ph.Float(2.0, 2.0),
}


def value(params: dict[str, Any]) -> float:
    """Best at lr = 10^-2.5, 4 layers, adam."""
    penalty = 0.0 if params["optimizer"] == "adam" else 0.1
    return 0.1 + 0.05 * (math.log10(params["lr"]) + 2.5) ** 2 + 0.02 * abs(params["layers"] - 4) + penalty


def mixed(num_trials: int = 12, goals: dict[str, str] | None = None, **settings: Any) -> ph.Study:
    """Completed trials of a space with every kind of parameter; objectives after the first pull elsewhere."""
    goals = goals or {"error": "minimize"}
    study = ph.create_study(MIXED, objectives=goals, seed=3, algorithm="quasi_random", **settings)
    for _ in range(num_trials):
        [trial] = study.ask()
        values = {}
        for m, name in enumerate(goals):
            values[name] = (
                value(trial.params) if m == 0 else trial.params["layers"] * m + trial.params["batch"] / 64
            )
        study.tell(trial, values)
    return study


def one_objective() -> ph.Study:
    return mixed()


def maximised() -> ph.Study:
    return mixed(goals={"score": "maximize"})


def two_objectives() -> ph.Study:
    return mixed(goals={"error": "minimize", "speed": "maximize"})


def six_objectives() -> ph.Study:
    goals = ["minimize", "maximize", "minimize", "maximize", "minimize", "maximize"]
    return mixed(goals={f"objective {m}": goal for m, goal in enumerate(goals)})


def no_trials() -> ph.Study:
    return mixed(0)


def one_trial() -> ph.Study:
    return mixed(1)


def only_failures() -> ph.Study:
    study = mixed(0)
    for trial in study.ask(3):
        study.tell(trial, failed=HOSTILE)
    return study


def only_infeasible() -> ph.Study:
    study = mixed(0)
    for trial in study.ask(3):
        study.tell(trial, infeasible=HOSTILE)
    return study


def every_state() -> ph.Study:
    study = mixed(8)
    trials = study.ask(4, worker=HOSTILE)
    study.tell(trials[0], infeasible="diverged")
    study.tell(trials[1], failed="worker lost")
    study.release(trials[2])
    study.enqueue({**trials[0].params, "layers": 2})
    study.add_trial({**trials[0].params, "layers": 3}, 0.4)
    return study


def single_valued() -> ph.Study:
    study = ph.create_study({"x": ph.Float(3, 3), "c": ph.Categorical(["only"])}, algorithm="random", seed=0)
    for trial in study.ask(4):
        study.tell(trial, 1.0 + trial.number)
    return study


def hostile_names() -> ph.Study:
    space = {
        HOSTILE: ph.Float(0, 1),
        "<a href='x'>y</a>": ph.Categorical([1, "1", True, "<b>", "", None]),
        "x" * 90: ph.Int(1, 9),
    }
    study = ph.create_study(
        space, objectives={HOSTILE: "minimize"}, name=HOSTILE, algorithm="quasi_random", seed=0,
        metadata={HOSTILE: HOSTILE},
    )  # fmt: skip
    for trial in study.ask(8, worker=HOSTILE):
        study.tell(trial, trial.params[HOSTILE] ** 2)
    return study


def equal_values() -> ph.Study:
    study = ph.create_study({"x": ph.Float(0, 1), "y": ph.Float(0, 1)}, algorithm="quasi_random", seed=0)
    for trial in study.ask(6):
        study.tell(trial, 5.0)
    return study


def extreme_values() -> ph.Study:
    study = ph.create_study(
        {"x": ph.Float(-8e307, 8e307), "y": ph.Float(1e-300, 1e300, scale="log")},
        algorithm="quasi_random",
        seed=0,
    )
    for trial in study.ask(6):
        study.tell(trial, trial.params["x"])
    return study


def fifty_parameters() -> ph.Study:
    study = ph.create_study(
        {f"p{i}": ph.Float(0, 1) for i in range(50)}, algorithm="quasi_random", seed=0, objectives="maximize"
    )
    for trial in study.ask(14):
        study.tell(trial, sum(trial.params.values()))
    return study


def ten_thousand_trials() -> ph.Study:
    study = ph.create_study(
        {f"p{i}": ph.Float(0, 1) for i in range(20)},
        objectives={"error": "minimize"},
        algorithm="random",
        seed=0,
    )
    for _ in range(100):
        for trial in study.ask(100):
            if trial.params["p2"] > 0.98:
                study.tell(trial, infeasible="no")
            else:
                study.tell(trial, (trial.params["p0"] - 0.3) ** 2 + 0.1 * trial.params["p1"])
    return study


KINDS: dict[str, Callable[[], ph.Study]] = {
    make.__name__: make
    for make in (
        one_objective,
        maximised,
        two_objectives,
        no_trials,
        one_trial,
        only_failures,
        only_infeasible,
        every_state,
        single_valued,
        hostile_names,
        equal_values,
        extreme_values,
    )
}
LARGE_KINDS = {make.__name__: make for make in (six_objectives, fifty_parameters, ten_thousand_trials)}


@dataclass
class Drawing:
    """A study for pictures that is made of given trials, or whose model is a given function."""

    problem: ph.Problem
    trials: list[ph.Trial] = field(default_factory=list)
    median: Callable[[dict[str, Any]], float] | None = None
    name: str = "drawing"

    def predict(
        self, points: Any, *, max_trials: int | None = None
    ) -> list[dict[str, dict[str, float | None]]]:
        assert self.median is not None
        [metric] = self.problem.metric_names
        return [{metric: {"q50": self.median(point)}} for point in points]

    def describe_model(self, *, max_trials: int | None = None) -> dict[str, Any]:
        raise AssertionError("this picture needs no model")
