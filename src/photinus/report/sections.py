"""The parts of the page, one function each."""

from collections import Counter
from collections.abc import Sequence

from photinus.best import best_trials
from photinus.plots.source import best_in, ranked, value_of
from photinus.problem import Goal
from photinus.report.habits import Habit
from photinus.report.markup import Html, bar, join, section, shown, table, tag, tile
from photinus.report.moment import Moment
from photinus.report.prospects import Prospect
from photinus.trial import TrialState

NUM_BEST = 10
NUM_FRONT = 25
MAX_COLUMNS = 12  # parameters in a table of trials


def headline(moment: Moment) -> str:
    """The study in one line."""
    counts = Counter(trial.state for trial in moment.trials)
    parts = [f"{len(moment.trials):,} trials" if len(moment.trials) != 1 else "1 trial"]
    parts += [f"{counts[state]:,} {state.value}" for state in TrialState if counts[state]]
    return " · ".join(parts)


def tiles(moment: Moment, prospects: Sequence[Prospect]) -> Html:
    """The numbers that people look for first."""
    if not prospects:
        return Html("")
    if moment.problem.is_multi_objective:
        return _objectives_table(moment, prospects)
    [prospect] = prospects
    best = best_in(moment.completed, prospect.metric)
    assert best is not None
    name = prospect.metric.name
    gain = prospect.expected_gain
    promise = f"{_chance(prospect)} chance to beat the best measured value, at the most promising point"
    return tag(
        "div",
        join([
            tile(f"best {name}", shown(prospect.best_value), f"measured in trial {best.number}"),
            tile(f"likely best {name}", shown(prospect.likely["q50"]), f"{_interval(prospect)}, 9 times in 10"),
            tile("expected gain of one more trial", shown(gain), promise),
            tile("noise", f"± {shown(prospect.noise['best'])}", "one standard deviation of repeated measurements"),
        ]),
        class_="tiles",
    )  # fmt: skip


def _objectives_table(moment: Moment, prospects: Sequence[Prospect]) -> Html:
    rows = []
    for prospect in prospects:
        best = best_in(moment.completed, prospect.metric)
        assert best is not None
        rows.append([
            tag("b", prospect.metric.name), prospect.metric.goal.value, shown(prospect.best_value), best.number,
            f"{shown(prospect.likely['q50'])} ({_interval(prospect)})",
            f"{shown(prospect.expected_gain)} ({_chance(prospect)} chance)", f"± {shown(prospect.noise['best'])}",
        ])  # fmt: skip
    header = [
        "objective",
        "goal",
        "best measured",
        "trial",
        "likely best (5 to 95 %)",
        "expected gain",
        "noise",
    ]
    return table(header, rows, numeric=(2, 3))


def _chance(prospect: Prospect) -> str:
    return f"{prospect.chance:.0%}" if prospect.chance >= 0.005 else "less than 1 %"


def _interval(prospect: Prospect) -> str:
    return f"{shown(prospect.likely['q05'])} to {shown(prospect.likely['q95'])}"


def trials_table(moment: Moment) -> Html:
    """The best trials, or the Pareto set."""
    problem = moment.problem
    if problem.is_multi_objective:
        front = best_trials(problem, moment.trials)
        trials, title = front[:NUM_FRONT], "Trials that no other one beats"
        hidden = len(front) - len(trials)
    else:
        trials, title, hidden = ranked(problem, moment.trials)[:NUM_BEST], "Best trials", 0
    if not trials:
        return Html("")
    names = list(problem.space)[:MAX_COLUMNS]
    num_columns = len(list(problem.space)) - len(names)
    rows = [
        [tag("b", trial.number), *(shown(value_of(trial, metric)) for metric in problem.metrics),
         *(shown(trial.params[name]) for name in names)]
        for trial in trials
    ]  # fmt: skip
    notes = [f"{hidden} more trials are not listed." if hidden else ""]
    notes += [f"{num_columns} more parameters are not listed." if num_columns else ""]
    header = ["trial", *problem.metric_names, *names]
    content = table(header, rows, numeric=range(1, 1 + len(problem.metrics)))
    return section(title, content, intro=" ".join(note for note in notes if note))


def prospect_text(prospect: Prospect, names: Sequence[str]) -> Html:
    """The likely best point and the most promising one, and what these words mean."""
    metric = prospect.metric
    better = "less" if metric.goal is Goal.MINIMIZE else "more"
    lines = [
        f"Likely best: the point with the best predicted median of {metric.name} ({better} is better), searched for "
        "among observed points, points all over the space, and steps around the best of both. A measurement there "
        f"should give about {shown(prospect.likely['q50'])}, 9 times in 10 a value from {_interval(prospect)}.",
        "Most promising: the point where the expected improvement over the best measured value "
        f"({shown(prospect.best_value)}) is largest: {shown(prospect.expected_gain)} on average, counting no gain "
        f"where it turns out worse; the chance of any gain is {_chance(prospect)}. This is the model's own belief "
        "about the value without noise, for one more trial. A lucky best measurement makes it too small, a model "
        "that is wrong makes it wrong.",
        f"Noise: repeated measurements should differ by a standard deviation of {shown(prospect.noise['best'])} near "
        "the best value. The model takes noise for constant on its own scale, so it may differ elsewhere.",
    ]
    rows = [
        [tag("b", name), shown(prospect.likely_params[name]), shown(prospect.promising_params[name])]
        for name in names[:MAX_COLUMNS]
    ]
    hidden = len(names) - MAX_COLUMNS
    lines += [f"{hidden} parameters that matter less are not listed."] if hidden > 0 else []
    text = tag("div", join(tag("p", line) for line in lines))
    return join([text, table(["parameter", "likely best", "most promising"], rows)])


def habits_table(habits: Sequence[Habit]) -> Html:
    """What the model believes about each parameter."""
    if not habits:
        return Html("")
    rows = [
        [
            tag("b", habit.name),
            "unknown" if habit.total is None else bar(habit.total),
            "unknown" if habit.alone is None else f"{habit.alone:.0%}",
            habit.behaviour,
            habit.good,
            f"{habit.pace} ({habit.length_scale:.2g})",
        ]
        for habit in habits
    ]
    header = [
        "parameter",
        "share with others",
        "alone",
        "around the likely best",
        "good values",
        "pace (length scale)",
    ]
    return table(header, rows)
