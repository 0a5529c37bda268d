"""Suites: which runs an experiment consists of, as a TOML file under `suites/`.

    title = "BBOB at 20 dimensions"
    trials = 100                          # of every run; 100 if left out
    [[runs]]                              # one table or several; each may also have trials of its own
    problems = ["bbob/*"]                 # beginnings of tasks (tasks.py), with * for any name
    dimensions = [20]                     # "M+3" follows the number of objectives; left out for combo, engineering
    objectives = [2]                      # for dtlz, wfg and zdt
    variants = ["", "categorical50"]      # the words after that; "" for none
    batch_sizes = [1, 5]                  # [1] if left out
    repeats = 20
    algorithms = ["photinus-paper", "optuna-gp"]

The runs of a table are all combinations. Two tables or suites may name the same run: it is run once.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from photinus_bench.record import RunKey
from photinus_bench.tasks import MULTI_OBJECTIVE, NAMES, ONE_SIZE, Task

FOLDER = Path(__file__).parent / "suites"
NUM_TRIALS = 100  # paper, section 4.1
OURS = ("photinus-paper", "photinus-default")
# Who goes first within a repeat. What costs nothing and what is measured against first, then rivals.
ORDER = (
    "random",
    "quasi-random",
    *OURS,
    "optuna-gp",
    "ax",
    "hebo",
    "optuna-tpe",
    "bayesopt",
    "cma",
    "hyperopt",
    "skopt",
    "smac",
    "smac-black-box",
    "ax-ucb",
    "vizier",
    "vizier-gp-bandit",
)
FIELDS = {
    "problems": list,
    "dimensions": list,
    "objectives": list,
    "variants": list,
    "batch_sizes": list,
    "repeats": int,
    "trials": int,
    "algorithms": list,
}


class SuiteError(ValueError):
    """A suite that cannot be read, or a name that it does not have."""


def names() -> list[str]:
    """Suites that there are."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str, *, repeats: int | None = None) -> list[RunKey]:
    """The runs of a suite, given by its name or as a file; `repeats` overrides what it says."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.exists():
        raise SuiteError(f"there is no suite {name!r}: there are {', '.join(names())}, or name a .toml file")
    try:
        return expand(tomllib.loads(path.read_text()), repeats=repeats)
    except ValueError as error:
        raise SuiteError(f"suite {name!r}: {error}") from error


def expand(suite: dict[str, Any], *, repeats: int | None = None) -> list[RunKey]:
    """The runs that the text of a suite means, each once."""
    if unknown := set(suite) - {"title", "trials", "runs"}:
        raise SuiteError(f"a suite has title, trials and runs, got {', '.join(sorted(unknown))}")
    if not suite.get("runs"):
        raise SuiteError("a suite needs one table [[runs]] at least")
    keys: dict[RunKey, None] = {}
    for table in suite["runs"]:
        _check(table)
        num_repeats = table["repeats"] if repeats is None else repeats
        num_trials = table.get("trials", suite.get("trials", NUM_TRIALS))
        for repeat in range(num_repeats):
            for algorithm in table["algorithms"]:
                for batch_size in table.get("batch_sizes", [1]):
                    for task in tasks(table):
                        keys[RunKey(task, algorithm, repeat, num_trials, batch_size)] = None
    return list(keys)


def tasks(table: dict[str, Any]) -> list[str]:
    """Tasks of one table, checked, in its order."""
    found: list[str] = []
    for pattern in table["problems"]:
        for beginning in match_names(pattern):
            for middle in sizes(beginning.partition("/")[0], table):
                for variant in table.get("variants", [""]):
                    text = "/".join(filter(None, [beginning, *middle, variant]))
                    found.append(Task.parse(text).id)
    return found


def match_names(pattern: str) -> list[str]:
    """Families and names like `bbob/f08` that a pattern means."""
    everything = [f"{family}/{name}".rstrip("/") for family, names in NAMES.items() for name in names]
    found = [text for text in everything if fnmatchcase(text, pattern)]
    if not found:
        raise SuiteError(f"no problem is like {pattern!r}: there are bbob/f01, combo/ising, dtlz/2 ...")
    return found


def sizes(family: str, table: dict[str, Any]) -> list[list[str]]:
    """Parts of a task's text between name and variant."""
    if family in ONE_SIZE:
        return [[]]
    has_several = family in MULTI_OBJECTIVE
    if "dimensions" not in table or has_several != ("objectives" in table):
        raise SuiteError(f"{family} needs dimensions{' and' if has_several else ' but no'} objectives")
    counts = table.get("objectives", [1])
    return [
        [f"{_dimension(size, count)}d", *([f"{count}m"] if has_several else [])]
        for count in counts
        for size in table["dimensions"]
    ]


def in_order(keys: Iterable[RunKey]) -> list[RunKey]:
    """First repeats first; within a repeat algorithm by algorithm; otherwise as they came."""
    return sorted(keys, key=lambda key: (key.repeat, rank(key.algorithm)))


def rank(algorithm: str) -> int:
    """Place in the order."""
    return ORDER.index(algorithm.partition("/")[0])


def choose(keys: Sequence[RunKey], algorithms: Collection[str]) -> list[RunKey]:
    """Runs of some algorithms only."""
    there = {key.algorithm for key in keys}
    if unknown := set(algorithms) - there:
        raise SuiteError(
            f"no algorithm {sorted(unknown)[0]!r} in this suite: it has {', '.join(sorted(there))}"
        )
    return [key for key in keys if key.algorithm in algorithms]


def is_ours(algorithm: str) -> bool:
    """Whether it runs in lock-step."""
    return algorithm.partition("/")[0] in OURS


def _dimension(size: int | str, num_objectives: int) -> int:
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"M\+(\d+)", size)
    if found is None:
        raise SuiteError(f'dimensions are whole numbers or "M+3" and the like, got {size!r}')
    return num_objectives + int(found.group(1))


def _check(table: dict[str, Any]) -> None:
    for name, value in table.items():
        if name not in FIELDS:
            raise SuiteError(f"a table of runs has {', '.join(FIELDS)}; got {name!r}")
        if not isinstance(value, FIELDS[name]):
            raise SuiteError(f"{name} must be of type {FIELDS[name].__name__}, got {value!r}")
    for name in ("problems", "repeats", "algorithms"):
        if name not in table:
            raise SuiteError(f"a table of runs needs {name}")
    for algorithm in table["algorithms"]:
        first, slash, _ = algorithm.partition("/")
        if first not in ORDER or (slash and not is_ours(algorithm)):
            raise SuiteError(f"no algorithm is named {algorithm!r}: there are {', '.join(ORDER)}")
