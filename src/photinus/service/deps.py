"""What routes are given: the server, who asks, and the study that the path names."""

from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer

from photinus.arguments import MAX_COUNT
from photinus.record import Role, StudyRecord
from photinus.service.auth import Identity
from photinus.service.callers import COOKIE
from photinus.service.server import Server

MAX_KEY = 200

# For the OpenAPI document; the gate has looked at both before.
_bearer = HTTPBearer(auto_error=False, scheme_name="token", description="`Authorization: Bearer pho_...`")
_cookie = APIKeyCookie(
    name=COOKIE, auto_error=False, scheme_name="session", description="given by `POST /login`"
)


async def _server(request: Request) -> Server:
    return request.app.state.server


async def _caller(request: Request) -> Identity:
    return request.state.identity


ServerDep = Annotated[Server, Depends(_server)]
Caller = Annotated[Identity, Depends(_caller)]
StudyId = Annotated[int, Path(ge=0, le=MAX_COUNT, description="id of the study")]
TrialNumber = Annotated[int, Path(ge=0, le=MAX_COUNT, description="number of the trial, from 0")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY,
        pattern=r"^[!-~]+$",
        description="any text that is new for each request: repeated with the same one, a request whose answer was "
        "lost is answered as the first time, and has no further effect",
        examples=["0b6c7b1e-6d0e-4a0c-9d5e-1f2a3b4c5d6e"],
    ),
]


async def _study(study_id: StudyId, caller: Caller, server: ServerDep) -> StudyRecord:
    return await server.find_study(study_id, caller)


VisibleStudy = Annotated[StudyRecord, Depends(_study)]


def needs(role: Role) -> list[Any]:
    """The dependencies of a route that only some tokens may use."""

    async def check(caller: Caller) -> None:
        caller.require(role)

    return [Security(_bearer), Security(_cookie), Depends(check)]
