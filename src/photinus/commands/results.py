"""What a command's output says: intermediate reports, and the result.

The result is a number on the last line that is not empty, or a line anywhere with a JSON object that has the
objectives' names, the last such line; other keys in it are ignored. Such an object with a `step` is a report. Where
a pattern is given, its last match counts, and nothing else.
"""

import json
import logging
import re
from typing import Any

from photinus.arguments import check_integer
from photinus.errors import ArgumentError, ValuesError
from photinus.problem import Problem
from photinus.reporting import BoundTrial
from photinus.texts import number_from_text
from photinus.trial import Measurement

STEP = "step"
SHOWN = 80  # characters of a line in a message

logger = logging.getLogger("photinus")


def check_pattern(pattern: str, problem: Problem) -> re.Pattern[str]:
    """The compiled pattern, if it can find the value of the only objective."""
    if problem.is_multi_objective:
        raise ArgumentError(
            f"a value pattern finds one value, but there are {len(problem.metrics)} objectives: print a JSON line "
            f"with {', '.join(problem.metric_names)} instead"
        )
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ArgumentError(
            f"the value pattern must be a regular expression, got {pattern!r}: {error}"
        ) from error
    if compiled.groups != 1:
        raise ArgumentError(
            f"the value pattern must have one group, which is the value, got {pattern!r}: write one such as "
            r"'accuracy: (\S+)'"
        )
    return compiled


class ResultReader:
    """Reads a command's output line by line; keeps no more of it than is needed."""

    def __init__(self, trial: BoundTrial, pattern: str | None = None) -> None:
        self._trial = trial
        self._problem = trial.reporter.problem
        self._pattern = None if pattern is None else check_pattern(pattern, self._problem)
        self._last_line = ""
        self._found: Any = None  # what the last line with a result said
        self._num_reports = 0

    def read_line(self, line: str) -> None:
        """Take one line; reports go to the study at once, whose errors this raises."""
        if not line.strip():
            return
        self._last_line = line.strip()
        entry = self._entry(line)
        if entry is not None and STEP in entry:
            self._report(entry)
        elif self._pattern is not None:
            matches = self._pattern.findall(line)
            self._found = matches[-1] if matches else self._found
        elif entry is not None:
            self._found = {name: entry[name] for name in self._problem.metric_names if name in entry}

    def measurement(self) -> Measurement:
        """The outcome of a command that ended well."""
        found = self._found
        number = number_from_text(found if isinstance(found, str) else self._last_line)
        if number is not None and (self._pattern is None or isinstance(found, str)):
            found = number
        if found is None:
            return Measurement.failed(self._nothing_found())
        try:
            values = self._problem.parse_values(found)
        except ValuesError as error:
            return Measurement.failed(f"its output: {error}")
        try:
            return Measurement.completed(self._problem.validate_values(values))
        except ValuesError:
            shown = ", ".join(f"{name}={value}" for name, value in values.items())
            return Measurement.infeasible(f"the command printed {shown}")

    def _entry(self, line: str) -> dict[str, Any] | None:
        """The JSON object on the line, if it tells about an objective."""
        if not line.lstrip().startswith("{"):
            return None
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return entry if any(name in entry for name in self._problem.metric_names) else None

    def _report(self, entry: dict[str, Any]) -> None:
        try:
            step = check_integer(STEP, entry[STEP], 0)
            values = self._problem.parse_values(
                {name: entry[name] for name in self._problem.metric_names if name in entry}
            )
        except (ArgumentError, ValuesError) as error:
            logger.warning("trial %d: a report was left out: %s", self._trial.number, error)
            return
        self._num_reports += 1
        self._trial.report(values, step)

    def _nothing_found(self) -> str:
        if self._pattern is not None:
            return f"the command printed no line with {self._pattern.pattern!r}"
        names = self._problem.metric_names
        wanted = f"a JSON line with {', '.join(names)}"
        if len(names) == 1:
            wanted = f'a number on its last line, or a JSON line such as {{"{names[0]}": 0.5}}'
        got = f"the last line was {self._last_line[:SHOWN]!r}" if self._last_line else "there was no output"
        hint = f"; lines with {STEP!r} are reports" if self._num_reports else ""
        return f"the command must print {wanted}, but {got}{hint}"
