"""Everything that is wrong with a file, said in one error."""

from pathlib import Path

from photinus.errors import ArgumentError, PhotinusError

MAX_FAULTS = 100  # ours: what a person reads before looking at the file again


class Faults:
    """Everything that is wrong with a file."""

    def __init__(self, path: Path, consequence: str) -> None:
        self._path = path
        self._consequence = consequence  # such as "nothing was told"
        self._found: list[tuple[str, PhotinusError]] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, problem: PhotinusError | str, row: int | None = None, column: str | None = None) -> None:
        """Note what is wrong with the file, a row, or a cell."""
        places = [] if row is None else [f"row {row}"]
        places += [] if column is None else [f"column `{column}`"]
        error = ArgumentError(problem) if isinstance(problem, str) else problem
        self._found.append((", ".join(places), error))

    def check(self) -> None:
        """Raise one error about all of them, if there are any."""
        if not self._found:
            return
        kinds = {type(error) for _, error in self._found}
        kind = kinds.pop() if len(kinds) == 1 else ArgumentError
        lines = [f"{place}: {error}" if place else str(error) for place, error in self._found]
        if len(lines) == 1:
            separator = ", " if self._found[0][0] else ": "
            raise kind(f"{self._path}{separator}{lines[0]}; {self._consequence}")
        rest = [f"and {len(lines) - MAX_FAULTS} more"] if len(lines) > MAX_FAULTS else []
        listing = "\n".join(f"  {line}" for line in lines[:MAX_FAULTS] + rest)
        raise kind(f"{self._path} has {len(lines)} faults, {self._consequence}:\n{listing}")
