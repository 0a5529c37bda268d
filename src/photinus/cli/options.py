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
from photinus.cli.secrets import remember_password, remember_token
from photinus.client.address import TOKEN_VARIABLE
from photinus.errors import ArgumentError, UnknownStudy
from photinus.files import whole_file
from photinus.record import DEFAULT_PROJECT, StudyRecord
from photinus.storage.address import SqliteAddress, hide_password, parse_address
from photinus.study import Study

DEFAULT_STORAGE = "photinus.db"
STORAGE_VARIABLE = "PHOTINUS_STORAGE"
URL_VARIABLE = "PHOTINUS_URL"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works: a store or a server, and a project in it."""

    backend: Backend
    project: str
    is_bound: bool  # the token opens this project only
    address: str  # for people: without a password

    def find_study(self, name: str) -> StudyRecord:
        """The record of that name, or an error in the words of the command line."""
        try:
            return self.backend.find_study(self.project, name)
        except UnknownStudy:
            raise UnknownStudy(
                f"there is no study {name!r} in project {self.project!r}: `photinus studies` lists what there is"
            ) from None

    def open_study(self, name: str) -> Study:
        """The stored study of that name."""
        return Study(self.backend, self.find_study(name))


def complete_study(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of stored studies, for the shell's completion; none where they cannot be read."""
    names: list[str] = []
    with contextlib.suppress(Exception):
        storage = ctx.params.get("storage") or os.environ.get(STORAGE_VARIABLE)
        url = ctx.params.get("url") or os.environ.get(URL_VARIABLE)
        place = open_place(storage, url, ctx.params.get("project"), retry_s=0)
        records = place.backend.list_studies(place.project)
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
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar=URL_VARIABLE,
        metavar="URL",
        help=f"A server instead, such as http://localhost:8000; {TOKEN_VARIABLE} has the token for it.",
    ),
]
ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help=f"A group of studies; the token's, or {DEFAULT_PROJECT!r}, if left out.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
StudyArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The study's name.", autocompletion=complete_study)
]


def open_place(
    storage: str | None,
    url: str | None,
    project: str | None,
    *,
    may_create: bool = False,
    is_quiet: bool = False,
    retry_s: float | None = None,
) -> Place:
    """What the options name, opened. Only commands that create studies may create a store."""
    storage, url = _one_of(storage, url)
    if url is not None:
        return _open_server(url, project, retry_s)
    address = storage or DEFAULT_STORAGE
    remember_password(address)
    path = sqlite_path(address)
    if not may_create and path is not None and not path.exists():
        raise StoreMissing(
            f"there is no store at {str(path)!r}: name another with --storage or {STORAGE_VARIABLE}, a server with "
            "--url, or make a store with `photinus create` or `photinus tune`"
        )
    if may_create and storage is None and not is_quiet:
        print(
            f"store: {DEFAULT_STORAGE} (--storage or {STORAGE_VARIABLE} names another)",
            file=sys.stderr,
        )
    from photinus.local import open_backend

    return Place(open_backend(address), project or DEFAULT_PROJECT, False, hide_password(address))


def _open_server(url: str, project: str | None, retry_s: float | None) -> Place:
    from photinus.client import connect

    remember_password(url)
    remember_token(os.environ.get(TOKEN_VARIABLE, ""))
    server = connect(url) if retry_s is None else connect(url, retry_s=retry_s)
    bound = None if project else server.whoami()["project"]
    return Place(server.backend, project or bound or DEFAULT_PROJECT, bound is not None, url)


def _one_of(storage: str | None, url: str | None) -> tuple[str | None, str | None]:
    """A store or a server; what is on the command line counts more than the other's variable."""
    if storage is None or url is None:
        return storage, url
    is_given = storage != os.environ.get(STORAGE_VARIABLE), url != os.environ.get(URL_VARIABLE)
    if is_given[0] == is_given[1]:
        raise ArgumentError(
            f"a study is in a store or on a server, but both are named: leave --storage ({STORAGE_VARIABLE}) or --url "
            f"({URL_VARIABLE}) out"
        )
    return (storage, None) if is_given[0] else (None, url)


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
