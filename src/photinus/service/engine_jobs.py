"""What an engine does for a server: plain data in, plain data out, each job in a thread of its own.

The same jobs run in the engine process and, where the store is in memory, in threads of the server.
"""

import logging
import threading
from collections.abc import Callable

from photinus.backend import AskRequest
from photinus.errors import ArgumentError, PhotinusError
from photinus.local import LocalBackend
from photinus.service.engine_frames import Message, error_to_dict
from photinus.service.engine_pictures import Pictures
from photinus.service.engine_together import Together
from photinus.storage import Storage
from photinus.study import Study

logger = logging.getLogger("photinus.service")


class Engine:
    """Answers jobs on one store. Safe for threads; the caller sees to it that a study has one ask at a time."""

    def __init__(self, open_storage: Callable[[], Storage], together: Together | None = None) -> None:
        self._open_storage = open_storage
        self.together = together  # None: every study by itself
        self._opening = threading.Lock()
        self._storage: Storage | None = None
        self._backend: LocalBackend | None = None
        self._pictures = Pictures()

    def answer(self, job: Message) -> Message:
        """The result of a job, or its error; an error that nobody expected is logged here, where it came from."""
        try:
            return self._answer(job)
        except PhotinusError as error:
            return {"error": error_to_dict(error)}
        except Exception as error:
            logger.exception("the engine failed with %r for study %s", job["kind"], job["study"])
            return {"error": error_to_dict(error)}

    def release_lock(self, job: Message) -> None:
        """Let others suggest for the study of an ask that will not be finished."""
        self._stores()[0].release_suggest_lock(job["study"], job["owner"])

    def _answer(self, job: Message) -> Message:
        storage, backend = self._stores()
        study_id = job["study"]
        if job["kind"] == "ask":
            requests = [AskRequest(**request) for request in job["requests"]]
            return {
                "results": [_result(r) for r in backend.ask_together(study_id, requests, owner=job["owner"])]
            }
        study = Study(backend, backend.get_study(study_id))
        match job["kind"]:
            case "predict":
                return {"answer": study.predict(job["points"], max_trials=job["max_trials"])}
            case "describe_model":
                return {"answer": study.describe_model(max_trials=job["max_trials"])}
            case "plot":
                [progress] = storage.progress(study_ids=[study_id])
                return {"answer": self._pictures.get(study, progress.last_event, job["plot"], job["options"])}
            case kind:
                raise ArgumentError(f"an engine knows no job of the kind {kind!r}")

    def _stores(self) -> tuple[Storage, LocalBackend]:
        """Opened with the first job, and with the next one if the store is away then."""
        with self._opening:
            if self._storage is None or self._backend is None:
                self._storage = self._open_storage()
                suggest = None if self.together is None else self.together.suggest
                self._backend = LocalBackend(self._storage, suggest=suggest)
            return self._storage, self._backend


def _result(result: object) -> Message:
    if isinstance(result, PhotinusError):
        return {"error": error_to_dict(result)}
    assert isinstance(result, list)
    return {"trials": [trial.to_dict() for trial in result]}
