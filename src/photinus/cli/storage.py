"""Commands about the store itself: storage upgrade."""

import typer

from photinus.cli.exits import StoreMissing
from photinus.cli.options import DEFAULT_STORAGE, JsonOption, StorageOption, sqlite_path
from photinus.cli.output import print_json, print_line
from photinus.cli.secrets import remember_password

storage_app = typer.Typer(no_args_is_help=True, help="Look after a store.")


@storage_app.command("upgrade")
def upgrade(storage: StorageOption = None, as_json: JsonOption = False) -> None:
    """Bring a store of an older Photinus up to date. Make a copy first; it cannot be undone."""
    address = storage or DEFAULT_STORAGE
    remember_password(address)
    path = sqlite_path(address)
    if path is not None and not path.exists():
        raise StoreMissing(f"there is no store at {str(path)!r}: name another with --storage")

    from photinus.storage import hide_password, upgrade_storage

    before, after = upgrade_storage(address)
    shown = hide_password(address)
    if as_json:
        print_json({"storage": shown, "from": before, "to": after})
    elif before is None:
        print_line(f"{shown} was empty and now has schema {after}")
    elif before == after:
        print_line(f"{shown} is up to date: schema {after}")
    else:
        print_line(f"{shown} was upgraded from schema {before} to {after}")
