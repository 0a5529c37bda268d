"""Whoever follows a tutorial or a how-to page gets what it says."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import ROOT, read_blocks, run_page
from serving import free_port, served

from photinus.service import Settings

PAGES = sorted(
    page
    for folder in (".", "tutorial", "how-to")
    for page in (ROOT / "docs" / folder).glob("*.md")
    if any(block.is_code for block in read_blocks(page))
)
# These start many processes, clusters, a server.
LONG = ("simulation-on-several-cores.md", "executors.md", "ray.md")
POSTGRESQL = "postgresql://me@db.example.org/studies"  # how pages call a server
SERVER = "http://photinus.example.org:8000"  # how pages call one of ours

VIZIER = "localhost:28080"  # and its port for google-vizier clients


def short_name(page: Path) -> str:
    return str(page.relative_to(ROOT / "docs"))


@pytest.fixture
def server_url() -> Iterator[str]:
    with served(Settings(storage="memory", tokens_required=False)) as url:
        yield url


@pytest.fixture
def vizier_endpoint() -> Iterator[str]:
    from vizier._src.service import stubs_util
    from vizier.service import clients

    endpoint = f"127.0.0.1:{free_port()}"
    before = clients.environment_variables.server_endpoint
    with served(Settings(storage="memory", tokens_required=False, grpc_address=endpoint)):
        yield endpoint
    clients.environment_variables.server_endpoint = before
    stubs_util.create_vizier_server_stub.cache_clear()  # closes its connections


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.long] if page.name in LONG else []) for page in PAGES],
    ids=map(short_name, PAGES),
)
def test_the_page_does_what_it_says(page: Path, tmp_path: Path, request: pytest.FixtureRequest):
    replacements = {}
    if SERVER in page.read_text(encoding="utf-8"):
        replacements[SERVER] = request.getfixturevalue("server_url")
    if VIZIER in page.read_text(encoding="utf-8"):
        replacements[VIZIER] = request.getfixturevalue("vizier_endpoint")
    if POSTGRESQL in page.read_text(encoding="utf-8"):
        replacements[POSTGRESQL] = request.getfixturevalue("postgresql")
    assert run_page(page, tmp_path, replacements) > 0


def test_every_tutorial_is_among_them():
    tutorials = {page.name for page in (ROOT / "docs" / "tutorial").glob("*.md")}
    assert len(tutorials) >= 3
    assert tutorials <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=short_name)
def test_shown_output_belongs_to_code(page: Path):
    """An output block that follows nothing would never be checked."""
    blocks = [block for block in read_blocks(page) if block.is_run]
    for before, block in zip([None, *blocks], blocks, strict=False):
        if block.language == "text":
            assert before is not None and before.is_code, block.place
