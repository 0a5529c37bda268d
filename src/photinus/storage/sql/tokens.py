"""Tokens in and out of their table, inside a transaction."""

from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from photinus.record import TokenRecord
from photinus.storage import lifecycle
from photinus.storage.sql.models import tokens
from photinus.storage.sql.rows import token_from_row, token_to_row


def add(connection: Connection, token: TokenRecord) -> TokenRecord:
    """See `Storage.add_token`."""
    if _find(connection, token.id) is not None:
        raise lifecycle.duplicate_token(token)
    connection.execute(insert(tokens).values(token_to_row(token)))
    return get(connection, token.id)


def get(connection: Connection, token_id: str) -> TokenRecord:
    """See `Storage.get_token`."""
    token = _find(connection, token_id)
    if token is None:
        raise lifecycle.unknown_token(token_id)
    return token


def get_all(connection: Connection) -> list[TokenRecord]:
    """See `Storage.list_tokens`."""
    rows = connection.execute(select(tokens).order_by(tokens.c.created_at, tokens.c.id)).all()
    return [token_from_row(row) for row in rows]


def revoke(connection: Connection, token_id: str, now: datetime) -> TokenRecord:
    """See `Storage.revoke_token`."""
    valid = (tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
    connection.execute(update(tokens).where(*valid).values(revoked_at=now))
    return get(connection, token_id)


def _find(connection: Connection, token_id: str) -> TokenRecord | None:
    row = connection.execute(select(tokens).where(tokens.c.id == token_id)).one_or_none()
    return None if row is None else token_from_row(row)
