"""Studies: create, list, look at, stop, resume, delete."""

import hashlib
import secrets
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from photinus.arguments import MAX_COUNT, check_name, check_seed
from photinus.errors import UnknownStudy
from photinus.problem import Problem
from photinus.record import DEFAULT_PROJECT, Role, StudyRecord, StudyState
from photinus.service.auth import Identity
from photinus.service.deps import Caller, Key, ServerDep, VisibleStudy, needs
from photinus.service.errors import documented
from photinus.service.gate import API
from photinus.service.server import Server, encode
from photinus.wire import CountBody, MetadataChanges, NewStudy, StudyBody, StudyPage, TrialList

MAX_PAGE = 1000

router = APIRouter(prefix=API, tags=["studies"])


@router.post(
    "/studies",
    status_code=201,
    response_model=StudyBody,
    responses=documented(409, 413, 501) | {200: {"model": StudyBody, "description": "loaded"}},
    dependencies=needs(Role.WRITE),
)
async def create_study(body: NewStudy, caller: Caller, server: ServerDep, key: Key = None) -> Response:
    """Create a study, or load it."""
    project = check_name("project", body.project or caller.project or DEFAULT_PROJECT)
    caller.require_project(project)
    name = check_name("name", body.name or _made_up_name(project, key))
    problem = body.problem.to_problem()

    def work() -> tuple[int, bytes]:
        may_exist = body.load_if_exists or key is not None
        exists = may_exist and server.has_study(project, name)
        if not exists:
            server.check_studies_limit(caller)
        record = _create(server, body, problem, project=project, name=name, caller=caller, key=key)
        return 200 if exists else 201, encode(server.describe(record.id))

    status, content = await server.run(work)
    return Response(content, status, media_type="application/json")


@router.get("/studies", response_model=StudyPage, responses=documented(), dependencies=needs(Role.READ))
async def list_studies(
    caller: Caller,
    server: ServerDep,
    project: Annotated[str | None, Query(description="only of this project")] = None,
    name: Annotated[str | None, Query(description="only of exactly this name")] = None,
    search: Annotated[str | None, Query(description="only with this text in name or project")] = None,
    state: Annotated[Literal["active", "stopped"] | None, Query(description="only in this state")] = None,
    after: Annotated[
        int | None, Query(ge=0, le=MAX_COUNT, description="go on after this id: `next` of the page before")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="studies per page")] = 100,
    newest_first: Annotated[bool, Query(description="by descending id")] = False,
) -> Response:
    """Studies by id, a page at a time."""
    for what, text in (("project", project), ("name", name)):
        if text is not None:
            check_name(what, text)
    if project is not None and not caller.sees(project):
        # Not looked for at all: how long that takes would tell whether there is anything.
        return Response(encode({"studies": [], "next": None}), media_type="application/json")

    def is_wanted(record: StudyRecord) -> bool:
        text = f"{record.name}\n{record.project}".casefold()
        return (
            caller.sees(record.project)
            and project in (None, record.project)
            and name in (None, record.name)
            and (search is None or search.casefold() in text)
            and state in (None, record.state.value)
            and (after is None or (record.id < after if newest_first else record.id > after))
        )

    def work() -> dict[str, Any]:
        ids = [r.id for r in _candidates(server, project or caller.project, name) if is_wanted(r)]
        ids.sort(reverse=newest_first)
        page = ids[:limit]
        return {"studies": server.describe_all(page), "next": page[-1] if len(ids) > limit else None}

    return await server.answer(work)


@router.get(
    "/studies/{study_id}", response_model=StudyBody, responses=documented(404), dependencies=needs(Role.READ)
)
async def get_study(study: VisibleStudy, server: ServerDep) -> Response:
    """One study, with how far it is."""
    return await server.answer(lambda: server.describe(study.id))


@router.delete(
    "/studies/{study_id}", status_code=204, responses=documented(404), dependencies=needs(Role.ADMIN)
)
async def delete_study(study: VisibleStudy, server: ServerDep) -> Response:
    """Forget a study and all its trials."""
    await server.run(server.storage.delete_study, study.id)
    return Response(status_code=204)


@router.post(
    "/studies/{study_id}/stop",
    response_model=StudyBody,
    responses=documented(404),
    dependencies=needs(Role.WRITE),
)
async def stop_study(study: VisibleStudy, server: ServerDep) -> Response:
    """End every loop that works on the study, when its running trials are done."""
    return await server.answer(lambda: _set_state(server, study.id, StudyState.STOPPED))


@router.post(
    "/studies/{study_id}/resume",
    response_model=StudyBody,
    responses=documented(404),
    dependencies=needs(Role.WRITE),
)
async def resume_study(study: VisibleStudy, server: ServerDep) -> Response:
    """Let loops work on the study again."""
    return await server.answer(lambda: _set_state(server, study.id, StudyState.ACTIVE))


@router.patch(
    "/studies/{study_id}/metadata",
    response_model=StudyBody,
    responses=documented(404, 413),
    dependencies=needs(Role.WRITE),
)
async def change_study_metadata(changes: MetadataChanges, study: VisibleStudy, server: ServerDep) -> Response:
    """Set notes by name; null removes one."""

    def work() -> dict[str, Any]:
        server.storage.update_study_metadata(study.id, changes)
        return server.describe(study.id)

    return await server.answer(work)


@router.get(
    "/studies/{study_id}/count",
    response_model=CountBody,
    responses=documented(404),
    dependencies=needs(Role.READ),
)
async def count_trials(study: VisibleStudy, server: ServerDep) -> Response:
    """How many trials there are, and how many of them are finished."""

    def work() -> dict[str, int]:
        total, finished = server.storage.count_trials(study.id)
        return {"total": total, "finished": finished}

    return await server.answer(work)


@router.get(
    "/studies/{study_id}/best",
    response_model=TrialList,
    responses=documented(404),
    dependencies=needs(Role.READ),
)
async def best_trials(study: VisibleStudy, server: ServerDep) -> Response:
    """The best trial, or the Pareto set of several objectives; empty until a trial is completed."""

    def work() -> dict[str, Any]:
        found = server.storage.progress(study_ids=[study.id])
        if not found:
            server.storage.get_study(study.id)  # says that it was deleted
        return {"trials": [trial.to_dict() for entry in found for trial in server.bests.find(entry)]}

    return await server.answer(work)


def _create(
    server: Server,
    body: NewStudy,
    problem: Problem,
    *,
    project: str,
    name: str,
    caller: Identity,
    key: str | None,
) -> StudyRecord:
    return server.storage.create_study(
        project=project,
        name=name,
        problem=problem,
        algorithm=body.algorithm,
        seed=check_seed(body.seed),
        metadata=body.metadata,
        load_if_exists=body.load_if_exists,
        key=key,
        creator=caller.token_id,
    )


def _made_up_name(project: str, key: str | None) -> str:
    """A new name; the same one for the same request, so that it finds its study again."""
    if key is None:
        return f"study-{secrets.token_hex(4)}"
    return f"study-{hashlib.sha256(repr((project, key)).encode()).hexdigest()[:12]}"


def _candidates(server: Server, project: str | None, name: str | None) -> list[StudyRecord]:
    """Studies among which the wanted ones are; quick where both parts of a name are known."""
    if project is None or name is None:
        return server.storage.list_studies(project)
    try:
        return [server.storage.find_study(project, name)]
    except UnknownStudy:
        return []


def _set_state(server: Server, study_id: int, state: StudyState) -> dict[str, Any]:
    server.storage.set_study_state(study_id, state)
    return server.describe(study_id)
