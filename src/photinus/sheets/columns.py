"""The columns of a sheet: what they are called, and which is which in a file that came back.

`lr` or `params_lr` for a parameter, `error` or `values_error` for an objective; in our own files the long form only
where a parameter and an objective have the same name.
"""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from photinus.problem import Problem
from photinus.sheets.cells import unprotect

NUMBER, STUDY, STATE, MESSAGE = "number", "study", "state", "message"
OUTCOMES = ("infeasible", "failed")  # columns that say why there are no values
PARAMS, VALUES = "params_", "values_"  # prefixes of the long form
ALIKE = 0.8  # ours: `infeasable` is meant to be `infeasible`


@dataclass(frozen=True, slots=True)
class Columns:
    """Titles of columns by what is in them: parameters, objectives, and by themselves the ones of every study."""

    params: dict[str, str]
    values: dict[str, str]
    plain: dict[str, str]

    @classmethod
    def of(cls, problem: Problem) -> "Columns":
        """The titles in a file of our own: the short form where nothing else has that name."""
        count = Counter([NUMBER, *map(in_one_style, problem.space), *map(in_one_style, problem.metric_names)])
        taken = set(count)

        def titled(prefix: str, name: str) -> str:
            title = in_one_style(name)
            if count[title] > 1:
                while title in taken:
                    title = prefix + title
                taken.add(title)
            return title

        params = {name: titled(PARAMS, name) for name in problem.space}
        values = {name: titled(VALUES, name) for name in problem.metric_names}
        others = [name for name in (STUDY, STATE, MESSAGE, *OUTCOMES) if name not in taken]
        return cls(params, values, {name: name for name in (NUMBER, *others)})

    @classmethod
    def found(cls, header: Sequence[str], problem: Problem) -> "Columns":
        """The titles in a file, of the columns that are there."""
        ours = cls.of(problem)
        exact = {unprotect(title): title for title in header}
        used = {exact[title] for title in ours.titles if title in exact}
        spaced = {" ".join(unprotect(title.strip()).split()): title for title in header if title not in used}

        def find(titles: dict[str, str], prefix: str) -> dict[str, str]:
            found: dict[str, str] = {}
            for name, title in titles.items():
                long = prefix + name
                match = exact.get(title) or spaced.get(" ".join(title.split()))
                if match is None and prefix and long not in ours.titles:
                    match = exact.get(long) or spaced.get(long)
                if match is not None:
                    found[name] = match
            return found

        return cls(find(ours.params, PARAMS), find(ours.values, VALUES), find(ours.plain, ""))

    def __len__(self) -> int:
        return len(self.titles)

    @property
    def titles(self) -> set[str]:
        """All of them."""
        return {*self.params.values(), *self.values.values(), *self.plain.values()}

    def lookalike(self, title: str, header: Sequence[str]) -> str | None:
        """A column that is called almost like that, perhaps with another unit, and is nothing else."""
        others = {
            _without_unit(other): other for other in header if other not in self.titles and other.strip()
        }
        close = difflib.get_close_matches(_without_unit(title), others, n=1, cutoff=ALIKE)
        return others[close[0]] if close else None


def in_one_style(cell: str) -> str:
    """The text with line feeds alone: Python's writer puts them in quotes, but not carriage returns."""
    return cell.replace("\r\n", "\n").replace("\r", "\n")


def _without_unit(title: str) -> str:
    """The name before a unit: `yield` of `Yield [mg]`, `yield (%)` and `yield in mg`."""
    return re.split(r"[\[({/]| in ", unprotect(title.strip()), maxsplit=1)[0].strip().casefold()
