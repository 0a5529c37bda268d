"""What the answers of a server mean: values of the library, or its errors."""

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from photinus import errors
from photinus.client.messages import Page, Response, TrialPage
from photinus.problem import Problem
from photinus.record import StudyProgress, StudyRecord, StudyState
from photinus.trial import Trial, TrialState

ERRORS: dict[str, type[errors.PhotinusError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.PhotinusError)
}
TRIAL_FIELDS = {entry.name for entry in fields(Trial)}
SHOWN = 200  # characters of an answer that nobody understands

T = TypeVar("T")


def is_ours(response: Response) -> bool:
    """Whether the server answered, and not a proxy in front of it."""
    if response.status < 400:
        return True
    return _error_part(response) is not None


def answer(response: Response) -> Any:
    """The JSON of a good answer; raises the error of another one."""
    if not 200 <= response.status < 300:
        raise error_of(response)
    if response.status == 204:
        return None
    data = response.json()
    if data is None:
        raise errors.ServerError(
            f"an answer of a Photinus server must be JSON, got {_shown(response)}: check the address"
        )
    return data


def reading(read: Callable[[Any], T]) -> Callable[[Response], T]:
    """`read` of the answer's JSON; what is missing there is the server's mistake."""

    def read_response(response: Response) -> T:
        data = answer(response)
        try:
            return read(data)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            if isinstance(error, errors.PhotinusError) and not isinstance(error, errors.SpaceError):
                raise
            raise errors.ServerError(
                f"the server's answer is of another kind than this version of Photinus knows ({error!r}): use the "
                "same version on both sides"
            ) from error

    return read_response


def error_of(response: Response) -> errors.PhotinusError:
    """The error that an answer stands for: of the same class and with the same message as on the server."""
    part = _error_part(response)
    if part is None:
        return _error_by_status(response)
    kind, message = part["kind"], part["message"]
    error = ERRORS[kind](message) if kind in ERRORS else errors.ServerError(f"{kind}: {message}")
    if response.status >= 500 and part.get("request_id"):
        error.add_note(f"The server's log has more under request id {part['request_id']}")
    return error


def read_trial(data: Any) -> Trial:
    """One trial; what a newer server says beyond it is left out."""
    return Trial.from_dict({name: data[name] for name in TRIAL_FIELDS})


def read_trials(data: Any) -> list[Trial]:
    """The trials of an answer."""
    return [read_trial(entry) for entry in data["trials"]]


def read_trial_page(data: Any) -> TrialPage:
    """Some of a study's trials."""
    return TrialPage(read_trials(data), data["next"], data["last_event"])


def read_record(data: Any) -> StudyRecord:
    """One study."""
    return StudyRecord(
        id=data["id"],
        project=data["project"],
        name=data["name"],
        problem=Problem.from_dict(data["problem"]),
        algorithm=data["algorithm"],
        seed=data["seed"],
        state=StudyState(data["state"]),
        created_at=datetime.fromisoformat(data["created_at"]),
        metadata=dict(data["metadata"]),
    )


def read_progress(data: Any) -> StudyProgress:
    """One study and how far it is."""
    changed_at = data["last_change_at"]
    return StudyProgress(
        record=read_record(data),
        last_event=data["last_event"],
        counts={state: data["counts"].get(state.value, 0) for state in TrialState},
        last_change_at=None if changed_at is None else datetime.fromisoformat(changed_at),
        num_workers=data["num_workers"],
    )


def read_page(data: Any) -> Page:
    """Some of the studies."""
    return Page([read_progress(entry) for entry in data["studies"]], data["next"])


def _error_part(response: Response) -> dict[str, Any] | None:
    data = response.json()
    part = data.get("error") if isinstance(data, dict) else None
    if not isinstance(part, dict):
        return None
    return part if all(isinstance(part.get(name), str) for name in ("kind", "message")) else None


def _error_by_status(response: Response) -> errors.PhotinusError:
    """Where something in between answered."""
    kind = {
        401: errors.AuthenticationError,
        403: errors.PermissionDenied,
        413: errors.ArgumentError,
        429: errors.TooManyRequests,
    }.get(response.status, errors.ServerError)
    where = response.headers.get("location")
    remedy = (
        f"use the address it points to, {where}" if where else "check the address, and what is in between"
    )
    return kind(f"no Photinus server, but something else answered {_shown(response)}: {remedy}")


def _shown(response: Response) -> str:
    text = response.content[:SHOWN].decode(errors="replace")
    return f"{response.status} {text!r}"
