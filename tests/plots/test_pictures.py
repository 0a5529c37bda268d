"""What is in the pictures, number by number."""

import itertools
import json
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictured import HOSTILE, KINDS, MIXED, Drawing, every_state, mixed, two_objectives

import photinus as ph
from photinus.errors import ArgumentError, MissingDependency, ParameterError
from photinus.plots.axes import ParameterAxis
from photinus.plots.drawn import draw
from photinus.plots.theme import number, words

PICTURES = ("history", "parallel", "slice", "contour", "importance", "timeline", "model", "calibration")


@pytest.fixture(scope="module")
def study() -> ph.Study:
    return mixed()


def trace(figure: go.Figure, name: str) -> go.Scatter:
    [found] = [t for t in figure.data if t.name == name]
    return found


@pytest.mark.parametrize("goal", ["minimize", "maximize"])
def test_the_line_of_the_history_is_the_running_best(goal: str):
    study = ph.create_study({"x": ph.Float(0, 1)}, objectives=goal, algorithm="random", seed=0)
    values = np.random.default_rng(0).normal(size=40)
    for value in values:
        study.add_trial({"x": 0.5}, float(value))
    figure = study.plot.history()
    line, dots = trace(figure, "best so far"), trace(figure, "trials")
    running = (np.minimum if goal == "minimize" else np.maximum).accumulate(values)
    at = [line.y[max(i for i, x in enumerate(line.x) if x <= number)] for number in range(40)]
    assert line.line.shape == "hv"
    np.testing.assert_array_equal(at, running)
    np.testing.assert_array_equal(dots.y, values)
    assert line.x[-1] == 39


def test_trials_without_a_value_stand_on_the_edge_of_the_history():
    figure = every_state().plot.history()
    for state in ("infeasible", "failed"):
        marks = trace(figure, state)
        assert list(marks.x) == [t.number for t in every_state().trials if t.state == state]
        assert figure.layout[marks.yaxis.replace("y", "yaxis")].range == (0, 1)


def test_every_objective_has_its_row_in_the_history():
    study = two_objectives()
    figure = study.plot.history()
    assert [figure.layout.yaxis.title.text, figure.layout.yaxis2.title.text] == ["error", "speed"]
    assert study.plot.history("speed").layout.yaxis.title.text == "speed"


def test_values_far_apart_are_drawn_on_a_logarithmic_axis():
    study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=0)
    for value in (1.0, 1e4, 10.0):
        study.add_trial({"x": 0.5}, value)
    assert study.plot.history().layout.yaxis.type == "log"
    assert study.plot.history(log_scale=False).layout.yaxis.type == "linear"
    study.add_trial({"x": 0.5}, -1.0)
    assert study.plot.history().layout.yaxis.type == "linear"
    with pytest.raises(
        ArgumentError, match=r"needs positive values, but 'value' goes down to -1.0: leave it out"
    ):
        study.plot.history(log_scale=True)


def test_slices_show_every_trial_against_every_parameter(study: ph.Study):
    figure = study.plot.slice()
    names = [name for name in MIXED if name != "fixed"]
    dots, stars = figure.data[0::2], figure.data[1::2]
    assert len(dots) == len(names)
    for name, panel, star in zip(names, dots, stars, strict=True):
        axis = ParameterAxis(name, MIXED[name])
        assert list(panel.x) == axis.place([t.params[name] for t in study.trials])
        assert list(panel.y) == [t.values["error"] for t in study.trials]
        assert list(star.y) == [study.best_trial.values["error"]]
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.xaxis4.categoryarray == ("adam", "sgd", "None")
    assert study.plot.slice(params=["fixed"]).data[0].x == (2.0,) * 12


def test_lines_of_the_parallel_picture_pass_through_the_parameters(study: ph.Study):
    figure = study.plot.parallel(params=["lr", "optimizer"])
    ranked = sorted(study.trials, key=lambda t: t.values["error"])
    best = trace(figure, "best tenth")
    expected = ParameterAxis("lr", MIXED["lr"]).unit([ranked[0].params["lr"]])[0]
    assert best.y[0] == pytest.approx(expected, abs=1e-4)
    assert best.y[2] == 0.0  # the smallest value of all
    sizes = [
        sum(y is None for y in trace(figure, name).y) for name in ("best tenth", "next quarter", "next third")
    ]
    assert sizes == [2, 3, 3]
    assert figure.layout.xaxis.ticktext == ("lr", "optimizer", "<b>error</b>")


def test_a_contour_shows_the_predicted_medians(study: ph.Study):
    figure = study.plot.contour(params=["lr", "layers"], at={"optimizer": "sgd"})
    surface = figure.data[0]
    at = {**study.best_trial.params, "optimizer": "sgd"}
    lr, layers = surface.x[7], surface.y[2]
    [row] = study.predict([{**at, "lr": lr, "layers": layers}])
    assert surface.z[2][7] == pytest.approx(row["error"]["q50"], rel=1e-9)
    assert list(surface.y) == list(range(1, 9))
    assert surface.x[0] == pytest.approx(1e-5) and surface.x[-1] == pytest.approx(1e-1)
    assert list(trace(figure, "best").x) == [study.best_trial.params["lr"]]


def test_a_contour_chooses_the_two_sharpest_parameters(study: ph.Study):
    scales = study.describe_model()["length_scales"]
    expected = sorted(scales, key=scales.__getitem__)[:2]
    layout = study.plot.contour().layout
    assert [layout.xaxis.title.text, layout.yaxis.title.text] == expected


def test_the_model_along_a_parameter_has_the_predicted_intervals(study: ph.Study):
    figure = study.plot.model(params="lr")
    middle, low, high = (trace(figure, name) for name in ("median, 5 to 95 %", "5 %", "95 %"))
    rows = study.predict([{**study.best_trial.params, "lr": lr} for lr in middle.x])
    for drawn, quantile in ((low, "q05"), (middle, "q50"), (high, "q95")):
        np.testing.assert_allclose(drawn.y, [row["error"][quantile] for row in rows], rtol=1e-9)
    assert np.all(np.array(low.y) < middle.y) and np.all(np.array(middle.y) < high.y)
    assert high.fill == "tonexty"
    assert figure.layout.xaxis.type == "log"


def test_the_model_along_choices_has_a_bar_at_each(study: ph.Study):
    bars = study.plot.model(params=["optimizer"], at={"layers": 4}).data[0]
    rows = study.predict(
        [{**study.best_trial.params, "layers": 4, "optimizer": o} for o in ("adam", "sgd", None)]
    )
    assert list(bars.x) == ["adam", "sgd", "None"]
    np.testing.assert_allclose(bars.y, [row["error"]["q50"] for row in rows])
    np.testing.assert_allclose(
        np.array(bars.y) + bars.error_y.array, [row["error"]["q95"] for row in rows], rtol=1e-9
    )


def test_the_model_over_two_parameters_has_a_panel_for_each_quantile(study: ph.Study):
    panels = study.plot.model(params=["lr", "batch"]).data
    assert len(panels) == 3
    assert np.all(panels[0].z < panels[1].z) and np.all(panels[1].z < panels[2].z)
    assert len({(panel.zmin, panel.zmax) for panel in panels}) == 1


def test_bright_points_of_the_pareto_picture_are_those_that_nobody_beats():
    study = two_objectives()
    figure = study.plot.pareto()
    costs = [(t.values["error"], -t.values["speed"]) for t in study.trials]
    front = {
        i
        for i, a in enumerate(costs)
        if not any(all(x <= y for x, y in zip(b, a, strict=True)) and b != a for b in costs)
    }
    bright, others = trace(figure, "Pareto set"), trace(figure, "other trials")
    assert sorted(zip(bright.x, bright.y, strict=True)) == sorted((costs[i][0], -costs[i][1]) for i in front)
    assert len(others.x) == 12 - len(front)
    assert list(bright.x) == sorted(bright.x)


def test_three_objectives_are_drawn_in_pairs():
    study = mixed(goals={"a": "minimize", "b": "maximize", "c": "minimize"})
    assert len(study.plot.pareto().data) == 2 * 3
    pair = study.plot.pareto(["c", "a"])
    assert len(pair.data) == 2
    assert (pair.layout.xaxis.title.text, pair.layout.yaxis.title.text) == ("c", "a")
    in_all_three = len(study.best_trials)
    assert len(trace(pair, "Pareto set").x) == in_all_three


def test_bars_of_the_timeline_are_as_long_as_the_trials():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    spans = [(0, 60, None), (30, 90, None), (61, 100, None), (0, 10, "w")]
    trials = [
        ph.Trial(
            number=i, params={"x": 0.5}, state=ph.TrialState.COMPLETED, values={"value": 1.0}, worker=worker,
            started_at=start + timedelta(seconds=a), completed_at=start + timedelta(seconds=b),
        )
        for i, (a, b, worker) in enumerate(spans)
    ]  # fmt: skip
    figure = ph.plots.StudyPlots(Drawing(ph.Problem.define({"x": ph.Float(0, 1)}), trials)).timeline()
    [bars] = figure.data
    assert list(bars.x) == [1000.0 * (b - a) for a, b, _ in spans]
    assert list(bars.base) == [t.started_at for t in trials]
    assert list(bars.y) == ["nameless 1", "nameless 2", "nameless 1", "w"]  # no two at once in a row


def test_workers_with_long_names_have_rows_of_their_own():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    workers = [f"a-rather-long-host-name:12345:0123abcd/{slot}" for slot in range(3)]
    workers += [f"{letter}{'-same-end' * 4}" for letter in "ab"]
    trials = [
        ph.Trial(
            number=i, params={"x": 0.5}, state=ph.TrialState.COMPLETED, values={"value": 1.0}, worker=worker,
            started_at=start, completed_at=start + timedelta(seconds=1),
        )
        for i, worker in enumerate(workers)
    ]  # fmt: skip
    figure = ph.plots.StudyPlots(Drawing(ph.Problem.define({"x": ph.Float(0, 1)}), trials)).timeline()
    [bars] = figure.data
    assert len(set(bars.y)) == len(workers)
    assert set(figure.layout.yaxis.categoryarray) == set(bars.y)


def test_calibration_counts_measurements_inside_their_interval():
    trials = [
        ph.Trial(
            number=i, params={"x": 0.5}, state=ph.TrialState.COMPLETED, values={"value": v},
            reason={"predicted": {"value": {"q05": 0.0, "q50": 1.0, "q95": 2.0}}},
        )
        for i, v in enumerate([1.0, 1.9, 2.1, 0.0])
    ]  # fmt: skip
    figure = ph.plots.StudyPlots(Drawing(ph.Problem.define({"x": ph.Float(0, 1)}), trials)).calibration()
    assert "3 of 4 measurements" in figure.layout.title.subtitle.text
    assert list(figure.data[1].y) == [1.0, 1.9, 2.1, 0.0]


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_study_can_be_drawn(kind: str, picture: str, made: dict[str, ph.Study]):
    if kind not in made:
        made[kind] = KINDS[kind]()
    study = made[kind]
    if picture == "contour" and kind == "single_valued":
        with pytest.raises(
            ArgumentError, match=r"needs two parameters that can vary, got \[\]; .*plot.model"
        ):
            study.plot.contour()
        return
    drawn = json.loads(getattr(study.plot, picture)().to_json())
    assert drawn["data"] or drawn["layout"]["annotations"][0]["text"]
    assert drawn["layout"]["title"]["text"]
    assert "<script" not in json.dumps(drawn).replace("\\u003c", "<")
    assert "<a href" not in json.dumps(drawn)


@pytest.fixture(scope="module")
def made() -> dict[str, ph.Study]:
    """Studies by kind, made once and only looked at."""
    return {}


def test_choices_that_read_alike_stay_apart():
    axis = ParameterAxis("c", ph.Categorical([1, "1", True, None, "None"]))
    assert axis.labels() == ["1", "'1'", "True", "None", "'None'"]
    assert axis.place(["1", 1, True]) == ["'1'", "1", "True"]


@given(st.integers(0, 60), st.integers(1, 40), st.sets(st.integers(0, 59)))
def test_thinning_keeps_what_must_stay_and_the_order(count: int, limit: int, keep: set[int]):
    trials = [ph.Trial(number=i, params={}, state=ph.TrialState.COMPLETED) for i in range(count)]
    drawn = draw(trials, limit, keep)
    numbers = [trial.number for trial in drawn.trials]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + drawn.num_hidden == count
    assert len(numbers) <= limit or count <= limit
    kept = keep & set(range(count))
    assert len(kept & set(numbers)) == min(len(kept), len(kept) if count <= limit else min(len(kept), limit))


def test_many_trials_are_thinned_and_the_figure_says_so():
    study = ph.create_study({"x": ph.Float(0, 1)}, algorithm="random", seed=0)
    for i, value in enumerate(np.random.default_rng(1).normal(size=2500)):
        study.add_trial({"x": i / 2500}, float(value))
    best = study.best_trial
    for picture in ("history", "slice", "parallel"):
        figure = getattr(study.plot, picture)()
        assert "of 2,500 trials are drawn" in figure.layout.title.subtitle.text
        assert len(figure.to_json()) < 600_000
    running = list(itertools.accumulate((t.values["value"] for t in study.trials), min))
    line = trace(study.plot.history(), "best so far")
    assert list(line.y[:-1]) == sorted(set(running), reverse=True)  # every improvement
    assert best.values["value"] in trace(study.plot.slice(), "best").y


def test_wrong_arguments_are_refused_with_the_remedy(study: ph.Study):
    plot = study.plot
    with pytest.raises(ArgumentError, match="`objective` must be one of 'error', got 'accuracy'"):
        plot.slice("accuracy")
    with pytest.raises(
        ArgumentError, match=r"`params` must be one or more different names of 'lr', .*got \['no'\]"
    ):
        plot.parallel(params=["no"])
    with pytest.raises(ArgumentError, match=r"`params` must be one or more different names"):
        plot.contour(params=["lr", "lr"])
    with pytest.raises(ArgumentError, match=r"needs two parameters that can vary, got \['lr'\]"):
        plot.contour(params=["lr"])
    with pytest.raises(
        ArgumentError, match=r"`params` must be one parameter or two, got \['lr', 'layers', 'batch'\]"
    ):
        plot.model(params=["lr", "layers", "batch"])
    with pytest.raises(ArgumentError, match="`at` must be a dict of parameter values by name, got 3"):
        plot.model(at=3)  # pyright: ignore
    with pytest.raises(ParameterError, match="unknown parameter 'no'"):
        plot.model(at={"no": 1})
    with pytest.raises(
        ArgumentError, match=r"two or more different objectives of 'error', got \['error'\].*history"
    ):
        plot.pareto()
    with pytest.raises(ArgumentError, match="must be a list of names, got 'error': put it in brackets"):
        plot.pareto("error")


def test_a_model_can_be_asked_for_that_knows_only_some_trials(study: ph.Study):
    points = [study.best_trial.params]
    assert study.predict(points, max_trials=12) == study.predict(points)
    assert study.describe_model(max_trials=5)["num_completed"] == 5
    assert study.predict(points, max_trials=5) != study.predict(points)
    for question in (lambda: study.predict(points, max_trials=1), lambda: study.describe_model(max_trials=1)):
        with pytest.raises(ArgumentError, match="`max_trials` must be an integer >= 2, got 1"):
            question()


def test_without_plotly_the_remedy_is_named(study: ph.Study, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(
        MissingDependency, match=r'plotly, which is not installed: pip install "photinus\[plots\]"'
    ):
        study.plot.history()


def test_a_plot_accessor_lists_its_pictures(study: ph.Study):
    assert all(name in repr(study.plot) for name in (*PICTURES, "pareto"))


def test_text_of_users_is_no_markup():
    assert words("<b>&\n") == "&lt;b&gt;&amp;"
    assert words("") == "''"
    assert len(words("x" * 100)) == 32
    assert "<script" not in words(HOSTILE, 200)


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (1e-5, "1e-5"), (0.123456, "0.1235"), (1e300, "1e+300"), (float("inf"), "inf")],
)
def test_numbers_are_short(value: float, text: str):
    assert number(value) == text
