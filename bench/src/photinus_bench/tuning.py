"""Look at variants of the algorithm on problems that are for looking: `python -m photinus_bench.tuning run 20d ...`.

    run SETTING ... --algorithms NAME ... --out FILE.jsonl     what is missing in the file, in lock-step
    show FILE.jsonl ... [--baseline NAME]                      median log-efficiency with its interval

Problems are split once and for all: the functions of even number, two problems of COMBO and DTLZ are for choosing;
the others (`--half validation`) are looked at seldom, and every look is in the ledger (docs/decisions/). Repeats are
others than the report's, 100 and up for choosing, 200 and up for validation, so that nothing is reported on the
instances that it was chosen by.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from photinus_bench import suite
from photinus_bench.lockstep_suite import add_machine_arguments, read_keys, run_missing
from photinus_bench.progress import note
from photinus_bench.record import Record, RunKey
from photinus_bench.report.results import Results

HALVES = {
    "tuning": {
        "bbob": [f"bbob/f{number:02}" for number in range(2, 25, 2)],
        "combo": ["combo/contamination", "combo/ising"],
        "engineering": [f"engineering/{name}" for name in ("spring", "vessel", "truss", "beam")],
        "fronts": ["dtlz/*"],
        "many": ["dtlz/*"],
    },
    "validation": {
        "bbob": [f"bbob/f{number:02}" for number in range(1, 25, 2)],
        "combo": ["combo/centroid", "combo/pestcontrol"],
        "engineering": ["engineering/column", "engineering/reducer"],
        "fronts": ["wfg/*", "zdt/*"],
        "many": ["wfg/*"],
    },
}
FIRST_REPEAT = {"tuning": 100, "validation": 200}
MOST_REPEATS = 100  # of either half


class Setting(NamedTuple):
    """One row of what is compared."""

    problems: str
    table: dict[str, Any]


SETTINGS = {
    **{f"{d}d": Setting("bbob", {"dimensions": [d]}) for d in (2, 3, 5, 10, 20, 40, 80)},
    **{
        word: Setting("bbob", {"dimensions": [20], "variants": [word]})
        for word in (
            *("categorical25", "categorical50", "categorical75", "categorical100", "integer", "discrete"),
            *("gaussian-noise", "uniform-noise", "cauchy-noise", "infeasible30"),
        )
    },
    "infeasible30-5d": Setting("bbob", {"dimensions": [5], "variants": ["infeasible30"]}),
    "combo": Setting("combo", {}),
    "engineering": Setting("engineering", {}),
    **{f"batch{b}": Setting("bbob", {"dimensions": [20], "batch_sizes": [b]}) for b in (5, 10, 20)},
    "objectives2": Setting("fronts", {"dimensions": [5], "objectives": [2]}),
    **{f"objectives{m}": Setting("many", {"dimensions": ["M+3"], "objectives": [m]}) for m in (4, 6)},
}


def runs(
    setting: str, half: str, algorithms: Sequence[str], repeats: int, trials: int, skip: int = 0
) -> list[RunKey]:
    """The runs of one setting, without the first repeats if some are to be skipped."""
    if skip + repeats > MOST_REPEATS:
        raise ValueError(
            f"`skip + repeats <= {MOST_REPEATS}` must hold, but got {skip} + {repeats}: others follow"
        )
    problems, table = SETTINGS[setting]
    table = {"problems": HALVES[half][problems], "repeats": repeats, "algorithms": list(algorithms)} | table
    keys = suite.expand({"trials": trials, "runs": [table]})
    first = FIRST_REPEAT[half] + skip
    return [RunKey(k.task, k.algorithm, first + k.repeat, k.num_trials, k.batch_size) for k in keys]


def tasks_of(setting: str, half: str) -> list[str]:
    """The tasks of one setting, each once."""
    return list(dict.fromkeys(key.task for key in runs(setting, half, ["random"], 1, suite.NUM_TRIALS)))


def batch_size_of(setting: str) -> int:
    """How many points at a time."""
    return SETTINGS[setting].table.get("batch_sizes", [1])[0]


def run(arguments: argparse.Namespace) -> None:
    """Everything that the file does not have yet, setting after setting."""
    known = read_keys(arguments.out)
    keys = [
        key
        for setting in arguments.settings
        for key in runs(
            setting, arguments.half, arguments.algorithms, arguments.repeats, arguments.trials, arguments.skip
        )
        if key not in known
    ]
    note(f"{len(keys)} to run")
    run_missing(keys, arguments)


def show(arguments: argparse.Namespace) -> None:
    """A table with a row for every setting and half and a column for every algorithm."""
    records = [Record.from_line(line) for path in arguments.files for line in path.read_text().splitlines()]
    results = Results({record.key: record for record in records})
    for half, first in FIRST_REPEAT.items():
        for name in SETTINGS:
            tasks, batch_size = tasks_of(name, half), batch_size_of(name)
            here = [
                r for r in records if r.key.task in tasks and first <= r.key.repeat < first + MOST_REPEATS
            ]
            for algorithm in sorted({r.key.algorithm for r in here} - {arguments.baseline}):
                found = results.compare(
                    tasks, arguments.baseline, algorithm, batch_size=batch_size, num_trials=arguments.trials
                )
                if found is None:
                    continue
                interval, counts = found.interval, found.num_repeats
                scores = " ".join(f"{score:+.1f}" for score in np.asarray(found.scores))
                print(
                    f"{half:10} {name:14} {algorithm.removeprefix('photinus-'):44} "
                    f"{interval.median:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}] "
                    f"{len(counts)} x {min(counts)}-{max(counts)}  {scores}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("settings", nargs="+", choices=[*SETTINGS], metavar="SETTING")
    running.add_argument("--algorithms", nargs="+", required=True, metavar="NAME")
    running.add_argument("--half", choices=[*HALVES], default="tuning")
    running.add_argument("--repeats", type=int, default=8)
    running.add_argument("--skip", type=int, default=0, help="leave out so many first repeats")
    running.add_argument("--trials", type=int, default=suite.NUM_TRIALS)
    add_machine_arguments(running)
    running.add_argument("--max-seconds", type=float)
    running.set_defaults(do=run)
    showing = commands.add_parser("show")
    showing.add_argument("files", nargs="+", type=Path)
    showing.add_argument("--baseline", default="photinus-paper")
    showing.add_argument("--trials", type=int, default=suite.NUM_TRIALS)
    showing.set_defaults(do=show)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
