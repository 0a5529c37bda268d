"""The default: against `paper` in every setting, problems that it was chosen by apart; and against everyone else."""

from collections.abc import Callable, Sequence

from photinus_bench import suite
from photinus_bench.analysis.comparison import Comparison
from photinus_bench.report import drawing, findings
from photinus_bench.report.asking import BASELINE, DEFAULT
from photinus_bench.report.results import Results
from photinus_bench.report.section import Section, grid_table, interval_text, range_text
from photinus_bench.tuning import HALVES, batch_size_of, tasks_of

TITLES = {
    **{f"{d}d": f"{d} continuous parameters" for d in (5, 10, 20, 40, 80)},
    **{f"categorical{share}": f"{share} % categorical" for share in (25, 50, 75, 100)},
    "integer": "integers",
    "discrete": "lists of numbers",
    "combo": "COMBO",
    **{f"batch{size}": f"batches of {size}" for size in (5, 10, 20)},
    "gaussian-noise": "Gaussian noise",
    "uniform-noise": "uniform noise",
    "cauchy-noise": "Cauchy noise",
    "objectives2": "two objectives",
    "objectives4": "four objectives",
    "objectives6": "six objectives",
}
COMMAND = "make bench SUITE=bbob-20d`, then the suites below, as `make bench SUITE=combo"
AGAINST_ALL = ("5d", "20d", "categorical50", "combo", "batch5", "objectives2")


def against_paper(results: Results) -> Section:
    """Setting by setting, on all problems and on either half."""
    section = Section("The default", None, COMMAND)
    found: dict[str, tuple[Comparison, list[Comparison | None]]] = {}
    for name in TITLES:
        halves = [_compare(results, name, [half], BASELINE) for half in HALVES]
        like_vizier = _compare(results, name, list(HALVES), BASELINE, Results.compare_like_vizier)
        if whole := _compare(results, name, list(HALVES), BASELINE):
            found[TITLES[name]] = whole, [*halves, like_vizier]
    if not found:
        return section
    section.add_figure(
        "default",
        "Log-efficiency of the default against `paper`: problems of each setting, and 95 % intervals of the median.",
        drawing.violins({title: whole for title, (whole, _) in found.items()}, BASELINE, of=DEFAULT),
    )
    lines = [
        "| setting | all problems | verdict | problems for choosing | the others | by google-vizier's comparator "
        "| problems | repeats |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for title, (whole, others) in found.items():
        cells = ["" if other is None else interval_text(other.interval) for other in others]
        lines.append(
            f"| {title} | {interval_text(whole.interval)} | {whole.verdict.value} | {' | '.join(cells)} "
            f"| {len(whole.scores)} | {range_text(whole.num_repeats)} |"
        )
    section.text += [
        "`photinus-default` against `photinus-paper`, paired by repeat. Choices were made by looking at one half of "
        "the problems, at repeats (shifts, permutations, noise) other than those that stand here; the other half "
        "served to confirm, a few times. "
        "[Decision 10](decisions/0010-the-default.md) has the looks.",
        "\n".join(lines),
    ]
    return section


def against_rivals(results: Results) -> Section:
    """The default against everyone else; above 0 it needs fewer trials than they do."""
    section = Section("The default against its rivals", None, COMMAND)
    rows: dict[str, dict[str, Comparison]] = {}
    for rival in suite.ORDER:
        if rival not in (DEFAULT, BASELINE):
            compared = {TITLES[name]: _compare(results, name, list(HALVES), rival) for name in AGAINST_ALL}
            rows[rival] = {title: c for title, c in compared.items() if c is not None}
    rows = {rival: row for rival, row in rows.items() if row}
    if rows:
        tasks = {task for name in AGAINST_ALL for half in HALVES for task in tasks_of(name, half)}
        section.text += [
            "Log-efficiency of `photinus-default` against each rival, on the problems and repeats that both have: "
            "above 0 the default needs fewer trials. Behind the verdict are the numbers of problems and of repeats.",
            "Not everyone is at their best: HEBO's fits can fail where there are "
            "[categories](#share-of-categorical-parameters), and who "
            "[stopped early](#who-stopped-early-and-who-could-not-begin) counts with what was there by then, also at "
            f"the runner's limit on an answer. {findings.early_ends(results.stops(), tasks)}",
            grid_table(rows, [TITLES[name] for name in AGAINST_ALL], "rival"),
        ]
    return section


def _compare(
    results: Results,
    setting: str,
    halves: Sequence[str],
    baseline: str,
    by: Callable[..., Comparison | None] = Results.compare,
) -> Comparison | None:
    tasks = sorted(task for half in halves for task in tasks_of(setting, half))  # as in the other sections
    return by(results, tasks, baseline, DEFAULT, batch_size=batch_size_of(setting))
