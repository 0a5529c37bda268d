"""The documents keep their promises: links lead somewhere, equations are numbered, versions agree."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from pages import ROOT

ALGORITHM = ROOT / "docs" / "algorithm.md"
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
NUM_EQUATIONS = 40


def anchors(document: Path) -> set[str]:
    """Anchors of a page's headings, as forges and documentation builders make them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_equations_are_numbered_in_order():
    tags = [int(n) for n in re.findall(r"\\tag\{(\d+)\}", ALGORITHM.read_text())]
    assert tags == list(range(1, NUM_EQUATIONS + 1))


def test_equations_that_the_text_refers_to_exist():
    prose = re.sub(r"\$\$.*?\$\$|\$.*?\$", "", ALGORITHM.read_text(), flags=re.DOTALL)
    referred = {int(n) for n in re.findall(r"\((\d\d?)\)", prose)}
    assert referred
    assert max(referred) <= NUM_EQUATIONS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path):
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        if anchor.startswith("photinus."):  # made of docstrings; the site's own build checks it
            continue
        page = (document.parent / path) if path else document
        assert page.exists(), f"{document.name} links to {target}"
        assert not anchor or anchor in anchors(page), f"{document.name} links to {target}"


@pytest.mark.parametrize("number_and_page", list(enumerate(DECISIONS, start=1)), ids=lambda p: p[1].name)
def test_decisions_have_a_number_and_four_parts(number_and_page: tuple[int, Path]):
    number, page = number_and_page
    text = page.read_text()
    assert page.name.startswith(f"{number:04d}-")
    assert text.startswith(f"# {number}. ")
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == [
        "Context",
        "Decision",
        "Alternatives",
        "Consequences",
    ]


def test_changelog_starts_with_the_version_that_is_installed():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version("photinus")
