"""Studies and trials by Vizier's names."""

from photinus.errors import UnknownTrial
from photinus.record import StudyRecord
from photinus.service.server import Server
from photinus.service.vizier.names import parse_study, parse_trial
from photinus.service.vizier.trials import is_visible
from photinus.trial import Trial


def find_study(server: Server, name: str) -> StudyRecord:
    """The study of a full name."""
    parsed = parse_study(name)
    return server.storage.find_study(parsed.project, parsed.name)


def find_trial(server: Server, name: str) -> tuple[StudyRecord, Trial]:
    """The study and the trial of a full name."""
    study, number = parse_trial(name)
    record = server.storage.find_study(study.project, study.name)
    return record, get_trial(server, record, str(number + 1))


def get_trial(server: Server, record: StudyRecord, identifier: str) -> Trial:
    """The trial of an id, unless a Vizier client deleted it."""
    number = int(identifier) - 1 if identifier.isdecimal() and len(identifier) < 19 else -1
    try:
        if number >= 0 and is_visible(trial := server.storage.get_trial(record.id, number)):
            return trial
    except UnknownTrial:
        pass
    raise UnknownTrial(f"study {record.name!r} has no trial of id {identifier[:50]}: ids count from 1")
