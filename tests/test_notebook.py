"""Cards in a real notebook, run by a real kernel, and looked at in a real browser, on light and on dark."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import open_browser

EXAMPLE = Path(__file__).parents[1] / "examples/notebook.ipynb"
CELLS = [
    """
import photinus as ph
space = {"lr": ph.Float(1e-5, 1e-1, scale="log"), "layers": ph.Int(1, 8), "opt": ph.Categorical(["adam", "sgd"])}
study = ph.create_study(space, {"error": "minimize"}, name="<b>net</b>", algorithm="random", seed=0)
for trial in study.ask(30, worker="ann"):
    study.tell(trial, trial.params["lr"] * trial.params["layers"])
[lost] = study.ask()
_ = study.tell(lost, failed="power cut")
""",
    "study",
    "study.trials",
    "study.best_trial",
    "study.problem",
    "study.problem.space",
    "import sys; print('jax' in sys.modules)",
]
# The rules of a notebook's page that meet a card, and its colours.
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 16px; font: 13px sans-serif; color: {ink}; background: {paper} }}
.output table {{ margin: 0 auto 1em; border: none; font-size: 12px; table-layout: fixed }}
.output td, .output th {{ text-align: right; padding: .5em; max-width: none }}
.output tbody tr:nth-child(odd) {{ background: {stripe} }}
</style><div class="output">{content}</div>"""
LIGHT = {"ink": "rgb(33, 33, 33)", "paper": "rgb(255, 255, 255)", "stripe": "rgb(245, 245, 245)"}
DARK = {"ink": "rgb(238, 238, 238)", "paper": "rgb(17, 17, 17)", "stripe": "rgb(30, 30, 30)"}


def run(notebook: Any, folder: Path) -> list[Any]:
    """What each cell of code shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that only these tests use
        from nbclient import NotebookClient

        where = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    return [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    return run(notebook, tmp_path_factory.mktemp("notebook"))


@pytest.mark.long
def test_the_example_runs(tmp_path: Path):
    import nbformat

    empty, best, latest, advice = run(nbformat.read(EXAMPLE, as_version=4), tmp_path)
    assert "Study bread" in empty[-1]["data"]["text/html"]
    assert "Trial " in best[-1]["data"]["text/html"]
    assert "5 trials" in latest[-1]["data"]["text/html"]
    assert "the model expects to gain" in advice[-1]["data"]["text/plain"]


def test_a_notebook_shows_cards(outputs: list[Any]):
    assert outputs[0] == []
    for [shown], title in zip(
        outputs[1:-1], ("Study &lt;b&gt;net", "31 trials", "Trial ", "Problem", "Search space"), strict=True
    ):
        assert title in shown["data"]["text/html"]
        assert shown["data"]["text/markdown"].startswith("**")
        assert shown["data"]["text/plain"]
    [printed] = outputs[-1]
    assert printed["text"] == "False\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.mark.long
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1000, 380])
def test_cards_are_readable_in_a_browser(
    outputs: list[Any], browser: Any, tmp_path: Path, colours: dict[str, str], width: int
):
    content = "".join(f"<div>{shown['data']['text/html']}</div>" for [shown] in outputs[1:-1])
    file = tmp_path / "page.html"
    file.write_text(PAGE.format(content=content, **colours), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 1400})
    try:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        assert requests == [file.as_uri()], "a card fetches nothing"
        assert page.locator("b, script").count() == 0
        cards = page.locator("div.mathjax_ignore")
        assert cards.count() == 5
        for card in cards.all():
            box = card.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width, "a wide table scrolls inside its card"
        cell = page.locator("td", has_text="power cut").first
        assert cell.evaluate("e => getComputedStyle(e).color") == colours["ink"]
        assert cell.evaluate("e => getComputedStyle(e).textAlign") == "left"
        page.screenshot(path=tmp_path / "page.png", full_page=True)
    finally:
        page.close()
