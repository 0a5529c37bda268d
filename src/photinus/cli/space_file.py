"""`space.toml`: a study, its search space, and how to run a command on it. `EXAMPLE` shows every key."""

import difflib
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from photinus.errors import ArgumentError, PhotinusError
from photinus.problem import ALGORITHMS, Problem
from photinus.space import Categorical, Discrete, Float, Int, Parameter

EXAMPLE = """\
# A space file: what may be varied, what is measured, and how. Only [space...] is needed.

[study]
name = "digits"                 # the file's own name if left out
objectives = { error = "minimize" }  # or one of "minimize", "maximize"; several make a Pareto front
algorithm = "default"           # default, paper, quasi_random, random
seed = 0                        # drawn if left out
metadata = { owner = "me" }     # notes of your own

[space.lr]                      # one table for each parameter
type = "float"                  # float, int, discrete, categorical
low = 1e-5
high = 1e-1
scale = "log"                   # linear if left out, log, reverse_log; not for categorical

[space.layers]
type = "int"
low = 1
high = 8

[space.batch]
type = "discrete"
values = [16, 32, 64, 128]

[space.optimizer]
type = "categorical"
values = ["adam", "sgd"]

[tune]                          # options of `photinus tune` count more than what is said here
command = [
  "python", "train.py", "--lr", "{lr}", "--layers", "{layers}", "--batch", "{batch}",
  "--optimizer", "{optimizer}",
]
trials = 50                     # finished ones in all
jobs = 2                        # commands at a time
timeout = 36000                 # seconds after which no new trial begins
trial_timeout = 600             # seconds after which a command is ended, and its trial failed
max_failures = 5                # in a row, before tune gives up; 0 for never
infeasible_exit_code = 3        # how the command says that a point cannot be measured
value_pattern = 'error: (\\S+)'  # where the value stands, if not on the last line or in a JSON line
logs = "logs"                   # a folder for what every command prints
"""
PARAMETER_KEYS: dict[str, tuple[type[Parameter], tuple[str, ...], tuple[str, ...]]] = {
    # type: class, required keys, optional keys
    "float": (Float, ("low", "high"), ("scale",)),
    "int": (Int, ("low", "high"), ("scale",)),
    "discrete": (Discrete, ("values",), ("scale",)),
    "categorical": (Categorical, ("values",), ()),
}
STUDY_KEYS = ("name", "objectives", "algorithm", "seed", "metadata")
TUNE_KEYS: dict[str, type | tuple[type, ...]] = {
    "command": (list, str),
    "trials": int,
    "jobs": int,
    "timeout": (int, float),
    "trial_timeout": (int, float),
    "max_failures": int,
    "infeasible_exit_code": int,
    "value_pattern": str,
    "logs": str,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceFile:
    """The content of a `space.toml`, checked."""

    problem: Problem
    name: str | None = None
    algorithm: str = "default"
    seed: int | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    command: list[str] | None = None
    tune: dict[str, Any] = field(default_factory=dict)  # the other keys of [tune]


def read_space_file(path: Path) -> SpaceFile:
    """The file's content, or an `ArgumentError` that names the file, the key, the value and the remedy."""
    content = _parse(path)
    _check_keys(path, "", content, ("study", "space", "tune"))
    study = _table(path, content, "study")
    tune = _table(path, content, "tune")
    _check_keys(path, "study", study, STUDY_KEYS)
    _check_keys(path, "tune", tune, tuple(TUNE_KEYS))
    try:
        problem = Problem.define(_space(path, content), study.get("objectives", "minimize"))
    except PhotinusError as error:
        raise ArgumentError(f"{path}, [study] objectives: {error}") from error
    _check_study(path, study)
    return SpaceFile(
        problem=problem,
        name=study.get("name"),
        algorithm=study.get("algorithm", "default"),
        seed=study.get("seed"),
        metadata=study.get("metadata", {}),
        command=_command(path, tune),
        tune={key: _typed(path, key, value) for key, value in tune.items() if key != "command"},
    )


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read ({error.strerror}): name a space file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} must be a TOML file: {error}") from error


def _table(path: Path, content: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise ArgumentError(f"{path}: `{name}` must be a table, begun by a line [{name}], got {table!r}")
    return table


def _space(path: Path, content: Mapping[str, Any]) -> dict[str, Parameter]:
    space = _table(path, content, "space")
    if not space:
        raise ArgumentError(
            f'{path} must define at least one parameter: a line [space.lr], then type = "float", low = 0, high = 1'
        )
    return {name: _parameter(path, name, entry) for name, entry in space.items()}


def _parameter(path: Path, name: str, entry: object) -> Parameter:
    where = f"space.{name}"
    if not isinstance(entry, dict):
        raise ArgumentError(
            f'{path}, [space] {name}: must be a table such as {{ type = "float", low = 0, high = 1 }}, got {entry!r}'
        )
    kind = entry.get("type")
    if kind not in PARAMETER_KEYS:
        got = "but there is none" if kind is None else f"got {kind!r}"
        raise ArgumentError(f"{path}, [{where}] type: must be one of {', '.join(PARAMETER_KEYS)}, {got}")
    make, required, optional = PARAMETER_KEYS[kind]
    _check_keys(path, where, entry, ("type", *required, *optional))
    missing = [key for key in required if key not in entry]
    if missing:
        raise ArgumentError(f"{path}, [{where}]: a parameter of type {kind!r} needs `{missing[0]}`")
    try:
        return make(**{key: value for key, value in entry.items() if key != "type"})
    except PhotinusError as error:
        raise ArgumentError(f"{path}, [{where}]: {error}") from error


def _check_study(path: Path, study: Mapping[str, Any]) -> None:
    """What `Study.create` would refuse too, but without naming the file."""
    algorithm = study.get("algorithm", "default")
    if algorithm not in ALGORITHMS:
        raise ArgumentError(
            f"{path}, [study] algorithm: must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}"
        )
    for key, kind, what in (
        ("name", str, "text"),
        ("seed", int, "a whole number"),
        ("metadata", dict, "a table"),
    ):
        value = study.get(key, kind())
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ArgumentError(f"{path}, [study] {key}: must be {what}, got {value!r}")


def _command(path: Path, tune: Mapping[str, Any]) -> list[str] | None:
    command = tune.get("command")
    if command is None:
        return None
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        raise ArgumentError(f"{path}, [tune] command: {error}, got {command!r}") from error
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ArgumentError(
            f'{path}, [tune] command: must be a list of words such as ["python", "train.py"], got {command!r}'
        )
    return words


def _typed(path: Path, key: str, value: object) -> object:
    kind = TUNE_KEYS[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        what = "text" if kind is str else "a whole number" if kind is int else "a number"
        raise ArgumentError(f"{path}, [tune] {key}: must be {what}, got {value!r}")
    return value


def _check_keys(path: Path, where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            place = f"{path}, [{where}]" if where else str(path)
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            raise ArgumentError(f"{place}: unknown key `{key}`, known are {', '.join(known)}{hint}")
