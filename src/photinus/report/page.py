"""The page: sections in order, one style sheet, two scripts that are allowed by their hashes and nothing else."""

import base64
import hashlib
import json
from importlib.resources import files
from itertools import combinations

from plotly.offline import get_plotlyjs

from photinus.best import best_trials
from photinus.plots import StudyPlots
from photinus.plots.importance import draw_importance
from photinus.plots.sensitivity import sensitivities
from photinus.plots.source import MODEL_TRIALS, choose_params, model_of, varying
from photinus.plots.theme import DARK, LIGHT, model_note
from photinus.report.facts import facts
from photinus.report.figures import Figures
from photinus.report.habits import Habit, find_habits
from photinus.report.markup import Html, html, join, section, tag
from photinus.report.moment import MIN_VALUES, Moment
from photinus.report.prospects import Prospect, find_prospects
from photinus.report.sections import (
    habits_table,
    headline,
    prospect_text,
    tiles,
    trials_table,
)
from photinus.report.suggestions import suggestions_table
from photinus.study import Study

MAX_CURVES = 6  # parameters whose curve is drawn
MAX_CURVES_OF_MANY = 3  # for each of several objectives
MAX_SLICES = 12
MAX_PAIRS = 15  # of objectives
MAX_OBJECTIVES = 6  # with a part of their own

BELIEFS = (
    "A Gaussian process, fitted to the trials. A share is how much of the variation of its predictions over the whole "
    "space comes from a parameter; a length scale is the part of the range over which results stay alike."
)
CURVES = (
    "Lines and bars are the predicted median and the interval into which 9 of 10 measurements should fall, the other "
    "parameters held at the likely best point. Dots are trials, wherever their other parameters were; the star is the "
    "best of them."
)
SLICES = "Later trials are darker, the star is the best."

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Photinus">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<p class="brand">Photinus</p>
<h1>{title}</h1>
<p class="lead">{headline}</p>
{introduction}
</header>
<main>
{content}
</main>
<noscript><p class="empty">The pictures need JavaScript; tables and text do not.</p></noscript>
<script type="application/json" id="figures">{figures}</script>
<script type="application/json" id="templates">{templates}</script>
<script>{plotly}</script>
<script>{script}</script>
</body>
</html>
"""


def make_page(study: Study, *, title: str | None = None, introduction: str | None = None) -> str:
    """The whole page as text."""
    moment, figures = Moment(study), Figures()
    prospects = find_prospects(moment)
    content = join(
        [
            tiles(moment, prospects),
            _progress(moment, figures),
            _fronts(moment, figures),
            trials_table(moment),
            *_beliefs(moment, prospects, figures),
            _slices(moment, figures),
            suggestions_table(moment),
            _timeline(moment, figures),
            facts(moment),
        ],
        "\n",
    )
    plotly, script = get_plotlyjs(), _asset("page.js")
    templates = json.dumps({"light": LIGHT, "dark": DARK}).replace("<", "\\u003c")
    return PAGE.format(
        policy=_policy(plotly, script),
        title=html(title or study.name),
        headline=html(headline(moment)),
        introduction=tag("p", introduction) if introduction else "",
        style=_asset("page.css"),
        content=content,
        figures=figures.to_json(),
        templates=templates,
        plotly=plotly,
        script=script,
    )


def _progress(moment: Moment, figures: Figures) -> Html:
    plots = StudyPlots(moment)
    cards = [figures.place(plots.history(), is_wide=True)]
    if any("predicted" in (trial.reason or {}) for trial in moment.completed):
        names = moment.problem.metric_names[:MAX_OBJECTIVES]
        is_single = len(names) == 1
        cards += [
            figures.place(
                plots.calibration(name),
                is_wide=is_single,
                title=None if is_single else f"Expected and came: {name}",
            )
            for name in names
        ]
    return section("Progress", _grid(cards))


def _fronts(moment: Moment, figures: Figures) -> Html:
    """The Pareto set; every pair of objectives has a card of its own, so that a phone can stack them."""
    names = moment.problem.metric_names
    if len(names) < 2 or not moment.has_values:
        return Html("")
    plots = StudyPlots(moment)
    if len(names) == 2:
        return section("Trade-offs", _grid([figures.place(plots.pareto(), is_wide=True)]))
    pairs = list(combinations(names, 2))[:MAX_PAIRS]
    cards = [
        figures.place(plots.pareto(pair), title=f"{pair[0]} and {pair[1]}", is_bare=True) for pair in pairs
    ]
    num_front = len(best_trials(moment.problem, moment.completed))
    intro = (
        f"The {num_front:,} bright trials are beaten by no other one in all {len(names)} objectives together."
    )
    return section("Trade-offs", _grid(cards), intro=intro)


def _beliefs(moment: Moment, prospects: list[Prospect], figures: Figures) -> list[Html]:
    """One section for each objective."""
    if not prospects:
        text = f"The model is worth asking after {MIN_VALUES} completed trials; there are {len(moment.completed)}."
        return [section("What the model believes", tag("p", text, class_="empty"))]
    if not varying(moment.problem):
        return []
    shares = sensitivities(moment)
    described = moment.describe_model(max_trials=MODEL_TRIALS)
    is_single = len(prospects) == 1
    sections = []
    for prospect in prospects[:MAX_OBJECTIVES]:
        name = prospect.metric.name
        length_scales = model_of(described, prospect.metric)["length_scales"]
        habits = find_habits(moment, prospect, shares[name], length_scales)
        importance = draw_importance(shares[name], name, model_note(moment.trials))
        curves = _curves(moment, prospect, habits, figures, MAX_CURVES if is_single else MAX_CURVES_OF_MANY)
        sections.append(
            section(
                "What the model believes" if is_single else f"What the model believes about {name}",
                habits_table(habits),
                _grid([figures.place(importance, is_wide=True)]),
                tag("h3", "Along each parameter"),
                tag("p", CURVES, class_="lead"),
                _grid(curves),
                tag("h3", "Where the best probably is"),
                tag("div", prospect_text(prospect, [habit.name for habit in habits]), class_="card prose"),
                intro=BELIEFS,
            )
        )
    return sections


def _curves(
    moment: Moment, prospect: Prospect, habits: list[Habit], figures: Figures, limit: int
) -> list[Html]:
    plots, name = StudyPlots(moment), prospect.metric.name
    at = prospect.likely_params
    cards = [
        figures.place(
            plots.model(name, params=habit.name, at=at), title=f"{name} along {habit.name}", is_bare=True
        )
        for habit in habits[:limit]
    ]
    if len(habits) >= 2:
        pair = [habit.name for habit in habits[:2]]
        cards.append(
            figures.place(
                plots.contour(name, params=pair, at=at),
                is_wide=True,
                title=f"{name} over {pair[0]} and {pair[1]}",
            )
        )
    return cards


def _slices(moment: Moment, figures: Figures) -> Html:
    """Every parameter has a card of its own, so that a phone can stack them."""
    if not moment.has_values:
        return Html("")
    plots = StudyPlots(moment)
    names = choose_params(moment.problem, None)
    objective = moment.problem.metric_names[0]
    cards = [figures.place(plots.parallel(), is_wide=True)]
    cards += [
        figures.place(plots.slice(params=[name]), title=f"{objective} by {name}", is_bare=True)
        for name in names[:MAX_SLICES]
    ]
    hidden = len(names) - MAX_SLICES
    intro = f"{SLICES} {hidden} more parameters are not drawn." if hidden > 0 else SLICES
    return section("Every trial", _grid(cards), intro=intro)


def _timeline(moment: Moment, figures: Figures) -> Html:
    if not any(trial.started_at for trial in moment.trials):
        return Html("")
    return section("Time", _grid([figures.place(StudyPlots(moment).timeline(), is_wide=True)]))


def _grid(cards: list[Html]) -> Html:
    return tag("div", join(cards), class_="grid") if cards else Html("")


def _policy(*scripts: str) -> str:
    """Only these scripts run, nothing is fetched; Plotly sets styles of its own."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    rest = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {hashes}; {rest}"


def _asset(name: str) -> str:
    return files("photinus.report").joinpath(name).read_text(encoding="utf-8")
