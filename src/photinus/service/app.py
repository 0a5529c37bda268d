"""The application, put together. `create_app` takes settings, `app_from_environment` finds them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from fastapi import FastAPI
from fastapi.routing import APIRoute

from photinus import __version__
from photinus.service.errors import install
from photinus.service.gate import Gate
from photinus.service.routes import files, health, session, studies, suggesting, trial, trials
from photinus.service.server import Server
from photinus.service.settings import Settings

DESCRIPTION = """
Studies that many workers share: create one, ask for trials, tell what came of them.

Every answer that is not a success is `{"error": {"kind", "message", "request_id"}}`, where `kind` is the name of the
exception that `photinus` raises for it. Times are ISO 8601 in UTC. Requests that create or hand out something take an
`Idempotency-Key`; all others have the same effect when repeated.
"""


def create_app(settings: Settings) -> FastAPI:
    """The server as an ASGI application; it opens the store when it is started."""
    server = Server(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await server.start()
            yield
        finally:
            await server.close()

    app = FastAPI(
        title="Photinus",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_name,
    )
    app.state.server = server
    app.add_middleware(Gate, server=server)
    install(app)
    # Fixed paths come before those with an id in the same place.
    for routes in (files, session, studies, trials, trial, suggesting):
        app.include_router(routes.router)
    app.include_router(session.pages)
    app.include_router(health.router)
    if find_spec("photinus.dashboard") is not None:
        from photinus.dashboard import mount

        mount(app)
    return app


def app_from_environment() -> FastAPI:
    """The server with settings from `PHOTINUS_...` variables, for `uvicorn --factory` and other ASGI servers."""
    return create_app(Settings.from_environment())


def _name(route: APIRoute) -> str:
    return route.name
