"""The command that serves studies to agents: mcp."""

import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from photinus.cli.options import JsonOption, ProjectOption, StorageOption, UrlOption, open_place
from photinus.cli.output import print_facts, print_json
from photinus.cli.secrets import redact
from photinus.errors import ArgumentError

if TYPE_CHECKING:
    from mcp.server import MCPServer

RETRY_S = 20.0  # ours: clients give a tool less time than a person gives a command
HOST = "127.0.0.1"  # there are no tokens on this port: only this machine may reach it


def mcp(
    http_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Serve http://127.0.0.1:PORT/mcp to this machine, in place of standard input; 0 takes a free one.",
        ),
    ] = None,
    storage: StorageOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve studies to agents as tools of the Model Context Protocol, on standard input and output.

    For clients that start programs: the command is `photinus`, the arguments `mcp --storage /path/to/studies.db`.
    """
    if as_json and http_port is None:
        raise ArgumentError("standard output is for the agent, so --json needs --http-port: leave it out")
    from photinus.integrations.mcp_server import make_server

    place = open_place(storage, url, project, may_create=True, is_quiet=as_json, retry_s=RETRY_S)
    server = make_server(place.backend, place.project, redact=redact)
    if http_port is None:
        # Python would wait for the next line of input before it heard an interrupt. There is nothing to clean up.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        server.run()
    else:
        facts = {"store": place.address, "project": place.project}
        _serve_http(server, http_port, facts, as_json=as_json)


def _serve_http(server: "MCPServer[Any]", port: int, facts: dict[str, str], *, as_json: bool) -> None:
    import uvicorn

    from photinus.cli.serving import listen, url_of

    listener = listen(HOST, port, choices="--http-port")
    facts = {"address": f"{url_of(listener, HOST, is_tls=False)}/mcp", **facts}
    print_json(facts) if as_json else print_facts(facts)
    sys.stdout.flush()  # whoever started this waits for the address
    config = uvicorn.Config(server.streamable_http_app(host=HOST), log_level="warning", access_log=False)
    try:
        uvicorn.Server(config).run([listener])
    finally:
        listener.close()
