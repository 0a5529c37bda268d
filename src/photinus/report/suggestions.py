"""Why the latest points were chosen."""

from photinus.reasons import expected, why
from photinus.report.markup import Html, join, section, shown, table, tag
from photinus.report.moment import Moment
from photinus.trial import Trial

NUM_LATEST = 5


def suggestions_table(moment: Moment) -> Html:
    """Why the latest points were chosen."""
    latest = [trial for trial in moment.trials if trial.reason][-NUM_LATEST:][::-1]
    if not latest:
        return Html("")
    rows = [[tag("b", trial.number), _why(trial), _expected(trial), _outcome(trial)] for trial in latest]
    return section(
        "Why the latest points were chosen",
        table(["trial", "why", "expected (5 to 95 %)", "what came"], rows),
        intro="The rule that chose the point, what the model expected when it chose, and what was measured.",
    )


def _why(trial: Trial) -> Html:
    parts = why(trial.reason)
    return join([parts[0], *(tag("small", part) for part in parts[1:])], " ")


def _expected(trial: Trial) -> Html:
    lines = [
        f"{name}: {shown(median)} ({shown(low)} to {shown(high)})"
        for name, (low, median, high) in expected(trial.reason).items()
    ]
    return join(tag("div", line) for line in lines) if lines else Html("–")


def _outcome(trial: Trial) -> Html:
    if trial.values is None:
        return join([trial.state.value if trial.message is None else f"{trial.state.value}: {trial.message}"])
    return join(tag("div", f"{name}: {shown(value)}") for name, value in trial.values.items())
