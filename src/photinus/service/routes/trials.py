"""Trials of a study: look at them, add some, tell several at once."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from photinus.arguments import MAX_COUNT, check_name
from photinus.errors import ArgumentError, PhotinusError
from photinus.problem import Problem
from photinus.record import NewTrial, Role
from photinus.service.deps import Key, ServerDep, TrialNumber, VisibleStudy, needs
from photinus.service.errors import documented
from photinus.service.gate import API
from photinus.service.limits import check_number
from photinus.service.server import Server
from photinus.trial import Measurement, Trial, TrialState
from photinus.wire import AddedTrial, AddedTrials, Result, Results, State, TrialBody, TrialList, TrialPage

MAX_PAGE = 10_000

router = APIRouter(prefix=API + "/studies/{study_id}", tags=["trials"])


@router.get("/trials", response_model=TrialPage, responses=documented(404), dependencies=needs(Role.READ))
async def list_trials(
    study: VisibleStudy,
    server: ServerDep,
    state: Annotated[list[State] | None, Query(description="only in one of these states")] = None,
    worker: Annotated[str | None, Query(description="only of this worker")] = None,
    after: Annotated[
        int | None,
        Query(ge=-1, le=MAX_COUNT, description="go on after this number: `next` of the page before"),
    ] = None,
    limit: Annotated[int | None, Query(ge=1, le=MAX_PAGE, description="trials per page; 100")] = None,
    newest_first: Annotated[bool, Query(description="by descending number")] = False,
    since_event: Annotated[
        int | None,
        Query(ge=0, le=MAX_COUNT, description="all trials changed after this event: `last_event` of before"),
    ] = None,
) -> Response:
    """Trials by number, a page at a time; or with `since_event` all that changed, and nothing else is chosen."""
    if since_event is not None:
        if newest_first or (state, worker, after, limit) != (None, None, None, None):
            raise ArgumentError("`since_event` gives all that changed: leave the other choices out")
        return await server.answer(lambda: _changed(server, study.id, since_event))
    if worker is not None:
        check_name("worker", worker)
    states = None if state is None else {TrialState(name) for name in state}

    def work() -> dict[str, Any]:
        last_event = _last_event(
            server, study.id
        )  # before the trials: what happens meanwhile comes again later
        size = 100 if limit is None else limit
        found = server.storage.find_trials(
            study.id,
            states=states,
            worker=worker,
            after=-1 if after is None else after,
            limit=size + 1,
            newest_first=newest_first,
        )
        page = found[:size]
        following = page[-1].number if len(found) > size else None
        if newest_first and following == 0:
            following = None
        return {"trials": _to_dicts(page), "next": following, "last_event": last_event}

    return await server.answer(work)


@router.post(
    "/trials",
    status_code=201,
    response_model=TrialList,
    responses=documented(404, 409, 413),
    dependencies=needs(Role.WRITE),
)
async def add_trials(body: AddedTrials, study: VisibleStudy, server: ServerDep, key: Key = None) -> Response:
    """Add points measured elsewhere, and points to be handed out next; all of them or none."""
    check_number("trials", body.trials, server.settings.max_results_per_request)

    def work() -> dict[str, Any]:
        entries = [_new_trial(study.problem, index, entry) for index, entry in enumerate(body.trials)]
        return {"trials": _to_dicts(server.storage.add_trials(study.id, entries, key=key))}

    return await server.answer(work, status=201)


@router.post(
    "/tell",
    response_model=TrialList,
    responses=documented(404, 409, 413),
    dependencies=needs(Role.WRITE),
)
async def tell_trials(body: Results, study: VisibleStudy, server: ServerDep) -> Response:
    """Give several trials their outcomes; all of them, or none if one is refused."""
    check_number("results", body.results, server.settings.max_results_per_request)
    worker = None if body.worker is None else check_name("worker", body.worker)

    def work() -> dict[str, Any]:
        results = [_result(study.problem, index, entry) for index, entry in enumerate(body.results)]
        told = server.storage.tell_all(study.id, results, worker=worker)
        for trial in told:
            server.metrics.count_told(trial.state)
        return {"trials": _to_dicts(told)}

    return await server.answer(work)


@router.get(
    "/trials/{number}", response_model=TrialBody, responses=documented(404), dependencies=needs(Role.READ)
)
async def get_trial(study: VisibleStudy, number: TrialNumber, server: ServerDep) -> Response:
    """One trial."""
    return await server.answer(lambda: server.storage.get_trial(study.id, number).to_dict())


def _changed(server: Server, study_id: int, since_event: int) -> dict[str, Any]:
    trials = server.storage.get_trials(study_id, since_event=since_event)
    # Read as of one moment, so the last of their events is the last of all. Without any, the study's own: one that is
    # lower than what was sent says that the store was put back to an older copy.
    last_event = max((trial.updated_event for trial in trials), default=None)
    if last_event is None:
        last_event = _last_event(server, study_id)
    return {"trials": _to_dicts(trials), "next": None, "last_event": last_event}


def _last_event(server: Server, study_id: int) -> int:
    found = server.storage.progress(study_ids=[study_id])
    return found[0].last_event if found else 0


def _new_trial(problem: Problem, index: int, entry: AddedTrial) -> NewTrial:
    try:
        params = problem.space.validate(entry.params)
        return NewTrial(params, entry.to_measurement_or_none(problem), entry.metadata)
    except PhotinusError as error:
        raise type(error)(f"entry {index} of `trials`: {error}") from error


def _result(problem: Problem, index: int, entry: Result) -> tuple[int, Measurement]:
    try:
        return entry.number, entry.to_measurement(problem)
    except PhotinusError as error:
        raise type(error)(f"entry {index} of `results`: {error}") from error


def _to_dicts(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    return [trial.to_dict() for trial in trials]
