"""What a study has come to: one self-contained HTML page about it, and advice whether to go on."""

from pathlib import Path

from photinus.errors import ArgumentError
from photinus.files import whole_file
from photinus.plots import require_plotly
from photinus.report.advice import Advice as Advice
from photinus.report.advice import Outlook as Outlook
from photinus.report.advice import Verdict as Verdict
from photinus.report.advice import advise as advise
from photinus.study import Study


def write_report(
    study: Study, path: str | Path, *, title: str | None = None, introduction: str | None = None
) -> Path:
    """Write the page and return where it is. It opens without a network; an older file is replaced as a whole.

    Args:
        study: any study, also one that is still running.
        path: of the file; missing folders are made.
        title: headline of the page; the study's name if left out.
        introduction: a paragraph of your own, below the headline.
    """
    require_plotly()
    from photinus.report.page import make_page

    path = Path(path)
    if path.is_dir():
        raise ArgumentError(
            f"`path` must name a file, but {str(path)!r} is a folder: try {str(path / 'report.html')!r}"
        )
    page = make_page(study, title=title, introduction=introduction)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8", newline="\n")
    return path
