"""When each trial ran, and who ran it."""

from collections.abc import Sequence
from datetime import UTC, datetime

import plotly.graph_objects as go

from photinus.plots.drawn import draw
from photinus.plots.source import Source
from photinus.plots.theme import ACCENT, BAD, MODEL, QUIET, drawn_note, hover, message, styled, words
from photinus.trial import Trial, TrialState

MAX_BARS = 1000
MAX_LANES = 40
MAX_NAME = 20  # letters of a worker's name
COLOURS = {
    TrialState.COMPLETED: MODEL,
    TrialState.INFEASIBLE: BAD,
    TrialState.FAILED: QUIET,
    TrialState.EXPIRED: "#b9a3c4",
    TrialState.ACTIVE: ACCENT,
    TrialState.STOPPING: ACCENT,
}


def timeline(study: Source) -> go.Figure:
    """See `StudyPlots.timeline`."""
    title = "When trials ran"
    now = datetime.now(UTC)
    trials = study.trials  # read once: a study that runs has other ones the next time
    spans = {
        trial.number: (trial.started_at, _end(trial, now)) for trial in trials if trial.started_at is not None
    }
    started = [trial for trial in trials if trial.number in spans]
    if not started:
        return message(title, "No trial was handed out yet.")
    lanes = _lanes(started, now)
    order = list(dict.fromkeys(lanes.values()))[:MAX_LANES]
    labels = _labels(order)
    visible = [trial for trial in started if lanes[trial.number] in set(order)]
    drawn = draw(visible, MAX_BARS)
    figure = go.Figure()
    for state, colour in COLOURS.items():
        chosen = [trial for trial in drawn.trials if trial.state is state]
        if chosen:
            figure.add_bar(
                base=[spans[trial.number][0] for trial in chosen],
                x=[_milliseconds(*spans[trial.number]) for trial in chosen],
                y=[labels[lanes[trial.number]] for trial in chosen],
                orientation="h",
                marker={
                    "color": colour,
                    "line": {"width": 1.5, "color": colour},
                },  # the shortest are seen too
                name=state.value,
                text=[hover(trial) for trial in chosen],
                textposition="none",
                hovertemplate="%{text}<extra></extra>",
            )
    figure.update_layout(barmode="overlay", xaxis={"type": "date", "title": {"text": "time (UTC)"}})
    rows = [labels[lane] for lane in order]
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=rows[::-1])
    hidden = len(set(lanes.values())) - len(order)
    more = f" {hidden} more workers are not drawn." if hidden else ""
    waiting = len(trials) - len(started)
    never = f" {waiting:,} trials were never handed out: enqueued, or measured elsewhere." if waiting else ""
    caption = f"One bar a trial, one row a worker.{more}{never}{drawn_note(drawn, 'evenly spread')}"
    return styled(figure, title, caption, 150 + max(24 * len(order), 60))


def _lanes(trials: Sequence[Trial], now: datetime) -> dict[int, str]:
    """A row for each trial: its worker's, or the first row that is free when nobody gave a name."""
    lanes: dict[int, str] = {}
    free_at: list[datetime] = []
    for trial in sorted(trials, key=lambda t: (t.started_at or now, t.number)):
        if trial.worker is not None:
            lanes[trial.number] = trial.worker
            continue
        start = trial.started_at or now
        lane = next((i for i, end in enumerate(free_at) if end <= start), len(free_at))
        free_at[lane : lane + 1] = [_end(trial, now)]
        lanes[trial.number] = f"nameless {lane + 1}"
    return lanes


def _labels(lanes: Sequence[str]) -> dict[str, str]:
    """Names of rows, no two alike. Long ones keep their ends, where the workers of one host differ."""
    labels: dict[str, str] = {}
    for lane in lanes:
        label = words(lane if len(lane) <= MAX_NAME else "…" + lane[1 - MAX_NAME :])
        labels[lane] = label if label not in labels.values() else f"{label} ({len(labels) + 1})"
    return labels


def _end(trial: Trial, now: datetime) -> datetime:
    """When the trial ended; a running one goes on, and when nobody held an expired one any more is not known."""
    start = trial.started_at or now
    if trial.completed_at is not None:
        return max(start, trial.completed_at)
    if trial.state is TrialState.EXPIRED:
        return start
    return max(start, now)


def _milliseconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds() * 1000.0
