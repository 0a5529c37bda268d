"""The demo runs for real, only shorter."""

import math
import re
import sys
from pathlib import Path

import pytest

import photinus as ph
from photinus import demo


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "new-folder" / "demo.html"


@pytest.fixture(scope="module")
def study(page: Path) -> ph.Study:
    return demo.main(num_trials=4, num_jobs=1, output=page)


def test_every_trial_is_measured_and_the_model_takes_part(study: ph.Study):
    assert [trial.state for trial in study.trials] == [ph.TrialState.COMPLETED] * 4
    assert all("predicted" in trial.reason for trial in study.trials[1:])


def test_the_page_needs_no_network(study: ph.Study, page: Path):
    html = page.read_text()
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", html)
    assert html.count('class="plot"') >= 4
    assert "plotly.js v" in html  # the library itself, not a reference to it


def test_the_page_tells_about_the_best_trial(study: ph.Study, page: Path):
    best = study.best_trial
    html = page.read_text()
    assert f"measured in trial {best.number}" in html
    assert f"to {best.values['error']:.2%}. Of the images that tuning never saw" in html


def test_tables_fit_a_small_terminal(study: ph.Study):
    console = demo.Console(width=80)
    scores = {"scikit-learn's defaults": (0.0624, 0.0467), "Photinus, trial 123": (0.0223, 0.02)}
    with console.capture() as capture:
        console.print(demo._best_trials(study), demo._comparison(scores))
    assert "…" not in capture.get()
    assert "6.24%" in capture.get()
    assert all(name in capture.get() for name in demo.SPACE)


def test_training_that_diverges_is_nan():
    trial = ph.Trial(number=0, params={**demo.SKLEARN_DEFAULT, "lr": 1e300}, state=ph.TrialState.ACTIVE)
    assert math.isnan(demo.cross_validate(trial))


def test_other_errors_are_not_hidden():
    trial = ph.Trial(number=0, params={**demo.SKLEARN_DEFAULT, "units": -1}, state=ph.TrialState.ACTIVE)
    with pytest.raises(ValueError, match="hidden_layer_sizes"):
        demo.cross_validate(trial)


@pytest.mark.parametrize("package", ["sklearn", "plotly"])
def test_a_missing_package_is_named_with_the_remedy(package: str, monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit, match=rf'{package}.*pip install "photinus\[demo\]"'):
        demo.main(num_trials=1)
