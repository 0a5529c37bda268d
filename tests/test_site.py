"""The documentation builds without a warning, needs no network, and fits a phone."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import open_browser
from pages import ROOT

# What a browser fetches by itself when it opens a page; links are the reader's own choice.
FETCHED = re.compile(r'<(?:script|img|iframe)[^>]*\bsrc="([^"]+)"|<link[^>]*\bhref="([^"]+)"')
WIDTHS = {"desktop": 1440, "phone": 390}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


def test_every_page_is_there_and_fetches_nothing_from_elsewhere(site: Path):
    pages = {page.relative_to(site).with_suffix("").as_posix(): page for page in site.glob("**/*.html")}
    sources = (ROOT / "docs").glob("**/*.md")
    assert {source.relative_to(ROOT / "docs").with_suffix("").as_posix() for source in sources} <= set(pages)
    for page in pages.values():
        fetched = [first or second for first, second in FETCHED.findall(page.read_text(encoding="utf-8"))]
        assert fetched
        assert not [address for address in fetched if "//" in address], page


def test_formulas_are_drawn_by_the_browser(site: Path):
    html = (site / "algorithm.html").read_text(encoding="utf-8")
    assert html.count('class="equation" id="equation-') == 40
    assert "arithmatex" not in html
    assert "$$" not in html


def test_the_command_line_reference_has_every_command(site: Path):
    from photinus.cli.app import app

    html = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    names = [command.name for command in app.registered_commands]
    assert len(names) > 10
    for name in [*names, "storage upgrade"]:
        assert f'id="photinus-{name.replace(" ", "-")}"' in html
    assert "PHOTINUS_STORAGE" in html


def test_the_reference_documents_the_public_names(site: Path):
    html = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    for name in (
        "create_study",
        "load_study",
        "minimize",
        "Study.optimize",
        "Float",
        "StudyPlots.model",
        "write_report",
    ):
        assert re.search(rf'id="photinus[\w.]*\.{re.escape(name)}"', html), name


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.mark.long
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_pages_open_from_the_disk_and_fit(site: Path, browser: Any, width: int):
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    page.on("request", lambda request: complaints.append(request.url) if request.url[:5] != "file:" else None)
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for path in sorted(set(site.glob("**/*.html")) - {site / "404.html"}):  # which only a server shows
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert not complaints, path
    page.close()


@pytest.mark.long
def test_search_works_from_the_disk(site: Path, browser: Any):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto((site / "index.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type("network file system")
    page.wait_for_selector(".md-search-result__item")
    assert "Choose and open a store" in page.inner_text(".md-search-result__list")
    page.close()
