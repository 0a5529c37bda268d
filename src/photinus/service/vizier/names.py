"""Vizier's names of things: `owners/{project}/studies/{name}/trials/{number + 1}`, and of operations.

The name of an operation says all about it, its key included: any server of the store can go on with it, also after the
one that began was killed.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from photinus.errors import ArgumentError

_OWNER = re.compile(r"owners/([^/]+)")
_STUDY = re.compile(r"owners/([^/]+)/studies/([^/]+)")
_TRIAL = re.compile(r"owners/([^/]+)/studies/([^/]+)/trials/([0-9]{1,18})")
_OPERATION = re.compile(r"owners/([^/]+)/operations/suggestion/([^/]+)/([^/]*)/([0-9]{1,9})/([0-9a-f]{32})")


@dataclass(frozen=True, slots=True)
class StudyName:
    """A study of a project, by name."""

    project: str
    name: str

    def __str__(self) -> str:
        return f"owners/{self.project}/studies/{self.name}"

    def trial(self, number: int) -> str:
        """The full name of one of its trials."""
        return f"{self}/trials/{number + 1}"

    @property
    def is_sayable(self) -> bool:
        """Whether Vizier has a name for it: there, a slash ends a name."""
        return _STUDY.fullmatch(str(self)) is not None


@dataclass(frozen=True, slots=True)
class SuggestionName:
    """Trials that a client is waiting for."""

    study: StudyName
    client_id: str
    count: int
    key: str  # of the request, 32 hexadecimal digits

    def __str__(self) -> str:
        client = quote(self.client_id, safe="")
        return f"owners/{self.study.project}/operations/suggestion/{self.study.name}/{client}/{self.count}/{self.key}"


def parse_owner(text: str) -> str:
    """The project that an owner is."""
    return _parse(_OWNER, text, "owners/OWNER")[0]


def parse_study(text: str) -> StudyName:
    """The study of a full name."""
    return StudyName(*_parse(_STUDY, text, "owners/OWNER/studies/STUDY"))


def parse_trial(text: str) -> tuple[StudyName, int]:
    """Study and number of a trial; -1, which no trial has, for the id 0."""
    project, name, identifier = _parse(_TRIAL, text, "owners/OWNER/studies/STUDY/trials/ID")
    return StudyName(project, name), int(identifier) - 1


def parse_suggestion(text: str) -> SuggestionName:
    """What an operation is about."""
    form = "owners/OWNER/operations/suggestion/STUDY/CLIENT/COUNT/KEY"
    project, name, client, count, key = _parse(_OPERATION, text, form)
    return SuggestionName(StudyName(project, name), unquote(client), int(count), key)


def _parse(pattern: re.Pattern[str], text: str, form: str) -> tuple[str, ...]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ArgumentError(f"a name here has the form {form}, got {text[:200]!r}")
    return match.groups()
