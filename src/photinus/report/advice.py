"""Whether another trial is worth it, by what the model believes and what the latest trials brought.

The advice is about one more trial, not about many, and no better than the model. It says which numbers it comes from,
so that whoever knows what a trial costs can judge otherwise.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from photinus.best import best_trials
from photinus.plots.source import cost_of, value_of, varying
from photinus.record import StudyState
from photinus.report.moment import MIN_VALUES, Moment
from photinus.report.prospects import Prospect, find_prospects
from photinus.study import Study
from photinus.trial import TrialState

MIN_CHANCE = 0.05  # ours: of a gain at the most promising point; below it a gain would be a surprise
MIN_GAIN = 0.01  # ours: expected gain as a part of the way from the median value to the best
MIN_GAIN_IN_NOISE = 0.1  # ours: expected gain in standard deviations of a repeated measurement
NUM_LATEST = 10  # ours: finished trials that count as the latest
MANY_LOST = 0.5  # ours: part of the latest trials without values that is worth a warning


class Verdict(StrEnum):
    """The advice in one word."""

    TOO_EARLY = "too_early"
    GO_ON = "go_on"
    LITTLE_TO_GAIN = "little_to_gain"


@dataclass(frozen=True)
class Outlook:
    """What one more trial promises for one objective."""

    prospect: Prospect
    best_number: int  # the trial that the best value was measured in
    num_since_best: int  # completed trials after it
    is_worthwhile: bool  # the promised gain is neither unlikely nor negligible


@dataclass(frozen=True)
class Advice:
    """Whether to go on, and why."""

    verdict: Verdict
    because: str
    warnings: list[str]
    outlooks: list[Outlook]  # by objective; empty while it is too early for a model
    num_completed: int
    num_running: int


def advise(study: Study) -> Advice:
    """Whether another trial of a study is worth it, and why."""
    moment = Moment(study)
    num_completed = len(moment.completed)
    num_needed = max(MIN_VALUES, len(varying(moment.problem)) + 1)
    outlooks = [_outlook(moment, prospect) for prospect in find_prospects(moment)]
    if num_completed < num_needed:
        verdict, because = (
            Verdict.TOO_EARLY,
            f"{num_completed} completed trials say little about {len(moment.problem.space)} parameters: "
            f"measure at least {num_needed}",
        )
    elif moment.problem.is_multi_objective:
        verdict, because = _judge_front(moment, outlooks)
    else:
        verdict, because = _judge(outlooks[0])
    num_running = sum(trial.state.is_running for trial in moment.trials)
    return Advice(verdict, because, _warnings(moment), outlooks, num_completed, num_running)


def _outlook(moment: Moment, prospect: Prospect) -> Outlook:
    metric = prospect.metric
    best, worst = (choose(moment.completed, key=lambda t: cost_of(t, metric)) for choose in (min, max))
    median = statistics.median(value_of(trial, metric) for trial in moment.completed)
    # Where half of the values are the best one, what was gained so far is seen from the worst.
    way = abs(prospect.best_value - median) or abs(prospect.best_value - value_of(worst, metric))
    threshold = max(MIN_GAIN * way, MIN_GAIN_IN_NOISE * prospect.noise["best"])
    return Outlook(
        prospect,
        best_number=best.number,
        num_since_best=sum(trial.number > best.number for trial in moment.completed),
        is_worthwhile=prospect.chance >= MIN_CHANCE and prospect.expected_gain >= threshold,
    )


def _judge(outlook: Outlook) -> tuple[Verdict, str]:
    prospect = outlook.prospect
    promise = (
        f"at the most promising point the model expects to gain {prospect.expected_gain:.3g} on average over the best "
        f"{prospect.metric.name} of {prospect.best_value:.6g}, with a chance of {prospect.chance:.0%} to gain at all"
    )
    if outlook.is_worthwhile:
        return Verdict.GO_ON, promise
    return (
        Verdict.LITTLE_TO_GAIN,
        f"{promise}, which is unlikely, or small beside the noise or beside what the study has gained so far",
    )


def _judge_front(moment: Moment, outlooks: Sequence[Outlook]) -> tuple[Verdict, str]:
    """The model knows what each objective alone may gain; whether the Pareto set grows, the latest trials show."""
    names = [outlook.prospect.metric.name for outlook in outlooks if outlook.is_worthwhile]
    if names:
        return Verdict.GO_ON, f"the model expects that {', '.join(names)} can still be improved"
    latest = {trial.number for trial in moment.completed[-NUM_LATEST:]}
    num_joined = sum(trial.number in latest for trial in best_trials(moment.problem, moment.completed))
    if num_joined:
        return (
            Verdict.GO_ON,
            f"no objective alone promises much, but {num_joined} of the latest {len(latest)} completed trials are in "
            "the Pareto set: it still grows",
        )
    return (
        Verdict.LITTLE_TO_GAIN,
        f"no objective alone promises much, and none of the latest {len(latest)} completed trials is in the Pareto set",
    )


def _warnings(moment: Moment) -> list[str]:
    latest = [trial for trial in moment.trials if trial.state.is_finished][-NUM_LATEST:]
    warnings = []
    if moment.study.state == StudyState.STOPPED:
        warnings.append("the study was stopped: find out why before more trials are spent")
    if moment.can_learn:
        warnings += [
            f"{metric.name} is the same in all {len(moment.completed)} completed trials: see that it is measured, and "
            "that the parameters have an effect on it"
            for metric in moment.problem.metrics
            if len({value_of(trial, metric) for trial in moment.completed}) == 1
        ]
    for state, remedy in (
        (TrialState.FAILED, "find out what breaks before more trials are spent"),
        (TrialState.INFEASIBLE, "the space may reach too far: narrow it in a new study if you know where"),
    ):
        num_lost = sum(trial.state == state for trial in latest)
        if latest and num_lost >= MANY_LOST * len(latest):
            warnings.append(
                f"{num_lost} of the latest {len(latest)} finished trials are {state.value}: {remedy}"
            )
    return warnings
