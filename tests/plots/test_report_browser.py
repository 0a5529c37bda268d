"""The page in a real browser, at the width of a desk and of a phone, without a network."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import open_browser
from pictured import KINDS, LARGE_KINDS

from photinus.report import write_report

pytestmark = pytest.mark.long

WIDTHS = {"desk": 1440, "phone": 390}
SHOWN = ("one_objective", "two_objectives", "one_trial", "only_failures", "hostile_names", "every_state")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages by kind of study, written once for both widths."""
    folder = tmp_path_factory.mktemp("pages")
    return {"folder": folder}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("kind", "scheme"), [*((kind, "light") for kind in (*SHOWN, *LARGE_KINDS)), ("two_objectives", "dark")]
)
def test_the_page_opens(kind: str, width: str, scheme: str, browser: Any, pages: dict[str, Path]):
    if kind not in pages:
        pages[kind] = write_report((KINDS | LARGE_KINDS)[kind](), pages["folder"] / f"{kind}.html")
    is_phone = width == "phone"
    context = browser.new_context(
        viewport={"width": WIDTHS[width], "height": 844},
        color_scheme=scheme,
        has_touch=is_phone,
        is_mobile=is_phone,
        offline=True,
    )
    page = context.new_page()
    complaints: list[str] = []
    address = pages[kind].as_uri()
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: request.url == address or complaints.append(f"fetched {request.url}"))
    page.goto(address)
    _look_at_everything(page)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]
    _check_plots(page)
    context.close()


def test_what_a_page_must_not_do_is_noticed(browser: Any, tmp_path: Path):
    """The other test can fail: a foreign script is refused with a complaint, and an empty figure is found."""
    path = write_report(KINDS["one_trial"](), tmp_path / "page.html")
    page_text = path.read_text(encoding="utf-8")
    path.write_text(
        page_text.replace("<main>", "<main><script>document.title = 'taken over'</script>").replace(
            '"type":"scatter"', '"visible":false,"type":"scatter"'
        ),
        encoding="utf-8",
    )
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.goto(path.as_uri())
    _look_at_everything(page)
    assert page.title() != "taken over"
    assert any("Content Security Policy" in complaint for complaint in complaints)
    with pytest.raises(AssertionError, match="figure-1"):
        _check_plots(page)


def _look_at_everything(page: Any) -> None:
    """Figures are drawn when they come near the window."""
    for plot in page.query_selector_all(".plot"):
        plot.scroll_into_view_if_needed()
        page.wait_for_function("(plot) => plot.dataset.drawn", arg=plot, timeout=120_000)


def _check_plots(page: Any) -> None:
    """Every figure is as wide as its card and has marks in it."""
    found = page.evaluate(
        """() => Array.from(document.querySelectorAll('.plot')).map((plot) => ({
            id: plot.id,
            marks: plot.querySelectorAll('.trace path, .bars path, .hm image, .contourlayer path, path.point').length,
            tooWide: plot.querySelector('.main-svg').getBoundingClientRect().width - plot.clientWidth > 1,
        }))"""
    )
    assert [plot["id"] for plot in found if plot["marks"] == 0 or plot["tooWide"]] == []
