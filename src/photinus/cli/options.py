"""Options that the commands share, and the way from them to a back end."""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from photinus.backend import Backend
from photinus.cli.exits import StoreMissing
from photinus.cli.secrets import remember_password
from photinus.errors import ArgumentError, UnknownStudy
from photinus.files import whole_file
from photinus.record import DEFAULT_PROJECT, StudyRecord
from photinus.storage.address import SqliteAddress, parse_address
from photinus.study import Study

DEFAULT_STORAGE = "photinus.db"
STORAGE_VARIABLE = "PHOTINUS_STORAGE"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works: a store and a project in it."""

    storage: str | None
    project: str

    @property
    def address(self) -> str:
        """The store's address, the default one where none was given."""
        return self.storage or DEFAULT_STORAGE


def complete_study(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of stored studies, for the shell's completion; none where the store cannot be read."""
    names: list[str] = []
    with contextlib.suppress(Exception):
        storage = ctx.params.get("storage") or os.environ.get(STORAGE_VARIABLE)
        place = Place(storage, ctx.params.get("project") or DEFAULT_PROJECT)
        records = open_backend_for(place).list_studies(place.project)
        names = [record.name for record in records if record.name.startswith(incomplete)]
    return names


StorageOption = Annotated[
    str | None,
    typer.Option(
        "--storage",
        envvar=STORAGE_VARIABLE,
        metavar="ADDRESS",
        help=f"A SQLite file or postgresql://user@host/name; {DEFAULT_STORAGE} here if left out.",
    ),
]
ProjectOption = Annotated[str, typer.Option("--project", metavar="NAME", help="A group of studies.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
StudyArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The study's name.", autocompletion=complete_study)
]


def open_backend_for(place: Place, *, may_create: bool = False, is_quiet: bool = False) -> Backend:
    """The back end that the options name. Only commands that create studies may create a store."""
    remember_password(place.address)
    path = sqlite_path(place.address)
    if not may_create and path is not None and not path.exists():
        raise StoreMissing(
            f"there is no store at {str(path)!r}: name another with --storage or {STORAGE_VARIABLE}, "
            "or make one with `photinus create` or `photinus tune`"
        )
    if may_create and place.storage is None and not is_quiet:
        print(
            f"store: {DEFAULT_STORAGE} (--storage or {STORAGE_VARIABLE} names another)",
            file=sys.stderr,
        )
    from photinus.local import open_backend

    return open_backend(place.address)


def open_study(place: Place, name: str) -> Study:
    """The stored study of that name."""
    backend = open_backend_for(place)
    return Study(backend, find_study(backend, place, name))


def find_study(backend: Backend, place: Place, name: str) -> StudyRecord:
    """The record of that name, or an error in the words of the command line."""
    try:
        return backend.find_study(place.project, name)
    except UnknownStudy:
        raise UnknownStudy(
            f"there is no study {name!r} in project {place.project!r}: `photinus studies` lists what there is"
        ) from None


@contextlib.contextmanager
def output_file(path: Path) -> Iterator[Path]:
    """`whole_file`, with an error in the words of the command line."""
    try:
        with whole_file(path) as unfinished:
            yield unfinished
    except OSError as error:
        raise ArgumentError(
            f"{str(path)!r} cannot be written ({error.strerror}): choose another file"
        ) from error


def sqlite_path(address: str) -> Path | None:
    """The file of a SQLite store; None for a store that is no file."""
    parsed = parse_address(address)
    return Path(parsed.path) if isinstance(parsed, SqliteAddress) else None
