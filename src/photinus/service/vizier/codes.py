"""Our errors as gRPC's status codes."""

import logging

import grpc

from photinus import errors
from photinus.errors import PhotinusError
from photinus.service.errors import KEPT_IN_LOG

CODES: dict[type[PhotinusError], grpc.StatusCode] = {
    errors.ArgumentError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.SpaceError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.ParameterError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.ProblemError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.ValuesError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.DuplicateStudy: grpc.StatusCode.ALREADY_EXISTS,
    errors.StudyMismatch: grpc.StatusCode.ALREADY_EXISTS,
    errors.UnknownStudy: grpc.StatusCode.NOT_FOUND,
    errors.UnknownTrial: grpc.StatusCode.NOT_FOUND,
    errors.UnknownToken: grpc.StatusCode.NOT_FOUND,
    errors.NoCompletedTrial: grpc.StatusCode.NOT_FOUND,
    errors.InvalidState: grpc.StatusCode.FAILED_PRECONDITION,
    errors.AlreadyTold: grpc.StatusCode.FAILED_PRECONDITION,
    errors.SuggestionError: grpc.StatusCode.INTERNAL,
    errors.SuggestionTimeout: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.ObjectiveError: grpc.StatusCode.INTERNAL,
    errors.ExecutorBroken: grpc.StatusCode.INTERNAL,
    errors.StorageError: grpc.StatusCode.UNAVAILABLE,
    errors.SchemaMismatch: grpc.StatusCode.UNAVAILABLE,
    errors.LockLost: grpc.StatusCode.ABORTED,
    errors.AuthenticationError: grpc.StatusCode.UNAUTHENTICATED,
    errors.PermissionDenied: grpc.StatusCode.PERMISSION_DENIED,
    errors.TooManyRequests: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.ConnectionLost: grpc.StatusCode.UNAVAILABLE,
    errors.ServerError: grpc.StatusCode.INTERNAL,
    errors.UnsupportedError: grpc.StatusCode.UNIMPLEMENTED,
    errors.MissingDependency: grpc.StatusCode.UNAVAILABLE,
}
MAX_MESSAGE = 2000  # ours, in characters: it travels in a header, and gRPC takes 8 kB of them

logger = logging.getLogger("photinus.service")


def explain(error: PhotinusError, request_id: str) -> tuple[grpc.StatusCode, str]:
    """What a caller is told; the address of the store, which is none of its business, stays in the log."""
    kind = next(base for base in type(error).__mro__ if base in CODES)
    message = str(error)
    if kind in KEPT_IN_LOG:
        logger.error("request %s: %s", request_id, message)
        message = f"the store failed; the server's log says more under request {request_id}"
    return CODES[kind], message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}..."
