"""Calls about studies. Each is one function that runs in a thread of the store."""

import contextlib
from typing import Any

from photinus.arguments import check_name, check_seed
from photinus.errors import ArgumentError, UnknownTrial, UnsupportedError
from photinus.record import StudyState
from photinus.service.server import Server
from photinus.service.vizier import messages
from photinus.service.vizier.finding import find_study, get_trial
from photinus.service.vizier.names import StudyName, parse_owner
from photinus.service.vizier.notes import read_entries
from photinus.service.vizier.studies import (
    ACTIVE,
    COMPLETED,
    INACTIVE,
    first_point,
    read_spec,
    state_note,
    write_study,
)

FIRST_KEY = "vizier-first-point"  # of the request that enqueues it, so that it happens once


def create_study(server: Server, request: Any) -> Any:
    """A new study, or the one of that name if it is defined in the same way."""
    name = StudyName(parse_owner(request.parent), request.study.display_name)
    check_name("owner", name.project)
    check_name("study_id", name.name)
    if not name.is_sayable:
        raise ArgumentError(f"an owner's and a study's name must be without slashes, got {name.name!r}")
    configuration = read_spec(request.study.study_spec)
    record = server.storage.create_study(
        project=name.project,
        name=name.name,
        problem=configuration.problem,
        algorithm=configuration.algorithm,
        seed=check_seed(None),
        metadata=configuration.metadata,
        load_if_exists=True,
    )
    point = first_point(record)
    if point is not None and server.storage.count_trials(record.id)[0] == 0:
        server.storage.enqueue(record.id, point, key=FIRST_KEY)
    return write_study(record)


def get_study(server: Server, request: Any) -> Any:
    """One study."""
    return write_study(find_study(server, request.name))


def list_studies(server: Server, request: Any) -> Any:
    """The studies of an owner, as far as Vizier has words for their names and choices."""
    studies: list[Any] = []
    for record in server.storage.list_studies(parse_owner(request.parent)):
        if StudyName(record.project, record.name).is_sayable:
            with contextlib.suppress(UnsupportedError):
                studies.append(write_study(record))
    return messages.ListStudiesResponse(studies=studies)


def delete_study(server: Server, request: Any) -> Any:
    """Forget a study and all its trials."""
    server.storage.delete_study(find_study(server, request.name).id)
    return messages.Empty()


def set_study_state(server: Server, request: Any) -> Any:
    """End a study, or have it go on."""
    if request.state not in (ACTIVE, INACTIVE, COMPLETED):
        raise ArgumentError(
            f"the state of a study must be 1 (active), 2 (inactive) or 3 (completed), got {request.state}"
        )
    record = find_study(server, request.parent)
    if request.state != ACTIVE:
        server.storage.update_study_metadata(record.id, state_note(request.state))
    state = StudyState.ACTIVE if request.state == ACTIVE else StudyState.STOPPED
    return write_study(server.storage.set_study_state(record.id, state))


def update_metadata(server: Server, request: Any) -> Any:
    """Set entries of a study and its trials; none of them if one of the trials is not there."""
    record = find_study(server, request.name)
    of_study = read_entries(update.metadatum for update in request.delta if not update.HasField("trial_id"))
    by_trial: dict[str, list[Any]] = {}
    for update in request.delta:
        if update.HasField("trial_id"):
            by_trial.setdefault(update.trial_id, []).append(update.metadatum)
    of_trials = {identifier: read_entries(entries) for identifier, entries in by_trial.items()}
    try:
        numbers = {identifier: get_trial(server, record, identifier).number for identifier in of_trials}
    except UnknownTrial as error:
        return messages.UpdateMetadataResponse(error_details=str(error))
    if of_study:
        server.storage.update_study_metadata(record.id, of_study)
    for identifier, changes in of_trials.items():
        server.storage.update_trial_metadata(record.id, numbers[identifier], changes)
    return messages.UpdateMetadataResponse()
