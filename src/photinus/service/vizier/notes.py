"""Vizier's metadata as notes of our studies and trials.

Vizier's entries have a namespace such as ":a:b", which may be empty, a key, and a text or a packed message. A note has
a name and a text. An entry without a namespace is the note of its key, so that people and programs on either side
read each other's; others have a name that starts with a mark:

    :a:b/key     in a namespace              /key     without one, and the key starts with a mark
    @:a:b/key    a packed message, in base64

What Vizier says about a study or trial and we have no place for is kept in notes of the namespace ":vizier", which
clients neither see nor write.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.message import DecodeError

from photinus.errors import ArgumentError
from photinus.service.vizier.messages import KeyValue
from photinus.wire.fields import MAX_NOTE

OWN = ":vizier/"  # how names of our own begin
_MARKS = (":", "/", "@")


def read_entries(entries: Iterable[Any]) -> dict[str, str | None]:
    """The changes of notes that entries are; None removes what an entry replaces."""
    changes: dict[str, str | None] = {}
    for entry in entries:
        text, packed = _names(entry.ns, entry.key)
        if entry.WhichOneof("kind") == "proto":
            value = base64.b64encode(entry.proto.SerializeToString()).decode()
            changes |= {packed: value, text: None}
        else:
            changes |= {text: entry.value, packed: None}
    for name, value in changes.items():
        if len(name) > MAX_NOTE or len(value or "") > MAX_NOTE:
            raise ArgumentError(
                f"keys and values of metadata have at most {MAX_NOTE} characters: {name[:50]!r}"
            )
    return changes


def new_notes(entries: Iterable[Any]) -> dict[str, str]:
    """The notes that entries are where there are none yet."""
    return {name: value for name, value in read_entries(entries).items() if value is not None}


def write_entries(notes: Mapping[str, str]) -> list[Any]:
    """Notes as entries, without those of our own."""
    return [_entry(name, notes[name]) for name in sorted(notes) if not name.startswith(OWN)]


def own_note(key: str, content: Any) -> dict[str, str]:
    """A note of our own; nothing if there is nothing to keep."""
    return {OWN + key: json.dumps(content)} if content else {}


def read_own(notes: Mapping[str, str], key: str) -> dict[str, Any]:
    """What a note of our own says; empty if there is none, or none that we wrote."""
    try:
        content = json.loads(notes.get(OWN + key, "{}"))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _names(namespace: str, key: str) -> tuple[str, str]:
    """The names under which an entry's text and an entry's packed message are kept."""
    if namespace and not namespace.startswith(":"):
        namespace = ":" + namespace
    full = f"{namespace.replace('%', '%25').replace('/', '%2F')}/{key}"
    if full.startswith((OWN, ":vizier:")):
        raise ArgumentError(f"the namespace {namespace!r} of metadata is the server's own: choose another")
    is_plain = not namespace and not key.startswith(_MARKS)
    return key if is_plain else full, f"@{full}"


def _entry(name: str, text: str) -> Any:
    """A note as an entry; one that only looks as if it came from here is an ordinary one."""
    namespace, slash, key = name.removeprefix("@").partition("/")
    if not name.startswith(_MARKS) or not slash:
        return KeyValue(key=name, value=text)
    entry = KeyValue(ns=namespace.replace("%2F", "/").replace("%25", "%"), key=key)
    if not name.startswith("@"):
        entry.value = text
        return entry
    try:
        entry.proto.ParseFromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return KeyValue(key=name, value=text)
    return entry
