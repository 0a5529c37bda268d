"""Every question a server can be asked, as a `Call`: pure functions, shared by all clients."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from photinus.arguments import MAX_MESSAGE
from photinus.client.answers import (
    answer,
    is_ours,
    read_page,
    read_progress,
    read_record,
    read_trial,
    read_trial_page,
    read_trials,
    reading,
)
from photinus.client.messages import UNSETTLED, Call, Page, Request, Response, TrialPage, Unsettled
from photinus.errors import InvalidState
from photinus.exchange import study_to_dict
from photinus.problem import Problem
from photinus.record import NewTrial, StudyProgress, StudyRecord, StudyState
from photinus.space import Value
from photinus.storage import lifecycle
from photinus.trial import Measurement, Trial, TrialState, values_to_json

PAGE_SIZE = 1000  # studies or trials in one answer


def new_key() -> str:
    """The name of one thing to be done, however often it is asked for."""
    return uuid.uuid4().hex


def whoami() -> Call[dict[str, Any]]:
    """What the token is and may do."""
    return Call(Request(method="GET", path="/whoami"), reading(dict))


# Studies.


def create_study(
    *,
    project: str,
    name: str | None,
    problem: Problem,
    algorithm: str,
    seed: int | None,
    metadata: Mapping[str, str] | None,
    load_if_exists: bool,
    key: str | None,
) -> Call[StudyRecord]:
    """A new study, or the stored one; the server makes up a name or a seed that is None."""
    body = {
        "project": project,
        "name": name,
        "problem": problem.to_dict(),
        "algorithm": algorithm,
        "seed": seed,
        "metadata": dict(metadata or {}),
        "load_if_exists": load_if_exists,
    }
    return Call(_post("/studies", body, key or new_key()), reading(read_record))


def restore_study(record: StudyRecord, trials: Sequence[Trial], *, key: str | None) -> Call[StudyRecord]:
    """A study as it was elsewhere, with all its trials."""
    body = study_to_dict(record, trials)
    return Call(_post("/studies/restore", body, key or new_key(), is_slow=True), reading(read_record))


def get_study(study_id: int) -> Call[StudyRecord]:
    """The study as it is now."""
    return Call(_get(f"/studies/{study_id}"), reading(read_record))


def get_progress(study_id: int) -> Call[StudyProgress]:
    """The study as it is now, and how far it is."""
    return Call(_get(f"/studies/{study_id}"), reading(read_progress))


def find_studies(
    *, project: str | None = None, name: str | None = None, after: int | None = None
) -> Call[Page]:
    """One page of studies, oldest first."""
    query = {"project": project, "name": name, "after": after, "limit": PAGE_SIZE}
    return Call(_get("/studies", **query), reading(read_page))


def delete_study(study_id: int) -> Call[None]:
    """Forget the study and its trials."""

    def is_gone(response: Response) -> Unsettled | None:
        return None if response.status == 404 and is_ours(response) else UNSETTLED

    return Call(
        Request(method="DELETE", path=f"/studies/{study_id}"),
        _read_nothing,
        Call(get_study(study_id).request, is_gone),
    )


def set_study_state(study_id: int, state: StudyState) -> Call[StudyRecord]:
    """Say whether loops that work on the study should go on."""
    verb = "stop" if state == StudyState.STOPPED else "resume"
    return Call(_post(f"/studies/{study_id}/{verb}"), reading(read_record))


def update_study_metadata(study_id: int, changes: Mapping[str, str | None]) -> Call[StudyRecord]:
    """Change notes; None removes one."""
    return Call(
        Request(method="PATCH", path=f"/studies/{study_id}/metadata", body=dict(changes)),
        reading(read_record),
    )


# Trials.


def get_trial(study_id: int, number: int) -> Call[Trial]:
    """One trial."""
    return Call(_get(f"/studies/{study_id}/trials/{number}"), reading(read_trial))


def find_trials(
    study_id: int,
    *,
    states: Collection[TrialState] | None = None,
    worker: str | None = None,
    after: int | None = None,
    limit: int = PAGE_SIZE,
    newest_first: bool = False,
) -> Call[TrialPage]:
    """One page of trials."""
    query = {
        "state": None if states is None else [state.value for state in states],
        "worker": worker,
        "after": after,
        "limit": limit,
        "newest_first": True if newest_first else None,
    }
    return Call(_get(f"/studies/{study_id}/trials", **query), reading(read_trial_page))


def get_changes(study_id: int, since_event: int) -> Call[TrialPage]:
    """Trials changed after that event, by number."""
    return Call(_get(f"/studies/{study_id}/trials", since_event=since_event), reading(read_trial_page))


def count_trials(study_id: int) -> Call[tuple[int, int]]:
    """How many trials there are, and how many of them are finished."""
    return Call(
        _get(f"/studies/{study_id}/count"), reading(lambda data: (int(data["total"]), int(data["finished"])))
    )


def best_trials(study_id: int) -> Call[list[Trial]]:
    """The best trial, or the Pareto set."""
    return Call(_get(f"/studies/{study_id}/best"), reading(read_trials))


def ask(
    study_id: int, count: int, *, worker: str | None, lease_s: float | None, key: str | None
) -> Call[list[Trial]]:
    """Exactly `count` trials."""
    body = {"count": count, "worker": worker, "lease_s": lease_s}
    request = _post(f"/studies/{study_id}/ask", body, key or new_key(), is_slow=True)
    return Call(request, reading(read_trials))


def add_trials(study_id: int, entries: Sequence[NewTrial], *, key: str | None) -> Call[list[Trial]]:
    """Add trials, all of them or none."""
    body = {
        "trials": [
            {"params": dict(entry.params), "metadata": dict(entry.metadata)} | _outcome(entry.measurement)
            for entry in entries
        ]
    }
    return Call(_post(f"/studies/{study_id}/trials", body, key or new_key()), reading(read_trials))


def tell(study_id: int, number: int, measurement: Measurement, *, worker: str | None) -> Call[Trial]:
    """Give a trial its outcome; the same outcome again changes nothing."""
    body = _outcome(measurement) | {"worker": worker}
    return Call(_post(f"/studies/{study_id}/trials/{number}/tell", body), reading(read_trial))


def tell_all(
    study_id: int, results: Sequence[tuple[int, Measurement]], *, worker: str | None
) -> Call[list[Trial]]:
    """Give several trials their outcomes, all of them or none."""
    entries = [{"number": number} | _outcome(measurement) for number, measurement in results]
    body = {"results": entries, "worker": worker}
    return Call(_post(f"/studies/{study_id}/tell", body), reading(read_trials))


def amend(study_id: int, number: int, values: Mapping[str, float]) -> Call[Trial]:
    """Correct a completed trial; the same correction again changes nothing."""
    return Call(
        _post(f"/studies/{study_id}/trials/{number}/amend", {"values": dict(values)}), reading(read_trial)
    )


def report(study_id: int, number: int, values: Mapping[str, float], step: int) -> Call[None]:
    """Keep intermediate values; the same step again replaces them."""
    body = {"values": values_to_json(values), "step": step}
    return Call(_post(f"/studies/{study_id}/trials/{number}/report", body), _read_nothing)


def extend_lease(
    study_id: int, number: int, *, worker: str | None, lease_s: float, attempt: int | None
) -> Call[Trial]:
    """Let a running trial's lease end `lease_s` from now."""
    body = {"worker": worker, "lease_s": lease_s, "attempt": attempt}
    return Call(_post(f"/studies/{study_id}/trials/{number}/lease", body), reading(read_trial))


def release(study_id: int, number: int, *, worker: str | None, attempt: int | None) -> Call[Trial]:
    """Hand a running trial back. Done twice, the second one would be refused."""

    def is_released(response: Response) -> Trial | Unsettled:
        trial = reading(read_trial)(response)
        try:
            lifecycle.released(trial, worker=worker, attempt=attempt, event=trial.updated_event)
        except InvalidState:
            return trial
        return UNSETTLED

    return Call(
        _post(f"/studies/{study_id}/trials/{number}/release", {"worker": worker, "attempt": attempt}),
        reading(read_trial),
        Call(get_trial(study_id, number).request, is_released),
    )


def request_stop(study_id: int, number: int) -> Call[Trial]:
    """Ask a running trial's worker to end early."""
    return Call(_post(f"/studies/{study_id}/trials/{number}/stop"), reading(read_trial))


def update_trial_metadata(study_id: int, number: int, changes: Mapping[str, str | None]) -> Call[Trial]:
    """Change notes of a trial; None removes one."""
    path = f"/studies/{study_id}/trials/{number}/metadata"
    return Call(Request(method="PATCH", path=path, body=dict(changes)), reading(read_trial))


# The model.


def predict(
    study_id: int, points: Sequence[Mapping[str, Value]], *, max_trials: int | None
) -> Call[list[dict[str, dict[str, float | None]]]]:
    """What the model expects at each point."""
    body = {"points": [dict(point) for point in points], "max_trials": max_trials}
    request = Request(method="POST", path=f"/studies/{study_id}/predict", body=body, is_slow=True)
    return Call(request, reading(lambda data: list(data["predictions"])))


def describe_model(study_id: int, *, max_trials: int | None) -> Call[dict[str, Any]]:
    """What the model believes beyond predictions."""
    request = Request(
        method="GET",
        path=f"/studies/{study_id}/model",
        query=_query(max_trials=max_trials),
        is_slow=True,
    )
    return Call(request, reading(dict))


def _get(path: str, **query: Any) -> Request:
    return Request(method="GET", path=path, query=_query(**query))


def _post(path: str, body: Any = None, key: str | None = None, *, is_slow: bool = False) -> Request:
    return Request(method="POST", path=path, body=body, key=key, is_slow=is_slow)


def _query(**given: Any) -> tuple[tuple[str, str], ...]:
    """Names and texts; what is None is left out, a list repeats its name."""
    pairs = []
    for name, value in given.items():
        for entry in value if isinstance(value, list) else [value]:
            if entry is not None:
                pairs.append((name, str(entry).lower() if isinstance(entry, bool) else str(entry)))
    return tuple(pairs)


def _outcome(measurement: Measurement | None) -> dict[str, Any]:
    if measurement is None:
        return {}
    if measurement.state == TrialState.COMPLETED:
        return {"values": dict(measurement.values or {})}
    message = measurement.message or ""
    # The whole output of a program, perhaps: a result must not be refused for that.
    shown = message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 3]}..."
    return {measurement.state.value: shown}


def _read_nothing(response: Response) -> None:
    answer(response)
