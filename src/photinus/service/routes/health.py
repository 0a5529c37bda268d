"""Whether the server lives, whether it can work, and what it has done."""

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from photinus.errors import SuggestionError
from photinus.record import Role
from photinus.service.deps import ServerDep, needs
from photinus.service.errors import NotReady, documented
from photinus.service.metrics import CONTENT_TYPE
from photinus.service.server import encode
from photinus.wire import Health

STORE_TIMEOUT_S = 10.0  # ours: a store that takes longer is of no use

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health)
async def is_alive() -> Response:
    """The process lives. For a supervisor that restarts it if it does not."""
    return Response(encode({"status": "ok"}), media_type="application/json")


@router.get("/readyz", response_model=Health, responses=documented())
async def is_ready(server: ServerDep) -> Response:
    """The store answers and the engine is there. For a load balancer that sends requests elsewhere if not."""
    if not server.is_running:
        raise NotReady("the server is starting or stopping")
    try:
        async with asyncio.timeout(STORE_TIMEOUT_S):
            await server.run(server.storage.count_studies, "")
    except TimeoutError:
        raise NotReady(f"the store did not answer within {STORE_TIMEOUT_S:g} seconds") from None
    if not server.suggestions.stats()["alive"]:
        raise SuggestionError("the engine process is not there; it is being started again")
    return Response(encode({"status": "ok"}), media_type="application/json")


@router.get(
    "/metrics",
    response_class=Response,
    responses=documented() | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    dependencies=needs(Role.ADMIN),
)
async def read_metrics(server: ServerDep) -> Response:
    """Counters of this process for Prometheus; with several workers each answers for itself."""
    return Response(server.metrics.text(), headers={"Content-Type": CONTENT_TYPE})
