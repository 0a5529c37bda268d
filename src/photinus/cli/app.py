"""The commands, put together."""

from typing import Annotated

import typer

import photinus
from photinus.cli import asking, mcp, pages, serve, storage, studies, token, transfer, trials, tune
from photinus.cli.exits import EXIT_CODES_HELP, CommandGroup

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Black-box optimisation: few trials, good points, no fuss.",
    epilog=EXIT_CODES_HELP.replace("\n", " "),
    pretty_exceptions_enable=False,  # they would show addresses with passwords
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"photinus {photinus.__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of `photinus` itself."""


WITH_NUMBERS = {"ignore_unknown_options": True}  # or a value below 0 would be taken for one
BEGIN, STUDIES, BY_HAND, FILES = "Begin", "Studies", "By hand", "Files and stores"
SERVER = "Server"

app.command("demo", rich_help_panel=BEGIN)(pages.demo)
app.command("tune", rich_help_panel=BEGIN)(tune.tune)
app.command("studies", rich_help_panel=STUDIES)(studies.list_studies)
app.command("show", rich_help_panel=STUDIES)(studies.show)
app.command("trials", rich_help_panel=STUDIES)(trials.list_trials)
app.command("report", rich_help_panel=STUDIES)(pages.report)
app.command("delete", rich_help_panel=STUDIES)(studies.delete)
app.command("create", rich_help_panel=BY_HAND)(studies.create)
app.command("ask", rich_help_panel=BY_HAND)(asking.ask)
app.command("tell", rich_help_panel=BY_HAND, context_settings=WITH_NUMBERS)(asking.tell)
app.command("amend", rich_help_panel=BY_HAND, context_settings=WITH_NUMBERS)(asking.amend)
app.command("enqueue", rich_help_panel=BY_HAND)(asking.enqueue)
app.command("export", rich_help_panel=FILES)(transfer.export)
app.command("import", rich_help_panel=FILES)(transfer.import_file)
app.add_typer(storage.storage_app, name="storage", rich_help_panel=FILES)
app.command("serve", rich_help_panel=SERVER)(serve.serve)
app.command("mcp", rich_help_panel=SERVER)(mcp.mcp)
app.add_typer(token.token_app, name="token", rich_help_panel=SERVER)
