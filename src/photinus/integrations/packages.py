"""The packages that adapters stand on: there and new enough, or an error with the line that installs them."""

import re
from importlib import metadata
from types import TracebackType

from photinus.errors import MissingDependency


class Requires:
    """Goes around the imports of an optional package: `with OPTUNA: import optuna`."""

    def __init__(self, distribution: str, minimum: str, *, extra: str) -> None:
        self._distribution = distribution
        self._minimum = minimum
        self._remedy = f'pip install --upgrade "photinus[{extra}]"'

    def __enter__(self) -> None:
        try:
            version = metadata.version(self._distribution)
        except metadata.PackageNotFoundError:
            raise MissingDependency(
                f"this needs {self._distribution}, which is not installed: {self._remedy}"
            ) from None
        if _release(version) < _release(self._minimum):
            raise MissingDependency(
                f"this needs {self._distribution} >= {self._minimum}, but {version} is installed: {self._remedy}"
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ImportError):
            raise MissingDependency(
                f"this needs {self._distribution}, which cannot be imported ({error}): {self._remedy}"
            ) from error


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version; whatever follows them (rc1, .dev0) does not count, nor do zeros at the end."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(number) for number in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


OPTUNA = Requires("optuna", "4.2", extra="optuna")
SKLEARN = Requires("scikit-learn", "1.5", extra="sklearn")
RAY = Requires("ray", "2.50", extra="ray")
GRPC = Requires("grpcio", "1.70", extra="vizier")
PROTOBUF = Requires("protobuf", "5.29", extra="vizier")
MCP = Requires("mcp", "2.1", extra="mcp")  # before, agents were shown the text of unexpected errors
