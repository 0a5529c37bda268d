"""How much of the variation each parameter explains."""

import plotly.graph_objects as go

from photinus.plots.sensitivity import Sensitivity, sensitivities
from photinus.plots.source import Source, choose_objective, completed_trials
from photinus.plots.theme import ACCENT, QUIET, message, model_note, styled, words

MAX_BARS = 20
TITLE = "What matters"


def importance(study: Source, objective: str | None = None) -> go.Figure:
    """See `StudyPlots.importance`."""
    metric = choose_objective(study.problem, objective)
    if not completed_trials(study.trials):
        return message(TITLE, "No trial is completed yet.")
    found = sensitivities(study)[metric.name]
    return draw_importance(found, metric.name, model_note(study.trials))


def draw_importance(found: Sensitivity | None, objective: str, note: str = "") -> go.Figure:
    """The picture of shares that are known."""
    if found is None:
        return message(TITLE, "The model sees no difference between points yet.")
    names = list(found.total)[:MAX_BARS]
    figure = go.Figure()
    for shares, name, colour, width in (
        (found.total, "with other parameters", QUIET, 0.7),
        (found.alone, "alone", ACCENT, 0.36),
    ):
        figure.add_bar(
            x=[shares[n] for n in names],
            y=[words(n, 28) for n in names],
            orientation="h",
            marker={"color": colour, "opacity": 0.55 if name != "alone" else 1.0, "cornerradius": 3},
            width=width,
            name=name,
            hovertemplate="%{y}: %{x:.1%}<extra>" + name + "</extra>",
        )
    hidden = len(found.total) - len(names)
    more = f" {hidden} parameters with smaller shares are not drawn." if hidden else ""
    caption = (
        f"Shares of the variation of the predicted {words(objective)} over the whole space (Sobol indices of the "
        f"model's median).{more}{note}"
    )
    figure.update_layout(barmode="overlay", xaxis={"tickformat": ".0%", "rangemode": "tozero"})
    figure.update_yaxes(autorange="reversed", type="category", ticklabelstandoff=6)
    return styled(figure, TITLE, caption, 130 + max(26 * len(names), 70))
