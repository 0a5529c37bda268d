"""One server for most tests of google-vizier's client: each has studies of its own."""

from collections.abc import Iterator

import pytest
from serving import free_port, served
from vizier_servers import VizierServer, talking_at

from photinus.service import Settings


@pytest.fixture(scope="session")
def vizier_server() -> Iterator[VizierServer]:
    """A server that google-vizier's client may talk to, in a thread: a process takes seconds to start."""
    endpoint = f"127.0.0.1:{free_port()}"
    with served(Settings(storage="memory", tokens_required=False, grpc_address=endpoint)) as url:
        yield VizierServer(url, endpoint)


@pytest.fixture
def connected(vizier_server: VizierServer) -> Iterator[VizierServer]:
    """The same, with google-vizier's client in this process talking to it."""
    with talking_at(vizier_server.endpoint):
        yield vizier_server
