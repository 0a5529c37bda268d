"""Write tests/golden/*.json: inputs and outputs of google-vizier 0.1.24, called as an oracle.

Run inside the reference environment, from the repository root:

    bench/envs/vizier/.venv/bin/python bench/golden/make_golden.py

Every file holds its provenance, notes on what may be compared exactly and what differs on purpose, and
cases with all inputs, so that a test needs nothing but the file. Numbers are written with `repr`, which
is exact; a missing number (NaN) is null and an infinity is the string "inf" or "-inf".
"""

import argparse
import json
import math
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import encoding
import firefly
import gaussian_process
import numpy as np
import pending
import scalarization
import trust_region
import warping

SEED = 20250801
WRITERS: dict[str, Callable[[np.random.Generator], dict]] = {
    "warping": warping.make,
    "kernel_loss": gaussian_process.make_losses,
    "posterior": gaussian_process.make_posteriors,
    "trust_region": trust_region.make,
    "ucb_pe": pending.make,
    "scalarization": scalarization.make,
    "encoding": encoding.make,
    "firefly_move": firefly.make,
}
PACKAGES = ("google-vizier", "jax", "jaxlib", "numpy", "scipy", "tensorflow-probability", "equinox")


def plain(value: object) -> object:
    """Turn arrays and scalars into strict JSON values."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else repr(value)
    return plain(np.asarray(value).tolist())


def provenance() -> dict:
    return {
        "oracle": f"google-vizier {version('google-vizier')} (Apache-2.0), called, not copied",
        "command": "bench/envs/vizier/.venv/bin/python bench/golden/make_golden.py",
        "seed": SEED,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "precision": "float64, CPU",
    }


def write(path: Path, content: dict) -> None:
    """Write one case to a line: diffs stay readable and the file stays small."""
    lines = [json.dumps(plain(case), allow_nan=False) for case in content["cases"]]
    head = {"provenance": provenance(), "notes": content["notes"]}
    text = json.dumps(head, indent=2, allow_nan=False).removesuffix("\n}")
    path.write_text(text + ',\n  "cases": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parents[2] / "tests" / "golden"
    parser.add_argument("--out", type=Path, default=default, help="folder for the JSON files")
    parser.add_argument("names", nargs="*", help=f"files to make, of {', '.join(WRITERS)}; all when left out")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(WRITERS):
        parser.error(f"unknown files {sorted(unknown)}; known are {sorted(WRITERS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or WRITERS:
        # A generator per file: adding a case to one leaves the others as they are.
        rng = np.random.default_rng([SEED, *name.encode()])
        content = WRITERS[name](rng)
        write(arguments.out / f"{name}.json", content)
        print(f"{name}.json: {len(content['cases'])} cases")


if __name__ == "__main__":
    main()
