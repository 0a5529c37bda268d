"""What the model expected of each trial before it ran, and what came."""

import plotly.graph_objects as go

from photinus.plots.drawn import draw
from photinus.plots.source import Source, choose_objective, completed_trials, value_of
from photinus.plots.theme import ACCENT, MODEL, drawn_note, hover, message, styled, words

MAX_BARS = 200


def calibration(study: Source, objective: str | None = None) -> go.Figure:
    """See `StudyPlots.calibration`."""
    metric = choose_objective(study.problem, objective)
    title = "What the model expected, and what came"
    quantiles = {}
    completed = completed_trials(study.trials)
    for trial in completed:
        predicted = (trial.reason or {}).get("predicted", {}).get(metric.name, {})
        if all(predicted.get(q) is not None for q in ("q05", "q50", "q95")):
            quantiles[trial.number] = predicted
    judged = [trial for trial in completed if trial.number in quantiles]
    if not judged:
        return message(title, "No completed trial was chosen by a model yet.")
    inside = sum(
        quantiles[t.number]["q05"] <= value_of(t, metric) <= quantiles[t.number]["q95"] for t in judged
    )
    drawn = draw(judged, MAX_BARS, {trial.number for trial in judged[-MAX_BARS // 2 :]})
    expected = [quantiles[trial.number] for trial in drawn.trials]
    numbers = [trial.number for trial in drawn.trials]
    figure = go.Figure()
    figure.add_bar(
        x=numbers,
        base=[q["q05"] for q in expected],
        y=[q["q95"] - q["q05"] for q in expected],
        marker={"color": MODEL, "opacity": 0.35, "line": {"width": 0}},
        name="expected, 5 to 95 %",
        customdata=[[q["q05"], q["q50"], q["q95"]] for q in expected],
        hovertemplate="trial %{x}: %{customdata[0]:.4g}, %{customdata[1]:.4g}, %{customdata[2]:.4g}<extra></extra>",
    )
    figure.add_scatter(
        x=numbers,
        y=[value_of(trial, metric) for trial in drawn.trials],
        mode="markers",
        marker={"color": ACCENT, "size": 6},
        name="measured",
        text=[hover(trial) for trial in drawn.trials],
        hovertemplate="%{text}<extra></extra>",
    )
    caption = (
        f"{inside:,} of {len(judged):,} measurements fell into the interval that was expected to hold 9 of 10."
        f"{drawn_note(drawn, 'the latest among them')}"
    )
    figure.update_xaxes(title_text="trial", exponentformat="none", separatethousands=True)
    figure.update_layout(yaxis_title_text=words(metric.name))
    return styled(figure, title, caption)
