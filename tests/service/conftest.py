"""Servers to talk to, each with a store of its own."""

from collections.abc import Iterator

import pytest
from api_calls import Api, serving


@pytest.fixture
def api() -> Iterator[Api]:
    """A server with a store in memory that needs no tokens."""
    with serving() as api:
        yield api


@pytest.fixture
def guarded() -> Iterator[Api]:
    """A server with a store in memory that needs tokens, and forgets what it read of them at once."""
    with serving(tokens_required=True, token_cache_s=0.0) as api:
        yield api
