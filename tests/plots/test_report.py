"""The page about a study: what it says, and that nothing a user wrote can harm it."""

import base64
import hashlib
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from pictured import HOSTILE, KINDS, LARGE_KINDS, every_state, hostile_names, mixed, two_objectives
from plotly.offline import get_plotlyjs

import photinus as ph
from photinus.errors import ArgumentError, MissingDependency
from photinus.plots.sensitivity import sensitivities
from photinus.report import write_report
from photinus.report.habits import find_habits, pace
from photinus.report.moment import Moment
from photinus.report.page import make_page
from photinus.report.prospects import find_prospects
from photinus.report.sections import tiles

MEGABYTE = 1_000_000


class Reader(HTMLParser):
    """Elements, attributes and text of a page, as a browser would take them apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        (self.scripts if self.tags[-1:] == ["script"] else self.texts).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def study() -> ph.Study:
    return mixed()


@pytest.fixture(scope="module")
def page(study: ph.Study) -> str:
    return make_page(study)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_study_has_a_page(kind: str):
    study = KINDS[kind]()
    read = Reader(make_page(study))
    assert read.tags.count("h1") == 1
    assert f"{len(study.trials):,} trial" in read.text
    has_model = sum(t.state == "completed" for t in study.trials) >= 3
    assert ("The model is worth asking after 3 completed trials" in read.text) != has_model
    assert ("Where the best probably is" in read.text) == (has_model and kind != "single_valued")


def test_the_page_tells_the_best_and_what_the_model_believes(study: ph.Study, page: str):
    text = Reader(page).text
    best = study.best_trial
    [prospect] = find_prospects(Moment(study))
    assert f"measured in trial {best.number}" in text
    assert f"best error {best.values['error']:.4g}" in text
    assert f"likely best error {prospect.likely['q50']:.4g}" in text
    assert f"expected gain of one more trial {prospect.expected_gain:.4g}" in text
    assert f"± {prospect.noise['best']:.4g}" in text
    assert "algorithm quasi_random, seed 3" in text
    assert "a quasi-random point, to cover the space" in text


def test_several_objectives_have_a_table_and_a_part_each():
    study = two_objectives()
    text = Reader(make_page(study)).text
    assert "What the model believes about error" in text
    assert "What the model believes about speed" in text
    assert "Trials that no other one beats" in text


def test_text_of_users_is_never_markup():
    study = hostile_names()
    read = Reader(make_page(study))
    assert read.tags.count("script") == 4  # two of data, Plotly and the page's own
    assert not [tag for tag in read.tags if tag in ("a", "img", "iframe", "link", "object", "form")]
    assert not [name for _, name, _ in read.attributes if name.startswith("on") or name in ("href", "src")]
    assert HOSTILE in " ".join(read.texts)
    figures = read.scripts[0]
    assert "<" not in figures


def test_only_the_pages_own_scripts_may_run(page: str):
    read = Reader(page)
    [policy] = [
        v for tag, name, v in read.attributes if tag == "meta" and name == "content" and "script-src" in v
    ]
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert policy.startswith("default-src 'none'; ")
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert "unsafe-eval" not in policy
    assert "\r" not in page  # a browser would hash a newline instead


def test_the_page_names_no_other_place(page: str):
    own = page.replace(get_plotlyjs(), "")
    assert len(own) < len(page) / 4
    assert not re.search(r"https?://|url\(|@import", own)


def test_the_likely_best_point_is_near_the_true_one():
    study = ph.create_study(
        {"x": ph.Float(0, 1), "n": ph.Int(1, 9), "c": ph.Categorical(["a", "b"])},
        algorithm="quasi_random",
        seed=0,
    )
    for trial in study.ask(48):
        p = trial.params
        study.tell(trial, (p["x"] - 0.3) ** 2 + 0.02 * (p["n"] - 6) ** 2 + 0.3 * (p["c"] == "a"))
    [prospect] = find_prospects(Moment(study))
    assert study.problem.space.validate(prospect.likely_params) == prospect.likely_params
    assert prospect.likely_params["x"] == pytest.approx(0.3, abs=0.1)
    assert prospect.likely_params["n"] in (5, 6, 7)
    assert prospect.likely_params["c"] == "b"
    assert prospect.likely["q05"] < prospect.likely["q50"] < prospect.likely["q95"]
    candidates = study.predict([t.params for t in study.trials])
    assert prospect.likely["q50"] <= min(row["value"]["q50"] for row in candidates)


def test_the_expected_gain_is_the_mean_of_improvements():
    study = mixed(goals={"score": "maximize"})
    [prospect] = find_prospects(Moment(study))
    described = study.describe_model()
    [row] = study.predict([prospect.promising_params])
    mean, deviation = row["score"]["mean_warped"], row["score"]["std_warped"]
    latent = np.sqrt(deviation**2 - described["noise_variance"])
    scale = described["objectives"]["score"]["scale"]
    z = mean + latent * np.random.default_rng(0).normal(size=400_000)
    gains = np.maximum(np.interp(z, scale["model"], scale["values"]) - study.best_trial.values["score"], 0.0)
    assert prospect.expected_gain == pytest.approx(gains.mean(), rel=0.05)
    assert prospect.chance == pytest.approx((gains > 0).mean(), abs=0.02)
    assert prospect.expected_gain > 0


def test_parameters_are_described_by_what_they_do():
    study = ph.create_study(
        {
            "up": ph.Float(0, 1),
            "mid": ph.Float(0, 1),
            "idle": ph.Float(0, 1),
            "c": ph.Categorical(["a", "b"]),
        },
        algorithm="quasi_random",
        objectives="maximize",
        seed=0,
    )
    for trial in study.ask(60):
        p = trial.params
        study.tell(trial, p["up"] - 4 * (p["mid"] - 0.5) ** 2 + 0.5 * (p["c"] == "b"))
    moment = Moment(study)
    [prospect] = find_prospects(moment)
    scales = study.describe_model()["length_scales"]
    habits = {h.name: h for h in find_habits(moment, prospect, sensitivities(moment)["value"], scales)}
    assert habits["up"].behaviour == "better towards large values"
    assert re.fullmatch(r"best near 0\.[45]\d*", habits["mid"].behaviour)
    low, high = (float(v) for v in habits["mid"].good.split(" to "))
    assert low < 0.5 < high
    assert habits["c"].behaviour.startswith("best b, ahead of a by 0.")
    assert habits["c"].good == "b"
    assert (habits["idle"].behaviour, habits["idle"].good) == ("no effect that the model can see", "any")


def test_paces_follow_the_length_scale():
    assert [pace(v) for v in (0.1, 0.5, 1.5, 9.0)] == [
        "changes within a small part of the range",
        "changes across the range",
        "changes slowly",
        "nearly flat",
    ]


def test_a_study_that_goes_on_is_drawn_as_it_was():
    study = every_state()
    moment = Moment(study)
    study.add_trial(study.best_trial.params, 0.0)
    assert len(moment.trials) == len(study.trials) - 1
    assert "best error 0 measured" not in Reader(str(tiles(moment, find_prospects(moment)))).text


def test_folders_are_made_and_an_older_page_is_replaced(study: ph.Study, tmp_path: Path):
    path = tmp_path / "new" / "page.html"
    assert write_report(study, path, title="<One>", introduction="A & B") == path
    assert "<h1>&lt;One&gt;</h1>" in path.read_text(encoding="utf-8")
    assert "<p>A &amp; B</p>" in path.read_text(encoding="utf-8")
    assert write_report(study, str(path)) == path
    assert f"<h1>{study.name}</h1>" in path.read_text(encoding="utf-8")
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_a_folder_is_no_page(study: ph.Study, tmp_path: Path):
    with pytest.raises(ArgumentError, match=r"must name a file, but .* is a folder: try .*report\.html"):
        write_report(study, tmp_path)


def test_a_page_that_cannot_be_written_leaves_the_old_one(
    study: ph.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "page.html"
    path.write_text("old")

    def refuse(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_report(study, path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_without_plotly_the_remedy_is_named(study: ph.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingDependency, match=r'pip install "photinus\[plots\]"'):
        write_report(study, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_pictures_of_trials_do_without_jax_and_the_import_without_plotly():
    program = """
import sys, photinus as ph, photinus.report, photinus.plots
assert "plotly" not in sys.modules
study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=0)
study.add_trial({"x": 0.5}, 1.0)
for picture in (study.plot.history, study.plot.slice, study.plot.parallel, study.plot.timeline):
    picture()
assert "jax" not in sys.modules
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


@pytest.mark.long
@pytest.mark.parametrize("kind", LARGE_KINDS)
def test_a_large_study_has_a_light_page(kind: str):
    page = make_page(LARGE_KINDS[kind]())
    assert len(page.encode()) - len(get_plotlyjs().encode()) < 8 * MEGABYTE
    if kind == "ten_thousand_trials":
        assert "of 9,817 trials are drawn" in page
        assert "The model is fitted to 384 of 10,000 trials" in page
