"""Write bench/tests/golden/combo.json: values of google-vizier's COMBO problems at random points.

Run inside the reference environment, from the repository root:

    bench/envs/vizier/.venv/bin/python bench/golden/make_combo.py

A point is a text of digits, one per parameter. Edges are in our order: horizontal ones row by row, then vertical ones.
The Ising problems carry the reference's weights. The chains carry its seed alone: it draws from NumPy's legacy
generator, whose streams are frozen, so a test can draw the same numbers.
"""

import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
from vizier import pyvizier
from vizier._src.benchmarks.experimenters import combo_experimenter
from vizier._src.benchmarks.experimenters.experimenter import Experimenter

SEED = 20250803
NUM_POINTS = 12
FILE = Path(__file__).parents[1] / "tests" / "golden" / "combo.json"
NOTES = {
    "comparable": [
        "values of ising and centroid, to 1e-9 of their size: log Z is a sum over all states in another order.",
        "values of contamination and pestcontrol, to 1e-12, with draws from RandomState(seed).",
    ],
    "differs": [
        "The reference makes a new generator from its seed for every draw, so that all stages of a chain of pest "
        "control share their draws, and the three kinds of rates of contamination are not independent. Ours draw "
        "independently, with the distributions of the paper; the tests feed the reference's draws.",
        "The reference numbers the edges of Ising in the order of BOCS; points are translated.",
    ],
}


def values_of(experimenter: Experimenter, rows: np.ndarray, choices: list[str]) -> list[float]:
    values = []
    for row in rows:
        trial = pyvizier.Trial(parameters={f"x_{i}": choices[value] for i, value in enumerate(row)})
        experimenter.evaluate([trial])
        values.append(float(trial.final_measurement.metrics["main_objective"].value))
    return values


def flat(interaction: tuple[np.ndarray, np.ndarray]) -> list[float]:
    return np.concatenate([part.ravel() for part in interaction]).tolist()


def draw_points(rng: np.random.Generator, num_parameters: int, num_choices: int) -> np.ndarray:
    """Random points after the two where all parameters have their first or their last choice."""
    points = rng.integers(num_choices, size=(NUM_POINTS, num_parameters))
    points[0], points[1] = 0, num_choices - 1
    return points


def make_ising(seed: int, rng: np.random.Generator) -> dict:
    experimenter = combo_experimenter.IsingExperimenter(random_seed=seed)
    points = draw_points(rng, 24, 2)
    positions = np.concatenate([p.ravel() for p in experimenter._bocs_consistency_mapping(np.arange(24))])
    theirs = np.empty_like(points)
    theirs[:, positions] = points
    values = values_of(experimenter, theirs, ["False", "True"])
    return {"problem": "ising", "weights": flat(experimenter._interaction), **listed(points, values)}


def make_centroid(seed: int, rng: np.random.Generator) -> dict:
    experimenter = combo_experimenter.CentroidExperimenter(random_seed=seed)
    points = draw_points(rng, 24, 3)
    values = values_of(experimenter, points, ["0", "1", "2"])
    models = [flat(interaction) for interaction in experimenter._interaction_list]
    return {"problem": "centroid", "models": models, **listed(points, values)}


def make_contamination(seed: int, rng: np.random.Generator) -> dict:
    points = draw_points(rng, 25, 2)
    experimenter = combo_experimenter.ContaminationExperimenter(random_seed=seed)
    values = values_of(experimenter, points, ["False", "True"])
    return {"problem": "contamination", "seed": seed, **listed(points, values)}


def make_pest_control(seed: int, rng: np.random.Generator) -> dict:
    points = draw_points(rng, 25, 5)
    experimenter = combo_experimenter.PestControlExperimenter(random_seed=seed)
    values = values_of(experimenter, points, ["0", "1", "2", "3", "4"])
    return {"problem": "pestcontrol", "seed": seed, **listed(points, values)}


def listed(points: np.ndarray, values: list[float]) -> dict:
    return {"points": ["".join(map(str, row)) for row in points], "values": values}


def main() -> None:
    rng = np.random.default_rng(SEED)
    makers = [make_ising, make_ising, make_centroid, make_centroid]
    makers += [make_contamination, make_contamination, make_pest_control, make_pest_control]
    cases = [make(seed, rng) for seed, make in enumerate(makers)]
    head = {
        "provenance": {
            "oracle": f"google-vizier {version('google-vizier')} (Apache-2.0), called, not copied",
            "command": "bench/envs/vizier/.venv/bin/python bench/golden/make_combo.py",
            "seed": SEED,
            "python": platform.python_version(),
            "packages": {name: version(name) for name in ("google-vizier", "numpy")},
        },
        "notes": NOTES,
    }
    text = json.dumps(head, indent=2).removesuffix("\n}")
    rows = ",\n    ".join(json.dumps(case) for case in cases)
    FILE.write_text(f'{text},\n  "cases": [\n    {rows}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
