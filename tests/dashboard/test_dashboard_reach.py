"""The pages with a lot to show, by keyboard, and when things happen elsewhere."""

import random
from collections.abc import Callable

import pytest
from sites import SPACE, Site, Visit, running_site

import photinus as ph
from photinus.best import best_trials
from photinus.plots.axes import ParameterAxis

pytestmark = pytest.mark.long

Opener = Callable[..., Visit]


def test_ten_thousand_trials_scroll(site: Site, visit: Opener):
    chance = random.Random(0)
    study_id = site.add_study("large", space={f"p{i}": ph.Float(0, 1) for i in range(8)})
    points = [{f"p{i}": chance.random() for i in range(8)} for _ in range(10_000)]
    for start in range(0, 10_000, 1000):
        site.add_measured(study_id, [(p, {"error": p["p0"]}) for p in points[start : start + 1000]])
    seen = visit(site)
    page = seen.page
    seen.open(f"/studies/{study_id}?tab=trials")
    page.get_by_text("10,000 trials", exact=True).wait_for()
    rows = page.locator("table.trials tbody tr[data-number]")
    assert rows.first.get_attribute("data-number") == "9999"
    assert rows.count() < 100
    page.evaluate("document.querySelector('.virtual').scrollTop = 38 * 5000")
    page.locator("tr[data-number='4995']").wait_for()
    assert rows.count() < 100
    page.evaluate("document.querySelector('.virtual').scrollTop = 1e9")
    page.locator("tr[data-number='0']").wait_for()
    page.get_by_role("button", name="error").click()
    best = min(range(10_000), key=lambda number: points[number]["p0"])
    seen.wait_for(f"() => document.querySelector('tr[data-number]').dataset.number === '{best}'")
    page.get_by_label("Search trials").fill("1234")
    page.get_by_text(" of 10,000 trials").wait_for()
    for tab in ("Overview", "Parallel", "Slices"):
        page.get_by_role("tab", name=tab).click()
        page.locator("#panel .chart .dot, #panel .parallel canvas").first.wait_for()


def test_a_thousand_studies_are_listed_and_found(site: Site, visit: Opener):
    for number in range(1000):
        site.add_study(f"sweep {number:04}", space={"x": ph.Float(0, 1)})
    seen = visit(site)
    page = seen.page
    seen.open("/")
    page.get_by_role("link", name="sweep 0999").wait_for()
    assert page.locator("table.studies tbody tr").count() <= 150
    for _ in range(200):
        page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
        if page.get_by_role("link", name="sweep 0000").count():
            break
        page.wait_for_timeout(100)
    assert page.locator("table.studies tbody tr").count() == 1000
    names = page.locator("table.studies tbody th a").all_inner_texts()
    assert names == [f"sweep {number:04}" for number in reversed(range(1000))]
    page.evaluate("window.scrollTo(0, 0)")
    page.get_by_label("Search by name").fill("0123")
    seen.wait_for("() => document.querySelectorAll('table.studies tbody tr').length === 1")
    page.get_by_role("link", name="sweep 0123").click()
    page.get_by_role("heading", name="sweep 0123").wait_for()


def test_a_server_that_goes_away_and_comes_back_is_noticed(visit: Opener):
    with running_site() as first:
        port = int(first.url.rpartition(":")[2])
        first.add_study("before")
        seen = visit(first, expected=("ERR_CONNECTION_REFUSED",))
        seen.open("/")
        seen.page.get_by_role("link", name="before").wait_for()
    banner = seen.page.get_by_role("alert")
    banner.get_by_text("does not answer").wait_for()
    assert seen.page.get_by_role("link", name="before").count() == 1  # what was there stays
    with running_site(port=port) as second:
        second.add_study("after")
        banner.get_by_role("button", name="Try now").click()
        seen.page.get_by_role("link", name="after").wait_for()
        banner.wait_for(state="hidden")


def test_everything_is_reached_by_keyboard(shown_site: Site, visit: Opener):
    seen = visit(shown_site)
    page = seen.page
    seen.open("/")
    page.get_by_role("link", name="1 objectives").wait_for()
    page.keyboard.press("Tab")

    def walk_to(is_there: str) -> None:
        for _ in range(80):
            # A key acts when the page gets to it.
            seen.wait_for("() => document.activeElement !== document.body")
            focus = page.evaluate(
                f"""() => {{
                  const node = document.activeElement;
                  const style = getComputedStyle(node);
                  const isLined = style.outlineStyle !== "none" || style.boxShadow !== "none";
                  const isMarked = isLined || style.strokeWidth === "3px";
                  return {{ isThere: ({is_there})(node), isMarked, name: node.outerHTML.slice(0, 80) }};
                }}"""
            )
            assert focus["isMarked"] or focus["name"].startswith("<main"), focus["name"]
            if focus["isThere"]:
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"never reached: {is_there}")

    walk_to("(node) => node.textContent === '1 objectives'")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="1 objectives").wait_for()
    page.locator(".chart").first.wait_for()  # before that, the page may replace what has the focus
    page.keyboard.press("Tab")
    walk_to("(node) => node.getAttribute('role') === 'tab'")
    page.keyboard.press("Tab")
    walk_to("(node) => node.classList.contains('chart')")
    page.keyboard.press("ArrowRight")
    page.locator(".tip").get_by_text("trial 0").wait_for()
    page.get_by_role("tab", name="Overview").focus()
    for name in ("Trials", "Parallel"):
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("tab", name=name).get_attribute("aria-selected") == "true"
    page.get_by_text("12 of 12 completed trials fit").wait_for()
    walk_to("(node) => node.getAttribute('aria-label') === 'layers, lower end'")
    for _ in range(40):
        page.keyboard.press("ArrowUp")
    seen.wait_for("() => !document.querySelector('#panel').textContent.includes('12 of 12')")
    page.keyboard.press("Escape")
    page.get_by_text("12 of 12 completed trials fit").wait_for()

    page.get_by_role("button", name="Attach a worker").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    assert page.evaluate("() => document.activeElement.textContent") == "Attach a worker"
    for end in ("?tab=trials", "/studies/2", "/"):
        page.go_back()
        page.wait_for_url(f"**{end}")
    page.get_by_role("heading", name="Studies").wait_for()


def test_two_studies_are_compared(shown_site: Site, visit: Opener):
    seen = visit(shown_site)
    page = seen.page
    seen.open("/")
    for name in ("1 objectives", "2 objectives"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare?ids=2,3")
    page.get_by_role("heading", name="Side by side").wait_for()
    assert page.locator(".chart path.line").count() == 2
    page.get_by_label("Second study").fill("3 objectives")
    page.wait_for_url("**/compare?ids=2%2C4")
    page.get_by_role("region", name="Side by side").get_by_text("3 objectives").wait_for()


def test_the_cloud_turns(shown_site: Site, visit: Opener):
    seen = visit(shown_site)
    page = seen.page
    seen.open("/studies/4?tab=pareto")
    canvas = page.locator(".cloud canvas")
    canvas.wait_for()
    picture = "() => document.querySelector('.cloud canvas').toDataURL()"
    before = page.evaluate(picture)
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    turned = page.evaluate(picture)
    assert turned != before
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 220, steps=4)
    page.mouse.up()
    assert page.evaluate(picture) not in (before, turned)


def test_the_rules_of_the_pages_are_those_of_the_library(shown_site: Site, visit: Opener):
    """Best trials and scales are computed in the browser as well: the same answers, or people would wonder."""
    seen = visit(shown_site)
    seen.open("/")
    for record in shown_site.storage.list_studies():
        trials = shown_site.storage.get_trials(record.id)
        found = seen.page.evaluate(
            """async ([problem, trials]) => {
              const { bestTrials } = await import("/static/goals.js");
              return bestTrials(problem, trials).map((trial) => trial.number);
            }""",
            [record.problem.to_dict(), [trial.to_dict() for trial in trials]],
        )
        assert found == [trial.number for trial in best_trials(record.problem, trials)]
    parameters = {
        **SPACE,
        "late": ph.Float(0.1, 0.99, scale="reverse_log"),
        "mixed": ph.Categorical([1, "1", True]),
    }
    stored = ph.Problem.define(parameters).to_dict()["space"]["parameters"]
    for entry in stored:
        axis = ParameterAxis(entry["name"], parameters[entry["name"]])
        values = axis.grid(7)
        places = seen.page.evaluate(
            """async ([parameter, values]) => {
              const { parameterAxis } = await import("/static/space.js");
              return values.map(parameterAxis(parameter).place);
            }""",
            [entry, values],
        )
        assert places == pytest.approx(axis.unit(values), abs=1e-9)


def test_pages_follow_what_happens_elsewhere(shown_site: Site, visit: Opener):
    """A study that is deleted by somebody else says so instead of growing old."""
    study_id = shown_site.add_study("short-lived")
    seen = visit(shown_site, expected=("404",))
    seen.open(f"/studies/{study_id}")
    seen.page.get_by_role("heading", name="short-lived").wait_for()
    shown_site.storage.delete_study(study_id)
    seen.page.get_by_role("heading", name="There is no such study").wait_for()
