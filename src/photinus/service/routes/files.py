"""Whole studies as files: export, and restore from an export."""

import json
import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import ValidationError
from starlette.responses import Response

from photinus.errors import ArgumentError
from photinus.exchange import EXPORT_FORMAT, EXPORT_KIND, study_from_dict, study_to_dict, to_csv
from photinus.record import Role, StudyRecord
from photinus.service.deps import Caller, Key, ServerDep, VisibleStudy, needs
from photinus.service.errors import documented
from photinus.service.gate import API
from photinus.service.server import encode
from photinus.trial import Trial
from photinus.wire import ExportedStudy, StudyBody

SOURCE = "the document"

router = APIRouter(prefix=API, tags=["files"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ExportedStudy"}}},
    }
}


@router.get(
    "/studies/{study_id}/export",
    responses=documented(404)
    | {200: {"model": ExportedStudy, "content": {"text/csv": {"schema": {"type": "string"}}}}},
    dependencies=needs(Role.READ),
)
async def export_study(
    study: VisibleStudy,
    server: ServerDep,
    format: Annotated[
        Literal["json", "csv"], Query(description="`json` loses nothing, `csv` is a table of the trials")
    ] = "json",
) -> Response:
    """The whole study as a file."""

    def work() -> bytes:
        record = server.storage.get_study(study.id)
        trials = server.storage.get_trials(study.id)
        if format == "csv":
            return to_csv(record.problem, trials).encode("utf-8", "replace")
        return encode(study_to_dict(record, trials))

    content = await server.run(work)
    media_type = "text/csv; charset=utf-8" if format == "csv" else "application/json"
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", study.name)[:100]
    headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"'}
    return Response(content, media_type=media_type, headers=headers)


@router.post(
    "/studies/restore",
    status_code=201,
    response_model=StudyBody,
    responses=documented(409, 413, 501),
    dependencies=needs(Role.WRITE),
    openapi_extra=_BODY,
)
async def restore_study(request: Request, caller: Caller, server: ServerDep, key: Key = None) -> Response:
    """A study as it was elsewhere, with all its trials; nobody holds them here, and only its id is new."""
    content = await request.body()

    def work() -> dict[str, Any]:
        record, trials = parse_document(content)
        caller.require_project(record.project)
        if key is None or not server.has_study(
            record.project, record.name
        ):  # else it may be a repeated request
            server.check_studies_limit(caller)
        restored = server.storage.restore_study(record, trials, key=key, creator=caller.token_id)
        return server.describe(restored.id)

    return await server.answer(work, status=201)


def parse_document(content: bytes) -> tuple[StudyRecord, list[Trial]]:
    """The study in an exported document. The models judge types, the library judges the rest."""
    try:
        data = json.loads(content)
        if isinstance(data, dict) and (data.get("kind"), data.get("format")) == (EXPORT_KIND, EXPORT_FORMAT):
            ExportedStudy.model_validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise ArgumentError(f"{SOURCE} is damaged at `{place}`: {first['msg']}; export it again") from None
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{SOURCE} must be JSON of `photinus export`: {error}") from None
    return study_from_dict(data, SOURCE)
