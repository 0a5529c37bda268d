"""The pages of the server: one HTML shell and plain ES modules, which read the HTTP API and nothing else."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

# Addresses that a person may open, reload or send to somebody: all of them are answered by the same shell, and which
# page it becomes is found in the browser, by assets/routes.js.
PAGES = (
    "/",
    "/new",
    "/compare",
    "/login",
    "/studies",
    "/studies/{study}",
    "/studies/{study}/trials/{number}",
)


def mount(app: "FastAPI") -> None:
    """Add the pages and their files to the server; they hold no data, so they need no token."""
    from photinus.dashboard.serving import send_file, send_icon, send_missing, send_shell

    answers = {path: send_shell for path in PAGES} | {
        "/studies/{path:path}": send_missing,
        "/static/{path:path}": send_file,
        "/favicon.ico": send_icon,
    }
    for path, send in answers.items():
        app.add_route(path, send, methods=["GET", "HEAD"], include_in_schema=False)
