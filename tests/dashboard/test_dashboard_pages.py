"""Every page as people see it: at a desk and on a phone, light and dark."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sites import Site, Visit

pytestmark = pytest.mark.long

Opener = Callable[..., Visit]
WIDTHS = {"desk": 1440, "phone": 390}
PLAIN_TABS = ("overview", "trials", "pareto", "parallel", "slices")

CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
UNSEEN_LINES = """() => [...document.querySelectorAll(".js-plotly-plot tspan.line")].filter(
  (line) => getComputedStyle(line).fill === "none").length"""


def paths() -> list[str]:
    """Every page, and every tab that needs no model."""
    pages = [
        "/",
        "/?search=zzz",
        "/new",
        "/compare",
        "/compare?ids=2,3",
        "/login",
        "/studies/2/trials/5",
        "/studies/4/trials/3",
    ]
    return [
        *pages,
        "/studies/1",
        *(f"/studies/{study}?tab={tab}" for study in (2, 4, 5) for tab in PLAIN_TABS),
    ]


def settle(seen: Visit) -> None:
    """Until nothing is loading or being drawn any more."""
    seen.wait_for(
        """() => document.querySelector("main").childElementCount > 0
          && !document.querySelector("main .loading, main .skeleton, .picture[aria-busy]")"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_and_can_be_read(width: str, scheme: str, shown_site: Site, visit: Opener):
    seen = visit(shown_site, width=WIDTHS[width], scheme=scheme)
    for path in paths():
        seen.open(path)
        settle(seen)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width], path
        assert seen.page.evaluate(CONTRAST) == [], path


def test_pictures_of_the_model_are_drawn(shown_site: Site, visit: Opener):
    """On a desk and, without asking again, on a phone; hovering brings labels that need styles of their own."""
    seen = visit(shown_site)
    page = seen.page
    for study, tabs in {3: ["contour"], 5: ["contour", "importance", "model", "timeline"]}.items():
        for tab in tabs:
            seen.open(f"/studies/{study}?tab={tab}")
            page.locator(".picture").first.wait_for()
            for picture in page.locator(".picture").all():
                picture.scroll_into_view_if_needed()
                picture.locator("[data-drawn], .empty").first.wait_for()
            settle(seen)
            plot = page.locator(".js-plotly-plot").first
            box = plot.bounding_box()
            for share in (0.3, 0.5, 0.7):
                page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2, steps=3)
            # Lines of labels have a class that charts of our own have, too: they must not be drawn as lines.
            assert page.evaluate(UNSEEN_LINES) == 0
            page.set_viewport_size({"width": 390, "height": 844})
            seen.wait_for("() => document.documentElement.scrollWidth <= 390")
            page.set_viewport_size({"width": 1280, "height": 844})
    fill = "getComputedStyle(document.querySelector('.js-plotly-plot text')).fill"
    light = page.evaluate(f"() => {fill}")
    for _ in range(2):  # from what the system has to light, and on to dark
        page.get_by_role("button", name="Theme").click()
    seen.wait_for(f"() => document.querySelector('.js-plotly-plot text') && {fill} !== '{light}'")


def test_the_theme_is_switched_and_remembered(shown_site: Site, visit: Opener):
    seen = visit(shown_site)
    page = seen.page
    seen.open("/")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    switch = page.locator("#theme")
    switch.click()
    switch.click()
    assert page.evaluate(ground) != light
    page.reload()
    switch.wait_for()
    assert page.evaluate(ground) != light
    assert page.evaluate(CONTRAST) == []


def test_what_a_page_must_not_do_is_noticed(shown_site: Site, visit: Opener):
    """The other tests can fail: an inline style is refused with a complaint, and faint letters are found."""
    seen = visit(shown_site, expected=("Content Security Policy",))
    seen.open("/")
    settle(seen)
    page = seen.page
    page.evaluate("() => document.querySelector('h1').setAttribute('style', 'display: none')")
    page.evaluate("() => (document.querySelector('h1').style.color = '#c9ced6')")
    seen.wait_for("() => true")
    assert [text for text in seen.complaints if "style" in text] != []
    assert any("Studies" in text for text in page.evaluate(CONTRAST))


def test_notes_are_those_of_people(site: Site, visit: Opener):
    """Studies of google-vizier clients have others beside them, which say nothing to anybody else."""
    site.add_study("noted", metadata={"owner": "the team", ":vizier/spec": '{"stops_early": true}'})
    seen = visit(site)
    seen.open("/studies/1")
    seen.page.get_by_text("the team").wait_for()
    assert seen.page.get_by_text("stops_early").count() == 0
