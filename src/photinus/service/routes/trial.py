"""One trial: its outcome, corrections, reports, lease, notes."""

from fastapi import APIRouter
from starlette.responses import Response

from photinus.arguments import check_name
from photinus.record import Role
from photinus.service.deps import ServerDep, TrialNumber, VisibleStudy, needs
from photinus.service.errors import documented
from photinus.service.gate import API
from photinus.trial import Trial
from photinus.wire import Amended, Held, Lease, MetadataChanges, Reported, Told, TrialBody

router = APIRouter(
    prefix=API + "/studies/{study_id}/trials/{number}",
    tags=["trials"],
    responses=documented(404, 409, 413),
    dependencies=needs(Role.WRITE),
)


@router.post("/tell", response_model=TrialBody)
async def tell_trial(body: Told, study: VisibleStudy, number: TrialNumber, server: ServerDep) -> Response:
    """Give the trial its outcome, once: the same again changes nothing, another one is refused."""
    measurement, worker = body.to_measurement(study.problem), _name(body.worker)

    def work() -> Trial:
        told = server.storage.tell(study.id, number, measurement, worker=worker)
        server.metrics.count_told(told.state)
        return told

    return await server.answer(lambda: work().to_dict())


@router.post("/amend", response_model=TrialBody)
async def amend_trial(body: Amended, study: VisibleStudy, number: TrialNumber, server: ServerDep) -> Response:
    """Correct the values of a completed trial; the old ones stay on record."""
    values = study.problem.validate_values(body.values)
    return await server.answer(lambda: server.storage.amend(study.id, number, values).to_dict())


@router.post("/report", status_code=204)
async def report_trial(
    body: Reported, study: VisibleStudy, number: TrialNumber, server: ServerDep
) -> Response:
    """Keep intermediate values of a running trial."""
    values = body.to_values(study.problem)
    await server.run(server.storage.report, study.id, number, values, body.step)
    return Response(status_code=204)


@router.post("/lease", response_model=TrialBody)
async def extend_lease(body: Lease, study: VisibleStudy, number: TrialNumber, server: ServerDep) -> Response:
    """Keep a running trial for `lease_s` from now."""
    extend, worker = server.storage.extend_lease, _name(body.worker)
    return await server.answer(
        lambda: extend(study.id, number, worker=worker, lease_s=body.lease_s, attempt=body.attempt).to_dict()
    )


@router.post("/release", response_model=TrialBody)
async def release_trial(body: Held, study: VisibleStudy, number: TrialNumber, server: ServerDep) -> Response:
    """Hand a running trial back; it is the next to be handed out."""
    release, worker = server.storage.release, _name(body.worker)
    return await server.answer(
        lambda: release(study.id, number, worker=worker, attempt=body.attempt).to_dict()
    )


@router.post("/stop", response_model=TrialBody)
async def stop_trial(study: VisibleStudy, number: TrialNumber, server: ServerDep) -> Response:
    """Ask the worker of a running trial to end early."""
    return await server.answer(lambda: server.storage.request_stop(study.id, number).to_dict())


@router.patch("/metadata", response_model=TrialBody)
async def change_trial_metadata(
    changes: MetadataChanges, study: VisibleStudy, number: TrialNumber, server: ServerDep
) -> Response:
    """Set notes by name; null removes one."""
    update = server.storage.update_trial_metadata
    return await server.answer(lambda: update(study.id, number, changes).to_dict())


def _name(worker: str | None) -> str | None:
    return None if worker is None else check_name("worker", worker)
