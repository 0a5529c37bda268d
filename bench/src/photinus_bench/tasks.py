"""Tasks: problems as plain data with a stable text, from which any process builds the same functions.

    bbob/f08/20d                  shifted at random
    bbob/f08/20d/categorical50    half of the parameters categorical, of 10 values each
    bbob/f08/20d/integer          whole numbers, each parameter with 2 to 16 levels; `integer8`: all with 8
    bbob/f08/20d/discrete16       lists of numbers, likewise
    bbob/f08/20d/cauchy-noise     also gaussian-noise and uniform-noise
    bbob/f08/20d/infeasible25     a quarter of the space cannot be measured
    bbob/f08/20d/negated          maximised
    combo/ising                   also centroid, contamination and pestcontrol; categories permuted at random
    engineering/spring            parts that must hold, most of whose designs are infeasible; also beam, column ...
    dtlz/2/5d/2m                  also wfg and zdt: several objectives
    rastrigin/8d                  shifted at random

Everything that is drawn depends on the text and the repeat. What a word draws depends on the text up to that word,
so `bbob/f08/20d/categorical50` has the same shift as `bbob/f08/20d`, and runs of both can be paired. The random part
of a COMBO problem (its Ising models, its simulated chain) is the same in all repeats; shifts and permutations differ.
"""

import hashlib
import re
from dataclasses import dataclass, replace

import numpy as np

from photinus_bench.problem import Experimenter
from photinus_bench.variants import parse_variant, permute, shift

NAMES = {
    "bbob": tuple(f"f{number:02}" for number in range(1, 25)),
    "combo": ("centroid", "contamination", "ising", "pestcontrol"),
    "engineering": ("spring", "vessel", "truss", "beam", "column", "reducer"),
    "dtlz": ("1", "2", "3", "4", "5", "6", "7"),
    "wfg": ("1", "2", "3", "4", "5", "6", "7", "8", "9"),
    "zdt": ("1", "2", "3", "4", "6"),  # 5 has a fixed dimension
    "rastrigin": ("",),
}
MULTI_OBJECTIVE = ("dtlz", "wfg", "zdt")
ONE_SIZE = ("combo", "engineering")  # each of their problems has its own number of parameters


@dataclass(frozen=True, kw_only=True)
class Task:
    """One problem of a suite. Variants are words as in the texts above, applied from left to right."""

    family: str
    name: str = ""
    dimension: int | None = None  # None for families of `ONE_SIZE`
    num_objectives: int = 1
    wrappers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "wrappers", tuple(self.wrappers))
        if self.name not in NAMES.get(self.family, ()):
            known = NAMES.get(self.family) or tuple(NAMES)
            raise ValueError(
                f"no problem {self.name!r} of family {self.family!r}: there are {', '.join(known)}"
            )
        if (self.dimension is None) != (self.family in ONE_SIZE):
            raise ValueError(
                f"every family but {' and '.join(ONE_SIZE)} needs a dimension, "
                f"got {self.dimension} for {self.family}"
            )
        if (self.num_objectives > 1) != (self.family in MULTI_OBJECTIVE):
            raise ValueError(
                f"{', '.join(MULTI_OBJECTIVE)} have several objectives and the others one, "
                f"got {self.num_objectives} for {self.family}"
            )
        for word in self.wrappers:
            parse_variant(word)

    @property
    def base_id(self) -> str:
        """The text without wrappers."""
        size = f"{self.dimension}d" if self.dimension else ""
        count = f"{self.num_objectives}m" if self.num_objectives > 1 else ""
        return "/".join(filter(None, [self.family, self.name, size, count]))

    @property
    def id(self) -> str:
        """The text that names the task."""
        return "/".join([self.base_id, *self.wrappers])

    @classmethod
    def parse(cls, text: str) -> "Task":
        """The task that a text names."""
        found = re.fullmatch(r"([a-z]+)(?:/(f?\d+|[a-z]+))?(?:/(\d+)d)?(?:/(\d+)m)?((?:/[a-z-]+\d*)*)", text)
        if found is None:
            raise ValueError(f"no task is named {text!r}")
        family, name, dimension, num_objectives, words = found.groups()
        return cls(
            family=family,
            name=name or "",
            dimension=int(dimension) if dimension else None,
            num_objectives=int(num_objectives or 1),
            wrappers=tuple(words.split("/")[1:]),
        )


def build(task: Task, repeat: int) -> Experimenter:
    """The function of a repeat; the same arguments give the same function anywhere."""
    experimenter = build_base(task, repeat)
    text = task.base_id
    for word in task.wrappers:
        text = f"{text}/{word}"
        experimenter = parse_variant(word)(experimenter, generator(text, repeat))
    return replace(experimenter, name=task.id)


def build_base(task: Task, repeat: int) -> Experimenter:
    """Without wrappers. Imports are late: not every machine has the packages of every family."""
    of_task, of_repeat = generator(task.base_id), generator(task.base_id, repeat)
    match task.family:
        case "bbob":
            from photinus_bench.problems.bbob import bbob

            return shift(bbob(int(task.name.removeprefix("f")), task.dimension), of_repeat)
        case "rastrigin":
            from photinus_bench.problems.rastrigin import rastrigin

            return shift(rastrigin(task.dimension), of_repeat)
        case "combo":
            from photinus_bench.problems.combo import combo

            return permute(combo(task.name, of_task), of_repeat)
        case "engineering":
            from photinus_bench.problems.engineering import engineering

            return engineering(task.name)
        case _:
            from photinus_bench.problems.multi_objective import multi_objective

            return multi_objective(task.family, int(task.name), task.dimension, task.num_objectives)


def generator(*words: object) -> np.random.Generator:
    """A generator that depends on the words alone, in every process and version of Python."""
    digest = hashlib.sha256("#".join(map(str, words)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16]))
