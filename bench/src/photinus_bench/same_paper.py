"""Whether `algorithm="paper"` suggests what it did at another commit, bit by bit.

    python -m photinus_bench.same_paper --base 25f9392

The sources of that commit and of this checkout run the same studies, one after the other, in this environment and on
this machine, and no compiled program is kept. A line per study says over how many suggestions and numbers the digest
goes: all parameters, and of the reasons every number that both give. The exit code is 1 if a study differs. Another
`--algorithm` shows what a difference looks like. In the other process only what is public at both commits is used.
"""

import argparse
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import photinus as ph
from photinus_bench.tables import render

CHECKOUT = Path(__file__).parents[3]
BASE = "25f9392"  # the last commit at which `default` was `paper`
SEED = 7

Suggested = dict[str, dict[str, str]]  # params and numbers of the reason, both by name, every bit as text


@dataclass(frozen=True)
class Scenario:
    """A study, some imported trials, and how it goes on."""

    space: dict[str, Any]
    goals: tuple[str, ...] = ("minimize",)
    num_imported: int = 0
    num_asks: int = 4
    batch_size: int = 1  # of a larger batch the last point is never told
    has_troubles: bool = False  # some trials are infeasible, some fail


def box(num_parameters: int) -> dict[str, Any]:
    """Real parameters."""
    return {f"x{i}": ph.Float(-5, 5) for i in range(num_parameters)}


SCENARIOS = {
    "5-D, some trials infeasible or failed": Scenario(box(5), num_asks=20, has_troubles=True),
    "20-D": Scenario(box(20), num_imported=20),
    "mixed": Scenario(
        {
            "rate": ph.Float(1e-4, 1, scale="log"),
            "decay": ph.Float(0.5, 0.999, scale="reverse_log"),
            "depth": ph.Int(1, 12),
            "width": ph.Discrete([16, 32, 64, 128]),
            "kind": ph.Categorical(["0", "1", "2"]),
        },
        goals=("maximize",),
        num_asks=10,
    ),
    "categories alone": Scenario(
        {f"c{i}": ph.Categorical(["0", "1", "2", "3", "4"]) for i in range(25)}, num_asks=8
    ),
    "batches of 3": Scenario(box(6), num_asks=5, batch_size=3),
    "two objectives": Scenario(box(4), goals=("minimize", "maximize"), num_asks=14),
    "four objectives": Scenario(box(4), goals=("minimize",) * 4, num_asks=13),
    "160 trials imported": Scenario(box(8), num_imported=160),
}


def trace(scenario: Scenario, algorithm: str) -> list[Suggested]:
    """Everything that the study suggests."""
    goals = {f"f{m}": goal for m, goal in enumerate(scenario.goals)}
    study = ph.create_study(scenario.space, objectives=goals, algorithm=algorithm, seed=SEED)
    rng = random.Random(SEED)
    for _ in range(scenario.num_imported):
        params = {name: rng.uniform(-5, 5) for name in scenario.space}
        study.add_trial(params, measure(params, scenario))
    suggested = []
    for _ in range(scenario.num_asks):
        trials = study.ask(scenario.batch_size)
        suggested += [
            {"params": exact(dict(trial.params)), "numbers": numbers(trial.reason)} for trial in trials
        ]
        for trial in trials[: max(1, len(trials) - 1)]:
            if scenario.has_troubles and trial.number % 5 == 2:
                study.tell(trial, infeasible="no such thing")
            elif scenario.has_troubles and trial.number % 5 == 4:
                study.tell(trial, failed="it broke")
            else:
                study.tell(trial, measure(trial.params, scenario))
    return suggested


def measure(params: Mapping[str, Any], scenario: Scenario) -> dict[str, float]:
    """A bowl for every objective, each about another point."""
    x = [float(value) for value in params.values()]
    return {
        f"f{m}": sum((i + 1) * (v - 0.3 * (i % 4) - m) ** 2 for i, v in enumerate(x))
        for m in range(len(scenario.goals))
    }


def exact(values: Mapping[str, Any]) -> dict[str, str]:
    """Every bit, as text."""
    return {name: v.hex() if isinstance(v, float) else repr(v) for name, v in values.items()}


def numbers(reason: Any, name: str = "reason") -> dict[str, str]:
    """All numbers in it by their places; texts and truth values are words, which may change."""
    if isinstance(reason, Mapping):
        children = reason.items()
    elif isinstance(reason, list | tuple):
        children = enumerate(reason)
    else:
        is_number = isinstance(reason, int | float) and not isinstance(reason, bool)
        return exact({name: reason}) if is_number else {}
    return {k: v for key, value in children for k, v in numbers(value, f"{name}.{key}").items()}


@dataclass(frozen=True)
class Comparison:
    """One study in both sources."""

    num_suggestions: int
    num_numbers: int  # of reasons, that both have
    base: str
    now: str

    @property
    def is_same(self) -> bool:
        """To the last bit."""
        return self.base == self.now


def compare(base: Sequence[Suggested], now: Sequence[Suggested]) -> Comparison:
    """Digests of what both have."""
    common = [a["numbers"].keys() & b["numbers"].keys() for a, b in zip(base, now, strict=False)]
    return Comparison(
        num_suggestions=len(base),
        num_numbers=sum(map(len, common)),
        base=digest(base, common),
        now=digest(now, common),
    )


def digest(suggested: Sequence[Suggested], common: Sequence[set[str]]) -> str:
    """Of all params, and of those numbers."""
    kept = [
        (one["params"], {name: one["numbers"][name] for name in names})
        for one, names in zip(suggested, common, strict=False)
    ]
    text = json.dumps([len(suggested), kept], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def traces_of(source: Path, algorithm: str, names: Sequence[str]) -> dict[str, list[Suggested]]:
    """What the sources in a folder suggest, in a process of their own."""
    paths = os.pathsep.join(map(str, (source, Path(__file__).parents[1])))
    options = ["--trace", "--algorithm", algorithm, "--scenarios", *names]
    output = subprocess.run(
        [sys.executable, "-m", "photinus_bench.same_paper", *options],
        env=os.environ | {"PYTHONPATH": paths, "PHOTINUS_CACHE_DIR": "off"},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    report = json.loads(output.splitlines()[-1])
    if not Path(report["imported_from"]).is_relative_to(source):
        raise RuntimeError(f"{source} must be what is imported, got {report['imported_from']}")
    return report["traces"]


def extract(commit: str, folder: Path) -> Path:
    """The sources of a commit."""
    archive = subprocess.run(
        ["git", "-C", str(CHECKOUT), "archive", commit, "src"], stdout=subprocess.PIPE, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder / "src"


def table(rows: Mapping[str, Comparison]) -> str:
    """One line per study."""
    head = ["study", "suggestions", "numbers", "base", "now", ""]
    return render(
        head,
        [
            [name, r.num_suggestions, r.num_numbers, r.base, r.now, "same" if r.is_same else "DIFFERENT"]
            for name, r in rows.items()
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default=BASE, help="the commit to compare with")
    parser.add_argument("--algorithm", default="paper")
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--trace", action="store_true", help="print what these sources suggest, as JSON")
    arguments = parser.parse_args()
    if arguments.trace:
        traces = {name: trace(SCENARIOS[name], arguments.algorithm) for name in arguments.scenarios}
        print(json.dumps({"imported_from": ph.__file__, "traces": traces}))
        return
    with tempfile.TemporaryDirectory() as folder:
        base = traces_of(extract(arguments.base, Path(folder)), arguments.algorithm, arguments.scenarios)
    now = traces_of(CHECKOUT / "src", arguments.algorithm, arguments.scenarios)
    rows = {name: compare(base[name], now[name]) for name in arguments.scenarios}
    print(table(rows))
    sys.exit(any(not row.is_same for row in rows.values()))


if __name__ == "__main__":
    main()
