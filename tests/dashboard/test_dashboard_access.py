"""Who may see the pages, and what people with bad intentions can do to them."""

from collections.abc import Callable

import pytest
from sites import HOSTILE, Site, Visit

import photinus as ph

Opener = Callable[..., Visit]


def test_a_token_opens_the_pages_and_a_wrong_one_does_not(guarded_site: Site, visit: Opener):
    study_id = guarded_site.add_study("secret work")
    token = guarded_site.token("read")
    seen = visit(guarded_site, expected=("401",))
    page = seen.page
    seen.open(f"/studies/{study_id}")
    page.wait_for_url("**/login?next=*")
    assert "secret work" not in page.content()
    field = page.get_by_label("Token")
    field.fill(token[:-4] + "AAAA")
    page.get_by_role("button", name="Log in").click()
    page.locator(".error:visible").wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    assert "not valid here" in page.locator(".error:visible").inner_text()
    assert "header" not in page.locator(".error:visible").inner_text()
    field.fill(token)
    field.press("Enter")
    page.wait_for_url(f"**/studies/{study_id}")
    page.get_by_role("heading", name="secret work").wait_for()
    # Whoever may only read is offered nothing that would be refused.
    for name in ("Add a trial", "Stop", "Attach a worker"):
        assert page.get_by_role("button", name=name).count() == 0
    seen.open("/new")
    page.get_by_role("heading", name="may only look").wait_for()
    seen.open(f"/studies/{study_id}")
    page.get_by_role("heading", name="secret work").wait_for()
    assert token not in page.evaluate(
        "document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })"
    )

    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")
    seen.open(f"/studies/{study_id}")
    page.wait_for_url("**/login?next=*")


@pytest.mark.parametrize(
    "next_page", ["https://example.org/", "//example.org/", "/\\example.org", "javascript:1"]
)
def test_the_login_never_leads_elsewhere(next_page: str, guarded_site: Site, visit: Opener):
    token = guarded_site.token("admin")
    seen = visit(guarded_site, expected=("401",))
    page = seen.page
    seen.open("/login")
    page.evaluate(
        "next => history.replaceState(null, '', '/login?next=' + encodeURIComponent(next))", next_page
    )
    page.reload()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Studies").or_(page.get_by_text("no such page")).first.wait_for()
    assert page.url.startswith(guarded_site.url)


def test_a_hostile_name_is_text_everywhere(site: Site, visit: Opener):
    space = {HOSTILE: ph.Float(0, 1), "choice": ph.Categorical([HOSTILE, "<b>", "1", 1, ""])}
    study_id = site.add_study(HOSTILE, {HOSTILE: "minimize"}, space, metadata={HOSTILE: HOSTILE})
    with site.connect() as server:
        study = server.load_study(HOSTILE)
        for trial in study.ask(5, worker=HOSTILE):
            study.tell(trial, trial.params[HOSTILE])
        for trial in study.ask(1, worker=HOSTILE):
            study.tell(trial, infeasible=HOSTILE)
    seen = visit(site)
    page = seen.page
    tabs = ["overview", "trials", "parallel", "slices"]
    paths = [
        "/",
        f"/compare?ids={study_id},{study_id}",
        f"/studies/{study_id}/trials/0",
        f"/studies/{study_id}/trials/5",
    ]
    for path in [*paths, *(f"/studies/{study_id}?tab={tab}" for tab in tabs)]:
        seen.open(path)
        seen.wait_for("name => document.querySelector('main').textContent.includes(name)", HOSTILE)
        # Nothing of it became an element, and what turns writing around stays inside its own element.
        assert page.locator("main script, main b:text-is('bold'), main a[href='x']").count() == 0, path
        assert page.locator("bdi", has_text="alert").count() > 0, path
    seen.open(f"/studies/{study_id}")
    page.get_by_role("button", name="Attach a worker").click()
    assert HOSTILE.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c").replace("\u200f", "\\u200f") in (
        page.get_by_role("dialog").inner_text()
    )
