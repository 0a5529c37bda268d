"""Lists the decisions by themselves, in the navigation and on their first page: adding one is adding its file."""

from pathlib import Path
from typing import Any

FIRST_PAGE = "decisions/index.md"
MARK = "<!-- decisions -->"


def on_config(config: Any) -> Any:
    """Called by MkDocs with the settings: puts every decision behind their first page."""
    _section(config.nav).extend(f"decisions/{page.name}" for page in _pages(config))
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Called by MkDocs with every page's Markdown."""
    if page.file.src_uri != FIRST_PAGE:
        return markdown
    return markdown.replace(MARK, "\n".join(f"- [{_title(path)}]({path.name})" for path in _pages(config)))


def _section(entries: list[Any]) -> list[Any]:
    """The part of the navigation that begins with the decisions' first page."""
    if FIRST_PAGE in entries:
        return entries
    nested = (part for entry in entries if isinstance(entry, dict) for part in entry.values())
    return next(filter(None, (_section(part) for part in nested if isinstance(part, list))), [])


def _pages(config: Any) -> list[Path]:
    return sorted((Path(config.docs_dir) / "decisions").glob("0*.md"))


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
