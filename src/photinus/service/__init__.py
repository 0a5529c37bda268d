"""The server: studies over HTTP, for workers and people on many machines.

`create_app(Settings(...))` makes the application; `photinus.service.app:app_from_environment` is the factory for
`uvicorn --factory` and other ASGI servers. FastAPI and pydantic are imported when they are needed: what the command
line does about tokens goes without them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI

    from photinus.service.settings import Settings as Settings


def create_app(settings: "Settings") -> "FastAPI":
    """The server as an ASGI application: the API, and the dashboard's pages."""
    from photinus.service.app import create_app as create

    return create(settings)


def __getattr__(name: str) -> Any:
    if name == "Settings":
        from photinus.service.settings import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
