"""What people do with the pages, in a real browser against a real server."""

import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sites import PATIENCE_S, Site, Visit, wait_until

import photinus as ph

Opener = Callable[..., Visit]


def value(params: dict[str, Any]) -> float:
    return 0.1 + 0.05 * (math.log10(params["lr"]) + 2.5) ** 2 + 0.02 * abs(params["layers"] - 4)


def with_trials(site: Site, name: str = "net", count: int = 24) -> int:
    """A study whose trials were asked for and told over HTTP."""
    study_id = site.add_study(name)
    with site.connect() as server:
        study = server.load_study(name)
        for i in range(count):
            [trial] = study.ask(worker=f"gpu-{i % 2}")
            study.tell(trial, value(trial.params))
    return study_id


def test_a_study_is_created_by_form_and_fills_while_workers_run(site: Site, visit: Opener):
    seen = visit(site)
    page = seen.page
    seen.open("/new")
    form = page.locator("form.create")
    first = form.get_by_role("group", name="Parameter").first
    first.get_by_label("Name").fill("lr")
    first.get_by_label("Low").fill("1e-5")
    first.get_by_label("High").fill("0.1")
    first.get_by_label("Scale").select_option("log")
    for name, kind, values in (("layers", "int", ("1", "8")), ("batch", "discrete", "16, 32, 64")):
        page.get_by_role("button", name="Add a parameter").click()
        row = form.get_by_role("group", name="Parameter").last
        row.get_by_label("Name").fill(name)
        row.get_by_label("Type").select_option(kind)
        if isinstance(values, str):
            row.get_by_label("Values").fill(values)
        else:
            row.get_by_label("Low").fill(values[0])
            row.get_by_label("High").fill(values[1])
    page.get_by_role("button", name="Add a parameter").click()
    row = form.get_by_role("group", name="Parameter").last
    row.get_by_label("Name").fill("opt")
    row.get_by_label("Type").select_option("categorical")
    row.get_by_label("Values").fill('adam, None, true, 2, "2", "a, b"')
    form.get_by_role("group", name="Objective").get_by_label("Name").fill("error")
    page.get_by_role("textbox", name="Name").last.fill("by form")
    page.get_by_label("Algorithm").select_option("random")
    page.get_by_label("Seed").fill("7")
    page.get_by_role("button", name="Create the study").click()
    page.wait_for_url("**/studies/*")

    record = next(iter(site.storage.list_studies()))
    assert (record.name, record.algorithm, record.seed) == ("by form", "random", 7)
    assert record.problem == ph.Problem.define(
        {
            "lr": ph.Float(1e-5, 0.1, scale="log"),
            "layers": ph.Int(1, 8),
            "batch": ph.Discrete([16, 32, 64]),
            "opt": ph.Categorical(["adam", None, True, 2, "2", "a, b"]),
        },
        {"error": "minimize"},
    )

    page.get_by_text("No trial yet").wait_for()
    page.evaluate("window.wasNeverReloaded = true")
    workers = [threading.Thread(target=_work, args=(site, "by form", f"worker {i}", 6)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seen.wait_for("() => document.querySelectorAll('.tile strong')[1]?.textContent === '12'")
    best = min(trial.values["error"] for trial in site.storage.get_trials(record.id) if trial.values)
    shown = float(page.locator(".tile strong span").first.get_attribute("title"))
    assert shown == best
    assert page.locator(".chart .dot").count() > 0
    assert page.evaluate("window.wasNeverReloaded")


def _work(site: Site, name: str, worker: str, count: int) -> None:
    with site.connect() as server:
        study = server.load_study(name)
        for _ in range(count):
            [trial] = study.ask(worker=worker)
            study.tell(trial, value(trial.params))


def test_refusals_of_the_server_stand_at_the_field(site: Site, visit: Opener):
    site.add_study("taken")
    seen = visit(site, expected=("409", "422"))
    page = seen.page
    seen.open("/new")
    row = page.get_by_role("group", name="Parameter")
    row.get_by_label("Name").fill("x")
    row.get_by_label("Low").fill("5")
    row.get_by_label("High").fill("1")
    page.get_by_role("group", name="Objective").get_by_label("Name").fill("y")
    create = page.get_by_role("button", name="Create the study")
    create.click()
    error = row.locator(".error:visible")
    error.wait_for()
    assert "`low <= high` must hold" in error.inner_text()
    assert row.get_by_label("Low").get_attribute("aria-invalid") == "true"

    row.get_by_label("Low").fill("0")
    page.get_by_role("textbox", name="Name").last.fill("taken")
    create.click()
    error = page.locator(".error:visible")
    error.wait_for()
    assert "taken" in error.inner_text()
    assert page.get_by_role("textbox", name="Name").last.get_attribute("aria-invalid") == "true"
    page.get_by_label("Seed").fill("-1")
    create.click()
    seen.wait_for("() => document.querySelectorAll('.error:not([hidden])').length === 1")
    assert page.get_by_label("Seed").get_attribute("aria-invalid") == "true"
    assert len(site.storage.list_studies()) == 1


def test_a_brush_filters_the_table(site: Site, visit: Opener):
    study_id = with_trials(site)
    seen = visit(site)
    page = seen.page
    seen.open(f"/studies/{study_id}?tab=parallel")
    page.get_by_text("24 of 24 completed trials fit").wait_for()
    grip = page.get_by_role("slider", name="layers, lower end")
    top = page.get_by_role("slider", name="layers, upper end")
    axis, high = grip.bounding_box(), top.bounding_box()
    x = axis["x"] + axis["width"] / 2
    # The upper half of an axis of 1 to 8: five layers and more.
    page.mouse.move(x, (axis["y"] + high["y"]) / 2)
    page.mouse.down()
    page.mouse.move(x, high["y"] - 20, steps=5)
    page.mouse.up()
    trials = site.storage.get_trials(study_id)
    wanted = sorted(trial.number for trial in trials if trial.params["layers"] >= 5)
    assert 0 < len(wanted) < 24
    page.get_by_text(f"{len(wanted)} of 24 completed trials fit").wait_for()
    rows = page.locator("table.trials tbody tr[data-number]")
    assert sorted(int(row.get_attribute("data-number")) for row in rows.all()) == wanted

    page.get_by_role("tab", name="Trials").click()
    page.get_by_text(f"{len(wanted)} of 24 trials").wait_for()
    chip = page.locator(".chips .chip", has_text="layers")
    assert "layers 5 to 8" in " ".join(chip.inner_text().split())
    chip.click()
    page.get_by_text("24 trials", exact=True).wait_for()


@pytest.mark.long  # the model is compiled
def test_one_trial_says_what_happened_to_it(site: Site, visit: Opener):
    study_id = site.add_study("net", algorithm="default", space={"x": ph.Float(0, 1)})
    with site.connect() as server:
        study = server.load_study("net")
        for _ in range(4):
            [trial] = study.ask(worker="node-7")
            for step in range(5):
                trial.report(1.0 / (step + 1), step)
            study.tell(trial, (trial.params["x"] - 0.3) ** 2)
        last = study.trials[-1]
    seen = visit(site)
    page = seen.page
    seen.open(f"/studies/{study_id}?tab=trials")
    page.get_by_role("link", name="3", exact=True).click()
    page.wait_for_url(f"**/studies/{study_id}/trials/3")
    text = page.locator("main").inner_text
    page.get_by_role("heading", name="Why this point").wait_for()
    assert last.reason is not None
    assert last.reason["intent"] in text()
    for part in ("5 to 95 %", "median", "node-7", "Nearest trials", "On the way", "suggested"):
        assert part in text(), part
    nearest = last.reason["nearest"][0]["number"]
    assert page.get_by_role("link", name=f"trial {nearest}").count() == 1
    assert page.locator(".chart .dot").count() == 5

    page.get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").get_by_label("error").fill("0.5")
    page.get_by_role("dialog").get_by_role("button", name="Correct").click()
    page.get_by_text("corrected:").wait_for()
    [amendment] = site.storage.get_trial(study_id, 3).amendments
    assert amendment.new_values == {"error": 0.5}


def test_trials_are_added_by_hand_and_their_results_told(site: Site, visit: Opener):
    study_id = site.add_study("net")
    seen = visit(site, expected=("422",))
    page = seen.page
    seen.open(f"/studies/{study_id}")
    page.get_by_role("button", name="Add a trial").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("lr").fill("7")
    dialog.get_by_label("layers").fill("3")
    dialog.get_by_label("batch").fill("32")
    dialog.get_by_label("optimizer").select_option(label="None")
    dialog.get_by_role("button", name="Add").click()
    error = dialog.locator(".error:visible")
    error.wait_for()
    assert "'lr'" in error.inner_text()
    assert site.storage.get_trials(study_id) == []

    dialog.get_by_label("lr").fill("0.01")
    dialog.get_by_role("button", name="Add").click()
    page.get_by_text("is in the queue").wait_for()
    [trial] = site.storage.get_trials(study_id)
    assert trial.params == {"lr": 0.01, "layers": 3, "batch": 32, "optimizer": None}
    assert trial.state == "queued"

    page.get_by_role("button", name="Add a trial").click()
    for name, text in (("lr", "0.001"), ("layers", "4"), ("batch", "16")):
        dialog.get_by_label(name).fill(text)
    dialog.get_by_label("What to do with it").select_option("values")
    dialog.get_by_label("error").fill("0.25")
    dialog.get_by_role("button", name="Add").click()
    page.get_by_text("Trial 1 is added").wait_for()
    assert site.storage.get_trial(study_id, 1).values == {"error": 0.25}

    with site.connect() as server:
        server.load_study("net").ask(worker="by hand")
    seen.open(f"/studies/{study_id}/trials/0")
    page.get_by_role("button", name="Enter the result").click()
    dialog.get_by_label("Outcome").select_option("infeasible")
    dialog.get_by_label("Why").fill("it melted")
    dialog.get_by_role("button", name="Tell").click()
    page.get_by_text("it melted").first.wait_for()
    assert site.storage.get_trial(study_id, 0).message == "it melted"


def test_a_study_is_stopped_resumed_and_deleted(site: Site, visit: Opener):
    study_id = with_trials(site, count=2)
    seen = visit(site)
    page = seen.page
    seen.open(f"/studies/{study_id}")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Resume").wait_for()
    assert site.storage.get_study(study_id).state == "stopped"
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Stop").wait_for()
    assert site.storage.get_study(study_id).state == "active"
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="Delete for good")
    dialog.get_by_label("to confirm").fill("ne")
    assert confirm.is_disabled()
    dialog.get_by_label("to confirm").fill("net")
    confirm.click()
    page.get_by_text("No study yet").wait_for()
    assert site.storage.list_studies() == []


def test_a_page_that_was_left_asks_no_more(site: Site, visit: Opener):
    study_id = with_trials(site, count=2)
    seen = visit(site)
    page = seen.page
    seen.open(f"/studies/{study_id}?tab=trials")
    page.get_by_role("link", name="1", exact=True).click()
    page.get_by_role("heading", name="Trial 1").wait_for()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Studies").click()
    page.get_by_role("link", name="net").wait_for()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(site.url)))
    # The list goes on asking: when it has done so three times, the pages before it would have had their turns.
    wait_until(
        lambda: page.wait_for_timeout(100) or sum("/studies?" in url for url in asked) > 2, "the list asks"
    )
    assert [url for url in asked if f"/studies/{study_id}/" in url and "limit=" not in url] == []

    page.get_by_role("link", name="net").click()
    page.get_by_role("tab", name="Slices").click()
    page.get_by_role("tab", name="Trials").click()
    page.go_back()
    page.get_by_role("tab", name="Slices", selected=True).wait_for()


def test_the_snippet_attaches_a_worker(site: Site, visit: Opener):
    name = 'odd "name" \u202e of \\ mine'
    study_id = site.add_study(name, space={"x": ph.Float(0, 1)})
    seen = visit(site)
    page = seen.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.url)
    seen.open(f"/studies/{study_id}")
    page.get_by_role("button", name="Attach a worker").click()
    page.get_by_role("button", name="Copy the Python code").click()
    page.get_by_text("Copied").wait_for()
    code = page.evaluate("navigator.clipboard.readText()")
    assert "\u202e" not in code
    code = code.replace("...", "0.5").replace("n_trials=100", "n_trials=2")
    exec(compile(code, "snippet", "exec"), {"__name__": "__main__", "print": lambda *_: None})
    assert [trial.values for trial in site.storage.get_trials(study_id)] == [{"error": 0.5}] * 2


@pytest.mark.long
def test_the_command_of_the_snippet_runs(site: Site, visit: Opener, tmp_path: Path):
    space = {"learning rate": ph.Float(1e-5, 0.1, scale="log"), "kind": ph.Categorical(["a b", "c'd", True])}
    study_id = site.add_study("it's mine", {"error": "minimize", "cost": "maximize"}, space)
    seen = visit(site)
    seen.open(f"/studies/{study_id}")
    seen.page.get_by_role("button", name="Attach a worker").click()
    boxes = seen.page.get_by_role("dialog").locator("pre code")
    command, file = boxes.nth(1).inner_text(), boxes.nth(2).inner_text()
    (tmp_path / "space.toml").write_text(file, encoding="utf-8")
    program = 'import sys\nassert len(sys.argv) == 3, sys.argv\nprint(\'{"error": 0.5, "cost": 2}\')\n'
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command.replace("--trials 100", "--trials 2")],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [trial.values for trial in site.storage.get_trials(study_id)] == [{"error": 0.5, "cost": 2.0}] * 2
