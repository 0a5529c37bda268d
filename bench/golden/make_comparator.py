"""Write bench/tests/golden/vizier_comparator.json: scores of google-vizier's comparator of convergence curves.

Run inside the reference environment, from the repository root:

    bench/envs/vizier/.venv/bin/python bench/golden/make_comparator.py

Each case holds best-so-far curves of two algorithms (rows repeats, columns trials), the direction, and the score
of the compared against the baseline. Values have few digits, so that ties within and between runs occur.
"""

import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
from vizier._src.benchmarks.analyzers import convergence_curve

SEED = 20250802
NUM_CASES = 60
FILE = Path(__file__).parents[1] / "tests" / "golden" / "vizier_comparator.json"
TRENDS = {
    "maximize": convergence_curve.ConvergenceCurve.YTrend.INCREASING,
    "minimize": convergence_curve.ConvergenceCurve.YTrend.DECREASING,
}
NOTES = {
    "comparable": ["score, to 1e-9: index for index the same, only logarithms and a median are rounded."],
    "differs": ["Curves of different lengths, and runs with missing values, are refused on our side."],
}


def draw(rng: np.random.Generator, num_repeats: int, num_trials: int, gain: float, digits: int) -> np.ndarray:
    """Best so far of random walks that improve now and then; a larger gain finds more, sooner."""
    is_better = rng.random((num_repeats, num_trials)) < rng.uniform(0.1, 1.0)
    steps = rng.exponential(size=(num_repeats, num_trials)) * is_better * gain
    steps /= np.arange(1, num_trials + 1) ** rng.uniform(0.0, 1.5)
    start = rng.normal(scale=0.3, size=(num_repeats, 1))
    return np.round(start + np.cumsum(steps, axis=1), digits)


def make_case(rng: np.random.Generator, index: int) -> dict:
    num_trials = int(rng.integers(3, 12)) if index % 4 == 0 else int(rng.integers(12, 40))
    digits = int(rng.integers(1, 5))
    curves = [
        draw(rng, int(rng.integers(1, 7)), num_trials, gain=float(rng.lognormal(sigma=0.5)), digits=digits)
        for _ in range(2)
    ]
    if index % 10 == 9:
        curves[1] = curves[0].copy()  # nothing to tell apart
    if index % 10 == 8:
        curves[1][:] = curves[1][:, :1]  # never improves
    if index % 10 == 7:
        curves = [np.round(np.exp(2 * curve), digits) for curve in curves]  # another scale, another shape
    goal = "minimize" if index % 2 else "maximize"
    if goal == "minimize":
        curves = [-curve + 0.0 for curve in curves]
    return {"goal": goal, "baseline": curves[0].tolist(), "compared": curves[1].tolist()}


def score(case: dict) -> float:
    both = [
        convergence_curve.ConvergenceCurve(
            xs=np.arange(1, len(case[name][0]) + 1), ys=np.array(case[name]), trend=TRENDS[case["goal"]]
        )
        for name in ("baseline", "compared")
    ]
    return float(convergence_curve.LogEfficiencyConvergenceCurveComparator(*both).score())


def main() -> None:
    rng = np.random.default_rng(SEED)
    cases = [make_case(rng, index) for index in range(NUM_CASES)]
    head = {
        "provenance": {
            "oracle": f"google-vizier {version('google-vizier')} (Apache-2.0), called, not copied",
            "called": "LogEfficiencyConvergenceCurveComparator(baseline, compared).score(), default settings",
            "command": "bench/envs/vizier/.venv/bin/python bench/golden/make_comparator.py",
            "seed": SEED,
            "python": platform.python_version(),
            "packages": {name: version(name) for name in ("google-vizier", "numpy")},
        },
        "notes": NOTES,
    }
    lines = [json.dumps(case | {"score": score(case)}, allow_nan=False) for case in cases]
    text = json.dumps(head, indent=2).removesuffix("\n}")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(text + ',\n  "cases": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n")
    print(f"{FILE.name}: {len(cases)} cases")


if __name__ == "__main__":
    main()
