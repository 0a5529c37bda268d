"""The port: gRPC's server in the event loop of ours, and what every call passes."""

import inspect
import ipaddress
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from photinus.errors import ArgumentError, PermissionDenied, PhotinusError
from photinus.service.errors import status_of
from photinus.service.gate import NOT_ANSWERED
from photinus.service.server import Server
from photinus.service.settings import Settings
from photinus.service.vizier import messages, study_calls, suggest_calls, trial_calls
from photinus.service.vizier.codes import explain

SERVICE = "vizier.VizierService"

# By name: what is sent, and what happens. What waits for suggestions is a coroutine; all others run in threads.
CALLS: dict[str, tuple[Any, Callable[[Server, Any], Any]]] = {
    "CreateStudy": (messages.CreateStudyRequest, study_calls.create_study),
    "GetStudy": (messages.Named, study_calls.get_study),
    "ListStudies": (messages.Owned, study_calls.list_studies),
    "DeleteStudy": (messages.Named, study_calls.delete_study),
    "SetStudyState": (messages.SetStudyStateRequest, study_calls.set_study_state),
    "UpdateMetadata": (messages.UpdateMetadataRequest, study_calls.update_metadata),
    "SuggestTrials": (messages.SuggestTrialsRequest, suggest_calls.suggest_trials),
    "GetOperation": (messages.Named, suggest_calls.get_operation),
    "CreateTrial": (messages.CreateTrialRequest, trial_calls.create_trial),
    "GetTrial": (messages.Named, trial_calls.get_trial),
    "ListTrials": (messages.Owned, trial_calls.list_trials),
    "ListOptimalTrials": (messages.Owned, trial_calls.list_optimal_trials),
    "AddTrialMeasurement": (messages.AddTrialMeasurementRequest, trial_calls.add_trial_measurement),
    "CompleteTrial": (messages.CompleteTrialRequest, trial_calls.complete_trial),
    "CheckTrialEarlyStoppingState": (messages.OfTrial, trial_calls.check_early_stopping),
    "StopTrial": (messages.Named, trial_calls.stop_trial),
    "DeleteTrial": (messages.Named, trial_calls.delete_trial),
}

logger = logging.getLogger("photinus.service")


async def listen(server: Server) -> grpc.aio.Server:
    """Answer Vizier's clients at the address of the settings, until it is stopped."""
    settings = server.settings
    address = check_address(settings)
    port = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", settings.max_body_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 1),  # workers share it, as they share the other port
        ],
        maximum_concurrent_rpcs=settings.max_concurrent_requests,
    )
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(_handler(server, name, request, call))
        for name, (request, call) in CALLS.items()
    }
    port.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    try:
        port.add_insecure_port(address)
    except RuntimeError as error:
        raise ArgumentError(
            f"cannot listen for Vizier's clients on {address!r} ({error}): choose another"
        ) from None
    await port.start()
    logger.info("listening for google-vizier clients on %s", address)
    return port


def check_address(settings: Settings) -> str:
    """Where to listen; refuses to let other machines in unless that is wanted, for nobody is asked for a token."""
    address = settings.grpc_address or ""
    host = address.rpartition(":")[0].strip("[]")
    try:
        is_near = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ArgumentError(
            f"`grpc_address` must be a numeric address and a port, such as 127.0.0.1:28080, got {address!r}"
        ) from None
    if not is_near and not settings.grpc_insecure:
        raise PermissionDenied(
            f"google-vizier clients send no token, so whoever reaches {address!r} could do everything: listen on "
            "127.0.0.1, or say that you want that with --grpc-insecure (PHOTINUS_GRPC_INSECURE=true)"
        )
    return address


def _handler(
    server: Server, name: str, request_class: Any, call: Callable[[Server, Any], Any]
) -> Callable[[bytes, grpc.aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]:
    route = f"/{SERVICE}/{name}"

    def work(body: bytes) -> bytes:
        return call(server, _parse(request_class, body)).SerializeToString()

    async def answer(body: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        request_id, started_at = uuid.uuid4().hex, time.perf_counter()
        code, message, status = grpc.StatusCode.CANCELLED, "", NOT_ANSWERED
        try:
            if inspect.iscoroutinefunction(call):
                content = (await call(server, _parse(request_class, body))).SerializeToString()
            else:
                content = await server.run(work, body)
            code, status = grpc.StatusCode.OK, 200
            return content
        except PhotinusError as error:
            code, message = explain(error, request_id)
            status = status_of(error)
        except Exception:
            logger.exception("request %s failed unexpectedly", request_id)
            code, status = grpc.StatusCode.INTERNAL, 500
            message = f"the server failed unexpectedly; its log says more under request {request_id}"
        finally:
            seconds = time.perf_counter() - started_at
            server.metrics.count_request("POST", route, status, seconds)
            logger.info("%s gRPC %s %s %.1f ms", request_id, name, code.name, seconds * 1000)
        await context.abort(code, message)

    return answer


def _parse(request_class: Any, body: bytes) -> Any:
    try:
        return request_class.FromString(body)
    except DecodeError as error:
        raise ArgumentError(f"the message cannot be read: {error}") from None
