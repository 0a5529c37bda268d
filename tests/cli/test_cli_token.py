"""token create, list, revoke."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from photinus.service.auth import identify, parse_token
from photinus.storage import open_storage

TOKEN = re.compile(r"pho_[0-9a-f]+_[\w-]{40,}")


def test_a_new_token_is_alone_on_standard_output(photinus):
    done = photinus("token", "create", "alice")
    assert TOKEN.fullmatch(done.stdout.strip())
    assert "(write, all projects) is shown this once" in done.stderr
    assert not TOKEN.search(done.stderr)


def test_a_token_opens_what_it_was_made_for(photinus, as_json):
    made = as_json("token", "create", "ci", "--role", "read", "--project", "vision", "--days", 2)
    token_id, secret = parse_token(made["token"])
    assert token_id == made["id"]
    record = open_storage("photinus.db").get_token(token_id)
    who = identify(record, secret, now=datetime.now(UTC))
    assert (who.role, who.project, who.name) == ("read", "vision", "ci")
    assert record.expires_at is not None
    assert timedelta(days=1.9) < record.expires_at - datetime.now(UTC) < timedelta(days=2.1)


def test_nothing_that_is_kept_or_shown_gives_the_secret_away(photinus, folder):
    text = photinus("token", "create", "alice").stdout.strip()
    secret = parse_token(text)[1]
    shown = photinus("token", "list").stdout + photinus("token", "list", "--json").stdout
    with closing(sqlite3.connect(folder / "photinus.db")) as store:
        kept = "\n".join(store.iterdump())
    record = open_storage("photinus.db").get_token(parse_token(text)[0])
    assert record.secret_hash in kept
    assert record.secret_hash not in shown
    assert secret not in shown + kept


def test_list_shows_what_each_is_worth(photinus, as_json):
    assert photinus("token", "list").stdout == "no tokens in photinus.db\n"
    first = as_json("token", "create", "first", "--role", "admin")
    second = as_json("token", "create", "second", "--project", "vision", "--days", 1)
    assert as_json("token", "revoke", first["id"])["state"] == "revoked"
    shown = photinus("token", "list").stdout
    assert re.search(rf"{first['id']} +first +admin +all +revoked +\S+ +never", shown)
    assert re.search(rf"{second['id']} +second +write +vision +valid", shown)
    assert [entry["name"] for entry in as_json("token", "list")] == ["first", "second"]


def test_revoking_twice_changes_nothing(photinus, as_json):
    made = as_json("token", "create", "first")
    once = as_json("token", "revoke", made["id"])
    assert as_json("token", "revoke", made["id"]) == once
    assert f"token {made['id']} (first) is revoked" in photinus("token", "revoke", made["id"]).stdout


def test_revoking_what_is_not_there_says_so(photinus):
    assert "nothing-like-this" in photinus("token", "revoke", "nothing-like-this", code=3).stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["create", "x", "--role", "king"], "king"),
        (["create", "x", "--days", "0"], "a time to come"),
        (["create", ""], "name"),
        (["create", "x", "--project", ""], "project"),
    ],
)
def test_what_makes_no_sense_makes_no_token(photinus, as_json, words, complaint):
    assert complaint in photinus("token", *words, code=2).stderr
    assert as_json("token", "list") == []


def test_odd_names_do_nothing_to_the_terminal(photinus):
    photinus("token", "create", "\x1b[31mred")
    assert "\x1b[31m" not in photinus("token", "list").stdout
    assert json.loads(photinus("token", "list", "--json").stdout)[0]["name"] == "\x1b[31mred"
