"""Suggestions, as Vizier's operations: what is asked for may be answered later.

Whoever asks waits for the engine in the same line as callers of the HTTP API, and holds no thread. Where it took too
long, or too many wait, the operation is simply not done yet: the client looks again and again, and the key in the
operation's name brings it what was made for it meanwhile, on whichever server it asks.
"""

import time
import uuid
from datetime import UTC, datetime
from typing import Any

from photinus.arguments import check_integer, check_name
from photinus.backend import AskRequest
from photinus.errors import SuggestionError, SuggestionTimeout, TooManyRequests
from photinus.record import StudyRecord, StudyState
from photinus.service.server import Server
from photinus.service.vizier import messages
from photinus.service.vizier.codes import explain
from photinus.service.vizier.names import SuggestionName, parse_study, parse_suggestion
from photinus.service.vizier.studies import state_number, write_time
from photinus.service.vizier.trial_calls import check_active, withdraw
from photinus.service.vizier.trials import is_visible, visible, write_trial
from photinus.trial import Trial

RESPONSE_TYPE = "type.googleapis.com/vizier.SuggestTrialsResponse"


async def suggest_trials(server: Server, request: Any) -> Any:
    """Trials for a client: what it holds already, what waits, then new suggestions."""
    count = check_integer(
        "suggestion_count", request.suggestion_count or 1, 1, server.settings.max_trials_per_request
    )
    if request.client_id:
        check_name("client_id", request.client_id)
    name = SuggestionName(parse_study(request.parent), request.client_id, count, uuid.uuid4().hex)
    record = await _find(server, name)
    check_active(record)
    return await _operate(server, record, name)


async def get_operation(server: Server, request: Any) -> Any:
    """How far an operation is; asks again if nobody does."""
    name = parse_suggestion(request.name)
    check_integer("suggestion_count", name.count, 1, server.settings.max_trials_per_request)
    record = await _find(server, name)
    if record.state != StudyState.ACTIVE:
        # The client takes an error to SuggestTrials for the end of a study, but not one to this call.
        return await _done(server, record, name, [], datetime.now(UTC))
    return await _operate(server, record, name)


async def _find(server: Server, name: SuggestionName) -> StudyRecord:
    return await server.run(server.storage.find_study, name.study.project, name.study.name)


async def _operate(server: Server, record: StudyRecord, name: SuggestionName) -> Any:
    """The operation, with its trials if there are any now."""
    started_at, began = datetime.now(UTC), time.perf_counter()
    operation = messages.Operation(name=str(name))
    try:
        trials = await _ask(server, record, name)
    except (TooManyRequests, SuggestionTimeout):
        return operation
    except SuggestionError as error:
        code, operation.error.message = explain(error, name.key)
        operation.error.code, operation.done = code.value[0], True
        return operation
    server.metrics.count_ask(record.algorithm, len(trials), time.perf_counter() - began)
    return await _done(server, record, name, trials, started_at)


async def _done(
    server: Server, record: StudyRecord, name: SuggestionName, trials: list[Trial], started_at: datetime
) -> Any:
    """The operation with what it was for."""
    operation = messages.Operation(name=str(name), done=True)
    operation.response.type_url = RESPONSE_TYPE
    operation.response.value = await server.run(_response, record, trials, started_at)
    return operation


def _response(record: StudyRecord, trials: list[Trial], started_at: datetime) -> bytes:
    response = messages.SuggestTrialsResponse(study_state=state_number(record))
    write_time(response.start_time, started_at)
    write_time(response.end_time, datetime.now(UTC))
    response.trials.extend(write_trial(record, trial) for trial in trials)
    return response.SerializeToString()


async def _ask(server: Server, record: StudyRecord, name: SuggestionName) -> list[Trial]:
    """The trials; those that a client deleted while they waited are ended and replaced."""
    kept: list[Trial] = []
    attempt = 0
    while True:
        # Whoever has a name is given again what it holds; the others get what is missing.
        count = name.count if name.client_id else name.count - len(kept)
        request = AskRequest(count, name.client_id or None, None, f"vizier-{name.key}-{attempt}")
        trials = await server.suggestions.ask(record.id, request)
        kept = visible(trials) if name.client_id else kept + visible(trials)
        deleted = [trial for trial in trials if not is_visible(trial)]
        if not deleted:
            return kept
        for trial in deleted:
            await server.run(withdraw, server, record, trial)
        attempt += 1
