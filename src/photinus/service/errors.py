"""From the library's errors to HTTP answers; the client maps them back by `kind`."""

import json
import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from photinus import errors
from photinus.errors import ArgumentError, PhotinusError, ServerError, StorageError
from photinus.wire import ErrorBody

STATUS: dict[type[PhotinusError], int] = {
    errors.ArgumentError: 422,
    errors.SpaceError: 422,
    errors.ParameterError: 422,
    errors.ProblemError: 422,
    errors.ValuesError: 422,
    errors.DuplicateStudy: 409,
    errors.StudyMismatch: 409,
    errors.UnknownStudy: 404,
    errors.UnknownTrial: 404,
    errors.UnknownToken: 404,
    errors.NoCompletedTrial: 404,
    errors.InvalidState: 409,
    errors.AlreadyTold: 409,
    errors.SuggestionError: 503,
    errors.SuggestionTimeout: 504,
    errors.ObjectiveError: 500,
    errors.ExecutorBroken: 500,
    errors.StorageError: 503,
    errors.SchemaMismatch: 503,
    errors.LockLost: 409,
    errors.AuthenticationError: 401,
    errors.PermissionDenied: 403,
    errors.TooManyRequests: 429,
    errors.ConnectionLost: 503,
    errors.ServerError: 500,
    errors.UnsupportedError: 501,
    errors.MissingDependency: 503,
}
# Where the same request may well succeed a moment later; seconds. A missing schema or package stays missing.
RETRY_AFTER_S: dict[type[PhotinusError], int] = {errors.StorageError: 1, errors.TooManyRequests: 1}
# Their messages name the address of the store, which is none of a caller's business.
KEPT_IN_LOG = (errors.StorageError, errors.SchemaMismatch)
MAX_MESSAGE = 10_000  # characters; a message may quote what was sent
MAX_COMPLAINTS = 5

logger = logging.getLogger("photinus.service")


class BodyTooLarge(ArgumentError):
    """The body of a request is larger than allowed; goes out as `ArgumentError` with a status of its own."""

    status = 413


class BodyTooSlow(ArgumentError):
    """The body of a request did not arrive in time."""

    status = 408


class NotReady(StorageError):
    """The server cannot work yet, or not any more; goes out as `StorageError`, in its own words."""

    status = 503


def status_of(error: PhotinusError) -> int:
    """The HTTP status that an error is."""
    return getattr(error, "status", None) or STATUS.get(type(error), 500)


def respond(error: PhotinusError, request_id: str) -> Response:
    """The answer that an error is."""
    status = status_of(error)
    headers: dict[str, str] = {}
    retry_after_s = getattr(error, "retry_after_s", None) or RETRY_AFTER_S.get(type(error))
    if retry_after_s is not None:
        headers["Retry-After"] = str(retry_after_s)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    kind = next(base for base in type(error).__mro__ if base.__module__ == errors.__name__)
    message = str(error)
    if type(error) in KEPT_IN_LOG:
        logger.error("request %s: %s", request_id, message)
        message = f"the store failed; the server's log says more under request {request_id}"
    return _answer(status, kind.__name__, message, request_id, headers)


def respond_unexpected(request_id: str) -> Response:
    """The answer when something broke; what it was stays in the log."""
    message = f"the server failed unexpectedly; its log says more under request {request_id}"
    return _answer(500, ServerError.__name__, message, request_id)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for the OpenAPI document."""
    every = (401, 403, 422, 429, 500, 503)
    return {
        status: {"model": ErrorBody, "description": _MEANINGS[status]}
        for status in sorted({*every, *statuses})
    }


_MEANINGS = {
    401: "no token, or one that is not valid",
    403: "the token may not do that",
    404: "there is no such thing in the projects that the token may see",
    409: "the state of the study or trial does not allow it",
    413: "the body is too large",
    422: "an argument is wrong",
    429: "too much to do, or a limit is reached: try again after `Retry-After`",
    500: "the server failed unexpectedly",
    501: "not supported yet",
    503: "the store or the algorithm failed; with `Retry-After`, try again",
    504: "the suggestion took too long: repeat the request with the same `Idempotency-Key`",
}


def install(app: FastAPI) -> None:
    """Have the application answer its errors in this form."""

    async def on_own(request: Request, error: PhotinusError) -> Response:
        return respond(error, request.state.request_id)

    async def on_invalid(request: Request, error: RequestValidationError) -> Response:
        complaints = [_complaint(detail) for detail in error.errors()[:MAX_COMPLAINTS]]
        return respond(ArgumentError("; ".join(complaints)), request.state.request_id)

    async def on_http(request: Request, error: HTTPException) -> Response:
        message = str(error.detail)
        if error.status_code in (404, 405):
            message = f"there is no {request.method} {request.url.path}: /openapi.json lists what there is"
        # What the framework cannot even read is 400 to it; here it is wrong like any other argument.
        status = 422 if error.status_code == 400 else error.status_code
        headers = dict(error.headers or {})
        return _answer(status, ArgumentError.__name__, message, request.state.request_id, headers)

    handlers: dict[Any, Any] = {
        PhotinusError: on_own,
        RequestValidationError: on_invalid,
        HTTPException: on_http,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _complaint(detail: dict[str, Any]) -> str:
    place, *path = detail["loc"]
    where = ".".join(str(step) for step in path) or str(place)
    text = f"`{where}` in the {place}: {detail['msg']}"
    given = detail.get("input")
    if isinstance(given, str | int | float) and detail["type"] != "json_invalid":
        text += f", got {given!r:.100}"
    return text


def _answer(
    status: int, kind: str, message: str, request_id: str, headers: dict[str, str] | None = None
) -> Response:
    shown = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}..."
    body = {"error": {"kind": kind, "message": shown, "request_id": request_id}}
    return Response(json.dumps(body), status, headers, "application/json")
