"""Why the latest points were chosen."""

from photinus.report.markup import Html, join, section, shown, table, tag
from photinus.report.moment import Moment
from photinus.trial import Trial

NUM_LATEST = 5
METHODS = {
    "centre": "the centre of the space, to begin with",
    "quasi_random": "a quasi-random point, to cover the space",
    "random": "a random point",
    "ucb": "the highest upper confidence bound",
    "hypervolume_ucb": "the largest promise to extend the Pareto set",
    "pure_exploration": "pure exploration: where least is known among what may be good",
}


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
    reason = trial.reason or {}
    method = str(reason.get("method", "unknown"))
    parts = [METHODS.get(method, method)]
    if "predicted" in reason:
        parts[0] += " (to exploit)" if reason.get("intent") == "exploit" else " (to explore)"
        radius = reason.get("trust_region", {}).get("radius")
        near = reason.get("nearest", [])
        parts += [f"at most {radius:.2g} of a range away from earlier trials"] if radius is not None else []
        parts += [f"nearest trial {near[0]['number']} at {near[0]['distance']:.2g}"] if near else []
    return join([parts[0], *(tag("small", part) for part in parts[1:])], " ")


def _expected(trial: Trial) -> Html:
    lines = [
        f"{name}: {shown(q['q50'])} ({shown(q['q05'])} to {shown(q['q95'])})"
        for name, q in (trial.reason or {}).get("predicted", {}).items()
        if q.get("q50") is not None and q.get("q05") is not None and q.get("q95") is not None
    ]
    return join(tag("div", line) for line in lines) if lines else Html("–")


def _outcome(trial: Trial) -> Html:
    if trial.values is None:
        return join([trial.state.value if trial.message is None else f"{trial.state.value}: {trial.message}"])
    return join(tag("div", f"{name}: {shown(value)}") for name, value in trial.values.items())
