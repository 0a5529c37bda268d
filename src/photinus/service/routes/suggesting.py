"""What the engine works out: suggestions, predictions, the model, pictures. None of it holds a thread here."""

import json
import time
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from photinus.arguments import MAX_COUNT, check_integer, check_name
from photinus.backend import AskRequest
from photinus.errors import ArgumentError
from photinus.record import Role
from photinus.service.deps import Key, ServerDep, VisibleStudy, needs
from photinus.service.errors import documented
from photinus.service.gate import API
from photinus.service.limits import check_number
from photinus.service.server import encode
from photinus.wire import Ask, Points, PredictionList, TrialList

router = APIRouter(prefix=API + "/studies/{study_id}", tags=["suggestions and the model"])


@router.post(
    "/ask",
    response_model=TrialList,
    responses=documented(404, 409, 413, 504),
    dependencies=needs(Role.WRITE),
)
async def ask(body: Ask, study: VisibleStudy, server: ServerDep, key: Key = None) -> Response:
    """Trials to run: what a named worker holds already, handed back or enqueued ones, then new suggestions."""
    count = check_integer("count", body.count, 1, server.settings.max_trials_per_request)
    worker = None if body.worker is None else check_name("worker", body.worker)
    started_at = time.perf_counter()
    trials = await server.suggestions.ask(study.id, AskRequest(count, worker, body.lease_s, key))
    server.metrics.count_ask(study.algorithm, len(trials), time.perf_counter() - started_at)
    return _json({"trials": [trial.to_dict() for trial in trials]})


@router.post(
    "/predict",
    response_model=PredictionList,
    responses=documented(404, 413, 504),
    dependencies=needs(Role.READ),
)
async def predict(body: Points, study: VisibleStudy, server: ServerDep) -> Response:
    """What the model expects at points."""
    check_number("points", body.points, server.settings.max_points)
    validate = study.problem.space.validate
    points = await server.run(lambda: [validate(point) for point in body.points])
    predictions = await server.suggestions.predict(study.id, points, max_trials=body.max_trials)
    return await server.answer(lambda: {"predictions": predictions})


@router.get("/model", responses=documented(404, 504), dependencies=needs(Role.READ))
async def describe_model(
    study: VisibleStudy,
    server: ServerDep,
    max_trials: Annotated[
        int | None, Query(ge=2, le=MAX_COUNT, description="fit the model to at most so many trials")
    ] = None,
) -> dict[str, Any]:
    """What the model believes beyond predictions: `length_scales` by parameter, noise and scale by objective."""
    described = await server.suggestions.describe_model(study.id, max_trials=max_trials)
    return _json(described)  # pyright: ignore[reportReturnType]


@router.get("/plots/{kind}", responses=documented(404, 504), dependencies=needs(Role.READ))
async def plot(
    study: VisibleStudy,
    server: ServerDep,
    kind: Annotated[
        str, Path(description="a picture of `study.plot`", examples=["history", "contour", "importance"])
    ],
    objective: Annotated[
        str | None, Query(description="name of the objective; the first if left out")
    ] = None,
    objectives: Annotated[list[str] | None, Query(description="of `pareto`: two or more")] = None,
    params: Annotated[list[str] | None, Query(description="parameters to draw")] = None,
    at: Annotated[
        str | None,
        Query(description="values of the other parameters, as a JSON object", examples=['{"lr": 0.1}']),
    ] = None,
    log_scale: Annotated[bool | None, Query(description="of `history`")] = None,
    dark: Annotated[bool, Query(description="for a dark page")] = False,
) -> dict[str, Any]:
    """A picture of the study as a Plotly figure."""
    given = {
        "objective": objective,
        "objectives": objectives,
        "params": params,
        "at": None if at is None else _parse_object("at", at),
        "log_scale": log_scale,
    }
    options = {name: value for name, value in given.items() if value is not None} | {"dark": dark}
    figure = await server.suggestions.plot(study.id, kind, options)
    return Response(figure, media_type="application/json")  # pyright: ignore[reportReturnType]


def _parse_object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=float)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"`{name}` must be a JSON object: {error}") from None
    if not isinstance(value, dict):
        raise ArgumentError(f"`{name}` must be a JSON object, got {text[:100]!r}")
    return value


def _json(data: Any) -> Response:
    return Response(encode(data), media_type="application/json")
