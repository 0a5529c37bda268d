"""A second door for programs written for google-vizier: its Python client, unmodified, over gRPC.

    messages       what travels, by field numbers        names          of owners, studies, trials, operations
    notes          Vizier's metadata in our notes        parameters     search spaces
    measurements   curves and results                    studies        study configurations
    trials         trials                                codes          our errors as gRPC's
    study_calls, trial_calls, suggest_calls              what the calls do
    listening      the port

Studies made here are ordinary ones: an owner is a project, and every call does what a route of the HTTP API does.
Its modules are not imported before a server is told to open the port.
"""

from typing import TYPE_CHECKING

from photinus.errors import MissingDependency

if TYPE_CHECKING:
    import grpc.aio

    from photinus.service.server import Server


async def listen(server: "Server") -> "grpc.aio.Server":
    """Answer google-vizier clients at the address that the server's settings name."""
    try:
        from photinus.service.vizier.listening import listen as open_port
    except ImportError as error:
        raise MissingDependency(
            f"to answer google-vizier clients needs gRPC, which cannot be imported ({error}): "
            'pip install "photinus[vizier]"'
        ) from error
    return await open_port(server)
