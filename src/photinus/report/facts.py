"""The study itself: where it came from, its space and objectives, the time it took."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import photinus
from photinus.plots.source import MODEL_TRIALS
from photinus.report.markup import Html, join, section, shown, table, tag
from photinus.report.moment import Moment
from photinus.space import Categorical, Discrete, Parameter
from photinus.trial import Trial, TrialState

LABELLED = (TrialState.COMPLETED, TrialState.INFEASIBLE)
MAX_VALUES = 8  # of a parameter, written out


def facts(moment: Moment) -> Html:
    """Everything about the study that is not a result."""
    study, trials = moment.study, moment.trials
    versions = sorted({trial.engine_version for trial in trials if trial.engine_version})
    measured = [trial.duration_s for trial in trials if trial.duration_s is not None]
    begins = [trial.started_at for trial in trials if trial.started_at]
    ends = [trial.completed_at for trial in trials if trial.completed_at]
    num_labelled = sum(trial.state in LABELLED for trial in trials)
    pairs = [
        ("study", f"{study.name} (project {study.project})"),
        ("algorithm", f"{study.algorithm}, seed {study.seed}"),
        ("engine", ", ".join(versions) if versions else "no suggestion yet"),
        ("workers", _workers(trials)),
        ("time in trials", _duration(sum(measured))),
        (
            "from first to last",
            _duration((max(ends) - min(begins)).total_seconds()) if begins and ends else "–",
        ),
        (
            "the model knows",
            f"{min(num_labelled, MODEL_TRIALS):,} of {num_labelled:,} completed and infeasible trials",
        ),
        ("written", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by Photinus {photinus.__version__}"),
        *((f"note: {key}", text) for key, text in study.metadata.items()),
    ]
    listing = tag("dl", join(join([tag("dt", key), tag("dd", value)]) for key, value in pairs))
    space = [
        [tag("b", name), parameter.type_name, _extent(parameter), getattr(parameter, "scale", "–")]
        for name, parameter in moment.problem.space.parameters.items()
    ]
    goals = [[tag("b", metric.name), metric.goal.value] for metric in moment.problem.metrics]
    return section(
        "The study",
        listing,
        tag("h3", "Space"),
        table(["parameter", "type", "values", "scale"], space),
        tag("h3", "Objectives"),
        table(["objective", "goal"], goals),
    )


def _workers(trials: Sequence[Trial]) -> str:
    names = sorted({trial.worker for trial in trials if trial.worker})
    if not names:
        return "nameless"
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _extent(parameter: Parameter) -> str:
    if isinstance(parameter, Categorical | Discrete):
        values = [shown(value) for value in parameter.values]
        hidden = len(values) - MAX_VALUES
        return ", ".join(values[:MAX_VALUES]) + (f" and {hidden} more" if hidden > 0 else "")
    if parameter.low == parameter.high:
        return f"{shown(parameter.low)} only"
    return f"{shown(parameter.low)} to {shown(parameter.high)}"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return str(timedelta(seconds=round(seconds))) if seconds >= 60 else f"{seconds:.1f} s"
