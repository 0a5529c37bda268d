"""Commands about the tokens of a server: token create, list, revoke. They work on its store, without it."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from photinus.cli.options import DEFAULT_STORAGE, JsonOption, StorageOption
from photinus.cli.output import Column, note, print_json, print_line, print_table, printable
from photinus.cli.secrets import remember_password
from photinus.record import Role, TokenRecord
from photinus.storage.address import hide_password

if TYPE_CHECKING:
    from photinus.storage import Storage

ALL_PROJECTS = "all"

token_app = typer.Typer(no_args_is_help=True, help="Say who may use a server.")


@token_app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="For whom or what it is; any text.")],
    role: Annotated[
        Role,
        typer.Option(help="read: look; write: also ask, tell and create; admin: also delete."),
    ] = Role.WRITE,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="The only project it opens; all if left out.")
    ] = None,
    days: Annotated[
        float | None, typer.Option(min=0, help="How long it is valid; until revoked if left out.")
    ] = None,
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token and print it. It is shown this once: the store keeps only a hash of it."""
    from photinus.service.auth import make_token

    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    record, text = make_token(name, role.value, project=project, expires_at=expires_at)
    _open_store(storage).add_token(record)
    if as_json:
        print_json(token_to_dict(record) | {"token": text})
        return
    where = "all projects" if project is None else f"project {printable(project)}"
    note(f"token {record.id} ({role.value}, {where}) is shown this once; `photinus token revoke` ends it:")
    typer.echo(text)


@token_app.command("list")
def list_all(storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """List the tokens of a store, without their secrets."""
    records = _open_store(storage).list_tokens()
    if as_json:
        print_json([token_to_dict(record) for record in records])
        return
    if not records:
        print_line(f"no tokens in {hide_password(storage or DEFAULT_STORAGE)}")
        return
    now = datetime.now(UTC)
    print_table(
        [
            Column("token", [record.id for record in records]),
            Column("name", [record.name for record in records]),
            Column("role", [record.role for record in records]),
            Column("project", [record.project or ALL_PROJECTS for record in records]),
            Column("state", [state_of(record, now) for record in records]),
            Column("created", [f"{record.created_at:%Y-%m-%d}" for record in records], is_optional=True),
            Column("expires", [_day(record.expires_at) for record in records], is_optional=True),
        ]
    )


@token_app.command("revoke")
def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as `token list` shows it.")],
    storage: StorageOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a token for good. Servers notice within seconds."""
    record = _open_store(storage).revoke_token(token)
    if as_json:
        print_json(token_to_dict(record))
    else:
        print_line(f"token {record.id} ({printable(record.name)}) is revoked")


def state_of(record: TokenRecord, now: datetime) -> str:
    """Whether a token opens anything."""
    if record.revoked_at is not None:
        return "revoked"
    return "expired" if record.expires_at is not None and record.expires_at <= now else "valid"


def token_to_dict(record: TokenRecord) -> dict[str, Any]:
    """A token as JSON, without what its secret could be checked against."""
    return {
        "id": record.id,
        "name": record.name,
        "role": record.role,
        "project": record.project,
        "state": state_of(record, datetime.now(UTC)),
        "created_at": record.created_at.isoformat(),
        "expires_at": None if record.expires_at is None else record.expires_at.isoformat(),
        "revoked_at": None if record.revoked_at is None else record.revoked_at.isoformat(),
    }


def _open_store(storage: str | None) -> "Storage":
    """The store, made where there is none: tokens come before the first study."""
    address = storage or DEFAULT_STORAGE
    remember_password(address)
    from photinus.storage import open_storage

    return open_storage(address)


def _day(moment: datetime | None) -> str:
    return "never" if moment is None else f"{moment:%Y-%m-%d}"
